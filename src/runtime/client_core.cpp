#include "runtime/client_core.hpp"

#include <algorithm>
#include <cstring>

#include "pawl/visit.hpp"

namespace pawl {
namespace {

// While a call waits, commits on other machines wake it. A Client that listened longer would keep
// the server from forgetting what it did not take off.
class Listening {
 public:
  Listening(Store& store, port::Threads& threads) : store_(store) { store_.wake(&threads); }
  ~Listening() { store_.wake(nullptr); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Store& store_;
};

// The runtime does the same: a notification may come before its commit can be read.
constexpr std::int64_t kLookDelaysMs[] = {10, 100, 1'000, 5'000};
constexpr int kLookSteps = sizeof kLookDelaysMs / sizeof kLookDelaysMs[0];

}  // namespace

char* keep_text(char* at, CallText* text, std::size_t bytes_max) {
  const std::string_view kept = text->view().substr(0, bytes_max);
  if (!kept.empty()) std::memcpy(at, kept.data(), kept.size());
  *text = std::string_view(at, kept.size());
  return at + kept.size();
}

std::size_t status_buffer_bytes(std::size_t payload_bytes_max) {
  const std::size_t output = std::max(payload_bytes_max, kErrorTextBytesMax);
  return output + kCustomStatusBytesMax;
}

OrchestrationStatus public_status(const InstanceStatus& row) {
  OrchestrationStatus out;
  switch (row.state) {
    case InstanceState::kRunning: out.state = OrchestrationState::kRunning; break;
    case InstanceState::kCompleted: out.state = OrchestrationState::kCompleted; break;
    case InstanceState::kFailed: out.state = OrchestrationState::kFailed; break;
    case InstanceState::kStopped: out.state = OrchestrationState::kStopped; break;
    case InstanceState::kSuspended: out.state = OrchestrationState::kSuspended; break;
    case InstanceState::kDeleted: break;  // get_status() finds no deleted row
  }
  out.execution_id = row.execution;
  out.error = row.error;
  out.output = row.output;
  out.created_ms = row.created_ms;
  out.updated_ms = row.updated_ms;
  out.custom_status = row.custom_status;
  out.custom_status_version = row.custom_status_version;
  out.unread_messages = row.unread_messages;
  return out;
}

bool goes_on(const OrchestrationStatus& status) {
  return status.state == OrchestrationState::kRunning ||
         status.state == OrchestrationState::kSuspended;
}

Status ClientCore::lay_out(Arena& arena) {
  Parts parts;
  PAWL_TRY(lay_out(arena, options_, parts));
  store_ = StoreFactory::engine_of(options_.database).make(parts.store);
  buffer_ = parts.buffer;
  typed_ = parts.typed;
  workers_ = parts.workers;
  return Status::kOk;
}

Status ClientCore::open(Diagnostic& diagnostic) {
  StoreOptions options = StoreFactory::options_of(options_.database_path, options_.database);
  options.create = options_.create;
  options.synchronous_full = options_.synchronous_full;
  options.busy_ms_max = options_.busy_max.count();
  options.cache_pages = options_.cache_pages;
  PAWL_TRY(place_.take(options, diagnostic));
  return store_->open(options, port_, diagnostic);
}

PassedCalls::Place* ClientCore::place_of_calls() {
  Process::Loop* const loop = process_.loop_with_calls(options_.database_path.c_str());
  if (loop != nullptr) passed_at_ = &loop->calls;
  return loop == nullptr ? nullptr : passed_at_;
}

internal::PassedCall* ClientCore::free_call() {
  for (internal::PassedCall& call : passed_calls_)
    if (call.state.load(std::memory_order_acquire) == internal::PassedCall::State::kFree)
      return &call;
  return nullptr;
}

void ClientCore::take_back_calls() {
  for (internal::PassedCall& call : passed_calls_)
    while (call.state.load(std::memory_order_acquire) != internal::PassedCall::State::kFree) {
      PassedCalls::give_back_all(*passed_at_);
      static_cast<void>(port_.threads->wait(port_.clock->boot_ms() + 1));
    }
}

void ClientCore::close() {
  take_back_calls();
  if (watching_) port_.threads->close();
  watching_ = false;
  store_->close();
  place_.leave();
}

Status ClientCore::run_batch(const Subject& subject, RunWork work, const void* of) {
  Status status = try_batch(subject, work, of);
  if (status == Status::kQuota && cut_long_log()) status = try_batch(subject, work, of);
  if (status == Status::kFull) give_up_reserve();
  return status;
}

Status ClientCore::try_batch(const Subject& subject, RunWork work, const void* of) {
  BatchInfo info;
  Status status = store_->batch().begin(0, &info);
  const bool begun = status == Status::kOk;
  data_version_ = info.data_version;
  if (begun) status = work(of, *store_);
  if (status == Status::kOk) status = store_->batch().commit();
  was_refused_ = begun && status != Status::kOk;
  if (status == Status::kOk) return status;
  static_cast<void>(explain(status, subject));
  if (begun) store_->batch().rollback();
  return status;
}

Status ClientCore::explain(Status status, const Subject& subject) {
  const std::string_view name = subject.name;
  const int size = static_cast<int>(name.size() < kNameBytesMax ? name.size() : kNameBytesMax);
  switch (status) {
    case Status::kOk: break;
    case Status::kNotFound:
      diagnostic_.format("there is no %s \"%.*s\"",
                         subject.noun == nullptr ? "instance" : subject.noun, size, name.data());
      break;
    case Status::kAlreadyExists:
      diagnostic_.format("an instance \"%.*s\" exists already", size, name.data());
      break;
    case Status::kStale:
      diagnostic_.format("the instance \"%.*s\" does not run any more", size, name.data());
      break;
    case Status::kStillRunning:
      if (subject.noun == nullptr) {
        diagnostic_.format("the instance \"%.*s\" or a child of it has not ended", size,
                           name.data());
      } else {
        diagnostic_.format("the %s \"%.*s\" is declared, or work waits for it", subject.noun, size,
                           name.data());
      }
      break;
    case Status::kChildInstance:
      diagnostic_.format("the instance \"%.*s\" is a child and goes with its root", size,
                         name.data());
      break;
    default: diagnostic_ = store_->diagnostic(); break;
  }
  return status;
}

Status ClientCore::check_size(const char* what, std::string_view text) {
  if (text.size() <= options_.payload_bytes_max) return Status::kOk;
  diagnostic_.format("the %s has %zu bytes; payload_bytes_max is %zu", what, text.size(),
                     options_.payload_bytes_max);
  return Status::kResourceExhausted;
}

Status ClientCore::refuse_early(std::string_view id, bool must_run) {
  if (!was_refused_) return Status::kOk;
  InstanceStatus row;
  const Status found = store_->instance().directory.get_status(id, &row, buffer_, buffer_bytes());
  if (!must_run) return found == Status::kOk ? explain(Status::kAlreadyExists, {id}) : Status::kOk;
  if (found == Status::kNotFound) return explain(found, {id});
  const bool has_ended =
      row.state == InstanceState::kCompleted || row.state == InstanceState::kFailed;
  return found == Status::kOk && has_ended ? explain(Status::kStale, {id}) : Status::kOk;
}

bool ClientCore::cut_long_log() {
  const LogUse log = store_->place().log_use();
  return log.most > 0 && log.bytes > log.most && store_->place().empty_log() == Status::kOk;
}

void ClientCore::give_up_reserve() {
  // More disk space does not help a table that has no keys left.
  if (store_->batch().check_keys() == Status::kCorrupt) return;
  if (store_->place().release_reserve() == Status::kOk)
    port_.storage->ring(options_.database_path.c_str());
}

Status ClientCore::get_status(std::string_view id, OrchestrationStatus* out) {
  InstanceStatus row;
  const Status status = store_->instance().directory.get_status(id, &row, buffer_, buffer_bytes());
  if (status != Status::kOk) return explain(status, {id});
  *out = public_status(row);
  lend({&out->output, &out->custom_status});
  return Status::kOk;
}

Status ClientCore::get_instance_info(std::string_view id, InstanceInfo* out) {
  const auto names = {&out->id, &out->name, &out->version, &out->parent_id};
  // The buffer has room for at least an error text and a custom status.
  static_assert(4 * kNameBytesMax + kTraceIdBytesMax <= kErrorTextBytesMax + kCustomStatusBytesMax);
  auto keep = visit([&](const InstanceInfo& instance) {
    *out = instance;
    char* at = buffer_;
    for (CallText* text : names)
      at = keep_text(at, text, kNameBytesMax);
    keep_text(at, &out->trace_id, kTraceIdBytesMax);
  });
  const Status read = store_->instance().directory.get_instance_info(id, keep);
  lend(names);
  lend({&out->trace_id});
  return explain(read, {id});
}

Status ClientCore::refuse_waiting() {
  if (!process_.on_loop_thread(options_.database_path.c_str())) return Status::kOk;
  diagnostic_.format("waiting on the Runtime's own thread would wait for itself");
  return Status::kWouldBlock;
}

Status ClientCore::begin_waiting() {
  PAWL_TRY(refuse_waiting());
  if (watching_) return Status::kOk;
  PAWL_TRY(port_.threads->open(options_.database_path.c_str(), diagnostic_));
  watching_ = true;
  return Status::kOk;
}

Status ClientCore::look(std::string_view id, OrchestrationStatus* out, AskOver ask, const void* of,
                        bool* is_over) {
  PAWL_TRY(explain(store_->batch().begin_read(), {id}));
  const Status status = get_status(id, out);
  if (status == Status::kOk) *is_over = ask(of);
  store_->batch().end_read();
  return status;
}

Status ClientCore::run_wait(std::string_view id, std::int64_t timeout_ms, FirstLook first,
                            OrchestrationStatus* out, AskOver ask, const void* of) {
  PAWL_TRY(begin_waiting());
  const Listening listening(*store_, *port_.threads);
  std::int64_t now = port_.clock->boot_ms();
  const std::int64_t end = now + (timeout_ms > 0 ? timeout_ms : 0);
  // The bell of this Client's own commit. That of another, which is thrown away with it, is made up
  // for by what the database says.
  port_.threads->drain();
  const bool waits = first == FirstLook::kAfterBell &&
                     store_->batch().data_version().value_or(data_version_ + 1) == data_version_;
  int step = waits ? 1 : 0;
  std::int64_t look_at = step == 0 ? now : now + kLookDelaysMs[0];
  while (true) {
    if (now >= look_at || now >= end) {
      bool is_over = false;
      PAWL_TRY(look(id, out, ask, of, &is_over));
      if (is_over) return Status::kOk;
      now = port_.clock->boot_ms();
      if (now >= end) return Status::kTimeout;
      look_at = step < kLookSteps ? now + kLookDelaysMs[step++] : end;
    }
    const port::WakeReasons reasons = port_.threads->wait(std::min(look_at, end));
    now = port_.clock->boot_ms();
    if (!reasons.bell && !reasons.log && !reasons.descriptor) continue;
    step = 0;
    // The log is written before its commit can be read, and the bell comes behind both. A look in
    // between would find nothing, and would be in the way of the commit.
    look_at = reasons.bell || reasons.descriptor ? now : std::min(look_at, now + kLookDelaysMs[0]);
  }
}

}  // namespace pawl
