// HeapBlock: heap memory for a Process, a Runtime or a Client, taken once.
//
// Ownership: freed with the object, unless leave() was called. Thread rule: one thread.
#ifndef PAWL_PARTS_HOST_HEAP_BLOCK_HPP
#define PAWL_PARTS_HOST_HEAP_BLOCK_HPP

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

namespace pawl {

class HeapBlock {
 public:
  HeapBlock() = default;
  ~HeapBlock() { release(); }
  HeapBlock(const HeapBlock&) = delete;
  HeapBlock& operator=(const HeapBlock&) = delete;

  // Takes the block, aligned as start() and open() require. False: the heap has too little memory.
  bool take(std::size_t bytes) {
    data_ = ::operator new(bytes, std::align_val_t(kAlign), std::nothrow);
    bytes_ = bytes;
    return data_ != nullptr;
  }
  void release() { ::operator delete(std::exchange(data_, nullptr), std::align_val_t(kAlign)); }
  // Leaves the block until the process ends, because a program's own connections to SQLite use it
  // (Process::stop() answers kBusy). At most one block is left: a later Process goes on with it.
  // Its address is kept where a leak checker finds it.
  void leave() { left().store(std::exchange(data_, nullptr)); }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlign = 64;
  static std::atomic<void*>& left() {
    static std::atomic<void*> block{nullptr};
    return block;
  }
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pawl

#endif  // PAWL_PARTS_HOST_HEAP_BLOCK_HPP
