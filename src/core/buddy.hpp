// BuddyPool: a heap over one block, given at start.
//
// Purpose: serves SQLite's heap and the pool of decoded histories. Blocks are powers of two times
// the least block, so that the worst fragmentation has a known bound (Robson) and freed neighbours
// join again. Every call takes O(log n) steps: at most one per doubling of the least block.
// Ownership: the block belongs to the caller and outlives the pool. A byte for each least block
// lies at its end (1/64 of it); lists of free blocks lie in the free blocks. Thread rule: none;
// callers that share a pool lock around it (SQLite is built single-threaded or holds its own
// mutex).
// Errors: a request that cannot be served answers null and is counted. Releasing a pointer that is
// no live allocation of this pool breaks an invariant.
#ifndef PAWL_CORE_BUDDY_HPP
#define PAWL_CORE_BUDDY_HPP

#include <cstddef>
#include <cstdint>

namespace pawl {

class BuddyPool {
 public:
  static constexpr std::size_t kBlockBytesMin = 64;

  // The block that a request of so many bytes takes in a pool with smaller least blocks.
  [[nodiscard]] static constexpr std::size_t block_bytes_for(std::size_t size) {
    std::size_t bytes = 1;
    while (bytes < size)
      bytes *= 2;
    return bytes;
  }

  BuddyPool() = default;  // without a block: refuses everything until attach()
  BuddyPool(void* block, std::size_t size, std::size_t block_bytes_min = kBlockBytesMin) {
    attach(block, size, block_bytes_min);
  }
  BuddyPool(const BuddyPool&) = delete;
  BuddyPool& operator=(const BuddyPool&) = delete;

  // Any size is accepted; one too small for a single least block gives a pool of capacity 0.
  // Requires: no block yet; `block_bytes_min` is a power of two, 16 or more.
  void attach(void* block, std::size_t size, std::size_t block_bytes_min = kBlockBytesMin);

  // A block of at least `size` bytes, aligned to the least block; null when there is none (counted)
  // or when `size` is 0.
  [[nodiscard]] void* allocate(std::size_t size);
  // Null is allowed.
  void release(void* pointer);
  // Keeps the place if the block is large enough already; otherwise moves. Null when there is no
  // room (counted): then `pointer` stays valid. Null pointer: allocate().
  [[nodiscard]] void* resize(void* pointer, std::size_t size);

  // Usable bytes of a live allocation.
  [[nodiscard]] std::size_t size_of(const void* pointer) const;
  // The bytes that allocate(size) takes; `size` itself if that is more than the whole pool.
  [[nodiscard]] std::size_t round_up(std::size_t size) const;

  // Bytes in blocks; the bookkeeping is not counted.
  [[nodiscard]] std::size_t capacity() const { return block_count_ << shift_; }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t high_water() const { return high_water_; }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }
  [[nodiscard]] std::size_t largest_free() const;
  [[nodiscard]] std::size_t block_bytes_min() const { return std::size_t{1} << shift_; }
  // Whether this address lies in the pool.
  [[nodiscard]] bool contains(const void* pointer) const;

 private:
  // Enough for every size_t.
  static constexpr unsigned kOrders = sizeof(std::size_t) * 8;

  // Stands at the beginning of a free block.
  struct FreeBlock {
    FreeBlock* next;
    FreeBlock* previous;
  };

  [[nodiscard]] FreeBlock* at(std::size_t index) const;
  [[nodiscard]] std::size_t index_of(const void* pointer) const;
  [[nodiscard]] std::size_t live_index(const void* pointer) const;
  [[nodiscard]] bool order_for(std::size_t size, unsigned* order) const;
  void link(std::size_t index, unsigned order);
  void unlink(std::size_t index, unsigned order);

  unsigned char* base_ = nullptr;
  unsigned char* state_ = nullptr;  // one byte a least block; 0 inside a larger block
  std::size_t block_count_ = 0;
  unsigned shift_ = 6;
  std::size_t free_orders_ = 0;  // bit n: free_[n] is not empty
  FreeBlock* free_[kOrders] = {};
  std::size_t used_ = 0;
  std::size_t high_water_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace pawl

#endif  // PAWL_CORE_BUDDY_HPP
