#include "store/postgres/reads_ahead.hpp"

#include <cstring>
#include <utility>

namespace pawl::postgres {
namespace {

std::int64_t key_of(const StatementUse& use) {
  std::int64_t key = 0;
  std::memcpy(&key, use.integers[0], sizeof key);  // in the server's order of bytes, for equality
  return key;
}

}  // namespace

void ReadsAhead::add(const StatementUse& use, const char* name) {
  if (link_.queue(name, use.bound, use.values, use.sizes) != Status::kOk) return;
  known_[count_] = use.known;
  key_[count_] = key_of(use);
  result_[count_++] = nullptr;
}

void ReadsAhead::settle() {
  if (settled_ == count_) return;
  static_cast<void>(link_.settle_all(result_ + settled_, count_ - settled_));
  settled_ = count_;
}

PGresult* ReadsAhead::take(const StatementUse& use) {
  if (count_ == 0 || use.types[0] != sql::ValueType::kInteger) return nullptr;
  const std::int64_t key = key_of(use);
  for (int looks = 0; looks < settled_; ++looks) {
    const int at = (next_ + looks) % settled_;
    if (known_[at] != use.known || key_[at] != key || result_[at] == nullptr) continue;
    next_ = at + 1;
    return std::exchange(result_[at], nullptr);
  }
  return nullptr;
}

void ReadsAhead::forget() {
  for (int at = 0; at < settled_; ++at)
    PQclear(result_[at]);
  count_ = settled_ = next_ = 0;
}

}  // namespace pawl::postgres
