// Name, InstanceId and Path: texts that own their bytes.
//
// Purpose: a name or a path in an option may be made from parts, as "sensor-" + std::to_string(7),
// and the text it was made from may be gone when the call reads it. A view would then read freed
// memory, and no compiler says so. An instance's id is a type of its own besides, so that it cannot
// be taken for the name of an orchestration.
// Ownership: the bytes are in the object, no memory is allocated; only bytes in use are written or
// copied. Thread rule: none. Units: bytes.
#ifndef PAWL_NAME_HPP
#define PAWL_NAME_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#pragma GCC visibility push(default)

namespace pawl {

inline constexpr std::size_t kNameBytesMax = 256;    // of every name and id
inline constexpr std::size_t kTraceIdBytesMax = 64;  // a traceparent of W3C has 55

// What an id must be besides a name, for it also becomes a part of a path: not "." or "..", which lead
// elsewhere there, and without a blank at its begin or end, which people do not see. That is asked of new
// ids of instances, sessions, devices and workers. One that an older Pawl has stored can still be read,
// ended and deleted.
[[nodiscard]] constexpr bool is_plain_id(std::string_view id) {
  return id != "." && id != ".." && (id.empty() || (id.front() != ' ' && id.back() != ' '));
}

namespace internal {

// One byte more than a name may have: of a longer text so much is kept, so each check of a name
// refuses it as too long, and no flag can be forgotten.
class OwnedText {
 public:
  // The bytes stay as they are: only those in use are ever read. With a default constructor `T()`
  // would set all of them to 0.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init,modernize-use-equals-default)
  OwnedText() {}
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  explicit OwnedText(std::string_view text) { assign(text); }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  OwnedText(const OwnedText& other) { assign(other.view()); }
  OwnedText& operator=(const OwnedText& other) {
    if (this != &other) assign(other.view());
    return *this;
  }
  ~OwnedText() = default;

  [[nodiscard]] std::string_view view() const { return {text_, size_}; }

 private:
  // `text` may be a part of what is here.
  void assign(std::string_view text) {
    size_ = static_cast<std::uint16_t>(text.size() < sizeof text_ ? text.size() : sizeof text_);
    if (size_ != 0) std::memmove(text_, text.data(), size_);
  }
  std::uint16_t size_ = 0;
  char text_[kNameBytesMax + 1];
};

template <typename T>
inline constexpr bool kIsText =
    std::is_convertible_v<const std::remove_reference_t<T>&, std::string_view>;

// Of whatever kIsText has. A null pointer is an empty text, as getenv() answers one for what is not
// set.
template <typename T>
std::string_view text_of(const T& text) {
  if constexpr (std::is_pointer_v<T>) {
    return text == nullptr ? std::string_view() : std::string_view(text);
  } else {
    return text;
  }
}

// Of a forwarding reference: an object that has a name, or a value that does not own its bytes.
template <typename T>
inline constexpr bool kOutlivesTheCall =
    std::is_lvalue_reference_v<T> || std::is_trivially_copyable_v<T>;

}  // namespace internal

// The name of a session, a tag, a version: anything short that an option has. A longer text than
// kNameBytesMax is refused by the call that takes the name, as kInvalidArgument.
class Name {
 public:
  Name() = default;  // empty
  // Implicit: whatever a string_view can be made of; a null pointer is an empty name.
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Name(const T& text) : text_(internal::text_of(text)) {}
  Name(std::nullptr_t) = delete;  // no name is Name(), and std::nullopt where one may be absent

  // Lives as long as the Name, and until it is assigned to.
  [[nodiscard]] std::string_view view() const& { return text_.view(); }
  std::string_view view() const&& = delete;  // the bytes would be gone
  // Implicit, for the calls that take a name as text.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const& { return text_.view(); }
  operator std::string_view() const&& = delete;
  [[nodiscard]] bool empty() const { return text_.view().empty(); }
  [[nodiscard]] std::size_t size() const { return text_.view().size(); }

  friend bool operator==(const Name& a, const Name& b) { return a.view() == b.view(); }
  friend bool operator!=(const Name& a, const Name& b) { return a.view() != b.view(); }
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  friend bool operator==(const Name& a, const T& b) {
    return a.view() == std::string_view(b);
  }
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  friend bool operator==(const T& a, const Name& b) {
    return std::string_view(a) == b.view();
  }
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  friend bool operator!=(const Name& a, const T& b) {
    return !(a == b);
  }
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  friend bool operator!=(const T& a, const Name& b) {
    return !(a == b);
  }

 private:
  internal::OwnedText text_;
};

// The id of an instance: 1 to kNameBytesMax bytes without control characters and without "::",
// which ids of children have; a new one is a plain id (is_plain_id()). Any other text is refused by the
// call that takes the id, as kInvalidArgument.
class InstanceId {
 public:
  explicit InstanceId(std::string_view text) : text_(text) {}

  // Lives as long as the InstanceId, and until it is assigned to.
  [[nodiscard]] std::string_view view() const& { return text_.view(); }
  std::string_view view() const&& = delete;  // the bytes would be gone
  // Implicit, for the calls that take the id of an instance as text.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const& { return text_.view(); }
  operator std::string_view() const&& = delete;

  friend bool operator==(const InstanceId& a, const InstanceId& b) { return a.view() == b.view(); }
  friend bool operator!=(const InstanceId& a, const InstanceId& b) { return a.view() != b.view(); }

 private:
  internal::OwnedText text_;
};

// The path of a file or a folder in an option. One that is longer than kBytesMax, or that has a zero
// byte inside, does not fit: of it nothing is kept but its size, so it cannot be taken for another
// path, and the start refuses it with the name of the option.
class Path {
 public:
  static constexpr std::size_t kBytesMax = 400;

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): only bytes in use are set
  Path() { assign({}); }  // empty
  // Implicit: whatever a string_view can be made of; a null pointer is an empty path.
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  // NOLINTNEXTLINE(google-explicit-constructor,cppcoreguidelines-pro-type-member-init)
  Path(const T& text) {
    assign(internal::text_of(text));
  }
  Path(std::nullptr_t) = delete;  // no path is Path(), and std::nullopt where one may be absent
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  Path(const Path& other) { copy(other); }
  Path& operator=(const Path& other) {
    if (this != &other) copy(other);
    return *this;
  }
  ~Path() = default;

  // With a zero byte behind it; empty if it does not fit. Lives as long as the Path, and until it is
  // assigned to.
  [[nodiscard]] const char* c_str() const& { return text_; }
  const char* c_str() const&& = delete;  // the bytes would be gone
  [[nodiscard]] std::string_view view() const& { return {text_, fits_ ? size_ : 0}; }
  std::string_view view() const&& = delete;
  [[nodiscard]] bool fits() const { return fits_; }
  // Of the text it was made from, also if that does not fit.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  void assign(std::string_view text) {
    size_ = text.size();
    fits_ = size_ <= kBytesMax && text.find('\0') == std::string_view::npos;
    keep(text.data());
  }
  void copy(const Path& other) {
    size_ = other.size_;
    fits_ = other.fits_;
    keep(other.text_);
  }
  void keep(const char* text) {
    const std::size_t kept = fits_ ? size_ : 0;
    if (kept != 0) std::memmove(text_, text, kept);
    text_[kept] = '\0';
  }
  std::size_t size_;
  bool fits_;
  char text_[kBytesMax + 1];
};

// A text that is too long or too rare to be copied: who gives it keeps it alive as long as the taker
// says. A temporary that owns its bytes, as a std::string that is made in the call, does not compile.
class BorrowedText {
 public:
  BorrowedText() = default;
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>,
            std::enable_if_t<internal::kOutlivesTheCall<T>, int> = 0>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
  BorrowedText(T&& text) : view_(text) {}
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>,
            std::enable_if_t<!internal::kOutlivesTheCall<T>, int> = 0>
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload)
  BorrowedText(T&&) = delete;  // its bytes are gone when they are read

  [[nodiscard]] std::string_view view() const { return view_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const { return view_; }

 private:
  std::string_view view_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_NAME_HPP
