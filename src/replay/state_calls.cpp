#include "replay/state_calls.hpp"

#include <algorithm>

#include "core/hash.hpp"
#include "replay/await_path.hpp"

namespace pawl::internal {

// ---- writing ----

// A refusal for a limit is recorded: another worker, or this one after a restart, may have other
// limits.
ErrorKind StateCalls::write(BranchRun& branch, std::string_view key, std::string_view value,
                            bool clear) {
  if (!run_.is_active(branch, clear ? "clear_kv_value" : "set_kv_value")) return ErrorKind::kNone;
  if (!is_valid_name(key)) return ErrorKind::kInvalidArgument;
  Event event;
  event.kind = EventKind::kStateWrite;
  event.name = key;
  event.number = clear ? 1 : 0;
  event.argument_hash = Hash64().add(static_cast<std::uint64_t>(event.number)).add(value).value();
  const bool is_new = branch.cursor == nullptr;
  if (is_new && !clear && !has_room_for(key, value)) {
    event.error = ErrorKind::kLimit;
  } else {
    event.payload = value;
  }
  return issue_write(branch, event);
}

// A text that is too long is refused without a record: the limit is no option, so a replay refuses
// it, too.
ErrorKind StateCalls::set_custom_status(BranchRun& branch, std::string_view text) {
  if (!run_.is_active(branch, "set_custom_status")) return ErrorKind::kNone;
  if (text.size() > kCustomStatusBytesMax) return ErrorKind::kLimit;
  Event event;
  event.kind = EventKind::kCustomStatus;
  event.payload = text;
  event.argument_hash = Hash64().add(text).value();
  return issue_write(branch, event);
}

ErrorKind StateCalls::issue_write(BranchRun& branch, Event& event) {
  Record* const write = commands_.issue(event);
  if (write == nullptr) return ErrorKind::kNone;
  if (write->event.error != ErrorKind::kNone) return write->event.error;
  if (branch.writer == 0) branch.writer = ++writer_count_;
  write->pass.writer = branch.writer;
  write->pass.write_number = ++branch.writes;
  if (write->event.id != 0) return ErrorKind::kNone;
  History::StateKey* const key = history_.make_key(write->event.name);
  if (key == nullptr) {
    run_.diagnostic().format("no memory left for the state");
    run_.fail(Status::kResourceExhausted);
    return ErrorKind::kNone;
  }
  if (key->run != run_.number()) key->staged = nullptr;
  key->run = run_.number();
  write->older_alike = key->staged;
  key->staged = write;
  return ErrorKind::kNone;
}

// The value that will be stored for a key, no matter which branch sees it: so the limits bound what
// is stored, whatever the branches do. A clear by a branch may still be withdrawn, so it frees no
// room before it is recorded.
bool StateCalls::stored_value(const History::StateKey& key, std::string_view* value) const {
  const Record* write = key.run == run_.number() ? key.staged : nullptr;
  while (write != nullptr && write->event.number != 0 && write->pass.owner != &run_.root())
    write = write->older_alike;
  if (write == nullptr) write = key.newest;
  if (write == nullptr && key.carried == nullptr) return false;
  *value = write == nullptr ? key.carried->value : write->event.payload;
  return write == nullptr || write->event.number == 0;
}

bool StateCalls::has_room_for(std::string_view key, std::string_view value) const {
  if (value.size() > run_.limits().payload_bytes_max) return false;
  std::size_t keys = 1;
  std::size_t bytes = key.size() + value.size();
  for (std::uint32_t at = 0; at < history_.key_count_; ++at) {
    const History::StateKey& other = history_.keys_[at];
    std::string_view stored;
    if (other.name.empty() || other.name == key || !stored_value(other, &stored)) continue;
    ++keys;
    bytes += other.name.size() + stored.size();
  }
  return keys <= run_.limits().kv_keys_max && bytes <= run_.limits().kv_bytes_max;
}

// ---- reading ----

// Finds the last visible write. Writes of this pass come after all of history, carried values
// before it.
bool StateCalls::look_up(const BranchRun& branch, const History::StateKey& key,
                         KvEntry* out) const {
  const Record* write = key.run == run_.number() ? key.staged : nullptr;
  while (write != nullptr && !knows(branch, *write))
    write = write->older_alike;
  if (write == nullptr) {
    write = key.newest;
    while (write != nullptr && write->event.id > branch.position && !knows(branch, *write))
      write = write->older_alike;
  }
  if (write != nullptr) {
    *out = {key.name, write->event.payload, write->event.time_ms};
    return write->event.number == 0;
  }
  if (key.carried == nullptr) return false;
  *out = {key.name, key.carried->value, key.carried->updated_ms};
  return true;
}

bool StateCalls::read(BranchRun& branch, std::string_view key, KvEntry* out) {
  if (!run_.is_active(branch, "get_kv_value")) return false;
  add_read_to_path(run_.current(), key);
  const History::StateKey* const found = history_.find_key(key);
  return found != nullptr && look_up(branch, *found, out);
}

std::string_view StateCalls::custom_status(BranchRun& branch) {
  KvEntry entry;
  return read(branch, {}, &entry) ? entry.value.view() : std::string_view();
}

// The custom status, whose key is empty, comes before all values.
bool StateCalls::next(BranchRun& branch, KvEntry* entry) {
  if (!run_.is_active(branch, "next_kv_value")) return false;
  add_read_to_path(run_.current(), entry->key);
  return find_next(branch, entry);
}

bool StateCalls::find_next(const BranchRun& branch, KvEntry* entry) const {
  std::uint32_t at = history_.key_place(entry->key);
  if (at < history_.key_count_ && history_.keys_[at].name == entry->key) ++at;
  for (; at < history_.key_count_; ++at)
    if (look_up(branch, history_.keys_[at], entry)) return true;
  return false;
}

std::size_t StateCalls::length(BranchRun& branch) {
  if (!run_.is_active(branch, "kv_length")) return 0;
  add_read_to_path(run_.current(), std::string_view());
  std::size_t count = 0;
  for (KvEntry entry; find_next(branch, &entry);)
    ++count;
  return count;
}

std::size_t StateCalls::clear(BranchRun& branch, std::int64_t updated_before_ms) {
  if (!run_.is_active(branch, "clear_all_kv_values")) return 0;
  add_to_path(run_.current(), static_cast<std::uint64_t>(updated_before_ms));
  std::size_t count = 0;
  for (KvEntry entry; run_.is_ok() && find_next(branch, &entry);) {
    if (entry.updated_ms >= updated_before_ms) continue;
    static_cast<void>(write(branch, entry.key, {}, true));
    ++count;
  }
  return count;
}

// ---- what each branch knows ----

bool StateCalls::knows(const BranchRun& branch, const Record& write) const {
  const History::InPass& pass = write.pass;
  if (pass.run != run_.number()) return false;
  if (pass.owner == &branch) return true;
  return pass.writer <= branch.known_count && branch.known[pass.writer - 1] >= pass.write_number;
}

void StateCalls::learn(BranchRun& branch, const BranchRun& from) {
  const std::uint32_t count = std::max({branch.known_count, from.known_count, from.writer});
  if (count > branch.known_count) {
    auto* const known = run_.note<std::uint32_t>(count);
    if (known == nullptr) return;
    std::fill_n(known, count, 0U);
    std::copy_n(branch.known, branch.known_count, known);
    branch.known = known;
    branch.known_count = count;
  }
  for (std::uint32_t i = 0; i < from.known_count; ++i)
    branch.known[i] = std::max(branch.known[i], from.known[i]);
  if (from.writer != 0)
    branch.known[from.writer - 1] = std::max(branch.known[from.writer - 1], from.writes);
}

}  // namespace pawl::internal
