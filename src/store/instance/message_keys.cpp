#include "store/instance/message_keys.hpp"

#include <cstring>

#include "store/instance/arguments.hpp"

namespace pawl::store {
namespace {

char* put(char* at, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i)
    *at++ = static_cast<char>(number >> (8 * i));
  return at;
}

std::uint64_t take(std::string_view* from, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i > 0; --i)
    number = number << 8 | static_cast<unsigned char>((*from)[i - 1]);
  from->remove_prefix(bytes);
  return number;
}

constexpr std::size_t kLengthBytes = 2;
constexpr std::size_t kRowCountBytes = 2;

template <typename Entry>
char* put_entry(char* at, const Entry& entry) {
  at = put(at, entry.key.text.size(), kLengthBytes);
  std::memcpy(at, entry.key.text.data(), entry.key.text.size());
  at = put(at + entry.key.text.size(), entry.key.content, 8);
  at = put(at, static_cast<std::uint64_t>(entry.key.number), 8);
  return put(at, static_cast<std::uint64_t>(entry.at_ms), 8);
}

// False: the bytes are no entry.
template <typename Entry>
bool take_entry(std::string_view* from, Entry* out) {
  if (from->size() < kLengthBytes) return false;
  const auto length = static_cast<std::size_t>(take(from, kLengthBytes));
  if (length == 0 || length > kNameBytesMax || from->size() < length + 24) return false;
  out->key.text = from->substr(0, length);
  from->remove_prefix(length);
  out->key.content = take(from, 8);
  out->key.number = static_cast<MessageId>(take(from, 8));
  out->at_ms = static_cast<std::int64_t>(take(from, 8));
  return true;
}

}  // namespace

constexpr auto kReadWindow = PAWL_QUERY("SELECT keys_max,keys_ms FROM meta WHERE id=1");

Status MessageKeys::read_window(Window* out) {
  Statement row = connection_.use(kReadWindow);
  if (!row.row()) return no_row(row, Status::kCorrupt, "meta");
  bool whole = true;
  out->keys_max = row.integer(0, &whole);
  const std::int64_t age_ms = row.integer(1, &whole);
  out->since_ms = batch_.now - age_ms;
  if (whole && out->keys_max > 0 && out->keys_max <= kRowsMax * kEntriesInRow && age_ms > 0)
    return Status::kOk;
  connection_.diagnostic().format("meta.keys_max or meta.keys_ms is damaged");
  return fail(Status::kCorrupt, "meta");
}

Status MessageKeys::read_count_max(std::int64_t* out) {
  Window window;
  PAWL_TRY(read_window(&window));
  *out = window.keys_max;
  return Status::kOk;
}

constexpr auto kReadRing = PAWL_QUERY("SELECT keys_last,keys FROM instances WHERE key=?1");

Status MessageKeys::read_ring(InstanceKey instance, Ring* out) {
  Statement row = connection_.use(kReadRing);
  if (!row.bind(instance).row()) return no_row(row, Status::kNotFound, "instances");
  out->last = row.integer(0);
  std::string_view stored = row.bytes(1);
  if (stored.empty()) return out->last == 0 ? Status::kOk : damaged(instance);
  if (stored.size() < kRowCountBytes) return damaged(instance);
  out->rows = static_cast<std::int64_t>(take(&stored, kRowCountBytes));
  if (out->rows > kRowsMax || (out->rows > 0) != (out->last > 0) ||
      stored.size() > sizeof out->bytes)
    return damaged(instance);
  out->has_newest = !stored.empty();
  if (!out->has_newest) return Status::kOk;
  std::memcpy(out->bytes, stored.data(), stored.size());
  std::string_view kept(out->bytes, stored.size());
  return take_entry(&kept, &out->newest) && kept.empty() ? Status::kOk : damaged(instance);
}

constexpr auto kWriteRing = PAWL_QUERY("UPDATE instances SET keys_last=?2,keys=?3 WHERE key=?1");

Status MessageKeys::write_ring(InstanceKey instance, const Ring& ring, const Entry* newest) {
  char bytes[kRowCountBytes + kEntryBytesMax];
  char* end = put(bytes, static_cast<std::uint64_t>(ring.rows), kRowCountBytes);
  if (newest != nullptr) end = put_entry(end, *newest);
  Statement row = connection_.use(kWriteRing);
  row.bind(instance).bind_or_null(ring.last);
  return fail_written(row.bind_blob({bytes, static_cast<std::size_t>(end - bytes)}).run(),
                      "keep a key");
}

constexpr auto kReadKeys = PAWL_QUERY("SELECT instance,prev,entries FROM message_keys WHERE id=?1");

// Newest first, until the window ends. The number of rows bounds the walk, so links that lead in a
// circle do not hold it.
Status MessageKeys::find(InstanceKey instance, MessageKey* key, bool* known) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  *known = false;
  Ring ring;
  PAWL_TRY(read_ring(instance, &ring));
  if (ring.rows == 0 && !ring.has_newest) return Status::kOk;
  Window window;
  PAWL_TRY(read_window(&window));
  std::int64_t left = window.keys_max;
  bool is_over = false;
  bool is_same = false;
  const auto look = [&](const Entry& entry) {
    is_over = left-- == 0 || entry.at_ms < window.since_ms;
    if (is_over || entry.key.text != key->text) return;
    is_over = *known = true;
    is_same = entry.key.content == key->content;
    key->number = entry.key.number;
  };
  if (ring.has_newest) look(ring.newest);
  std::int64_t id = ring.last;
  for (std::int64_t i = 0; i < ring.rows && !is_over; ++i) {
    Statement row = connection_.use(kReadKeys);
    if (!row.bind(id).row() || row.integer(0) != instance) {
      PAWL_TRY(fail(row.status(), "message_keys"));
      return damaged(instance);
    }
    Entry entries[kEntriesInRow];
    std::string_view stored = row.bytes(2);
    for (Entry& entry : entries)
      if (!take_entry(&stored, &entry)) return damaged(instance);
    for (int at = kEntriesInRow - 1; at >= 0 && !is_over; --at)
      look(entries[at]);
    id = row.integer(1);
  }
  if (!*known || is_same) return Status::kOk;
  context_.diagnostic.format("key '%.*s' came before, with another message",
                             static_cast<int>(key->text.size()), key->text.data());
  return Status::kKeyReused;
}

Status MessageKeys::remember(InstanceKey instance, const MessageKey& key) {
  require_batch();
  const Suspicion suspect(connection_, RowRef::Table::kInstances, instance);
  Ring ring;
  PAWL_TRY(read_ring(instance, &ring));
  const Entry entry = {key, batch_.now};
  if (!ring.has_newest) return write_ring(instance, ring, &entry);
  PAWL_TRY(write_row(instance, ring.newest, entry, &ring));
  return write_ring(instance, ring, nullptr);
}

constexpr auto kInsertKeys =
    PAWL_QUERY("INSERT INTO message_keys(instance,prev,entries,id) VALUES(?1,?2,?3,?4)");
constexpr auto kReplaceKeys =
    PAWL_QUERY("UPDATE message_keys SET prev=?2,entries=?3 WHERE id=?4 AND instance=?1");

// A row whose keys are all forgotten is used again, however few there are.
Status MessageKeys::write_row(InstanceKey instance, const Entry& older, const Entry& newer,
                              Ring* ring) {
  Window window;
  PAWL_TRY(read_window(&window));
  std::int64_t oldest = 0;
  std::int64_t oldest_at_ms = 0;
  if (ring->rows > 0) PAWL_TRY(oldest_row(*ring, &oldest, &oldest_at_ms));
  const bool is_full = ring->rows * kEntriesInRow >= window.keys_max;
  const bool replaces = oldest != 0 && (is_full || oldest_at_ms < window.since_ms);
  char bytes[kEntriesInRow * kEntryBytesMax];
  char* const end = put_entry(put_entry(bytes, older), newer);
  const sql::QueryRef query = replaces ? sql::QueryRef(kReplaceKeys) : sql::QueryRef(kInsertKeys);
  Statement row = connection_.use(query);
  row.bind(instance).bind_or_null(ring->last);
  row.bind_blob({bytes, static_cast<std::size_t>(end - bytes)});
  ring->last = replaces ? oldest : context_.next_token();
  PAWL_TRY(fail_written(row.bind(ring->last).run(), "keep keys"));
  ring->rows += replaces ? 0 : 1;
  return Status::kOk;
}

Status MessageKeys::oldest_row(const Ring& ring, std::int64_t* id, std::int64_t* newest_at_ms) {
  std::int64_t next = ring.last;
  for (std::int64_t i = 0; i < ring.rows; ++i) {
    Statement row = connection_.use(kReadKeys);
    if (!row.bind(next).row()) return no_row(row, Status::kCorrupt, "message_keys");
    *id = next;
    next = row.integer(1);
    if (i + 1 < ring.rows) continue;
    std::string_view stored = row.bytes(2);
    Entry entry;
    if (!take_entry(&stored, &entry) || !take_entry(&stored, &entry))
      return damaged(row.integer(0));
    *newest_at_ms = entry.at_ms;
  }
  return Status::kOk;
}

Status MessageKeys::damaged(InstanceKey instance) {
  connection_.diagnostic().format("the keys of messages of instance %lld are damaged",
                                  static_cast<long long>(instance));
  return fail(Status::kCorrupt, "message_keys");
}

}  // namespace pawl::store
