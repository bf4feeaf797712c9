#include "core/buddy.hpp"

#include <cstring>

#include "core/check.hpp"

namespace pawl {

namespace {

// A state byte: the order of the block that begins here, and whether it is in use or free.
constexpr unsigned kUsed = 0x80;
constexpr unsigned kFree = 0x40;
constexpr unsigned kOrderMask = 0x3F;

// Two pointers of the widest machine: each free block holds the links of its list.
constexpr std::size_t kLinkBytesMax = 16;

// Both need a number other than 0. gcc and clang compile them to one or two instructions.
static_assert(sizeof(std::size_t) == sizeof(unsigned long));
unsigned lowest_bit(std::size_t bits) { return static_cast<unsigned>(__builtin_ctzl(bits)); }
unsigned highest_bit(std::size_t bits) {
  return static_cast<unsigned>(sizeof(std::size_t) * 8 - 1) -
         static_cast<unsigned>(__builtin_clzl(bits));
}

}  // namespace

void BuddyPool::attach(void* block, std::size_t size, std::size_t block_bytes_min) {
  PAWL_CHECK("core-30", base_ == nullptr);
  static_assert(sizeof(FreeBlock) <= kLinkBytesMax);
  PAWL_CHECK("core-31",
             block_bytes_min >= kLinkBytesMax && (block_bytes_min & (block_bytes_min - 1)) == 0);
  shift_ = lowest_bit(block_bytes_min);
  if (block == nullptr) return;
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(block) & (block_bytes_min - 1);
  const std::size_t pad = over == 0 ? 0 : block_bytes_min - static_cast<std::size_t>(over);
  if (size < pad) return;
  const std::size_t count = (size - pad) / (block_bytes_min + 1);
  if (count == 0) return;
  base_ = static_cast<unsigned char*>(block) + pad;
  state_ = base_ + (count << shift_);
  block_count_ = count;
  std::memset(state_, 0, count);
  // The largest powers of two come first: each block then lies at a multiple of its own size, as
  // joining requires.
  std::size_t index = 0;
  while (index < count) {
    const unsigned order = highest_bit(count - index);
    link(index, order);
    index += std::size_t{1} << order;
  }
}

BuddyPool::FreeBlock* BuddyPool::at(std::size_t index) const {
  return static_cast<FreeBlock*>(static_cast<void*>(base_ + (index << shift_)));
}

bool BuddyPool::contains(const void* pointer) const {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(base_);
  return base_ != nullptr && address >= first && address - first < capacity();
}

std::size_t BuddyPool::index_of(const void* pointer) const {
  const std::size_t offset =
      static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - base_);
  return offset >> shift_;
}

std::size_t BuddyPool::live_index(const void* pointer) const {
  PAWL_CHECK("core-32", contains(pointer));
  const std::size_t index = index_of(pointer);
  PAWL_CHECK("core-33", static_cast<const void*>(at(index)) == pointer);
  PAWL_CHECK("core-34", (state_[index] & kUsed) != 0);
  return index;
}

// False if no block of this pool can ever be large enough.
bool BuddyPool::order_for(std::size_t size, unsigned* order) const {
  if (size > capacity()) return false;
  const std::size_t blocks = (size + block_bytes_min() - 1) >> shift_;
  const unsigned floor = highest_bit(blocks);
  *order = (std::size_t{1} << floor) == blocks ? floor : floor + 1;
  return true;
}

void BuddyPool::link(std::size_t index, unsigned order) {
  FreeBlock* const block = at(index);
  block->previous = nullptr;
  block->next = free_[order];
  if (block->next != nullptr) block->next->previous = block;
  free_[order] = block;
  free_orders_ |= std::size_t{1} << order;
  state_[index] = static_cast<unsigned char>(kFree | order);
}

void BuddyPool::unlink(std::size_t index, unsigned order) {
  FreeBlock* const block = at(index);
  if (block->next != nullptr) block->next->previous = block->previous;
  if (block->previous != nullptr) {
    block->previous->next = block->next;
  } else {
    free_[order] = block->next;
    if (block->next == nullptr) free_orders_ &= ~(std::size_t{1} << order);
  }
  state_[index] = 0;
}

void* BuddyPool::allocate(std::size_t size) {
  if (size == 0) return nullptr;
  unsigned order = 0;
  const bool possible = order_for(size, &order) && order < kOrders;
  const std::size_t suitable = possible ? free_orders_ >> order : 0;
  if (suitable == 0) {
    ++failures_;
    return nullptr;
  }
  unsigned have = order + lowest_bit(suitable);
  const std::size_t index = index_of(free_[have]);
  unlink(index, have);
  while (have > order) {
    --have;
    link(index + (std::size_t{1} << have), have);
  }
  state_[index] = static_cast<unsigned char>(kUsed | order);
  used_ += std::size_t{1} << (order + shift_);
  if (used_ > high_water_) high_water_ = used_;
  return at(index);
}

void BuddyPool::release(void* pointer) {
  if (pointer == nullptr) return;
  std::size_t index = live_index(pointer);
  unsigned order = state_[index] & kOrderMask;
  used_ -= std::size_t{1} << (order + shift_);
  state_[index] = 0;
  while (order + 1 < kOrders) {
    const std::size_t buddy = index ^ (std::size_t{1} << order);
    // The end of the pool may lie inside the buddy, which then was never a block.
    if (buddy >= block_count_ || state_[buddy] != (kFree | order)) break;
    unlink(buddy, order);
    index &= ~(std::size_t{1} << order);
    ++order;
  }
  link(index, order);
}

void* BuddyPool::resize(void* pointer, std::size_t size) {
  if (pointer == nullptr) return allocate(size);
  const std::size_t old_size = size_of(pointer);
  if (size <= old_size) return pointer;
  void* const moved = allocate(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, pointer, old_size);
  release(pointer);
  return moved;
}

std::size_t BuddyPool::size_of(const void* pointer) const {
  if (pointer == nullptr) return 0;
  return std::size_t{1} << ((state_[live_index(pointer)] & kOrderMask) + shift_);
}

std::size_t BuddyPool::round_up(std::size_t size) const {
  unsigned order = 0;
  if (size == 0 || !order_for(size, &order) || order + shift_ >= kOrders) return size;
  return std::size_t{1} << (order + shift_);
}

std::size_t BuddyPool::largest_free() const {
  return free_orders_ == 0 ? 0 : std::size_t{1} << (highest_bit(free_orders_) + shift_);
}

}  // namespace pawl
