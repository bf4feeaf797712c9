// Walk: makes a loop around "the next row that ..." end.
//
// Purpose: such a query asks an index, and the loop changes rows. If index and rows disagree,
// because of a few damaged bytes, the same rows come again and again, and the loop would hold the
// write lock for ever.
// Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_STORE_WALK_HPP
#define PAWL_STORE_WALK_HPP

#include <cstdint>

namespace pawl::store {

class Walk {
 public:
  // For a query that answers in the order of (a, b): false if the row does not lie behind the last
  // one.
  bool rises(std::int64_t a, std::int64_t b = 0) {
    const bool is_behind = !any_ || a > a_ || (a == a_ && b > b_);
    any_ = true;
    a_ = a;
    b_ = b;
    return is_behind;
  }

  // For a query without such an order: false if the row `key` came too often in succession. Some
  // rows are due for several reasons, which are dealt with one at a time.
  bool changes(std::int64_t key) {
    same_ = any_ && key == a_ ? same_ + 1 : 1;
    any_ = true;
    a_ = key;
    return same_ <= kReasonsMax;
  }

 private:
  static constexpr int kReasonsMax = 4;

  bool any_ = false;
  std::int64_t a_ = 0;
  std::int64_t b_ = 0;
  int same_ = 0;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WALK_HPP
