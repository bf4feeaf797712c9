#include "codec/json_tree.hpp"

#include <cstring>

#include "codec/event.hpp"
#include "core/check.hpp"

namespace pawl {
namespace {

struct JsonBlock {
  unsigned char* base = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  bool was_short = false;  // a request did not fit
};
thread_local JsonBlock json_block;

void* json_allocate(std::size_t size) {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  JsonBlock& block = json_block;
  const std::size_t start = (block.used + kAlign - 1) & ~(kAlign - 1);
  if (block.base == nullptr || start > block.size || size > block.size - start) {
    block.was_short = true;
    return nullptr;
  }
  block.used = start + size;
  return block.base + start;
}

// Releases nothing: a call of cJSON frees all it has allocated before it ends, and the next parse
// starts from the beginning.
void json_release(void*) {}

// Skips the text that begins before `at`; false if it contains a zero character, raw or escaped, or
// has no end.
bool skip_text(std::string_view text, std::size_t* at) {
  for (; *at < text.size(); ++*at) {
    if (text[*at] == '"') return true;
    if (text[*at] != '\\') continue;
    if (text.substr(*at, 6) == "\\u0000") return false;
    ++*at;
  }
  return false;
}

}  // namespace

void install_json_hooks() {
  static const bool installed = [] {
    cJSON_Hooks hooks = {json_allocate, json_release};
    cJSON_InitHooks(&hooks);
    return true;
  }();
  static_cast<void>(installed);
}

bool is_safe_json(std::string_view text, int levels_max) {
  if (text.find('\0') != std::string_view::npos) return false;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char character = text[at];
    if (character == '{' || character == '[') {
      if (++depth > levels_max) return false;
    } else if (character == '}' || character == ']') {
      --depth;
    } else if (character == '"') {
      ++at;
      if (!skip_text(text, &at)) return false;
    }
  }
  return true;
}

const cJSON* parse_json(std::string_view text) {
  install_json_hooks();
  json_block.used = 0;
  json_block.was_short = false;
  // cJSON 1.7.15 may look at the byte behind the text, so a zero is put there.
  auto* const copy = static_cast<char*>(json_allocate(text.size() + 1));
  if (copy == nullptr) return nullptr;
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return cJSON_ParseWithLengthOpts(copy, text.size() + 1, nullptr, 1);
}

bool has_json_memory() { return json_block.base != nullptr; }
bool json_memory_was_short() { return json_block.was_short; }

JsonMemory::JsonMemory(void* block, std::size_t size) {
  PAWL_CHECK("codec-2", json_block.base == nullptr);
  json_block = {static_cast<unsigned char*>(block), size, 0, false};
  // Allocations are aligned by their offset, so the base must be aligned.
  const auto misaligned = reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t);
  if (misaligned != 0 && block != nullptr) {
    const std::size_t skip = alignof(std::max_align_t) - misaligned;
    json_block.base += skip < size ? skip : size;
    json_block.size -= skip < size ? skip : size;
  }
}

JsonMemory::~JsonMemory() { json_block = {}; }

}  // namespace pawl
