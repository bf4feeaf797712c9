// Values that an instance keeps under keys.
//
// Purpose: the form in which orchestrations and clients see them. Ownership: views live as long as
// the call that gives them says. Thread rule: plain values.
#ifndef PAWL_KV_HPP
#define PAWL_KV_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/call_text.hpp"
#pragma GCC visibility push(default)

namespace pawl {

struct KvEntry {
  CallText key;
  CallText value;
  std::int64_t updated_ms = 0;  // stamp of the last write: UTC as it was known then
};

// Called with an instance's values; it must not call the Client that calls it. Views end with the
// call.
class KvVisitor {
 public:
  virtual void on_value(const KvEntry& value) noexcept = 0;

 protected:
  ~KvVisitor() = default;
};

// The place where a listing of values goes on.
class KvPage {
 public:
  std::size_t rows_max = 100;  // of this page; 1 or more
  bool more = false;           // answer: ask again with this page
  // The last key that a listing reported, after which the next call goes on; empty: from the first.
  [[nodiscard]] std::string_view after_key() const { return {after_, after_size_}; }
  void move_behind(std::string_view key) {
    after_size_ = key.size() < sizeof after_ ? key.size() : sizeof after_;
    for (std::size_t i = 0; i < after_size_; ++i)
      after_[i] = key[i];
  }

 private:
  char after_[256] = {};
  std::size_t after_size_ = 0;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_KV_HPP
