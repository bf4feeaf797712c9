#include <climits>
#include <cstdint>
#include <optional>

#include <sqlite3.h>

#include "buddy.hpp"
#include "schema.hpp"
#include "sqlite_memory.hpp"

namespace pawl::sqlite {
namespace {

// Of the whole process, because SQLite's allocator is.
struct Heap {
  std::optional<BuddyPool> pool;  // empty: not installed
  sqlite3_mem_methods before = {};
  sqlite3_mutex_methods mutexes = {};
  sqlite3_mutex* mutex = nullptr;
};
Heap heap;

// SQLite locks around its allocator only while it keeps statistics, and those cost two more calls an
// allocation; so they are off, and the heap has a lock of its own: the static mutex that SQLite then
// leaves unused and its own memsys5 takes in this very case. On Linux it sleeps; a spin lock would burn
// a core whenever a thread is preempted under it. It comes from SQLite's table of functions, because
// a library built without mutexes lacks the symbols; such a one has one thread and gets no lock.
class HeapLock {
 public:
  HeapLock() {
    if (heap.mutex != nullptr) heap.mutexes.xMutexEnter(heap.mutex);
  }
  ~HeapLock() {
    if (heap.mutex != nullptr) heap.mutexes.xMutexLeave(heap.mutex);
  }
  HeapLock(const HeapLock&) = delete;
  HeapLock& operator=(const HeapLock&) = delete;
};

void* heap_allocate(int size) {
  const HeapLock lock;
  return size <= 0 ? nullptr : heap.pool->allocate(static_cast<std::size_t>(size));
}

void heap_release(void* pointer) {
  const HeapLock lock;
  heap.pool->release(pointer);
}

void* heap_resize(void* pointer, int size) {
  const HeapLock lock;
  return heap.pool->resize(pointer, static_cast<std::size_t>(size));
}

int heap_size(void* pointer) {
  if (pointer == nullptr) return 0;
  const HeapLock lock;
  return static_cast<int>(heap.pool->size_of(pointer));
}

int heap_round_up(int size) {
  // Rounding depends on nothing that changes: no lock.
  const std::size_t rounded = heap.pool->round_up(static_cast<std::size_t>(size));
  return rounded > INT_MAX ? size : static_cast<int>(rounded);
}

// SQLite starts its mutexes before its allocator, and asks for neither a lock nor memory here.
int heap_start(void*) {
  heap.mutex = nullptr;
  if (sqlite3_threadsafe() == 0) return SQLITE_OK;
  if (sqlite3_config(SQLITE_CONFIG_GETMUTEX, &heap.mutexes) != SQLITE_OK) return SQLITE_ERROR;
  if (heap.mutexes.xMutexAlloc == nullptr) return SQLITE_ERROR;
  heap.mutex = heap.mutexes.xMutexAlloc(SQLITE_MUTEX_STATIC_MEM);
  return SQLITE_OK;
}

void heap_stop(void*) { heap.mutex = nullptr; }

// Puts SQLite's own allocator back. Requires: SQLite is shut down.
void restore() {
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_MALLOC, &heap.before));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_SMALL_MALLOC, 0));
  heap.pool.reset();
}

int configure(void* pages, int page_count, int slot_bytes) {
  constexpr sqlite3_mem_methods kMethods = {heap_allocate, heap_release, heap_resize, heap_size,
                                            heap_round_up, heap_start,   heap_stop,   nullptr};
  int result = sqlite3_config(SQLITE_CONFIG_MALLOC, &kMethods);
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  // Big pieces of a buddy heap are rounded up most.
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_SMALL_MALLOC, 1);
  // Lookaside is a second, coarser heap of each connection; ours is fast enough and wastes less.
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  if (result == SQLITE_OK) {
    result = sqlite3_config(SQLITE_CONFIG_PAGECACHE, page_count > 0 ? pages : nullptr,
                            page_count > 0 ? slot_bytes : 0, page_count);
  }
  return result == SQLITE_OK ? sqlite3_initialize() : result;
}

Status too_small(std::size_t size, int page_count, Diagnostic& diagnostic) {
  diagnostic.format("SQLite's memory: %zu bytes do not hold %d pages and a heap", size, page_count);
  return Status::kResourceExhausted;
}

}  // namespace

Status install_memory(void* block, std::size_t size, int page_count, Diagnostic& diagnostic) {
  int header_bytes = 0;
  // Also the question whether SQLite runs already: most of its configuration is refused then.
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap.before) != SQLITE_OK ||
      sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header_bytes) != SQLITE_OK ||
      heap.pool.has_value()) {
    diagnostic.format("SQLite was used before Pawl started; set sqlite_memory = host");
    return Status::kSqliteAlreadyInitialised;
  }
  const int slot_bytes = kPageBytes + (header_bytes + 7) / 8 * 8;
  const std::size_t skip = (8 - reinterpret_cast<std::uintptr_t>(block) % 8) % 8;
  if (page_count < 0 || size < skip ||
      static_cast<std::size_t>(page_count) > (size - skip) / static_cast<std::size_t>(slot_bytes))
    return too_small(size, page_count, diagnostic);
  unsigned char* const pages = static_cast<unsigned char*>(block) + skip;
  const std::size_t pages_bytes =
      static_cast<std::size_t>(page_count) * static_cast<std::size_t>(slot_bytes);
  heap.pool.emplace(pages + pages_bytes, size - skip - pages_bytes);
  const int result =
      heap.pool->capacity() == 0 ? SQLITE_NOMEM : configure(pages, page_count, slot_bytes);
  if (result == SQLITE_OK) return Status::kOk;
  static_cast<void>(sqlite3_shutdown());
  restore();
  return too_small(size, page_count, diagnostic);
}

void remove_memory() {
  if (!heap.pool.has_value()) return;
  static_cast<void>(sqlite3_shutdown());
  restore();
}

HeapUse heap_use() {
  HeapUse use;
  if (!heap.pool.has_value()) return use;
  const HeapLock lock;
  use.used = heap.pool->used();
  use.high_water = heap.pool->high_water();
  use.failures = static_cast<std::size_t>(heap.pool->failures());
  return use;
}

}  // namespace pawl::sqlite
