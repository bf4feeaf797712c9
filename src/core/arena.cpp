#include "core/arena.hpp"

#ifndef NDEBUG
#include <cstring>
#endif

#include "core/check.hpp"

namespace pawl {

namespace {

// Bytes to the next multiple of `align`, a power of two.
std::size_t padding(std::uintptr_t at, std::size_t align) {
  return static_cast<std::size_t>((align - (at & (align - 1))) & (align - 1));
}

}  // namespace

bool arena_place(std::size_t used, std::size_t bytes, std::size_t align, std::size_t* offset,
                 std::size_t* end) {
  PAWL_CHECK("core-1", align != 0 && (align & (align - 1)) == 0 && align <= kArenaAlign);
  const std::size_t pad = padding(used, align);
  if (pad > SIZE_MAX - used || bytes > SIZE_MAX - used - pad) return false;
  *offset = used + pad;
  *end = used + pad + bytes;
  return true;
}

void Arena::attach(void* block, std::size_t size) {
  PAWL_CHECK("core-2", base_ == nullptr && capacity_ == 0);
  if (block == nullptr) return;
  const std::size_t pad = padding(reinterpret_cast<std::uintptr_t>(block), kArenaAlign);
  if (pad >= size) return;
  base_ = static_cast<unsigned char*>(block) + pad;
  capacity_ = size - pad;
}

void* Arena::refuse() {
  exhausted_ = true;
  return nullptr;
}

void* Arena::allocate(std::size_t bytes, std::size_t align) {
  std::size_t offset = 0;
  std::size_t end = 0;
  if (!arena_place(used_, bytes, align, &offset, &end)) return refuse();
  if (sealed_ || base_ == nullptr || end > capacity_) return refuse();
  used_ = end;
  if (used_ > high_water_) high_water_ = used_;
  return base_ + offset;
}

void Arena::rewind(Mark mark) {
  PAWL_CHECK("core-3", !sealed_);
  PAWL_CHECK("core-4", mark.offset <= used_);
#ifndef NDEBUG
  // Filled so that a reader of memory that was given back sees nonsense at once, not only
  // sometimes.
  if (used_ > mark.offset) std::memset(base_ + mark.offset, 0xA5, used_ - mark.offset);
#endif
  used_ = mark.offset;
}

void* ArenaPlan::allocate(std::size_t bytes, std::size_t align) {
  std::size_t offset = 0;
  if (!arena_place(used_, bytes, align, &offset, &used_)) exhausted_ = true;
  return nullptr;
}

std::size_t ArenaPlan::required_memory() const {
  if (exhausted_ || used_ > SIZE_MAX - (kArenaAlign - 1)) return SIZE_MAX;
  return used_ == 0 ? 0 : used_ + (kArenaAlign - 1);
}

}  // namespace pawl
