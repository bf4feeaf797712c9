// ClientCore: the connection of a Client, its transactions, the texts of its refusals, its waits.
//
// Purpose: a call of a Client enters through Client::enter() (below), and names the storage's verb
// itself: client.cpp, client_calls.cpp, client_waits.cpp, client_instances.cpp,
// client_sessions.cpp.
// Thread rule: one thread a Client.
#ifndef PAWL_RUNTIME_CLIENT_CORE_HPP
#define PAWL_RUNTIME_CLIENT_CORE_HPP

#include <initializer_list>
#include <type_traits>

#include "core/arena.hpp"
#include "pawl/client.hpp"
#include "runtime/passed_calls.hpp"
#include "runtime/process_place.hpp"
#include "store/store_factory.hpp"

namespace pawl {

// The public form of a stored instance's status.
[[nodiscard]] OrchestrationStatus public_status(const InstanceStatus& row);
// Bytes for an output or an error text, and a custom status.
[[nodiscard]] std::size_t status_buffer_bytes(std::size_t payload_bytes_max);

// Limit, when a message is sent, of all bytes in the mailbox of its instance.
[[nodiscard]] constexpr std::size_t mailbox_bytes_max(std::size_t payload_bytes_max) {
  return 4 * payload_bytes_max;
}

// Whether the instance may still change by itself: it runs, or goes on when it is resumed.
[[nodiscard]] bool goes_on(const OrchestrationStatus& status);

// Copies a text to `at`, and makes it a view of the copy. Returns the end of the copy.
char* keep_text(char* at, CallText* text, std::size_t bytes_max);

// Runs `work`, which may find that a deleted instance still has the id that it needs, and says so.
// Then rows of deleted instances are removed, and it runs again. `more`: they are not all gone, and
// the call goes on with the next batch.
template <typename Work>
Status with_free_id(Store& store, Removed* removed, bool* more, Work&& work) {
  bool in_removal = false;
  *more = false;
  PAWL_TRY(work(&in_removal));
  if (!in_removal) return Status::kOk;
  PAWL_TRY(store.instance().removal.sweep_deleted(kSweepEventsMax, removed, more));
  return *more ? Status::kOk : work(&in_removal);
}

// The thing that a call is about. The text of a refusal names it.
struct Subject {
  std::string_view name;
  const char* noun = nullptr;  // null: an instance
};

// When a wait looks first. kAfterBell: what it waits for follows a commit of this Client, so it
// looks at once only if another connection has committed since.
enum class FirstLook { kNow, kAfterBell };

class ClientCore {
 public:
  static constexpr std::size_t kWorkersMax = 64;  // a Runtime looks at the same number

  ClientCore(Process& process, const ClientOptions& options, const port::Port& port)
      : process_(process), options_(options), port_(port) {}

  ~ClientCore() {
    if (store_ != nullptr) StoreFactory::engine_of(options_.database).destroy(store_);
  }
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  // Addresses in the caller's memory.
  struct Parts {
    void* store = nullptr;
    char* buffer = nullptr;
    char* typed = nullptr;
    WorkerRow* workers = nullptr;
  };
  template <typename AnyArena>
  static Status lay_out(AnyArena& arena, const ClientOptions& options, Parts& parts) {
    parts.store =
        arena.allocate(StoreFactory::engine_of(options.database).bytes, StoreFactory::kAlign);
    parts.buffer = arena.buffer(status_buffer_bytes(options.payload_bytes_max));
    parts.typed = arena.buffer(options.payload_bytes_max);
    parts.workers = arena.template array<WorkerRow>(kWorkersMax);
    return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
  }
  Status lay_out(Arena& arena);

  Status open(Diagnostic& diagnostic);
  void close();
  // Each call of the Client begins with it: texts of the call before become invalid.
  void begin_call() { ++calls_; }
  // Lends texts until the next call.
  void lend(std::initializer_list<CallText*> texts) {
    for (CallText* text : texts)
      text->live_until_next(&calls_);
  }

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }
  [[nodiscard]] const port::Port& port() const { return port_; }
  [[nodiscard]] Diagnostic& diagnostic() { return diagnostic_; }
  // Room for the texts of one answer.
  [[nodiscard]] char* buffer() { return buffer_; }
  [[nodiscard]] std::size_t buffer_bytes() const {
    return status_buffer_bytes(options_.payload_bytes_max);
  }
  [[nodiscard]] WorkerRow* workers() { return workers_; }  // kWorkersMax
  // This room lies beside buffer(), because an argument of the call may be a view of buffer().
  [[nodiscard]] internal::TypedBytes typed_bytes() const {
    return {typed_, options_.payload_bytes_max};
  }

  // Runs `work` in a transaction. If the log is too long, it cuts the log and runs `work` once
  // more; if the disk is full, it gives up the reserve.
  template <typename Work>
  Status in_batch(const Subject& subject, Work&& work) {
    using Type = std::remove_reference_t<Work>;
    return run_batch(
        subject,
        [](const void* of, Store& store) { return (*static_cast<const Type*>(of))(store); }, &work);
  }
  // Adds to `removed` the rows that the transaction took away, if it was committed.
  template <typename Work>
  Status in_counted_batch(const Subject& subject, Removed* removed, Work&& work) {
    Removed step;
    PAWL_TRY(in_batch(subject, [&](Store& store) { return work(store, &step); }));
    removed->instances += step.instances;
    removed->executions += step.executions;
    removed->events += step.events;
    return Status::kOk;
  }
  // Writes a text that names the subject, where the answer is about the subject and not about the
  // storage. Returns the status it was given.
  Status explain(Status status, const Subject& subject);
  // kResourceExhausted, with a text: it is longer than payload_bytes_max.
  Status check_size(const char* what, std::string_view text);
  // A refused call is often repeated. After a refusal, the next call first reads the instance's
  // state, so that it does not wait for a write lock only to write nothing. `must_run`: an instance
  // of this id has to run; false: there must be none.
  Status refuse_early(std::string_view id, bool must_run);

  // Where a loop of this process takes calls on this database; null: none does.
  [[nodiscard]] PassedCalls::Place* place_of_calls();
  // None is free: a loop still has those before.
  [[nodiscard]] internal::PassedCall* free_call();

  Status get_status(std::string_view id, OrchestrationStatus* out);
  Status get_instance_info(std::string_view id, InstanceInfo* out);
  // A call that waited on the loop's thread would wait for itself.
  Status refuse_waiting();
  // Opens the port's threads, so that wait() hears of commits.
  Status begin_waiting();
  // Sleeps until `is_over` says so, which is asked after each reading of the status, in the same
  // view; kTimeout.
  template <typename IsOver>
  Status wait_until(std::string_view id, std::int64_t timeout_ms, FirstLook first,
                    OrchestrationStatus* out, IsOver&& is_over) {
    using Type = std::remove_reference_t<IsOver>;
    return run_wait(
        id, timeout_ms, first, out,
        [](const void* of) { return (*static_cast<const Type*>(of))(); }, &is_over);
  }

 private:
  using RunWork = Status (*)(const void* of, Store& store);
  using AskOver = bool (*)(const void* of);

  Status run_batch(const Subject& subject, RunWork work, const void* of);
  Status try_batch(const Subject& subject, RunWork work, const void* of);
  Status run_wait(std::string_view id, std::int64_t timeout_ms, FirstLook first,
                  OrchestrationStatus* out, AskOver ask, const void* of);
  Status look(std::string_view id, OrchestrationStatus* out, AskOver ask, const void* of,
              bool* is_over);
  // Cuts a log that is too long. The process that made it so long may have left, and where no
  // runtime runs, only clients can cut it.
  bool cut_long_log();
  // Waits until no loop knows of a call that was given up.
  void take_back_calls();
  // Only runtimes remove rows, and they may not have met the full disk. A missing reserve shows it
  // to all of them.
  void give_up_reserve();

  Process& process_;
  ClientOptions options_;
  port::Port port_;
  Store* store_ = nullptr;
  char* buffer_ = nullptr;
  char* typed_ = nullptr;
  WorkerRow* workers_ = nullptr;
  bool watching_ = false;
  Diagnostic diagnostic_;
  std::uint64_t calls_ = 0;  // calls so far; CallText finds old texts by it
  ProcessPlace place_{process_};
  internal::PassedCall passed_calls_[2];  // a loop may still be waking this Client for the last one
  PassedCalls::Place* passed_at_ = nullptr;  // the last place
  bool was_refused_ = false;       // the last transaction had begun, and was not committed
  std::int64_t data_version_ = 0;  // of the last transaction
};

// All calls of a Client go through here.
template <typename Call>
Status Client::enter(Call&& call) {
  if (core_ == nullptr) return Status::kStopped;
  core_->begin_call();
  return call(*core_);
}

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_CORE_HPP
