#include "replay/history.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/check.hpp"

namespace pawl {
namespace {

// A new chunk is as large as all chunks before it together, within these bounds.
constexpr std::size_t kChunkBytesMin = 1024;
constexpr std::size_t kChunkBytesMax = 4096;
constexpr std::uint32_t kListMin = 16;

constexpr std::size_t aligned(std::size_t size) {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  return (size + kAlign - 1) & ~(kAlign - 1);
}

std::string_view copy_text(std::string_view text, char** at) {
  if (text.empty()) return {};
  std::memcpy(*at, text.data(), text.size());
  const std::string_view copy(*at, text.size());
  *at += text.size();
  return copy;
}

// Whether an event of kind `completion` completes a command of kind `command`.
bool completes(EventKind completion, EventKind command) {
  switch (completion) {
    case EventKind::kActivityDone: return command == EventKind::kActivity;
    case EventKind::kTimerFired: return command == EventKind::kTimer;
    case EventKind::kChildDone: return command == EventKind::kChild;
    case EventKind::kValueAnswer:
      return command == EventKind::kValueRead || command == EventKind::kSessionCheck ||
             is_send(command);
    case EventKind::kDelivery: return command == EventKind::kWait || command == EventKind::kDequeue;
    default: return false;
  }
}

bool is_wait(EventKind kind) { return kind == EventKind::kWait || kind == EventKind::kDequeue; }

bool is_known(EventKind kind) {
  return kind == EventKind::kStarted || is_command(kind) || is_completion(kind) ||
         (kind >= EventKind::kReturn && kind <= EventKind::kEnded);
}

// A custom status is the state under the empty key.
bool is_write(const Event& event) {
  return (event.kind == EventKind::kStateWrite || event.kind == EventKind::kCustomStatus) &&
         event.error == ErrorKind::kNone;
}

bool is_name_or_empty(std::string_view text) { return text.empty() || is_stored_name(text); }

// The fault of the event by itself, or null.
const char* why_malformed(const Event& event) {
  if (!is_known(event.kind)) return "of an unknown kind";
  if (event.error > kErrorKindLast) return "with an unknown error";
  if (event.end > EndKind::kContinuedAsNew) return "with an unknown end";
  if (event.base > TimerBase::kUtc) return "with an unknown time base";
  if (needs_name(event.kind) && event.name.empty()) return "without a name";
  if (!is_name_or_empty(event.name)) return "with a malformed name";
  if (!is_name_or_empty(event.policy)) return "with malformed options";
  if (!is_name_or_empty(event.tag)) return "with a malformed tag";
  if (!is_name_or_empty(event.session)) return "with a malformed session";
  if (!is_name_or_empty(event.version)) return "with a malformed version";
  if (event.kind == EventKind::kGuid && event.payload.size() != 36) return "without a guid";
  if (event.kind == EventKind::kEnded && event.end == EndKind::kNone)
    return "without a kind of end";
  return nullptr;
}

}  // namespace

// ---- memory ----

bool ChunkList::add_chunk(std::size_t room) {
  const std::size_t least = aligned(sizeof(Chunk)) + room;
  const std::size_t usual = std::clamp(bytes_, kChunkBytesMin, kChunkBytesMax);
  void* block = least < usual ? pool_.allocate(usual) : nullptr;
  if (block == nullptr) block = pool_.allocate(least);
  if (block == nullptr) return false;
  const std::size_t size = pool_.size_of(block);
  bytes_ += size;
  chunk_ = ::new (block) Chunk{chunk_, size, aligned(sizeof(Chunk))};
  return true;
}

void ChunkList::release_chunk() {
  Chunk* const chunk = chunk_;
  chunk_ = chunk->previous;
  bytes_ -= chunk->size;
  pool_.release(chunk);
}

void* ChunkList::allocate(std::size_t size) {
  const std::size_t room = aligned(size);
  if (room < size) return nullptr;
  if (chunk_ == nullptr || room > chunk_->size - chunk_->used) {
    if (!add_chunk(room)) return nullptr;
  }
  char* const place = reinterpret_cast<char*>(chunk_) + chunk_->used;
  chunk_->used += room;
  return place;
}

void ChunkList::truncate(const void* last, std::size_t size) {
  const auto place = reinterpret_cast<std::uintptr_t>(last);
  const auto holds = [place](const Chunk* chunk) {
    const auto begin = reinterpret_cast<std::uintptr_t>(chunk);
    return place >= begin && place < begin + chunk->size;
  };
  while (!holds(chunk_))
    release_chunk();
  chunk_->used = place - reinterpret_cast<std::uintptr_t>(chunk_) + aligned(size);
}

void ChunkList::clear() {
  while (chunk_ != nullptr)
    release_chunk();
}

template <typename T>
bool History::grow(T** list, std::uint32_t* capacity, std::uint32_t count) {
  if (count < *capacity) return true;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): the directory is a list of pointers
  constexpr std::size_t kElement = sizeof(T);
  const std::uint32_t larger = *capacity == 0 ? kListMin : *capacity * 2;
  const std::size_t before = *list == nullptr ? 0 : pool_.size_of(*list);
  void* const block = pool_.resize(*list, larger * kElement);
  if (block == nullptr) return false;
  list_bytes_ += pool_.size_of(block) - before;
  *list = static_cast<T*>(block);
  *capacity = larger;
  return true;
}

void History::clear() {
  records_.clear();
  pool_.release(directory_);
  pool_.release(branches_);
  pool_.release(keys_);
  carried_.clear();
  directory_ = nullptr;
  branches_ = nullptr;
  keys_ = nullptr;
  directory_capacity_ = branches_capacity_ = keys_capacity_ = 0;
  count_ = end_id_ = cancel_id_ = 0;
  command_count_ = branch_count_ = key_count_ = 0;
  newest_wait_ = nullptr;
  root_ = Branch();
  list_bytes_ = 0;
}

History::Record* History::stage(const Event& event) {
  const std::size_t texts = event.name.size() + event.session.size() + event.policy.size() +
                            event.tag.size() + event.version.size() + event.payload.size();
  const std::size_t size = sizeof(Record) + texts;
  if (size > UINT32_MAX) return nullptr;
  void* const place = records_.allocate(size);
  if (place == nullptr) return nullptr;
  Record* const record = ::new (place) Record();
  record->event = event;
  record->size = static_cast<std::uint32_t>(size);
  char* text = static_cast<char*>(place) + sizeof(Record);
  record->event.name = copy_text(event.name, &text);
  record->event.session = copy_text(event.session, &text);
  record->event.policy = copy_text(event.policy, &text);
  record->event.tag = copy_text(event.tag, &text);
  record->event.version = copy_text(event.version, &text);
  record->event.payload = copy_text(event.payload, &text);
  return record;
}

void History::drop_staged() {
  drop_unused_keys();
  if (count_ == 0) return records_.clear();
  const Record* const last = record(count_);
  records_.truncate(last, last->size);
}

// ---- state ----

std::uint32_t History::key_place(std::string_view name) const {
  const StateKey* const place = std::lower_bound(
      keys_, keys_ + key_count_, name,
      [](const StateKey& key, std::string_view other) { return key.name < other; });
  return static_cast<std::uint32_t>(place - keys_);
}

const History::StateKey* History::find_key(std::string_view name) const {
  const std::uint32_t place = key_place(name);
  return place < key_count_ && keys_[place].name == name ? &keys_[place] : nullptr;
}

History::StateKey* History::make_key(std::string_view name) {
  const std::uint32_t place = key_place(name);
  if (place < key_count_ && keys_[place].name == name) return &keys_[place];
  if (!grow(&keys_, &keys_capacity_, key_count_)) return nullptr;
  for (std::uint32_t at = key_count_++; at > place; --at)
    keys_[at] = keys_[at - 1];
  StateKey* const made = ::new (&keys_[place]) StateKey();
  made->name = name;
  return made;
}

// Drops keys that nothing refers to: their names may lie in records that are about to be freed.
void History::drop_unused_keys() {
  std::uint32_t kept = 0;
  for (std::uint32_t at = 0; at < key_count_; ++at) {
    keys_[at].staged = nullptr;
    if (keys_[at].carried != nullptr || keys_[at].newest != nullptr) keys_[kept++] = keys_[at];
  }
  key_count_ = kept;
}

Status History::carry(std::string_view key, std::string_view value, std::int64_t updated_ms) {
  PAWL_CHECK("replay-5", count_ == 0 && find_key(key) == nullptr);
  void* const place = carried_.allocate(sizeof(Carried) + key.size() + value.size());
  if (place == nullptr) return Status::kResourceExhausted;
  char* text = static_cast<char*>(place) + sizeof(Carried);
  const std::string_view name = copy_text(key, &text);
  const auto* const carried = ::new (place) Carried{copy_text(value, &text), updated_ms};
  StateKey* const made = make_key(name);
  if (made == nullptr) {
    carried_.truncate(place, 0);
    return Status::kResourceExhausted;
  }
  made->carried = carried;
  return Status::kOk;
}

// ---- events ----

namespace {

Status no_memory_for(const Event& event, Diagnostic& diagnostic) {
  diagnostic.format("event %u: no memory left for this history", event.id);
  return Status::kResourceExhausted;
}

}  // namespace

Status History::append(const Event& event, Diagnostic& diagnostic) {
  Record* const record = stage(event);
  const Status status =
      record == nullptr ? no_memory_for(event, diagnostic) : commit(record, diagnostic);
  if (status != Status::kOk) drop_staged();
  return status;
}

Status History::commit(Record* record, Diagnostic& diagnostic) {
  const char* const reason = why_not(record->event);
  if (reason != nullptr) {
    diagnostic.format("event %u is %s %s", record->event.id, event_kind_name(record->event.kind),
                      reason);
    return Status::kCorrupt;
  }
  const Event& event = record->event;
  const bool has_room = grow(&directory_, &directory_capacity_, count_) &&
                        (event.kind != EventKind::kBranchOpened ||
                         grow(&branches_, &branches_capacity_, branch_count_)) &&
                        (!is_write(event) || make_key(event.name) != nullptr);
  if (!has_room) return no_memory_for(event, diagnostic);
  index(record);
  return Status::kOk;
}

const Event& History::event(EventId id) const {
  PAWL_CHECK("replay-1", id >= 1 && id <= count_);
  return record(id)->event;
}

void History::rewind(Mark mark) {
  PAWL_CHECK("replay-2", mark.count <= count_);
  while (count_ > mark.count)
    unindex(record(count_));
  drop_staged();
}

// ---- form of events ----

const char* History::why_not(const Event& event) const {
  if (event.id != count_ + 1) return "out of order";
  const char* const malformed = why_malformed(event);
  if (malformed != nullptr) return malformed;
  if ((event.kind == EventKind::kStarted) != (event.id == 1))
    return "where the start should be, and only it";
  if (ended() && event.kind != EventKind::kReturn) return "behind the end";
  if (is_command(event.kind)) return why_not_command(event);
  if (is_completion(event.kind)) return why_not_completion(event);
  if (event.kind == EventKind::kCancelRequested && cancel_id_ != 0) return "for a second time";
  if (event.kind == EventKind::kEnded && (event.horizon == 0 || event.horizon > count_))
    return "with a horizon that does not exist";
  if (event.kind == EventKind::kReturn) {
    if (event.ref == 0 || event.ref > count_) return "of an event that does not exist";
    const Record* const delivery = record(event.ref);
    if (delivery->event.kind != EventKind::kDelivery) return "of what is no delivery";
    if (delivery->returned != 0) return "for a second time";
  }
  return nullptr;
}

const char* History::why_not_command(const Event& event) const {
  const std::uint32_t place = find_branch(event.branch);
  if (place == kNoBranch) return "in a branch that does not exist";
  if (event.ordinal != branch(place).commands) return "with an ordinal out of order";
  if (is_retired(place)) return "in a retired branch";
  if (event.kind == EventKind::kBranchOpened) {
    const BranchId highest = branch(branch_count_).number;
    if (event.number <= highest || event.number > UINT32_MAX - 1)
      return "with a number out of order";
  }
  return event.kind == EventKind::kClose ? why_not_close(event, place) : nullptr;
}

const char* History::why_not_close(const Event& event, std::uint32_t place) const {
  if (event.horizon == 0 || event.horizon > count_) return "with a horizon that does not exist";
  if (event.number < 0 || event.number >= event.ordinal) return "of a command that does not exist";
  const Record* const target = command_of(place, static_cast<Ordinal>(event.number));
  if (!can_complete(target->event.kind) && target->event.kind != EventKind::kBranchOpened)
    return "of a command that cannot complete";
  return target->close != 0 ? "for a second time" : nullptr;
}

const char* History::why_not_completion(const Event& event) const {
  if (event.ref == 0 || event.ref > count_) return "for an event that does not exist";
  const Record* const command = record(event.ref);
  if (!completes(event.kind, command->event.kind)) return "for an event of another kind";
  if (command->completion != 0) return "for a second time";
  if (command->close != 0) return "for a closed command";
  return is_retired(find_branch(command->event.branch)) ? "for a command of a retired branch"
                                                        : nullptr;
}

bool History::awaits_completion(EventId command) const {
  if (command == 0 || command > count_ || ended()) return false;
  const Record* const found = record(command);
  return can_complete(found->event.kind) && found->completion == 0 && found->close == 0 &&
         !is_retired(find_branch(found->event.branch));
}

EventId History::open_wait(EventKind kind, std::string_view name) const {
  EventId oldest = 0;
  for (const Record* wait = newest_wait_; wait != nullptr; wait = wait->older_alike) {
    const Event& event = wait->event;
    if (event.kind == kind && event.name == name && awaits_completion(event.id)) oldest = event.id;
  }
  return oldest;
}

EventId History::open_try() const {
  EventId oldest = 0;
  for (const Record* wait = newest_wait_; wait != nullptr; wait = wait->older_alike)
    if (wait->event.number != 0 && awaits_completion(wait->event.id)) oldest = wait->event.id;
  return oldest;
}

// ---- index ----

std::uint32_t History::find_branch(BranchId number) const {
  if (number == 0) return 0;
  std::uint32_t low = 0;
  std::uint32_t high = branch_count_;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (branches_[middle].number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < branch_count_ && branches_[low].number == number ? low + 1 : kNoBranch;
}

bool History::is_retired(std::uint32_t place) const {
  for (; place != 0; place = branch(place).parent)
    if (branch(place).opening->close != 0) return true;
  return false;
}

EventId History::command_id(BranchId branch, Ordinal ordinal) const {
  const std::uint32_t place = find_branch(branch);
  if (place == kNoBranch || ordinal >= this->branch(place).commands) return 0;
  return command_of(place, ordinal)->event.id;
}

// A close names a command that was issued lately, so the way back from the end is short.
History::Record* History::command_of(std::uint32_t place, Ordinal ordinal) const {
  Record* found = branch(place).last;
  while (found->event.ordinal != ordinal)
    found = found->previous;
  return found;
}

void History::index(Record* record) {
  const Event& event = record->event;
  directory_[count_++] = record;
  if (is_command(event.kind)) {
    index_command(record);
  } else if (is_completion(event.kind)) {
    this->record(event.ref)->completion = event.id;
  } else if (event.kind == EventKind::kReturn) {
    Record* const delivery = this->record(event.ref);
    delivery->returned = event.id;
    this->record(delivery->event.ref)->completion = 0;
  } else if (event.kind == EventKind::kCancelRequested) {
    cancel_id_ = event.id;
  } else if (event.kind == EventKind::kEnded) {
    end_id_ = event.id;
  }
}

void History::index_command(Record* record) {
  const Event& event = record->event;
  const std::uint32_t place = find_branch(event.branch);
  Branch& owner = branch(place);
  if (event.kind == EventKind::kClose)
    command_of(place, static_cast<Ordinal>(event.number))->close = event.id;
  record->previous = owner.last;
  (owner.last == nullptr ? owner.first : owner.last->next) = record;
  owner.last = record;
  ++owner.commands;
  ++command_count_;
  if (is_wait(event.kind)) {
    record->older_alike = newest_wait_;
    newest_wait_ = record;
  }
  if (is_write(event)) {
    StateKey& key = keys_[key_place(event.name)];  // made by commit()
    record->older_alike = key.newest;
    key.newest = record;
  }
  if (event.kind == EventKind::kBranchOpened) {
    Branch* const opened = ::new (&branches_[branch_count_++]) Branch();
    opened->number = static_cast<BranchId>(event.number);
    opened->parent = place;
    opened->opening = record;
  }
}

void History::unindex(Record* record) {
  const Event& event = record->event;
  --count_;
  if (is_command(event.kind)) {
    unindex_command(record);
  } else if (is_completion(event.kind)) {
    this->record(event.ref)->completion = 0;
  } else if (event.kind == EventKind::kReturn) {
    Record* const delivery = this->record(event.ref);
    delivery->returned = 0;
    this->record(delivery->event.ref)->completion = event.ref;
  } else if (event.kind == EventKind::kCancelRequested) {
    cancel_id_ = 0;
  } else if (event.kind == EventKind::kEnded) {
    end_id_ = 0;
  }
}

void History::unindex_command(Record* record) {
  if (record->event.kind == EventKind::kBranchOpened) --branch_count_;
  if (is_wait(record->event.kind)) newest_wait_ = record->older_alike;
  if (is_write(record->event)) keys_[key_place(record->event.name)].newest = record->older_alike;
  const std::uint32_t place = find_branch(record->event.branch);
  Branch& owner = branch(place);
  owner.last = record->previous;
  (owner.last == nullptr ? owner.first : owner.last->next) = nullptr;
  --owner.commands;
  --command_count_;
  if (record->event.kind == EventKind::kClose)
    command_of(place, static_cast<Ordinal>(record->event.number))->close = 0;
}

}  // namespace pawl
