// Walk: sees to it that a loop around "the next row that ..." ends.
//
// Purpose: such a query asks an index, and what the loop does changes rows. Where the two disagree,
// for a few damaged bytes, the same rows come again and again, and the loop would hold the write
// lock for ever.
// Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_STORE_TABLES_WALK_HPP
#define PAWL_STORE_TABLES_WALK_HPP

#include <cstdint>

namespace pawl::store {

class Walk {
 public:
  // The row at (a, b), of a query that answers in this order: false if it does not lie behind the
  // last one.
  bool rises(std::int64_t a, std::int64_t b = 0) {
    const bool is_behind = !any_ || a > a_ || (a == a_ && b > b_);
    any_ = true;
    a_ = a;
    b_ = b;
    return is_behind;
  }

  // The row `key`, of a query that has no such order: false if it came too often in a row. Some
  // rows are due for several reasons, which are dealt with one by one.
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

#endif  // PAWL_STORE_TABLES_WALK_HPP
