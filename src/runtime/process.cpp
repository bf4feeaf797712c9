#include "pawl/process.hpp"

#include <cstring>

#include "store_factory.hpp"

namespace pawl {
namespace {

// Seen with every statement of this library prepared, cache_pages full and a checkpoint under way:
// below 400 KiB a connection on 64-bit machines; the test of memory asserts it.
constexpr std::size_t kHeapBytesBase = 256 * 1024;
constexpr std::size_t kHeapBytesConnection = 640 * 1024;
constexpr std::size_t kPageBytes = 1024 + 320;  // with SQLite's own header of a cached page

int pages_each(const ProcessOptions& options) {
  constexpr int kLeast = 16;  // with fewer a transaction would write its pages more than once
  if (options.page_cache_pages == 0) return 0;
  const int part = options.page_cache_pages / static_cast<int>(options.connections_max);
  return part > kLeast ? part : kLeast;
}

}  // namespace

std::size_t Process::required_memory(const ProcessOptions& options) {
  if (options.sqlite_memory == SqliteMemory::kHost) return 0;
  const std::size_t pages =
      options.page_cache_pages > 0 ? static_cast<std::size_t>(options.page_cache_pages) : 0;
  return kHeapBytesBase + kHeapBytesConnection * options.connections_max + kPageBytes * pages +
         StoreFactory::row_slots_memory(options.payload_bytes_max);
}

Status Process::start(const ProcessOptions& options, void* block, std::size_t bytes,
                      Diagnostic& diagnostic) {
  diagnostic.clear();
  if (started_) {
    diagnostic.format("this Process is started already");
    return Status::kAlreadyExists;
  }
  if (options.connections_max < 1 || options.connections_max > 32 || options.page_cache_pages < 0 ||
      options.page_cache_pages > 65'536) {
    diagnostic.format("connections_max = %u must be 1..32, page_cache_pages = %d 0..65536",
                      options.connections_max, options.page_cache_pages);
    return Status::kInvalidOptions;
  }
  if (options.payload_bytes_max < 256 || options.payload_bytes_max > 1'048'576) {
    diagnostic.format("payload_bytes_max = %zu must be 256..%zu", options.payload_bytes_max,
                      kPayloadBytesMost);
    return Status::kInvalidOptions;
  }
  PAWL_TRY(take_memory(options, block, bytes, diagnostic));
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
      block, bytes, {options.page_cache_pages, options.payload_bytes_max, is_shared}, diagnostic);
  if (installed == Status::kSqliteAlreadyInitialised && is_shared) {
    diagnostic.clear();
    return Status::kOk;
  }
  PAWL_TRY(installed);
  own_memory_ = true;
  cache_pages_each_ = pages_each(options);
  payload_bytes_max_ = options.payload_bytes_max;
  return Status::kOk;
}

Status Process::stop() {
  const bool is_free = !own_memory_ || StoreFactory::remove_memory();
  own_memory_ = false;
  cache_pages_each_ = 0;
  payload_bytes_max_ = kPayloadBytesMost;
  started_ = false;
  return is_free ? Status::kOk : Status::kBusy;
}

int Process::cache_pages(int wanted) const {
  return cache_pages_each_ > 0 && cache_pages_each_ < wanted ? cache_pages_each_ : wanted;
}

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

// More loops than entries: those beyond are not known, and a Client on such a thread waits for
// nothing until its timeout instead of answering kWouldBlock. connections_max keeps it from
// happening.
void Process::add_loop(const char* path, port::Threads* threads) {
  for (Loop& loop : loops_) {
    if (loop.threads.load(std::memory_order_acquire) != nullptr) continue;
    loop.path = path;
    loop.threads.store(threads, std::memory_order_release);
    return;
  }
}

void Process::remove_loop(port::Threads* threads) {
  for (Loop& loop : loops_)
    if (loop.threads.load(std::memory_order_acquire) == threads)
      loop.threads.store(nullptr, std::memory_order_release);
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
