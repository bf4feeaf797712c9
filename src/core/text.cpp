#include "core/text.hpp"

#include <cstring>

#include "core/check.hpp"
#include "core/utf8.hpp"

namespace pawl {

Text::Text(char* storage, std::size_t bytes) : data_(storage), capacity_(bytes - 1) {
  PAWL_CHECK("core-20", storage != nullptr && bytes > 0);
  data_[0] = '\0';
}

Status Text::attach(char* storage, std::size_t capacity) {
  PAWL_CHECK("core-21", data_ == nullptr);
  if (storage == nullptr) return Status::kResourceExhausted;
  data_ = storage;
  capacity_ = capacity;
  data_[0] = '\0';
  return Status::kOk;
}

void Text::put(std::string_view text) {
  PAWL_CHECK("core-22", text.size() <= capacity_);
  if (data_ == nullptr) return;
  if (!text.empty()) std::memmove(data_, text.data(), text.size());
  size_ = text.size();
  data_[size_] = '\0';
}

Status Text::assign(std::string_view text) {
  if (text.size() > capacity_) return Status::kResourceExhausted;
  put(text);
  return Status::kOk;
}

Status Text::append(std::string_view text) {
  if (text.size() > capacity_ - size_) return Status::kResourceExhausted;
  if (text.empty()) return Status::kOk;
  std::memmove(data_ + size_, text.data(), text.size());
  size_ += text.size();
  data_[size_] = '\0';
  return Status::kOk;
}

Status Text::append_signed(std::int64_t number) {
  if (number >= 0) return append_unsigned(static_cast<std::uint64_t>(number), 10, 1);
  const std::size_t before = size_;
  PAWL_TRY(append('-'));
  // Negated as unsigned: the lowest number has no positive counterpart.
  const Status status = append_unsigned(0 - static_cast<std::uint64_t>(number), 10, 1);
  if (status != Status::kOk) truncate(before);
  return status;
}

Status Text::append_unsigned(std::uint64_t number, unsigned base, unsigned digits) {
  constexpr std::size_t kDigitsMax = 20;  // digits of 2^64 - 1
  char reversed[kDigitsMax];
  std::size_t at = kDigitsMax;
  const std::size_t wanted = digits < kDigitsMax ? digits : kDigitsMax;
  do {
    --at;
    reversed[at] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0 || kDigitsMax - at < wanted);
  return append(std::string_view(reversed + at, kDigitsMax - at));
}

bool Text::assign_cut(std::string_view text) {
  const std::size_t size = bytes_to_keep(text, capacity_);
  put(text.substr(0, size));
  return size == text.size();
}

void Text::truncate(std::size_t size) {
  if (size >= size_) return;
  size_ = size;
  data_[size_] = '\0';
}

}  // namespace pawl
