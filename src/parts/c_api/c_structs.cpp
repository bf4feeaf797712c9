#include "parts/c_api/c_structs.hpp"

#include <algorithm>
#include <cstring>

#include "parts/c_api/c_types.hpp"

namespace pawl::c_api {
namespace {

template <typename T>
T read(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void write(void* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
const void* at_of(const void* base, std::size_t offset) {
  return static_cast<const char*>(base) + offset;
}
void* at_of(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

template <typename T>
void assign_text(void* to, const char* text) {
  if (text != nullptr) *static_cast<T*>(to) = text;
}

// False: the number is none of the enumeration.
bool to_cpp(const Member& member, const void* from, void* to) {
  switch (member.kind) {
    case Kind::kCopy: std::memcpy(to, from, member.more); break;
    case Kind::kFlag: write<bool>(to, read<int>(from) != 0); break;
    case Kind::kEnum: {
      const int number = read<int>(from);
      if (number < 0 || number > member.more) return false;
      write<std::uint8_t>(to, static_cast<std::uint8_t>(number));
      break;
    }
    case Kind::kSize: write<std::size_t>(to, read<std::uint32_t>(from)); break;
    case Kind::kName: assign_text<Name>(to, read<const char*>(from)); break;
    case Kind::kMaybeName: assign_text<std::optional<Name>>(to, read<const char*>(from)); break;
    case Kind::kPath: assign_text<Path>(to, read<const char*>(from)); break;
    case Kind::kMaybePath: assign_text<std::optional<Path>>(to, read<const char*>(from)); break;
    case Kind::kMaybeSpan: write(to, limit_of(read<std::int64_t>(from))); break;
    default: break;
  }
  return true;
}

void from_cpp(const Member& member, const void* from, void* to) {
  switch (member.kind) {
    case Kind::kCopy: std::memcpy(to, from, member.more); break;
    case Kind::kFlag: write<int>(to, read<bool>(from) ? 1 : 0); break;
    case Kind::kEnum: write<int>(to, read<std::uint8_t>(from)); break;
    case Kind::kSize: write(to, static_cast<std::uint32_t>(read<std::size_t>(from))); break;
    case Kind::kText: write(to, text_of(*static_cast<const std::string_view*>(from))); break;
    case Kind::kCallText: write(to, text_of(*static_cast<const CallText*>(from))); break;
    case Kind::kMaybeMs: {
      const auto& ms = *static_cast<const OptionalMs*>(from);
      write(to, pawl_optional_ms{ms.value_or(0), ms.has_value() ? 1 : 0});
      break;
    }
    default: break;
  }
}

// Whether a size is of a release: it ends behind a member, or this library knows less.
bool is_of_a_release(const Layout& layout, std::size_t bytes) {
  if (bytes > layout.bytes) return bytes <= layout.bytes + kGrowthMost;
  return std::any_of(layout.members, layout.members + layout.count,
                     [&](const Member& one) { return one.c + bytes_of(one) == bytes; });
}

bool is_zero(const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const char*>(from);
  return std::all_of(first, first + bytes, [](char byte) { return byte == 0; });
}

}  // namespace

void from_cpp(const Layout& layout, const void* cpp, void* out, std::size_t bytes) {
  for (std::size_t i = 0; i < layout.count; ++i) {
    const Member& one = layout.members[i];
    if (one.c + bytes_of(one) > bytes) return;
    if (one.kind < Kind::kInt) from_cpp(one, at_of(cpp, one.cpp), at_of(out, one.c));
  }
}
void from_cpp(const Layout& layout, const void* cpp, void* out) {
  const auto bytes = read<std::size_t>(out);
  from_cpp(layout, cpp, out, bytes);
  if (bytes > layout.bytes) std::memset(at_of(out, layout.bytes), 0, bytes - layout.bytes);
}

void give_defaults(const Layout& layout, void* out, std::size_t bytes) {
  std::memset(out, 0, bytes);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const Member& one = layout.members[i];
    const int value = one.kind == Kind::kInt ? one.cpp : one.more;
    const bool has_value = one.kind == Kind::kInt || one.kind == Kind::kFlag;
    if (has_value && one.c + sizeof value <= bytes) write<int>(at_of(out, one.c), value);
  }
  if (layout.defaults != nullptr) layout.defaults(out, bytes);
  write(out, bytes);
}

Status take(const Layout& layout, const void* given, void* whole) {
  give_defaults(layout, whole, layout.bytes);
  if (given == nullptr) return Status::kOk;
  const auto bytes = read<std::size_t>(given);
  if (!is_of_a_release(layout, bytes)) return Status::kInvalidArgument;
  if (bytes > layout.bytes && !is_zero(at_of(given, layout.bytes), bytes - layout.bytes))
    return Status::kUnsupported;
  std::memcpy(whole, given, std::min<std::size_t>(bytes, layout.bytes));
  write<std::size_t>(whole, layout.bytes);
  return Status::kOk;
}

bool to_cpp(const Layout& layout, const void* whole, void* cpp) {
  return std::all_of(layout.members, layout.members + layout.count, [&](const Member& one) {
    return one.kind >= Kind::kInt || to_cpp(one, at_of(whole, one.c), at_of(cpp, one.cpp));
  });
}

Status take_options(const Layout& layout, const void* given, void* cpp) {
  alignas(std::max_align_t) unsigned char whole[kOptionsBytesMost];
  PAWL_TRY(take(layout, given, whole));
  return to_cpp(layout, whole, cpp) ? Status::kOk : Status::kInvalidArgument;
}

bool has_room(const Layout& layout, const void* out) {
  return out != nullptr && is_of_a_release(layout, read<std::size_t>(out));
}

std::string_view text_of_refusal(Status status) {
  return status == Status::kUnsupported
             ? "a member or a bit that this library does not know"
             : "a size of a struct that no release has, or a number that is none of its "
               "enumeration";
}

}  // namespace pawl::c_api
