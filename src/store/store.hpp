// Store: the storage contract. One object is one connection of one process.
//
// Purpose: the loop and the clients know storage only through this class and its facets, one per
// header; each takes the facets it calls. test/store is the contract, and a storage that passes it
// conforms. The storage knows the kind and the fields of an event; payloads are bytes. Ownership:
// views handed in must live until the call returns; views handed out live in the buffer that the
// caller gave. Thread rule: one thread a connection. Times: Pawl time in ms (clock_rules.hpp)
// unless a name says otherwise.
#ifndef PAWL_STORE_STORE_HPP
#define PAWL_STORE_STORE_HPP

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

// The page that StoreOptions::checkpoint_pages counts the log in, in bytes.
inline constexpr std::int64_t kLogPageBytes = 512;

struct StoreOptions {
  const char* path = nullptr;
  bool create = true;               // false: kCannotOpen when there is no database
  bool read_only = false;           // no batches; create is false then
  bool synchronous_full = true;     // false: an acknowledged call may be lost at a power cut
  std::int64_t busy_ms_max = 1000;  // longest wait for the write lock
  int cache_pages = 256;
  std::size_t statement_bytes = 512 * 1024;  // for statements that are kept prepared
  int checkpoint_pages = 1000;
  bool checkpoint_after_commit =
      false;  // write_back_log() writes the log back, not the commit that fills it
  bool may_take_reserve = false;  // release_reserve() if opening finds no room
};

class Store {
 public:
  virtual Status open(const StoreOptions& options, const port::Port& port,
                      Diagnostic& diagnostic) = 0;
  virtual void close() = 0;
  virtual void set_change_sink(ChangeSink* sink) = 0;
  // The text of the last failure of any call.
  [[nodiscard]] virtual const Diagnostic& diagnostic() const = 0;
  // Opaque 16-byte id of the database as 32 hex digits.
  [[nodiscard]] virtual std::string_view database_id() const = 0;

  // The facets live as long as the storage, open or closed.
  [[nodiscard]] Batch& batch() const { return *facets_.batch; }
  [[nodiscard]] InstanceStore& instances() const { return *facets_.instances; }
  [[nodiscard]] WorkQueue& work() const { return *facets_.work; }
  [[nodiscard]] SessionStore& sessions() const { return *facets_.sessions; }
  [[nodiscard]] WorkerStore& workers() const { return *facets_.workers; }
  [[nodiscard]] AdminStore& admin() const { return *facets_.admin; }
  [[nodiscard]] Housekeeping& housekeeping() const { return *facets_.housekeeping; }

 protected:
  ~Store() = default;

  // The storage's own facets. The accessors are not virtual, so a call of a facet costs exactly one
  // virtual call.
  struct Facets {
    Batch* batch = nullptr;
    InstanceStore* instances = nullptr;
    WorkQueue* work = nullptr;
    SessionStore* sessions = nullptr;
    WorkerStore* workers = nullptr;
    AdminStore* admin = nullptr;
    Housekeeping* housekeeping = nullptr;
  };
  Facets facets_;
};

}  // namespace pawl

#endif  // PAWL_STORE_STORE_HPP
