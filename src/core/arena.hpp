// Arena: memory handed out in a row from one block, given at start.
//
// Purpose: every byte that Pawl uses comes from blocks of the caller. An Arena hands one out piece
// by piece; it takes pieces back only by rewinding to an earlier mark (the turn arena), and after
// seal() it refuses for ever, which enforces "no allocation after start". ArenaPlan has the same
// calls and only counts: one template function lays out both, so the memory asked for and the
// memory used cannot drift apart. A pointer from a plan is null and may be stored, never
// dereferenced.
// Ownership: the block belongs to the caller and outlives the arena. The arena never runs
// destructors: array() therefore takes only types that need none, and the caller of make() calls
// the destructor of an object that has one. Thread rule: one thread at a time.
// Errors: an exhausted or sealed arena answers null, changes nothing, and exhausted() stays true.
#ifndef PAWL_CORE_ARENA_HPP
#define PAWL_CORE_ARENA_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace pawl {

// The strictest alignment that an arena serves: a cache line of the machines that Pawl runs on.
inline constexpr std::size_t kArenaAlign = 64;

class Arena {
 public:
  static constexpr bool kCountsOnly = false;

  // A place in the arena to rewind to.
  struct Mark {
    std::size_t offset = 0;
  };

  Arena() = default;  // without a block: refuses everything until attach()
  // Loses up to kArenaAlign - 1 bytes if `block` is not aligned to it.
  Arena(void* block, std::size_t size) { attach(block, size); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Requires: no block yet.
  void attach(void* block, std::size_t size);

  // Null when exhausted or sealed. Requires: `align` is a power of two, at most kArenaAlign.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t align);

  // `count` value-initialised elements.
  template <typename T>
  [[nodiscard]] T* array(std::size_t count);

  // The buffer is not written here: the machine never provides pages that are never used.
  [[nodiscard]] char* buffer(std::size_t bytes) { return static_cast<char*>(allocate(bytes, 1)); }

  template <typename T, typename... Arguments>
  [[nodiscard]] T* make(Arguments&&... arguments);

  [[nodiscard]] Mark mark() const { return {used_}; }
  // Gives back everything allocated since `mark`. Requires: not sealed, and the mark is not ahead
  // of the present place.
  void rewind(Mark mark);
  void seal() { sealed_ = true; }

  [[nodiscard]] bool sealed() const { return sealed_; }
  // True once a request was refused.
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t high_water() const { return high_water_; }

 private:
  void* refuse();

  unsigned char* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::size_t high_water_ = 0;
  bool sealed_ = false;
  bool exhausted_ = false;
};

class ArenaPlan {
 public:
  static constexpr bool kCountsOnly = true;

  void* allocate(std::size_t bytes, std::size_t align);
  template <typename T>
  T* array(std::size_t count);
  char* buffer(std::size_t bytes) { return static_cast<char*>(allocate(bytes, 1)); }
  template <typename T, typename... Arguments>
  T* make(Arguments&&...) {
    static_cast<void>(allocate(sizeof(T), alignof(T)));
    return nullptr;
  }

  [[nodiscard]] std::size_t used() const { return used_; }
  // True if the sum does not fit a size_t.
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  // The size of a block that suffices at any alignment; for a block aligned to kArenaAlign, used()
  // suffices.
  [[nodiscard]] std::size_t required_memory() const;

 private:
  std::size_t used_ = 0;
  bool exhausted_ = false;
};

// The offset of a piece of `bytes` at or after `used`, or false when the sum overflows. Shared by
// the arena and its plan.
[[nodiscard]] bool arena_place(std::size_t used, std::size_t bytes, std::size_t align,
                               std::size_t* offset, std::size_t* end);

template <typename T>
T* Arena::array(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
  constexpr std::size_t kBytes =
      sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
  if (count > SIZE_MAX / kBytes) return static_cast<T*>(refuse());
  T* const first = static_cast<T*>(allocate(count * kBytes, alignof(T)));
  if (first == nullptr) return nullptr;
  for (std::size_t i = 0; i < count; ++i)
    ::new (static_cast<void*>(first + i)) T();
  return first;
}

template <typename T, typename... Arguments>
T* Arena::make(Arguments&&... arguments) {
  void* const place = allocate(sizeof(T), alignof(T));
  if (place == nullptr) return nullptr;
  return ::new (place) T(std::forward<Arguments>(arguments)...);
}

template <typename T>
T* ArenaPlan::array(std::size_t count) {
  static_assert(std::is_trivially_destructible_v<T>, "an arena runs no destructors");
  constexpr std::size_t kBytes =
      sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
  if (count > SIZE_MAX / kBytes) {
    exhausted_ = true;
    return nullptr;
  }
  static_cast<void>(allocate(count * kBytes, alignof(T)));
  return nullptr;
}

}  // namespace pawl

#endif  // PAWL_CORE_ARENA_HPP
