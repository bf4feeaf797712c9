#include <climits>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>

#include <sqlite3.h>

#include "core/buddy.hpp"
#include "store/sql/schema.hpp"
#include "store/sqlite/sqlite_connection.hpp"
#include "store/sqlite/sqlite_memory.hpp"

namespace pawl::sqlite {
namespace {

// Slots of one size, beside the heap. A slot is not touched before it is needed.
class Slots {
 public:
  Slots() = default;
  // For pieces of more than `above` bytes and at most `slot_bytes`.
  Slots(unsigned char* base, std::size_t count, std::size_t above, std::size_t slot_bytes)
      : base_(base), count_(count), above_(above), slot_bytes_(slot_bytes) {}

  // Null: the size does not fit these slots, or no slot is left.
  void* allocate(std::size_t size) {
    if (size <= above_ || size > slot_bytes_) return nullptr;
    if (free_ != nullptr) {
      Free* const slot = free_;
      free_ = slot->next;
      return slot;
    }
    return touched_ == count_ ? nullptr : base_ + slot_bytes_ * touched_++;
  }
  void release(void* pointer) { free_ = ::new (pointer) Free{free_}; }
  [[nodiscard]] bool contains(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const auto first = reinterpret_cast<std::uintptr_t>(base_);
    return address >= first && address - first < slot_bytes_ * count_;
  }
  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::size_t touched() const { return touched_; }

 private:
  struct Free {
    Free* next;
  };
  unsigned char* base_ = nullptr;
  std::size_t count_ = 0;
  std::size_t above_ = 0;
  std::size_t slot_bytes_ = 0;
  std::size_t touched_ = 0;  // slots before this one were in use at some time
  Free* free_ = nullptr;
};

// A statement consists of many small pieces, which are half as large where pointers are.
constexpr std::size_t kBlockBytesMin = sizeof(void*) == 8 ? 64 : 32;
constexpr std::size_t kHeapBytesLeast = 1024;  // with less, SQLite starts but can do nothing

// One for the whole process, because SQLite's allocator is.
struct Heap {
  std::optional<BuddyPool> pool;  // empty: not installed
  // Nearly all pages of the caches have one size, a little over a power of two: slots of their own
  // avoid wasting half of a block. SQLite's own way, SQLITE_CONFIG_PAGECACHE, links all of them at
  // start and so touches them. Without it each connection also has its own cache, with no lock
  // around every look at a page.
  Slots pages;
  // For rows with the largest payloads, when the pool has no room for one.
  Slots rows;
  std::uintptr_t block_begin = 0;
  std::uintptr_t pool_begin = 0;  // all slots lie before it
  std::uintptr_t pool_end = 0;
  // A request that does not fit goes to the allocator that SQLite had before.
  bool may_overflow = false;
  std::size_t overflow_bytes = 0;  // in use now
  std::size_t overflows = 0;
  std::size_t used_at_start = 0;
  bool is_left = false;  // its Process has ended while connections of the host still use it
  sqlite3_mem_methods before = {};
  sqlite3_mutex_methods mutexes = {};
  sqlite3_mutex* mutex = nullptr;
};
Heap heap;

// SQLite locks around its allocator only while it keeps statistics, and those cost two more calls
// an allocation. Therefore statistics are off, and the heap has its own lock: the static mutex that
// SQLite then leaves unused and its own memsys5 takes in this very case. On Linux it sleeps; a spin
// lock would burn a core whenever a thread is preempted under it. The mutex comes from SQLite's
// table of functions, because a library built without mutexes lacks the symbols; a program with
// such a library has one thread and gets no lock.
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

// To find a row, SQLite reads rows of the same table that lie on the way whole. Even a statement
// that removes a row of one byte therefore needs memory for the largest row. In the pool that would
// take twice as much, in one piece; the slots serve it when the pool cannot. A smaller request
// never takes a slot: otherwise a pool full of small pieces would take the slots, too, and hold
// them for long.
constexpr std::size_t kRowSlots = 3;  // the changed row, its new form, and one compared with it
constexpr std::size_t kRowSlotAbove = 16 * 1024;
// The bytes of a row beside its payload: its other columns, of which meta is the largest, and what
// SQLite appends for a comparison.
constexpr std::size_t kRowBytes = 4096;

// 0: even the largest row takes no slot.
std::size_t row_slot_bytes(std::size_t payload_bytes) {
  const std::size_t bytes = (payload_bytes + kRowBytes + 63) / 64 * 64;
  return payload_bytes == 0 || bytes <= kRowSlotAbove ? 0 : bytes;
}

// The functions from here on run under the lock.
void* allocate_large(std::size_t size) {
  // Checked first, because a request that a slot serves must not count as a failure of the pool.
  if (size > kRowSlotAbove && heap.pool->round_up(size) > heap.pool->largest_free()) {
    void* const row = heap.rows.allocate(size);
    if (row != nullptr) return row;
  }
  return heap.pool->allocate(size);
}
void* allocate(std::size_t size) {
  void* const page = heap.pages.allocate(size);
  return page != nullptr ? page : allocate_large(size);
}
bool is_overflow(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return heap.may_overflow && (address < heap.block_begin || address >= heap.pool_end);
}
std::size_t overflow_size(void* pointer) {
  return static_cast<std::size_t>(heap.before.xSize(pointer));
}
void* overflow(std::size_t size) {
  if (!heap.may_overflow || size > INT_MAX) return nullptr;
  void* const piece = heap.before.xMalloc(heap.before.xRoundup(static_cast<int>(size)));
  if (piece == nullptr) return nullptr;
  heap.overflow_bytes += overflow_size(piece);
  ++heap.overflows;
  return piece;
}
void release_overflow(void* pointer) {
  heap.overflow_bytes -= overflow_size(pointer);
  heap.before.xFree(pointer);
}
// The slots that a piece belongs to; null: it belongs to the pool, as most do.
Slots* slots_of(const void* pointer) {
  if (reinterpret_cast<std::uintptr_t>(pointer) >= heap.pool_begin) return nullptr;
  if (heap.pages.contains(pointer)) return &heap.pages;
  return heap.rows.contains(pointer) ? &heap.rows : nullptr;
}
void release(void* pointer) {
  if (is_overflow(pointer)) {
    release_overflow(pointer);
    return;
  }
  Slots* const slots = slots_of(pointer);
  if (slots != nullptr) {
    slots->release(pointer);
  } else {
    heap.pool->release(pointer);
  }
}

void* heap_allocate(int size) {
  const HeapLock lock;
  if (size <= 0) return nullptr;
  void* const piece = allocate(static_cast<std::size_t>(size));
  return piece != nullptr ? piece : overflow(static_cast<std::size_t>(size));
}

void heap_release(void* pointer) {
  const HeapLock lock;
  release(pointer);
}

std::size_t size_of(void* pointer) {
  if (is_overflow(pointer)) return overflow_size(pointer);
  const Slots* const slots = slots_of(pointer);
  return slots == nullptr ? heap.pool->size_of(pointer) : slots->slot_bytes();
}

// Stays in place if there is room; otherwise moves, possibly between slots and pool.
void* heap_resize(void* pointer, int size) {
  const HeapLock lock;
  const auto bytes = static_cast<std::size_t>(size);
  const std::size_t had = size_of(pointer);
  if (bytes <= had) return pointer;
  void* moved = allocate_large(bytes);
  if (moved == nullptr) moved = overflow(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, pointer, had);
  release(pointer);
  return moved;
}

int heap_size(void* pointer) {
  if (pointer == nullptr) return 0;
  const HeapLock lock;
  return static_cast<int>(size_of(pointer));
}

int heap_round_up(int size) {
  // No lock: rounding depends on nothing that changes.
  const std::size_t rounded = heap.pool->round_up(static_cast<std::size_t>(size));
  return rounded > INT_MAX ? size : static_cast<int>(rounded);
}

// SQLite starts its mutexes before its allocator, and takes no lock and no memory during this call.
int heap_start(void*) {
  heap.mutex = nullptr;
  const int started = heap.may_overflow ? heap.before.xInit(heap.before.pAppData) : SQLITE_OK;
  if (started != SQLITE_OK) return started;
  if (sqlite3_threadsafe() == 0) return SQLITE_OK;
  if (sqlite3_config(SQLITE_CONFIG_GETMUTEX, &heap.mutexes) != SQLITE_OK) return SQLITE_ERROR;
  if (heap.mutexes.xMutexAlloc == nullptr) return SQLITE_ERROR;
  heap.mutex = heap.mutexes.xMutexAlloc(SQLITE_MUTEX_STATIC_MEM);
  return SQLITE_OK;
}

void heap_stop(void*) {
  if (heap.may_overflow) heap.before.xShutdown(heap.before.pAppData);
  heap.mutex = nullptr;
}

// Puts SQLite's own allocator back. Requires: SQLite is shut down.
void restore() {
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_MALLOC, &heap.before));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1));
  static_cast<void>(sqlite3_config(SQLITE_CONFIG_SMALL_MALLOC, 0));
  heap.pool.reset();
  heap.pages = Slots();
  heap.rows = Slots();
}

int configure() {
  constexpr sqlite3_mem_methods kMethods = {heap_allocate, heap_release, heap_resize, heap_size,
                                            heap_round_up, heap_start,   heap_stop,   nullptr};
  int result = sqlite3_config(SQLITE_CONFIG_MALLOC, &kMethods);
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  // A buddy heap rounds large pieces up most.
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_SMALL_MALLOC, 1);
  // Lookaside is a second, coarser heap in each connection; this heap is fast enough and wastes
  // less.
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  // SQLite makes no page slots of its own, and allocates no pages in one piece beforehand.
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0);
  return result == SQLITE_OK ? sqlite3_initialize() : result;
}

Status too_small(std::size_t size, int page_count, Diagnostic& diagnostic) {
  diagnostic.format("SQLite's memory: %zu bytes do not hold %d pages, rows and a heap", size,
                    page_count);
  return Status::kResourceExhausted;
}

}  // namespace

std::size_t row_slots_memory(std::size_t payload_bytes) {
  return kRowSlots * row_slot_bytes(payload_bytes);
}

Status install_memory(void* block, std::size_t size, const HeapPlan& plan, Diagnostic& diagnostic) {
  const int page_count = plan.page_count;
  const std::size_t payload_bytes = plan.payload_bytes;
  sqlite3_mem_methods before = {};
  int header_bytes = 0;
  if (heap.is_left && plan.may_overflow) {
    heap.is_left = false;
    return Status::kOk;
  }
  if (heap.pool.has_value()) {
    diagnostic.format("another Process of this program has given SQLite its memory");
    return Status::kAlreadyExists;
  }
  // The calls also show whether SQLite runs already: it then refuses most of its configuration.
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &before) != SQLITE_OK ||
      sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header_bytes) != SQLITE_OK) {
    diagnostic.format("SQLite was used before Pawl started; set sqlite_memory = host or shared");
    return Status::kSqliteAlreadyInitialised;
  }
  heap.before = before;
  const int slot_bytes = store::kPageBytes + (header_bytes + 7) / 8 * 8;
  const std::size_t skip = (8 - reinterpret_cast<std::uintptr_t>(block) % 8) % 8;
  const std::size_t rows_bytes = row_slots_memory(payload_bytes);
  if (page_count < 0 || size < skip || size - skip < rows_bytes ||
      static_cast<std::size_t>(page_count) >
          (size - skip - rows_bytes) / static_cast<std::size_t>(slot_bytes))
    return too_small(size, page_count, diagnostic);
  unsigned char* const pages = static_cast<unsigned char*>(block) + skip;
  const std::size_t pages_bytes =
      static_cast<std::size_t>(page_count) * static_cast<std::size_t>(slot_bytes);
  unsigned char* const rows = pages + pages_bytes;
  heap.pool_begin = reinterpret_cast<std::uintptr_t>(rows + rows_bytes);
  heap.block_begin = reinterpret_cast<std::uintptr_t>(pages);
  heap.pool_end = reinterpret_cast<std::uintptr_t>(block) + size;
  heap.may_overflow = plan.may_overflow;
  heap.overflow_bytes = 0;
  heap.overflows = 0;
  heap.pool.emplace(rows + rows_bytes, size - skip - pages_bytes - rows_bytes, kBlockBytesMin);
  heap.pages = Slots(pages, static_cast<std::size_t>(page_count), store::kPageBytes,
                     static_cast<std::size_t>(slot_bytes));
  if (rows_bytes > 0)
    heap.rows = Slots(rows, kRowSlots, kRowSlotAbove, row_slot_bytes(payload_bytes));
  const int result = heap.pool->capacity() < kHeapBytesLeast ? SQLITE_NOMEM : configure();
  if (result == SQLITE_OK) {
    heap.used_at_start = heap.pool->used();
    return Status::kOk;
  }
  static_cast<void>(sqlite3_shutdown());
  restore();
  if (result == SQLITE_NOMEM) return too_small(size, page_count, diagnostic);
  diagnostic.format("SQLite does not start: %s (sqlite %d)", sqlite3_errstr(result), result);
  return status_of(result);
}

bool remove_memory() {
  if (!heap.pool.has_value()) return true;
  // SQLite holds nothing when no connection is open, so memory still in use belongs to connections
  // of the host. Shutting SQLite down under them is undefined.
  if (heap.may_overflow && heap_use().used > heap.used_at_start) {
    heap.is_left = true;
    return false;
  }
  static_cast<void>(sqlite3_shutdown());
  restore();
  return true;
}

HeapUse heap_use() {
  HeapUse use;
  if (!heap.pool.has_value()) return use;
  const HeapLock lock;
  use.used = heap.pool->used() + heap.overflow_bytes;
  use.high_water = heap.pool->high_water();
  use.failures = static_cast<std::size_t>(heap.pool->failures()) - heap.overflows;
  use.overflow_bytes = heap.overflow_bytes;
  use.pages_touched = heap.pages.touched();
  return use;
}

}  // namespace pawl::sqlite
