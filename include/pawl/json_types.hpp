// Fields of a typed payload besides numbers and structs: texts and lists of bounded size, and the
// members that a struct does not know.
//
// Purpose: values of fixed size for PAWL_JSON (pawl/json.hpp). Ownership: the bytes are in the
// object; nothing is allocated. Thread rule: plain values.
#ifndef PAWL_JSON_TYPES_HPP
#define PAWL_JSON_TYPES_HPP

#include <cstddef>
#include <cstring>
#include <string_view>

#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
// The place where the reader of PAWL_JSON puts bytes.
struct JsonRoom {
  char* bytes;
  std::size_t capacity;
  std::size_t* size;
};
}  // namespace internal

// A text of at most N bytes, without zero bytes.
template <std::size_t N>
class JsonText {
 public:
  JsonText() = default;  // empty
  // Implicit, so that a literal may stand where a JsonText is wanted: JsonText<8> mode = "drip". A
  // longer literal does not compile; one with a zero byte in it ends there, as every C text does.
  template <std::size_t M>
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr JsonText(const char (&literal)[M]) {
    static_assert(M - 1 <= N, "the literal is longer than this JsonText");
    while (size_ < M - 1 && literal[size_] != '\0') {
      bytes_[size_] = literal[size_];
      ++size_;
    }
  }
  template <std::size_t M>
  JsonText(char (&)[M]) = delete;  // no literal: a text that is made at run time is for assign()

  // Takes a copy; unless kOk the old text stays.
  // Returns kOk.
  // Requires: at most N bytes (kResourceExhausted), none of which is zero (kInvalidArgument).
  Status assign(std::string_view text) {
    if (text.size() > N) return Status::kResourceExhausted;
    if (text.find('\0') != std::string_view::npos) return Status::kInvalidArgument;
    if (!text.empty()) std::memcpy(bytes_, text.data(), text.size());
    size_ = text.size();
    return Status::kOk;
  }
  // The text; it lives as long as this, and until the next assign().
  [[nodiscard]] constexpr std::string_view view() const { return {bytes_, size_}; }
  // The place where the reader of PAWL_JSON puts the bytes.
  internal::JsonRoom room() { return {bytes_, N, &size_}; }

 private:
  char bytes_[N] = {};
  std::size_t size_ = 0;
};

// A list of at most N values; in JSON an array with as many elements as it has values.
template <typename T, std::size_t N>
class JsonArray {
 public:
  // Adds a value at the end.
  // Returns kOk.
  // Requires: fewer than N values (kResourceExhausted).
  Status push_back(const T& value) {
    if (size_ == N) return Status::kResourceExhausted;
    values_[size_++] = value;
    return Status::kOk;
  }
  // Makes the list empty.
  void clear() { size_ = 0; }
  // The number of its values, whether there are none, and how many there can be.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] static constexpr std::size_t capacity() { return N; }
  // Requires: an index below size().
  T& operator[](std::size_t index) { return values_[index]; }
  const T& operator[](std::size_t index) const { return values_[index]; }
  // For a loop over the values.
  T* begin() { return values_; }
  T* end() { return values_ + size_; }
  [[nodiscard]] const T* begin() const { return values_; }
  [[nodiscard]] const T* end() const { return values_ + size_; }

 private:
  T values_[N] = {};
  std::size_t size_ = 0;
};

// Members that the struct does not have. They are kept as they were read and written again behind
// its own, for a program that hands on what a newer one wrote. A struct has one such field at most;
// without it, members that it does not have are passed over.
template <std::size_t N>
class JsonRest {
 public:
  // The members as JSON, divided by commas; empty: there are none.
  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }
  // Drops the members.
  void clear() { size_ = 0; }
  // The place where the reader of PAWL_JSON puts them.
  internal::JsonRoom room() { return {bytes_, N, &size_}; }

 private:
  char bytes_[N] = {};
  std::size_t size_ = 0;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_JSON_TYPES_HPP
