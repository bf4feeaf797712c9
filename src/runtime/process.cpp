#include "pawl/process.hpp"

#include <cstring>

#include "runtime/passed_calls.hpp"
#include "store/store_factory.hpp"

namespace pawl {

internal::PassedCall PassedCalls::last;

namespace {

// Heap bytes of a connection, beside its kept statements, pages and rows: the schema, the
// connection itself, the texts of running statements, a new statement while it is made, and the
// table that SQLite makes for a list, 31 KB. A statement that makes two such tables would not fit.
// Pieces are up to twice as large where pointers are. memory_test runs the largest load of its
// options in this memory.
constexpr std::size_t kHeapBytesConnection = sizeof(void*) == 8 ? 160 * 1024 : 102 * 1024;
constexpr int kPagesLeast = 16;  // with fewer, a transaction would write its pages more than once
// With SQLite's own header of a cached page, which has pointers.
constexpr std::size_t kPageBytes = 512 + (sizeof(void*) == 8 ? 288 : 192);

int pages_of(const ProcessOptions& options) {
  const int least = kPagesLeast * static_cast<int>(options.connections_max);
  return options.page_cache_pages > least ? options.page_cache_pages : least;
}
int pages_of_connection(const ProcessOptions& options) {
  return pages_of(options) / static_cast<int>(options.connections_max);
}

Status check(const ProcessOptions& options, Diagnostic& diagnostic) {
  if (options.connections_max < 1 || options.connections_max > 32 || options.page_cache_pages < 0 ||
      options.page_cache_pages > 65'536) {
    diagnostic.format("connections_max = %u must be 1..32, page_cache_pages = %d 0..65536",
                      options.connections_max, options.page_cache_pages);
    return Status::kInvalidOptions;
  }
  // With less, SQLite would prepare each statement again for each run.
  if (options.statement_bytes < 32768 || options.statement_bytes > 16'777'216) {
    diagnostic.format("statement_bytes = %zu must be 32768..16777216", options.statement_bytes);
    return Status::kInvalidOptions;
  }
  if (options.payload_bytes_max < 256 || options.payload_bytes_max > 1'048'576) {
    diagnostic.format("payload_bytes_max = %zu must be 256..1048576", options.payload_bytes_max);
    return Status::kInvalidOptions;
  }
  return Status::kOk;
}

}  // namespace

std::size_t Process::required_memory(const ProcessOptions& options) {
  if (options.sqlite_memory == SqliteMemory::kHost) return 0;
  Diagnostic ignored;
  if (check(options, ignored) != Status::kOk) return 0;
  const std::size_t statements = StoreFactory::statements_memory(options.statement_bytes);
  const std::size_t log = StoreFactory::log_buffer_memory(pages_of_connection(options));
  return (kHeapBytesConnection + statements + log) * options.connections_max +
         kPageBytes * static_cast<std::size_t>(pages_of(options)) +
         StoreFactory::row_slots_memory(options.payload_bytes_max);
}

Status Process::start(const ProcessOptions& options, void* block, std::size_t bytes,
                      Diagnostic& diagnostic) {
  diagnostic.clear();
  if (started_) {
    diagnostic.format("this Process is started already");
    return Status::kAlreadyExists;
  }
  PAWL_TRY(check(options, diagnostic));
  PAWL_TRY(take_memory(options, block, bytes, diagnostic));
  statement_bytes_ = options.statement_bytes;
  started_ = true;
  return Status::kOk;
}

Status Process::take_memory(const ProcessOptions& options, void* block, std::size_t bytes,
                            Diagnostic& diagnostic) {
  if (options.sqlite_memory == SqliteMemory::kHost) return Status::kOk;
  const std::size_t needed = required_memory(options);
  if (block == nullptr || bytes < needed) {
    diagnostic.format("Process::start() was given %zu bytes and needs %zu", bytes, needed);
    return Status::kResourceExhausted;
  }
  const bool is_shared = options.sqlite_memory == SqliteMemory::kShared;
  const Status installed = StoreFactory::install_memory(
      block, bytes, {pages_of(options), options.payload_bytes_max, is_shared}, diagnostic);
  if (installed == Status::kSqliteAlreadyInitialised && is_shared) {
    diagnostic.clear();
    return Status::kOk;
  }
  PAWL_TRY(installed);
  own_memory_ = true;
  cache_pages_each_ = pages_of_connection(options);
  connections_max_ = options.connections_max;
  payload_bytes_max_ = options.payload_bytes_max;
  return Status::kOk;
}

Status Process::stop() {
  const bool is_free = !own_memory_ || StoreFactory::remove_memory();
  own_memory_ = false;
  cache_pages_each_ = 0;
  connections_max_ = kConnectionsMost;
  payload_bytes_max_ = kPayloadBytesMost;
  started_ = false;
  return is_free ? Status::kOk : Status::kBusy;
}

int Process::cache_pages(int wanted) const {
  return cache_pages_each_ > 0 && cache_pages_each_ < wanted ? cache_pages_each_ : wanted;
}

Status Process::take_connection(Diagnostic& diagnostic) {
  const std::uint32_t taken = connections_.fetch_add(1, std::memory_order_relaxed);
  if (taken < connections_max_) return Status::kOk;
  give_back_connection();
  diagnostic.format("connections_max = %u Runtimes and Clients of this Process are open",
                    connections_max_);
  return Status::kResourceExhausted;
}

void Process::give_back_connection() { connections_.fetch_sub(1, std::memory_order_relaxed); }

MemoryUse Process::memory_use() const {
  MemoryUse use;
  if (!own_memory_) return use;
  const StoreFactory::HeapUse heap = StoreFactory::heap_use();
  use.used = heap.used;
  use.high_water = heap.high_water;
  use.failures = heap.failures;
  use.from_host = heap.overflow_bytes;
  return use;
}

// Loops beyond the entries are not known: a Client on the thread of such a loop waits until its
// timeout for nothing, instead of answering kWouldBlock. connections_max keeps this from happening.
Process::Loop* Process::add_loop(const char* path, port::Threads* threads) {
  for (Loop& loop : loops_) {
    if (loop.threads.load(std::memory_order_acquire) != nullptr) continue;
    loop.path = path;
    loop.threads.store(threads, std::memory_order_release);
    return &loop;
  }
  return nullptr;
}

void Process::remove_loop(port::Threads* threads) {
  for (Loop& loop : loops_)
    if (loop.threads.load(std::memory_order_acquire) == threads)
      loop.threads.store(nullptr, std::memory_order_release);
}

Process::Loop* Process::loop_with_calls(const char* path) {
  for (Loop& loop : loops_)
    if (loop.threads.load(std::memory_order_acquire) != nullptr &&
        loop.calls.load(std::memory_order_acquire) != nullptr && std::strcmp(loop.path, path) == 0)
      return &loop;
  return nullptr;
}

bool Process::on_loop_thread(const char* path) const {
  for (const Loop& loop : loops_) {
    port::Threads* const threads = loop.threads.load(std::memory_order_acquire);
    if (threads != nullptr && std::strcmp(loop.path, path) == 0 && threads->on_owner_thread())
      return true;
  }
  return false;
}

}  // namespace pawl
