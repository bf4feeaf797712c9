#include "store/context.hpp"

#include "codec/event.hpp"
#include "core/check.hpp"
#include "store/place/batches.hpp"

namespace pawl::store {
namespace {

bool kills_batch(Status status) {
  switch (status) {
    case Status::kIo:
    case Status::kFull:
    case Status::kCorrupt:
    case Status::kResourceExhausted:
    case Status::kBusy:
    case Status::kReadOnly:
    case Status::kCannotOpen: return true;
    default: return false;
  }
}

// After such a status a caller goes on with its batch, for another item.
bool is_answer(Status status) {
  switch (status) {
    case Status::kStale:
    case Status::kStillRunning:
    case Status::kNotFound:
    case Status::kAlreadyExists: return true;
    default: return false;
  }
}

}  // namespace

Status StoreContext::fail(Status status, const char* what) {
  if (status == Status::kOk) return status;
  const std::string_view text = connection.diagnostic().text();
  diagnostic.format("%s: %s%s%.*s", what, status_name(status), text.empty() ? "" : ": ",
                    static_cast<int>(text.size()), text.data());
  connection.diagnostic().clear();
  connection.blame(status, diagnostic.text());
  if (in_batch && kills_batch(status)) dead = true;
  return status;
}

Status StoreContext::no_row(const Statement& row, Status none, const char* what) {
  if (row.status() != Status::kOk) return fail(row.status(), what);
  return is_answer(none) ? none : fail(none, what);
}

Status StoreContext::no_progress(const char* table) {
  connection.diagnostic().clear();
  diagnostic.format(
      "an index of table %s has rows that are not where it says: the file is damaged (PRAGMA "
      "integrity_check says where, and REINDEX may repair it)",
      table);
  if (in_batch) dead = true;
  return Status::kCorrupt;
}

Status StoreContext::written(Status status) {
  if (status == Status::kOk) return status;
  if (in_batch) dead = true;
  if (!is_answer(status)) return status;
  // The engine has said which constraint was violated; the other answers have no text.
  if (status != Status::kAlreadyExists)
    diagnostic.format("rows contradict each other: %s", status_name(status));
  return Status::kCorrupt;
}

void StoreContext::require_batch() const { PAWL_CHECK("store-11", in_batch && !dead); }

LockToken StoreContext::next_token() {
  require_batch();
  return next.token++;
}

std::optional<std::int64_t> StoreContext::new_id() {
  if (connection.makes_ids()) return std::nullopt;
  return next_token();
}

bool StoreContext::take_tokens(LockToken first, std::size_t count) {
  require_batch();
  if (next.token != first) return false;
  next.token += static_cast<LockToken>(count);
  return true;
}

Epoch StoreContext::next_epoch() {
  require_batch();
  return next.epoch++;
}

std::string_view StoreContext::activity_name(std::string_view meta) {
  Event event;
  event.kind = EventKind::kActivity;
  return read_meta(meta, &event) == Status::kOk ? event.name : std::string_view();
}

// The tree is on the stack, where a statement that is made takes more at the same depth; so it
// costs no memory. Not inlined, or the caller's frame would keep it while statements are made.
[[gnu::noinline]] Status StoreContext::read_meta(std::string_view meta, Event* event) {
  alignas(std::max_align_t) char tree[kJsonMemoryBytes];
  const JsonMemory memory(tree, sizeof tree);
  return decode_meta(meta, event, meta_text, sizeof meta_text);
}

ReadScope::ReadScope(StoreContext& context) : context_(context) {
  if (context.in_batch || context.in_read) return;
  status_ = context.batches->begin_read();
  owns_ = status_ == Status::kOk && !context.read_is_planned;
}

ReadScope::~ReadScope() {
  if (owns_) context_.batches->end_read();
}

}  // namespace pawl::store
