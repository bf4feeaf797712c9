// json_tree: parsed JSON in the JsonMemory of this thread, for the sources of this layer.
//
// Ownership: a tree lives until the next parse or the end of the JsonMemory. Thread rule: each
// thread has its own.
#ifndef PAWL_CODEC_JSON_TREE_HPP
#define PAWL_CODEC_JSON_TREE_HPP

#include <cJSON.h>

#include <cstdint>
#include <string_view>

namespace pawl {

// Beyond this number a double cannot hold every integer: such numbers are written as texts.
inline constexpr std::int64_t kExactDouble = std::int64_t{1} << 53;

[[nodiscard]] bool has_json_memory();
// False if the text has a zero character, raw or escaped, or more levels than these. The parser
// must not get such a text, since it recurses and ends texts at a zero.
[[nodiscard]] bool is_safe_json(std::string_view text, int levels_max);
// Makes cJSON allocate from each thread's JsonMemory, once in a process. Every call of cJSON,
// printing too, reads these hooks: call this before a thread's first one, so that no other thread
// installs them meanwhile.
void install_json_hooks();
// Null: it is no JSON, or json_memory_was_short().
[[nodiscard]] const cJSON* parse_json(std::string_view text);
[[nodiscard]] bool json_memory_was_short();

}  // namespace pawl

#endif  // PAWL_CODEC_JSON_TREE_HPP
