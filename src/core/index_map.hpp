// IndexMap: a hash map from integers to small values, with a capacity that never grows.
//
// Purpose: instance key -> slot. Open addressing with linear probing; erasing shifts the following
// entries back instead of leaving tombstones, so a map that lives for years does not slow down.
// Ownership: storage comes from an Arena. Pointers to values end with the next insert or erase.
// Thread rule: one thread at a time.
// Errors: a full map answers kResourceExhausted, a present key kAlreadyExists; nothing changes
// then.
#ifndef PAWL_CORE_INDEX_MAP_HPP
#define PAWL_CORE_INDEX_MAP_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/check.hpp"
#include "pawl/status.hpp"

namespace pawl {

template <typename K, typename V>
class IndexMap {
  static_assert(std::is_integral_v<K>);
  static_assert(std::is_trivially_destructible_v<V>, "values that leave are not destroyed");

 public:
  IndexMap() = default;  // capacity 0
  IndexMap(const IndexMap&) = delete;
  IndexMap& operator=(const IndexMap&) = delete;

  // Takes storage for `capacity` entries, once. With an ArenaPlan it only counts.
  template <typename AnyArena>
  [[nodiscard]] Status allocate(AnyArena& arena, std::size_t capacity) {
    PAWL_CHECK("core-40", slots_ == nullptr);
    const std::size_t count = slot_count(capacity);
    if (count == 0) return Status::kResourceExhausted;
    Slot* const slots = arena.template array<Slot>(count);
    if constexpr (AnyArena::kCountsOnly) {
      return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
    } else {
      if (slots == nullptr) return Status::kResourceExhausted;
      slots_ = slots;
      mask_ = count - 1;
      capacity_ = capacity;
      return Status::kOk;
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == capacity_; }

  // Null when absent.
  [[nodiscard]] V* find(K key) {
    if (size_ == 0) return nullptr;
    Slot& slot = slots_[probe(key)];
    return slot.used ? &slot.value : nullptr;
  }
  [[nodiscard]] const V* find(K key) const {
    if (size_ == 0) return nullptr;
    const Slot& slot = slots_[probe(key)];
    return slot.used ? &slot.value : nullptr;
  }

  [[nodiscard]] Status insert(K key, const V& value) {
    if (find(key) != nullptr) return Status::kAlreadyExists;
    if (full()) return Status::kResourceExhausted;
    Slot& slot = slots_[probe(key)];
    slot.value = value;  // first, because `value` may lie in the map
    slot.key = key;
    slot.used = true;
    ++size_;
    return Status::kOk;
  }

  // False when absent.
  bool erase(K key) {
    if (size_ == 0) return false;
    std::size_t hole = probe(key);
    if (!slots_[hole].used) return false;
    for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
      // The entry at `at` may move back only if its own place is not between the hole and it.
      const std::size_t from_home = (at - home(slots_[at].key)) & mask_;
      if (from_home < ((at - hole) & mask_)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].used = false;
    --size_;
    return true;
  }

  void clear() {
    for (std::size_t i = 0; slots_ != nullptr && i <= mask_; ++i)
      slots_[i].used = false;
    size_ = 0;
  }

  // Calls visit(key, value) once for each entry, in no order; visit must not insert or erase.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = 0; slots_ != nullptr && i <= mask_; ++i) {
      if (slots_[i].used) visit(slots_[i].key, slots_[i].value);
    }
  }

 private:
  struct Slot {
    K key = K();
    V value = V();
    bool used = false;
  };

  // A power of two with at least a quarter of the slots free, which also ends every probe; 0 if
  // there is none.
  static std::size_t slot_count(std::size_t capacity) {
    if (capacity > SIZE_MAX / 4) return 0;
    std::size_t count = 4;
    while (count - count / 4 < capacity)
      count *= 2;
    return count;
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & mask_; }
  [[nodiscard]] std::size_t home(K key) const {
    // Keys are often consecutive, which is no problem, but also multiples of a power of two, which
    // is one: mix them (the finaliser of MurmurHash3).
    std::uint64_t bits = static_cast<std::uint64_t>(key);
    bits = (bits ^ bits >> 33) * 0xFF51AFD7ED558CCDU;
    bits = (bits ^ bits >> 33) * 0xC4CEB9FE1A85EC53U;
    return static_cast<std::size_t>(bits ^ bits >> 33) & mask_;
  }
  // The slot of the key, or the free slot where it belongs.
  [[nodiscard]] std::size_t probe(K key) const {
    std::size_t at = home(key);
    while (slots_[at].used && slots_[at].key != key)
      at = next(at);
    return at;
  }

  Slot* slots_ = nullptr;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace pawl

#endif  // PAWL_CORE_INDEX_MAP_HPP
