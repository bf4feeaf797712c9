#include "store/postgres/statement_use.hpp"

#include <cstdio>
#include <utility>

#include "core/check.hpp"

namespace pawl::postgres {

StatementName name_of(const KnownStatement& known) {
  StatementName name = {};
  static_cast<void>(std::snprintf(name.text, sizeof name.text, "p%d", known.number));
  return name;
}

void StatementUse::bind(sql::ValueType type, const char* value, std::size_t size) {
  PAWL_CHECK("postgres-10", bound < kParametersMax);
  types[bound] = type;
  values[bound] = value;
  sizes[bound] = static_cast<int>(size);
  ++bound;
}

void StatementUse::bind_number(std::int64_t value) {
  char(&bytes)[8] = integers[bound];
  put_number(bytes, value);
  bind(sql::ValueType::kInteger, bytes, sizeof bytes);
}

void StatementUse::release() {
  PQclear(std::exchange(result, nullptr));
  known = nullptr;
  bound = 0;
  row = -1;
  rows_before = page_rows = 0;
}

void KnownStatements::forget_prepared() {
  for (KnownStatement& known : known_)
    known.is_prepared = false;
}

KnownStatement& KnownStatements::find(const char* text) {
  std::size_t at =
      (reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15U >> 32U) & (kMost - 1);
  for (std::size_t looks = 0; looks < kMost; ++looks, at = (at + 1) % kMost) {
    if (known_[at].text == nullptr) {
      known_[at].text = text;
      known_[at].number = static_cast<int>(at);
    }
    if (known_[at].text == text) return known_[at];
  }
  PAWL_CHECK("postgres-8", false);
  return known_[0];
}

}  // namespace pawl::postgres
