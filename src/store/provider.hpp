// Provider: the storage contract. One object is one connection of one process.
//
// Purpose: the runtime and the clients know storage only through this class and its facets, one a
// header; test/store is the contract, and a provider that passes it is one. The provider stores
// bytes and indices, never meaning: it is given the work, timers and messages that a turn makes.
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: one thread a connection. Times: Pawl time in ms
// (clock_rules.hpp) unless a name says otherwise.
#ifndef PAWL_STORE_PROVIDER_HPP
#define PAWL_STORE_PROVIDER_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "admin_store.hpp"
#include "batch.hpp"
#include "change_sink.hpp"
#include "housekeeping.hpp"
#include "instance_store.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "session_store.hpp"
#include "work_queue.hpp"
#include "worker_store.hpp"

namespace pawl {

// What a page of the log holds: ProviderOptions::checkpoint_pages in bytes.
inline constexpr std::int64_t kLogPageBytes = 1024;

struct ProviderOptions {
  const char* path = nullptr;
  bool create = true;               // false: kCannotOpen when there is no database
  bool read_only = false;           // no batches; create is false then
  bool synchronous_full = true;     // false: an acknowledged call may be lost at a power cut
  std::int64_t busy_ms_max = 1000;  // longest wait for the write lock
  int cache_pages = 256;
  int checkpoint_pages = 1000;
  bool checkpoint_after_commit =
      false;  // by write_back_log(), not by the commit that makes the log so long
  bool may_take_reserve = false;  // release_reserve() if there is no room to open it
};

class Provider : public Batch,
                 public InstanceStore,
                 public WorkQueue,
                 public SessionStore,
                 public WorkerStore,
                 public AdminStore,
                 public Housekeeping {
 public:
  virtual Status open(const ProviderOptions& options, const port::Port& port,
                      Diagnostic& diagnostic) = 0;
  virtual void close() = 0;
  virtual void set_change_sink(ChangeSink* sink) = 0;
  // Text of the last failure of any call.
  [[nodiscard]] virtual const Diagnostic& diagnostic() const = 0;
  // Opaque 16-byte id of the database as 32 hex digits.
  [[nodiscard]] virtual std::string_view database_id() const = 0;

  [[nodiscard]] Batch& batch() { return *this; }
  [[nodiscard]] InstanceStore& instances() { return *this; }
  [[nodiscard]] WorkQueue& work() { return *this; }
  [[nodiscard]] SessionStore& sessions() { return *this; }
  [[nodiscard]] WorkerStore& workers() { return *this; }
  [[nodiscard]] AdminStore& admin() { return *this; }
  [[nodiscard]] Housekeeping& housekeeping() { return *this; }

 protected:
  ~Provider() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_PROVIDER_HPP
