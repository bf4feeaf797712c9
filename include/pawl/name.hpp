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

inline constexpr std::size_t kNameBytesMax = 256;    // the limit of every name and id
inline constexpr std::size_t kTraceIdBytesMax = 64;  // a traceparent of W3C has 55

// Whether an id is plain. Besides being a name it also becomes a part of a path, so it may not be
// "." or "..", which lead elsewhere there, nor have a blank at its begin or end, which people do
// not see. New ids of instances, sessions, devices and workers must be plain. One that an older
// Pawl has stored can still be read, ended and deleted.
[[nodiscard]] constexpr bool is_plain_id(std::string_view id) {
  return id != "." && id != ".." && (id.empty() || (id.front() != ' ' && id.back() != ' '));
}

namespace internal {

// Holds one byte more than a name may have. That much of a longer text is kept, so each check of a
// name refuses it as too long, and no flag can be forgotten.
class OwnedText {
 public:
  // The bytes stay as they are, since only those in use are ever read. With a default constructor
  // `T()` would set all of them to 0.
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

// The text of any type that kIsText accepts. A null pointer is an empty text, as getenv() answers
// one for a variable that is not set.
template <typename T>
std::string_view text_of(const T& text) {
  if constexpr (std::is_pointer_v<T>) {
    return text == nullptr ? std::string_view() : std::string_view(text);
  } else {
    return text;
  }
}

// Whether an argument outlives the call: an object that has a name, or a value that does not own
// its bytes.
template <typename T>
inline constexpr bool kOutlivesTheCall =
    std::is_lvalue_reference_v<T> || std::is_trivially_copyable_v<T>;

}  // namespace internal

// The name of a session, a tag, a version: any short text of an option. The call that takes the
// name refuses a text longer than kNameBytesMax with kInvalidArgument.
class Name {
 public:
  Name() = default;  // empty
  // Implicit, for everything that a string_view can be made of; a null pointer is an empty name.
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Name(const T& text) : text_(internal::text_of(text)) {}
  Name(std::nullptr_t) = delete;  // without a name: Name(), or std::nullopt if it may be absent

  // The view lives as long as the Name, and until that is assigned to.
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
// which ids of children have; a new one is a plain id (is_plain_id()). The call that takes the id
// refuses any other text with kInvalidArgument.
class InstanceId {
 public:
  explicit InstanceId(std::string_view text) : text_(text) {}

  // The view lives as long as the InstanceId, and until that is assigned to.
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

// The path of a file or a folder in an option. A text that is longer than kBytesMax, or that has a
// zero byte inside, does not fit: only its size is kept, so it cannot be taken for another path,
// and the start refuses it with the name of the option.
class Path {
 public:
  static constexpr std::size_t kBytesMax = 400;

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): only bytes in use are set
  Path() { assign({}); }  // empty
  // Implicit, for everything that a string_view can be made of; a null pointer is an empty path.
  template <typename T, typename = std::enable_if_t<internal::kIsText<T>>>
  // NOLINTNEXTLINE(google-explicit-constructor,cppcoreguidelines-pro-type-member-init)
  Path(const T& text) {
    assign(internal::text_of(text));
  }
  Path(std::nullptr_t) = delete;  // without a path: Path(), or std::nullopt if it may be absent
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  Path(const Path& other) { copy(other); }
  Path& operator=(const Path& other) {
    if (this != &other) copy(other);
    return *this;
  }
  ~Path() = default;

  // The path with a zero byte behind it; empty if it does not fit. It lives as long as the Path,
  // and until that is assigned to.
  [[nodiscard]] const char* c_str() const& { return text_; }
  const char* c_str() const&& = delete;  // the bytes would be gone
  [[nodiscard]] std::string_view view() const& { return {text_, fits_ ? size_ : 0}; }
  std::string_view view() const&& = delete;
  [[nodiscard]] bool fits() const { return fits_; }
  // The size of the text that the Path was made from, also if that does not fit.
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

// A text that is too long or too rare to be copied: the giver keeps it alive as long as the taker
// says. A temporary that owns its bytes, as a std::string that is made in the call, does not
// compile.
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
  BorrowedText(T&&) = delete;  // its bytes would be gone when they are read

  [[nodiscard]] std::string_view view() const { return view_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const { return view_; }

 private:
  std::string_view view_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_NAME_HPP
