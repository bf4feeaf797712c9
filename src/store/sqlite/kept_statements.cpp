#include "store/sqlite/kept_statements.hpp"

#include <new>

#include "core/check.hpp"

namespace pawl::sqlite {
namespace {

std::uint32_t bytes_of(sqlite3_stmt* statement) {
  const int bytes = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_MEMUSED, 0);
  return bytes > 0 ? static_cast<std::uint32_t>(bytes) : 0;
}

}  // namespace

bool KeptStatements::open(std::size_t bytes_max) {
  bytes_max_ = bytes_max;
  count_ = places_for(bytes_max);
  places_ = static_cast<Kept*>(sqlite3_malloc64(count_ * sizeof(Kept)));
  // NOLINTNEXTLINE(bugprone-sizeof-expression): these are pointers
  heads_ = static_cast<Kept**>(sqlite3_malloc64(count_ * sizeof(Kept*)));
  if (places_ == nullptr || heads_ == nullptr) return false;
  for (std::size_t i = count_; i-- > 0;) {
    heads_[i] = nullptr;
    Kept* const place = ::new (static_cast<void*>(&places_[i])) Kept();
    place->next = free_;
    free_ = place;
  }
  return true;
}

void KeptStatements::close() {
  if (places_ != nullptr && heads_ != nullptr)
    for (std::size_t i = 0; i < count_; ++i)
      static_cast<void>(sqlite3_finalize(places_[i].statement));
  sqlite3_free(places_);
  sqlite3_free(static_cast<void*>(heads_));
  *this = KeptStatements();
}

KeptStatements::Kept*& KeptStatements::head_of(const char* text) {
  constexpr std::uint32_t kGolden = 0x9e3779b1U;  // spreads addresses that differ in few bits
  const auto address = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(text));
  const std::uint64_t spread = std::uint64_t{address} * kGolden;
  return heads_[static_cast<std::size_t>((spread & 0xffffffffU) * count_ >> 32U)];
}

KeptStatements::Kept* KeptStatements::find(const char* text) {
  Kept* kept = head_of(text);
  while (kept != nullptr && kept->text != text)
    kept = kept->next;
  if (kept != nullptr) kept->used = ++uses_;
  return kept;
}

KeptStatements::Kept& KeptStatements::add(const char* text, sqlite3_stmt* statement) {
  // A call holds a few statements at a time, fewer than there are places.
  PAWL_CHECK("store-4", free_ != nullptr || forget_oldest());
  Kept& kept = *free_;
  free_ = kept.next;
  Kept*& head = head_of(text);
  kept.text = text;
  kept.statement = statement;
  kept.bytes = bytes_of(statement);
  kept.next = head;
  kept.used = ++uses_;
  head = &kept;
  bytes_ += kept.bytes;
  return kept;
}

void KeptStatements::make_room(std::size_t bytes) {
  while (bytes_ + bytes > bytes_max_ && forget_oldest()) {
  }
}

void KeptStatements::forget(Kept& kept) {
  sqlite3_finalize(kept.statement);
  bytes_ -= kept.bytes;
  Kept** link = &head_of(kept.text);
  while (*link != &kept)
    link = &(*link)->next;
  *link = kept.next;
  kept = Kept();
  kept.next = free_;
  free_ = &kept;
}

// Statements that operators need now and then must not hold the heap that every tick needs.
bool KeptStatements::forget_oldest() {
  Kept* oldest = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    Kept& kept = places_[i];
    if (kept.statement == nullptr || kept.is_held) continue;
    if (oldest == nullptr || kept.used < oldest->used) oldest = &kept;
  }
  if (oldest == nullptr) return false;
  forget(*oldest);
  return true;
}

bool KeptStatements::forget_all() {
  bool any = false;
  while (forget_oldest())
    any = true;
  return any;
}

}  // namespace pawl::sqlite
