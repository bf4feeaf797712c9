// Parsed JSON in the JsonMemory of this thread, for the sources of this layer.
//
// Ownership: a tree lives until the next parse or the end of the JsonMemory. Thread rule: a
// thread's own.
#ifndef PAWL_CODEC_JSON_TREE_HPP
#define PAWL_CODEC_JSON_TREE_HPP

#include <cJSON.h>

#include <cstdint>
#include <string_view>

namespace pawl {

// Beyond this a double does not hold every integer: such numbers are written as texts.
inline constexpr std::int64_t kExactDouble = std::int64_t{1} << 53;

[[nodiscard]] bool has_json_memory();
// No zero character, raw or escaped, and no more levels than these: what the parser, which recurses
// and ends texts with a zero, must not be given.
[[nodiscard]] bool is_safe_json(std::string_view text, int levels_max);
// Gives cJSON the JsonMemory of each thread, once in a process. Every call of cJSON reads these
// hooks, printing too: call this before the first one of a thread, so that no other thread installs
// them meanwhile.
void install_json_hooks();
// Null: no JSON, or json_memory_was_short().
[[nodiscard]] const cJSON* parse_json(std::string_view text);
[[nodiscard]] bool json_memory_was_short();

}  // namespace pawl

#endif  // PAWL_CODEC_JSON_TREE_HPP
