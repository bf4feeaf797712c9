// ClientConnection: the connection, the transactions and the texts of refusals, which all calls of
// a Client need.
//
// Thread rule: one thread a Client.
#ifndef PAWL_RUNTIME_CLIENT_CONNECTION_HPP
#define PAWL_RUNTIME_CLIENT_CONNECTION_HPP

#include "core/arena.hpp"
#include "pawl/client.hpp"
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

class ClientConnection {
 public:
  ClientConnection(Process& process, const ClientOptions& options, const port::Port& port)
      : process_(process), options_(options), port_(port) {}

  ~ClientConnection() {
    if (store_ != nullptr) StoreFactory::destroy(store_);
  }
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Addresses in the caller's memory.
  struct Parts {
    void* store = nullptr;
    char* buffer = nullptr;
    char* typed = nullptr;
    WorkerRow* workers = nullptr;
  };
  template <typename AnyArena>
  static Status lay_out(AnyArena& arena, const ClientOptions& options, Parts& parts) {
    parts.store = arena.allocate(StoreFactory::bytes(), StoreFactory::kAlign);
    parts.buffer = arena.buffer(status_buffer_bytes(options.payload_bytes_max));
    parts.typed = arena.buffer(options.payload_bytes_max);
    parts.workers = arena.template array<WorkerRow>(kWorkersMax);
    return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
  }
  Status lay_out(Arena& arena) {
    Parts parts;
    PAWL_TRY(lay_out(arena, options_, parts));
    store_ = StoreFactory::make(parts.store);
    buffer_ = parts.buffer;
    typed_ = parts.typed;
    workers_ = parts.workers;
    return Status::kOk;
  }

  Status open(Diagnostic& diagnostic);
  void close();
  [[nodiscard]] std::string_view error_text() const { return diagnostic_.text(); }
  // This room lies beside buffer_, because an argument of the call may be a view of buffer_.
  [[nodiscard]] internal::TypedBytes typed_bytes() const {
    return {typed_, options_.payload_bytes_max};
  }

 protected:
  static constexpr std::size_t kWorkersMax = 64;  // a Runtime looks at the same number

  template <typename Work>
  Status in_batch(std::string_view id, Work&& work) {
    Status status = try_batch(id, work);
    if (status == Status::kQuota && cut_long_log()) status = try_batch(id, work);
    if (status == Status::kFull) give_up_reserve();
    return status;
  }
  template <typename Work>
  Status try_batch(std::string_view id, Work& work) {
    BatchInfo info;
    Status status = store_->batch().begin(0, &info);
    const bool begun = status == Status::kOk;
    if (begun) status = work();
    if (status == Status::kOk) status = store_->batch().commit();
    was_refused_ = begun && status != Status::kOk;
    if (status == Status::kOk) return status;
    static_cast<void>(explain(status, id));
    if (begun) store_->batch().rollback();
    return status;
  }
  // A refused call is often repeated. After a refusal, the next call first reads the instance's
  // state, so that it does not wait for a write lock only to write nothing. `must_run`: an instance
  // of this id has to run; false: there must be none.
  Status refuse_early(std::string_view id, bool must_run);
  // Adds to `removed` the rows that the transaction took away, if it was committed.
  template <typename Work>
  Status in_counted_batch(std::string_view id, Removed* removed, Work&& work) {
    step_ = Removed();
    PAWL_TRY(in_batch(id, work));
    removed->instances += step_.instances;
    removed->executions += step_.executions;
    removed->events += step_.events;
    return Status::kOk;
  }
  // A call that waited on the loop's thread would wait for itself.
  [[nodiscard]] bool on_loop_thread() const {
    return process_.on_loop_thread(options_.database_path.c_str());
  }
  // Writes a text that names the instance, where the answer is about the instance and not about the
  // storage. Returns the status it was given.
  Status explain(Status status, std::string_view id);
  // The same for anything else that has a name; `what` is its noun.
  Status explain_of(const char* what, std::string_view name, Status status);

  Process& process_;
  ClientOptions options_;
  port::Port port_;
  Store* store_ = nullptr;
  char* buffer_ = nullptr;
  char* typed_ = nullptr;
  WorkerRow* workers_ = nullptr;
  bool watching_ = false;
  Diagnostic diagnostic_;
  Removed step_;             // removed by the transaction at hand
  std::uint64_t calls_ = 0;  // calls so far; CallText finds old texts by it

 private:
  // Cuts a log that is too long. The process that made it so long may have left, and where no
  // runtime runs, only clients can cut it.
  bool cut_long_log();
  // Only runtimes remove rows, and they may not have met the full disk. A missing reserve shows it
  // to all of them.
  void give_up_reserve();

  ProcessPlace place_{process_};
  bool was_refused_ = false;  // the last transaction had begun, and was not committed
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_CONNECTION_HPP
