#include "store/instance/message_keys.hpp"

#include "core/hash.hpp"
#include "store/instance/arguments.hpp"

namespace pawl::store {
namespace {

template <std::size_t kBytes>
void put_number(char* at, std::uint64_t number) {
  for (std::size_t i = 0; i < kBytes; ++i)
    at[i] = static_cast<char>(number >> (8 * i));
}

std::uint64_t take_number(std::string_view* from, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i > 0; --i)
    number = number << 8 | static_cast<unsigned char>((*from)[i - 1]);
  from->remove_prefix(bytes);
  return number;
}

constexpr std::size_t kRowCountBytes = 2;

}  // namespace

MessageKeys::Entry MessageKeys::entry_of(const MessageKey& key) {
  return {Hash64().add(key.text).value(), static_cast<std::uint32_t>(key.content), key.number, 0};
}

void MessageKeys::put(char* at, const Entry& entry) {
  put_number<8>(at, entry.key);
  put_number<4>(at + 8, entry.content);
  put_number<8>(at + 12, static_cast<std::uint64_t>(entry.number));
  put_number<6>(at + 20, static_cast<std::uint64_t>(entry.at_ms));
}

MessageKeys::Entry MessageKeys::take(std::string_view* from) {
  Entry entry;
  entry.key = take_number(from, 8);
  entry.content = static_cast<std::uint32_t>(take_number(from, 4));
  entry.number = static_cast<MessageId>(take_number(from, 8));
  entry.at_ms = static_cast<std::int64_t>(take_number(from, 6));
  return entry;
}

constexpr auto kReadRing = PAWL_QUERY(
    "SELECT i.keys_last,i.keys,m.keys_max,m.keys_ms FROM instances AS i\fCROSS\rJOIN meta AS m "
    "ON m.id=1 WHERE i.key=?1");

Status MessageKeys::read_ring(InstanceKey instance, Ring* out) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  Statement row = connection_.use(kReadRing);
  if (!row.bind(instance).row()) return no_row(row, Status::kNotFound, "instances");
  bool whole = true;
  out->keys_max = row.integer(PAWL_COLUMN(kReadRing, m.keys_max), &whole);
  const std::int64_t age_ms = row.integer(PAWL_COLUMN(kReadRing, m.keys_ms), &whole);
  if (!whole || out->keys_max <= 0 || out->keys_max > kKeysMax || age_ms <= 0) {
    connection_.diagnostic().format("meta.keys_max or meta.keys_ms is damaged");
    return fail(Status::kCorrupt, "meta");
  }
  out->since_ms = batch_.now - age_ms;
  out->last = row.integer(PAWL_COLUMN(kReadRing, i.keys_last));
  std::string_view stored = row.bytes(PAWL_COLUMN(kReadRing, i.keys));
  if (stored.empty()) return out->last == 0 ? Status::kOk : damaged(instance);
  if (stored.size() < kRowCountBytes) return damaged(instance);
  out->rows = static_cast<std::int64_t>(take_number(&stored, kRowCountBytes));
  out->waiting_count = static_cast<int>(stored.size() / kEntryBytes);
  if (out->rows > kRowsMax || (out->rows > 0) != (out->last > 0) ||
      out->waiting_count >= kEntriesInRow || stored.size() % kEntryBytes != 0)
    return damaged(instance);
  for (int i = 0; i < out->waiting_count; ++i)
    out->waiting[i] = take(&stored);
  return Status::kOk;
}

constexpr auto kWriteRing = PAWL_QUERY("UPDATE instances SET keys_last=?2,keys=?3 WHERE key=?1");

Status MessageKeys::write_ring(InstanceKey instance, const Ring& ring) {
  char bytes[kRowCountBytes + kEntriesInRow * kEntryBytes];
  put_number<kRowCountBytes>(bytes, static_cast<std::uint64_t>(ring.rows));
  std::size_t size = kRowCountBytes;
  for (int i = 0; i < ring.waiting_count; ++i, size += kEntryBytes)
    put(bytes + size, ring.waiting[i]);
  Statement row = connection_.use(kWriteRing);
  row.bind(instance).bind_or_null(ring.last);
  return fail_written(row.bind_blob({bytes, size}).run(), "keep a key");
}

constexpr auto kReadKeys = PAWL_QUERY("SELECT instance,prev,entries FROM message_keys WHERE id=?1");

// The number of rows bounds the walk, so links that lead in a circle do not hold it.
template <typename GoesOn>
Status MessageKeys::walk(InstanceKey instance, Ring* ring, GoesOn goes_on) {
  std::int64_t id = ring->last;
  for (std::int64_t left = ring->rows; left > 0; --left) {
    Statement row = connection_.use(kReadKeys);
    const bool is_there = row.bind(id).row() && row.integer(0) == instance;
    PAWL_TRY(fail(row.status(), "message_keys"));
    std::string_view stored = is_there ? row.bytes(2) : std::string_view();
    if (stored.size() != kEntriesInRow * kEntryBytes) return damaged(instance);
    Entry entries[kEntriesInRow];
    for (Entry& entry : entries)
      entry = take(&stored);
    if (left == 1) {
      ring->oldest = id;
      ring->oldest_at_ms = entries[kEntriesInRow - 1].at_ms;
    }
    for (int at = kEntriesInRow - 1; at >= 0; --at)
      if (!goes_on(entries[at])) return Status::kOk;
    id = row.integer(1);
  }
  return Status::kOk;
}

// Newest first, until the window ends.
Status MessageKeys::find(InstanceKey instance, Ring* ring, MessageKey* key, bool* known) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  *known = false;
  const Entry wanted = entry_of(*key);
  std::int64_t left = ring->keys_max;
  bool is_same = false;
  const auto goes_on = [&](const Entry& entry) {
    if (left-- == 0 || entry.at_ms < ring->since_ms) return false;
    if (entry.key != wanted.key) return true;
    *known = true;
    is_same = entry.content == wanted.content;
    key->number = entry.number;
    return false;
  };
  bool is_over = false;
  for (int at = ring->waiting_count - 1; at >= 0 && !is_over; --at)
    is_over = !goes_on(ring->waiting[at]);
  if (!is_over) PAWL_TRY(walk(instance, ring, goes_on));
  if (!*known || is_same) return Status::kOk;
  context_.diagnostic.format("key '%.*s' came before, with another message",
                             static_cast<int>(key->text.size()), key->text.data());
  return Status::kKeyReused;
}

Status MessageKeys::remember(InstanceKey instance, Ring* ring, const MessageKey& key) {
  require_batch();
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  Entry& entry = ring->waiting[ring->waiting_count++];
  entry = entry_of(key);
  entry.at_ms = batch_.now;
  if (ring->waiting_count == kEntriesInRow) PAWL_TRY(write_row(instance, ring));
  return write_ring(instance, *ring);
}

constexpr auto kInsertKeys =
    PAWL_QUERY("INSERT INTO message_keys(instance,prev,entries,id) VALUES(?1,?2,?3,?4)");
constexpr auto kReplaceKeys =
    PAWL_QUERY("UPDATE message_keys SET prev=?2,entries=?3 WHERE id=?4 AND instance=?1");

// A row whose keys are all forgotten is used again, however few there are.
Status MessageKeys::write_row(InstanceKey instance, Ring* ring) {
  if (ring->oldest == 0) PAWL_TRY(walk(instance, ring, [](const Entry&) { return true; }));
  const bool is_full = ring->rows * kEntriesInRow >= ring->keys_max;
  const bool replaces = ring->oldest != 0 && (is_full || ring->oldest_at_ms < ring->since_ms);
  char bytes[kEntriesInRow * kEntryBytes];
  for (std::size_t i = 0; i < kEntriesInRow; ++i)
    put(bytes + i * kEntryBytes, ring->waiting[i]);
  const sql::QueryRef query = replaces ? sql::QueryRef(kReplaceKeys) : sql::QueryRef(kInsertKeys);
  Statement row = connection_.use(query);
  row.bind(instance).bind_or_null(ring->last);
  row.bind_blob({bytes, sizeof bytes});
  ring->last = replaces ? ring->oldest : context_.next_token();
  PAWL_TRY(fail_written(row.bind(ring->last).run(), "keep keys"));
  ring->rows += replaces ? 0 : 1;
  ring->waiting_count = 0;
  return Status::kOk;
}

Status MessageKeys::damaged(InstanceKey instance) {
  connection_.diagnostic().format("the keys of messages of instance %lld are damaged",
                                  static_cast<long long>(instance));
  return fail(Status::kCorrupt, "message_keys");
}

}  // namespace pawl::store
