// Files inside the program: the page.
//
// The build makes the table from src/parts/endpoint/page (embed.cmake). Ownership: constants.
#ifndef PAWL_PARTS_ENDPOINT_EMBEDDED_HPP
#define PAWL_PARTS_ENDPOINT_EMBEDDED_HPP

#include <cstddef>
#include <string_view>

namespace pawl::http {

struct EmbeddedFile {
  std::string_view name;  // "page/index.html"
  const char* content_type;
  std::string_view text;
};

extern const EmbeddedFile kEmbedded[];
extern const std::size_t kEmbeddedCount;

// Null: no such file.
inline const EmbeddedFile* find_embedded(std::string_view name) {
  for (std::size_t i = 0; i < kEmbeddedCount; ++i)
    if (kEmbedded[i].name == name) return &kEmbedded[i];
  return nullptr;
}

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_EMBEDDED_HPP
