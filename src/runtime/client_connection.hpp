// ClientConnection: what all calls of a Client need: the connection, transactions, and texts of
// refusals.
//
// Thread rule: one thread a Client.
#ifndef PAWL_RUNTIME_CLIENT_CONNECTION_HPP
#define PAWL_RUNTIME_CLIENT_CONNECTION_HPP

#include "arena.hpp"
#include "pawl/client.hpp"
#include "process_place.hpp"
#include "store_factory.hpp"

namespace pawl {

// What a user sees of a stored instance.
[[nodiscard]] OrchestrationStatus public_status(const InstanceStatus& row);
// Room for an output or an error text.
[[nodiscard]] std::size_t status_buffer_bytes(std::size_t payload_bytes_max);

// Raised events and queue messages of one instance may hold together so many bytes when one is
// sent.
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

  // What lies in the caller's memory.
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
  // Beside the buffer, of which an argument of the call may be a view.
  [[nodiscard]] internal::TypedBytes typed_bytes() const {
    return {typed_, options_.payload_bytes_max};
  }

 protected:
  static constexpr std::size_t kWorkersMax = 64;  // as a Runtime looks at

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
  // A call that was refused may be so again and again: then it is read first, and does not wait for
  // a lock under which nothing is written. `must_run`: an instance of this id has to run; false:
  // there must be none.
  Status refuse_early(std::string_view id, bool must_run);
  // Counts what the transaction took away, if it is committed.
  template <typename Work>
  Status in_counted_batch(std::string_view id, Removed* removed, Work&& work) {
    step_ = Removed();
    PAWL_TRY(in_batch(id, work));
    removed->instances += step_.instances;
    removed->executions += step_.executions;
    removed->events += step_.events;
    return Status::kOk;
  }
  // A call that waited there would wait for itself.
  [[nodiscard]] bool on_loop_thread() const {
    return process_.on_loop_thread(options_.database_path.c_str());
  }
  // Names the instance for people, where the answer is about it and not about the store. The status
  // is handed on.
  Status explain(Status status, std::string_view id);
  // Likewise, of anything else that has a name.
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
  Removed step_;             // of the transaction at hand
  std::uint64_t calls_ = 0;  // of the Client; texts of answers look at it (CallText)

 private:
  // The process that made the log so long may have left, and where no runtime runs only clients can
  // cut it.
  bool cut_long_log();
  // Only runtimes remove anything, and may not have met the full disk: a reserve that is missing
  // shows it to all.
  void give_up_reserve();

  ProcessPlace place_{process_};
  bool was_refused_ = false;  // the last transaction, by what it found
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_CONNECTION_HPP
