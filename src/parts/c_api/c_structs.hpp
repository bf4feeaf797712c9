// Structs of C that only grow, and the structs of C++ that they stand for.
//
// Purpose: a table says which member of C is which of C++, so one loop reads the options of any
// release, gives defaults and fills in answers; code for each member would be some five times as
// large. The compiler checks a table: every member of the C struct has its row, in order, and no
// padding is behind the last one, where a later release would put its next member. Ownership: the
// tables are constants. Thread rule: callable from any.
#ifndef PAWL_PARTS_C_API_C_STRUCTS_HPP
#define PAWL_PARTS_C_API_C_STRUCTS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "pawl/call_text.hpp"
#include "pawl/name.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/pawl_types.h"
#include "pawl/status.hpp"

namespace pawl::c_api {

enum class Kind : std::uint8_t {
  kCopy,  // the same bytes in both
  kFlag,  // int, bool
  kEnum,  // int, an enumeration of one byte
  kSize,  // std::uint32_t, std::size_t
  kName,  // const char*, Name: given to Pawl only, as the next four
  kMaybeName,
  kPath,
  kMaybePath,
  kMaybeSpan,  // std::int64_t in ms, std::optional of them: 0 is none
  kText,       // pawl_text, std::string_view: filled in only, as the next two
  kCallText,
  kMaybeMs,
  kInt,  // int that code reads; `cpp` is its default
  kCode  // other bytes that code reads: `cpp` of them, aligned to `more`; zero by default
};

// A member of a struct of C.
struct Member {
  std::uint16_t c;    // its offset
  std::uint16_t cpp;  // the offset in the struct of C++
  Kind kind;
  std::uint8_t more;  // kCopy: the number of bytes; kEnum: the greatest number; kFlag: the default
};

constexpr std::size_t bytes_of(const Member& member) {
  switch (member.kind) {
    case Kind::kCopy: return member.more;
    case Kind::kFlag:
    case Kind::kEnum:
    case Kind::kInt: return sizeof(int);
    case Kind::kSize: return sizeof(std::uint32_t);
    case Kind::kMaybeSpan: return sizeof(std::int64_t);
    case Kind::kText:
    case Kind::kCallText: return sizeof(pawl_text);
    case Kind::kMaybeMs: return sizeof(pawl_optional_ms);
    case Kind::kCode: return member.cpp;
    default: return sizeof(const char*);
  }
}

// A struct of C: its members behind `size`, and its own default values.
struct Layout {
  const Member* members;
  std::uint16_t count;
  std::uint16_t bytes;
  // Writes the defaults of the members that `bytes` cover; null: the rows have them.
  void (*defaults)(void* out, std::size_t bytes);
};

// A caller's struct may be so much larger than what this library knows.
constexpr std::size_t kGrowthMost = 256;
constexpr std::size_t kOptionsBytesMost = 512;  // of a struct of options

// Fills in a struct of options. Members that this library does not know become zero.
void give_defaults(const Layout& layout, void* out, std::size_t bytes);
// Makes a whole struct of one that a caller gave, which may be of another release, or null.
// Returns kOk; kInvalidArgument: its size is of no release; kUnsupported: it has a member that this
// library does not know.
Status take(const Layout& layout, const void* given, void* whole);
// Copies the members of a whole struct into one of C++. False: a number is none of its enumeration.
bool to_cpp(const Layout& layout, const void* whole, void* cpp);
// Takes options as a struct of C++.
// Returns the same as take(); kInvalidArgument also: a number is none of its enumeration.
Status take_options(const Layout& layout, const void* given, void* cpp);
// Whether a caller's struct, to be filled in, has a size of any release.
bool has_room(const Layout& layout, const void* out);
// Fills in the members that the struct has room for.
void from_cpp(const Layout& layout, const void* cpp, void* out);
// The same without a look at the size, which is `bytes`.
void from_cpp(const Layout& layout, const void* cpp, void* out, std::size_t bytes);

// ---- making tables ----

template <typename InC, typename InCpp>
constexpr Member member(std::size_t c, std::size_t cpp, int most) {
  Kind kind = Kind::kCopy;
  std::size_t more = 0;
  using Bare = std::remove_cv_t<InCpp>;
  if constexpr (std::is_same_v<Bare, bool>) {
    static_assert(std::is_same_v<InC, int>);
    kind = Kind::kFlag;
    more = static_cast<std::size_t>(most);
  } else if constexpr (std::is_enum_v<Bare>) {
    static_assert(std::is_same_v<InC, int> && sizeof(Bare) == 1);
    kind = Kind::kEnum;
    more = static_cast<std::size_t>(most);
  } else if constexpr (std::is_same_v<InC, const char*> && !std::is_pointer_v<Bare>) {
    constexpr bool is_name = std::is_same_v<Bare, Name>;
    constexpr bool is_maybe_name = std::is_same_v<Bare, std::optional<Name>>;
    constexpr bool is_path = std::is_same_v<Bare, Path>;
    static_assert(is_name || is_maybe_name || is_path || std::is_same_v<Bare, std::optional<Path>>);
    kind = is_name         ? Kind::kName
           : is_maybe_name ? Kind::kMaybeName
           : is_path       ? Kind::kPath
                           : Kind::kMaybePath;
  } else if constexpr (std::is_same_v<Bare, std::optional<std::chrono::milliseconds>>) {
    static_assert(std::is_same_v<InC, std::int64_t>);
    kind = Kind::kMaybeSpan;
  } else if constexpr (std::is_same_v<InC, pawl_text>) {
    static_assert(std::is_same_v<Bare, std::string_view> || std::is_same_v<Bare, CallText>);
    kind = std::is_same_v<Bare, CallText> ? Kind::kCallText : Kind::kText;
  } else if constexpr (std::is_same_v<InC, pawl_optional_ms>) {
    static_assert(std::is_same_v<Bare, OptionalMs>);
    kind = Kind::kMaybeMs;
  } else if constexpr (sizeof(InC) == sizeof(Bare)) {
    static_assert(std::is_trivially_copyable_v<Bare> && sizeof(InC) <= UINT8_MAX);
    more = sizeof(InC);
  } else {
    static_assert(std::is_same_v<InC, std::uint32_t> && std::is_same_v<Bare, std::size_t>);
    kind = Kind::kSize;
  }
  return {static_cast<std::uint16_t>(c), static_cast<std::uint16_t>(cpp), kind,
          static_cast<std::uint8_t>(more)};
}
constexpr Member int_member(std::size_t c, int value) {
  return {static_cast<std::uint16_t>(c), static_cast<std::uint16_t>(value), Kind::kInt, 0};
}
constexpr Member code_member(std::size_t c, std::size_t bytes, std::size_t align) {
  return {static_cast<std::uint16_t>(c), static_cast<std::uint16_t>(bytes), Kind::kCode,
          static_cast<std::uint8_t>(align)};
}

constexpr std::size_t alignment_of(const Member& member) {
  switch (member.kind) {
    case Kind::kCopy:
      return member.more < alignof(std::int64_t) ? member.more : alignof(std::int64_t);
    case Kind::kMaybeSpan: return alignof(std::int64_t);
    case Kind::kMaybeMs: return alignof(pawl_optional_ms);
    case Kind::kText:
    case Kind::kCallText: return alignof(pawl_text);
    case Kind::kCode: return member.more;
    default: return bytes_of(member);
  }
}

// Whether each member of a struct has its row, and none can come to lie in padding.
template <std::size_t kCount>
constexpr bool is_whole(const Member (&members)[kCount], std::size_t bytes) {
  std::size_t at = sizeof(std::size_t);
  for (const Member& one : members) {
    const std::size_t align = alignment_of(one);
    at = (at + align - 1) / align * align;
    if (one.c != at) return false;
    at += bytes_of(one);
  }
  return at == bytes;
}

// A struct of C: the one of C++, and the layout. A specialisation each, in c_layouts.hpp.
template <typename C>
struct StructOf;

template <typename Table>
constexpr Layout layout_of(void (*defaults)(void*, std::size_t)) {
  using C = typename Table::C;
  static_assert(offsetof(C, size) == 0 && is_whole(Table::kMembers, sizeof(C)));
  return {Table::kMembers, static_cast<std::uint16_t>(sizeof Table::kMembers / sizeof(Member)),
          static_cast<std::uint16_t>(sizeof(C)), defaults};
}

// Takes options that may be null, as a struct of C++.
// Returns the same as take(); kInvalidArgument also: a number is none of its enumeration.
template <typename C>
Status take_options(const C* given, typename StructOf<C>::Cpp* out) {
  static_assert(sizeof(C) <= kOptionsBytesMost);
  return take_options(StructOf<C>::kLayout, given, out);
}

}  // namespace pawl::c_api

// Declares a struct, and defines its layout by the table.
#define PAWL_C_STRUCT(c_name, cpp_name) \
  template <>                           \
  struct StructOf<c_name> {             \
    using Cpp = cpp_name;               \
    static const Layout kLayout;        \
  }
#define PAWL_C_LAYOUT(table, defaults) \
  const Layout StructOf<table::C>::kLayout = layout_of<table>(defaults)

// ShownRows of a table, where `C` and `Cpp` are the structs. The second takes a member of C++ with
// another name. The others say more: the greatest number of an enumeration, a flag's default.
#define PAWL_C_SAME(name) PAWL_C_MEMBER(name, name)
#define PAWL_C_MEMBER(name, cpp_name) PAWL_C_ENUM(name, cpp_name, 0)
#define PAWL_C_MS(name) PAWL_C_MEMBER(name##_ms, name)
#define PAWL_C_ENUM(name, cpp_name, most)                            \
  ::pawl::c_api::member<decltype(C::name), decltype(Cpp::cpp_name)>( \
      static_cast<std::size_t>(offsetof(C, name)), offsetof(Cpp, cpp_name), most)
#define PAWL_C_FLAG(name, value) PAWL_C_ENUM(name, name, value)
// Those that code reads.
#define PAWL_C_INT(name, value) ::pawl::c_api::int_member(offsetof(C, name), value)
#define PAWL_C_CODE(name)                                                  \
  ::pawl::c_api::code_member(offsetof(C, name), sizeof(decltype(C::name)), \
                             alignof(decltype(C::name)))

#endif  // PAWL_PARTS_C_API_C_STRUCTS_HPP
