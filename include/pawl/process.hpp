// Process: the state that SQLite and Pawl share in one operating-system process.
//
// Purpose: SQLite's memory is global to a process, so one object owns it. Start it before the host
// or anything else uses SQLite, so that SQLite has the given block. Ownership: the block given to
// start() belongs to the Process until stop(); a Process outlives every Runtime and Client. Thread
// rule: start() and stop() on one thread, with no Runtime or Client alive; the rest from any.
#ifndef PAWL_PROCESS_HPP
#define PAWL_PROCESS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pawl/port.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class [[gnu::visibility("hidden")]] RuntimeCore;
class [[gnu::visibility("hidden")]] ClientCore;
class [[gnu::visibility("hidden")]] ProcessPlace;

enum class SqliteMemory : std::uint8_t {
  // The given block serves all of SQLite in this process; requests that do not fit go to the
  // allocator that SQLite had before. A program that uses SQLite itself needs no other setting; one
  // that does not never comes to that allocator. If SQLite was in use before start(), all of it
  // keeps the host's allocator, and the block stays unused.
  kShared,
  kOwn,   // the given block and nothing else: SQLite never calls malloc, in the host's code neither
  kHost,  // SQLite keeps the allocator the host gave it; the zero-allocation promise excludes it
};

struct ProcessOptions {
  // The values that Options::small() needs, for one connection.
  static ProcessOptions small();
  // The values that Options::smallest() needs: each number at its least.
  static ProcessOptions smallest();

  SqliteMemory sqlite_memory = SqliteMemory::kShared;
  // Runtimes and Clients together that are open at a time, 1..32. One more is refused
  // (kResourceExhausted).
  std::uint32_t connections_max = 4;
  // SQLite's pages, 512 bytes each, 0..65536, shared by all connections. A connection keeps no more
  // than its part of them. There are at least 16 for each connection, also if this says less.
  int page_cache_pages = 1'024;
  // The bytes for prepared statements that a connection keeps, 32 KiB..16 MiB. Those that were not
  // used for longest leave, and are prepared again when they are needed. A chain of activities uses
  // some 400 KB of them on a 64-bit machine; with much less each step takes longer.
  std::size_t statement_bytes = 448 * 1024;
  // The largest payload in any database that is opened, whichever process wrote it; 256..1 MiB. A
  // little more than three times as much is kept for rows that hold one, also in a process that
  // only removes the row beside it. That memory is not touched before such a row comes. Set it to
  // less if every process writes smaller payloads.
  std::size_t payload_bytes_max = 1024 * 1024;
};

inline ProcessOptions ProcessOptions::small() {
  ProcessOptions options;
  options.connections_max = 1;
  options.page_cache_pages = 64;
  options.statement_bytes = 100 * 1024;
  options.payload_bytes_max = 4'096;
  return options;
}
inline ProcessOptions ProcessOptions::smallest() {
  ProcessOptions options;
  options.connections_max = 1;
  options.page_cache_pages = 0;
  options.statement_bytes = 32 * 1024;
  options.payload_bytes_max = 256;
  return options;
}

namespace internal {
struct PassedCall;
}  // namespace internal

struct MemoryUse {
  std::size_t used = 0;
  std::size_t high_water = 0;  // most bytes of the block so far
  std::size_t failures = 0;    // requests that did not fit; each came back as a named error
  std::size_t from_host = 0;   // the part of `used` beyond the block (SqliteMemory::kShared)
};

class Process {
 public:
  Process() = default;
  ~Process() { static_cast<void>(stop()); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The number of bytes that start() needs; 0 with SqliteMemory::kHost.
  [[nodiscard]] static std::size_t required_memory(const ProcessOptions& options);
  // Gives SQLite its memory.
  // Returns kOk; kSqliteAlreadyInitialised, with SqliteMemory::kOwn: the host used SQLite first;
  // kAlreadyExists: it is started, or another Process is.
  // Requires: options in their ranges (kInvalidOptions); a block of at least required_memory()
  // (kResourceExhausted).
  Status start(const ProcessOptions& options, void* block, std::size_t bytes,
               Diagnostic& diagnostic);
  // Takes SQLite's memory back; does nothing if it is not started.
  // Returns kOk: the block is free; kBusy, with SqliteMemory::kShared: connections of the host use
  // the block, so it must live until the process ends. A later Process goes on with it.
  Status stop();
  // Whether start() answered kOk and stop() has not since.
  [[nodiscard]] bool started() const { return started_; }
  // The bytes of the block that SQLite uses, now and at most so far.
  [[nodiscard]] MemoryUse memory_use() const;

 private:
  friend class RuntimeCore;
  friend class ClientCore;
  friend class ProcessPlace;
  friend Status check_payload(const Process& process, std::size_t payload_bytes_max,
                              Diagnostic& diagnostic);
  struct Loop {
    std::atomic<port::Threads*> threads{nullptr};
    const char* path = nullptr;
    std::atomic<internal::PassedCall*> calls{nullptr};  // of Clients; null: it takes none
  };
  static constexpr std::size_t kLoopsMax = 32;
  Status take_memory(const ProcessOptions& options, void* block, std::size_t bytes,
                     Diagnostic& diagnostic);
  // Notes a Runtime's loop on a database, so that a Client on its thread does not wait for itself,
  // and one on another thread may pass calls to it. Null: there is no place left.
  Loop* add_loop(const char* path, port::Threads* threads);
  void remove_loop(port::Threads* threads);
  [[nodiscard]] bool on_loop_thread(const char* path) const;
  // A loop on this database that takes calls; null: none does.
  [[nodiscard]] Loop* loop_with_calls(const char* path);
  // How many of the `wanted` cache_pages a connection may have: pages beyond its part of the slots
  // would come from the heap that its statements need.
  [[nodiscard]] int cache_pages(int wanted) const;
  // Called before a Runtime or Client opens its database, and after it has closed it. Any thread.
  Status take_connection(Diagnostic& diagnostic);
  void give_back_connection();

  static constexpr std::size_t kPayloadBytesMost = std::size_t{1024} * 1024;
  static constexpr std::uint32_t kConnectionsMost = UINT32_MAX;  // when SQLite has no block of ours

  bool started_ = false;
  bool own_memory_ = false;
  int cache_pages_each_ = 0;  // 0: no limit
  std::size_t statement_bytes_ = 0;
  std::uint32_t connections_max_ = kConnectionsMost;
  std::atomic<std::uint32_t> connections_{0};
  std::size_t payload_bytes_max_ = kPayloadBytesMost;
  Loop loops_[kLoopsMax];
};

// A block of N bytes for start(); meant to be static.
template <std::size_t N>
struct Memory {
  alignas(64) unsigned char bytes[N];
  [[nodiscard]] static constexpr std::size_t size() { return N; }
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_PROCESS_HPP
