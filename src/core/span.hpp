// Span: a list that another object owns.
//
// Purpose: pointer and length in one value that is cheap to copy. Ownership: none; the elements
// outlive it.
// Thread rule: that of the elements.
#ifndef PAWL_CORE_SPAN_HPP
#define PAWL_CORE_SPAN_HPP

#include <cstddef>

namespace pawl {

template <typename T>
class Span {
 public:
  Span() = default;
  Span(T* data, std::size_t size) : data_(data), size_(size) {}

  [[nodiscard]] T* begin() const { return data_; }
  [[nodiscard]] T* end() const { return data_ + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // Requires: index < size().
  [[nodiscard]] T& operator[](std::size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pawl

#endif  // PAWL_CORE_SPAN_HPP
