// Text and FixedText: strings with a capacity that never grows.
//
// Purpose: functions take a Text; FixedText<N> derives from it and holds room for N bytes. The text
// is always followed by a zero byte, which does not count.
// Ownership: a Text does not own its storage. Thread rule: one thread at a time.
// Errors: a text that does not fit whole answers kResourceExhausted and changes nothing;
// assign_cut() is for texts for people, where the beginning is better than nothing. Arguments may
// be views into the text itself.
#ifndef PAWL_CORE_TEXT_HPP
#define PAWL_CORE_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "pawl/status.hpp"

namespace pawl {

class Text {
 public:
  Text() = default;  // capacity 0
  // `bytes` counts the zero byte at the end.
  Text(char* storage, std::size_t bytes);
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  // Takes storage for `capacity` bytes and the zero byte, once. With an ArenaPlan it only counts.
  template <typename AnyArena>
  [[nodiscard]] Status allocate(AnyArena& arena, std::size_t capacity) {
    if (capacity == SIZE_MAX) return Status::kResourceExhausted;
    char* const storage = arena.buffer(capacity + 1);
    if constexpr (AnyArena::kCountsOnly) {
      return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
    } else {
      return attach(storage, capacity);
    }
  }

  [[nodiscard]] Status assign(std::string_view text);
  [[nodiscard]] Status append(std::string_view text);
  [[nodiscard]] Status append(char character) { return append(std::string_view(&character, 1)); }
  // In decimal digits.
  template <typename Integer>
  [[nodiscard]] Status append_number(Integer number) {
    static_assert(std::is_integral_v<Integer>);
    if constexpr (std::is_signed_v<Integer>) {
      return append_signed(number);
    } else {
      return append_unsigned(number, 10, 1);
    }
  }
  // In lower-case hexadecimal, at least `digits` (at most 16) of them.
  [[nodiscard]] Status append_hex(std::uint64_t number, unsigned digits = 1) {
    return append_unsigned(number, 16, digits);
  }
  // Takes as much as fits, cut between two UTF-8 characters; true if all of it fits.
  bool assign_cut(std::string_view text);
  void clear() { truncate(0); }
  // Keeps the first `size` bytes; a longer `size` changes nothing.
  void truncate(std::size_t size);

  [[nodiscard]] std::string_view view() const { return {c_str(), size_}; }
  [[nodiscard]] const char* c_str() const { return data_ == nullptr ? "" : data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 protected:
  // For a derived class whose storage does not live yet, and begins as zeros.
  struct Unborn {};
  Text(Unborn, char* storage, std::size_t bytes) : data_(storage), capacity_(bytes - 1) {}
  // Requires: text.size() <= capacity().
  void put(std::string_view text);

 private:
  [[nodiscard]] Status attach(char* storage, std::size_t capacity);
  [[nodiscard]] Status append_signed(std::int64_t number);
  [[nodiscard]] Status append_unsigned(std::uint64_t number, unsigned base, unsigned digits);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

inline bool operator==(const Text& text, std::string_view other) { return text.view() == other; }
inline bool operator!=(const Text& text, std::string_view other) { return text.view() != other; }
inline bool operator==(const Text& text, const Text& other) { return text.view() == other.view(); }
inline bool operator!=(const Text& text, const Text& other) { return text.view() != other.view(); }

template <std::size_t N>
class FixedText : public Text {
 public:
  FixedText() : Text(Unborn(), storage_, N + 1) {}
  FixedText(const FixedText& other) : Text(Unborn(), storage_, N + 1) { put(other.view()); }
  FixedText& operator=(const FixedText& other) {
    if (this != &other) put(other.view());
    return *this;
  }

 private:
  char storage_[N + 1] = {};
};

}  // namespace pawl

#endif  // PAWL_CORE_TEXT_HPP
