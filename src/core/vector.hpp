// Vector and FixedVector: arrays with a capacity that never grows.
//
// Purpose: functions take a Vector<T>; its storage and capacity are not part of its type.
// FixedVector<T, N> derives from it and holds the storage; allocate() takes the storage from an
// Arena (or counts it in an ArenaPlan) instead.
// Ownership: a Vector does not own its storage; all `capacity` elements exist from the start, and
// adding one assigns it. Removed elements keep their old value until overwritten, which is why T
// must need no destructor. Thread rule: one thread at a time.
// Errors: a full vector answers kResourceExhausted and is unchanged. An index outside [0, size)
// breaks an invariant.
#ifndef PAWL_CORE_VECTOR_HPP
#define PAWL_CORE_VECTOR_HPP

#include <cstddef>
#include <type_traits>

#include "core/check.hpp"
#include "pawl/status.hpp"

namespace pawl {

template <typename T>
class Vector {
  static_assert(std::is_trivially_destructible_v<T>, "elements that leave are not destroyed");

 public:
  Vector() = default;  // capacity 0
  Vector(T* storage, std::size_t capacity) : data_(storage), capacity_(capacity) {}
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  // Takes storage for `capacity` elements, once; kResourceExhausted: the arena has too little. With
  // an ArenaPlan it counts and leaves the vector without capacity.
  template <typename AnyArena>
  [[nodiscard]] Status allocate(AnyArena& arena, std::size_t capacity) {
    PAWL_CHECK("core-10", capacity_ == 0);
    T* const storage = arena.template array<T>(capacity);
    if constexpr (AnyArena::kCountsOnly) {
      return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
    } else {
      if (storage == nullptr) return Status::kResourceExhausted;
      data_ = storage;
      capacity_ = capacity;
      return Status::kOk;
    }
  }

  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return size_ == capacity_; }

  [[nodiscard]] T& operator[](std::size_t index) {
    PAWL_CHECK("core-11", index < size_);
    return data_[index];
  }
  [[nodiscard]] const T& operator[](std::size_t index) const {
    PAWL_CHECK("core-11", index < size_);
    return data_[index];
  }
  [[nodiscard]] T& back() { return (*this)[size_ - 1]; }
  [[nodiscard]] const T& back() const { return (*this)[size_ - 1]; }

  // kResourceExhausted when full.
  [[nodiscard]] Status push_back(const T& value) {
    if (full()) return Status::kResourceExhausted;
    data_[size_] = value;
    ++size_;
    return Status::kOk;
  }
  // Adds a value-initialised element at the end; null when full.
  [[nodiscard]] T* add() {
    if (full()) return nullptr;
    data_[size_] = T();
    return &data_[size_++];
  }
  // Inserts before the element at `index`, or at the end; order is kept. `value` may be an element.
  [[nodiscard]] Status insert_at(std::size_t index, const T& value) {
    PAWL_CHECK("core-12", index <= size_);
    if (full()) return Status::kResourceExhausted;
    const T copy = value;
    for (std::size_t i = size_; i > index; --i)
      data_[i] = data_[i - 1];
    data_[index] = copy;
    ++size_;
    return Status::kOk;
  }
  // Appends all of `other`, or nothing and kResourceExhausted.
  [[nodiscard]] Status assign(const Vector& other) {
    if (other.size_ > capacity_) return Status::kResourceExhausted;
    copy_from(other);
    return Status::kOk;
  }

  void clear() { size_ = 0; }
  void pop_back() { truncate(size_ - 1); }
  // Drops all but the first `size` elements.
  void truncate(std::size_t size) {
    PAWL_CHECK("core-13", size <= size_);
    size_ = size;
  }
  // Keeps the order of the other elements.
  void erase_at(std::size_t index) {
    PAWL_CHECK("core-14", index < size_);
    for (std::size_t i = index + 1; i < size_; ++i)
      data_[i - 1] = data_[i];
    --size_;
  }
  // Moves the last element into the gap: constant time, the order is lost.
  void erase_at_swap(std::size_t index) {
    PAWL_CHECK("core-15", index < size_);
    if (index + 1 != size_) data_[index] = data_[size_ - 1];
    --size_;
  }

 protected:
  // Requires: other.size() <= capacity().
  void copy_from(const Vector& other) {
    if (this == &other) return;
    for (std::size_t i = 0; i < other.size_; ++i)
      data_[i] = other.data_[i];
    size_ = other.size_;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

template <typename T, std::size_t N>
class FixedVector : public Vector<T> {
  static_assert(N > 0);

 public:
  FixedVector() : Vector<T>(storage_, N) {}
  FixedVector(const FixedVector& other) : Vector<T>(storage_, N) { this->copy_from(other); }
  FixedVector& operator=(const FixedVector& other) {
    if (this != &other) this->copy_from(other);
    return *this;
  }

 private:
  T storage_[N] = {};
};

}  // namespace pawl

#endif  // PAWL_CORE_VECTOR_HPP
