// database_uri: the name of a file as SQLite's URI, to which parameters can be added.
//
// Ownership: the text is the caller's. Thread rule: none.
#ifndef PAWL_STORE_SQLITE_DATABASE_URI_HPP
#define PAWL_STORE_SQLITE_DATABASE_URI_HPP

#include <string_view>

#include "core/text.hpp"
#include "pawl/status.hpp"

namespace pawl::sqlite {

// Appends the path, with every character that could have a meaning in a URI as %XX.
inline Status append_escaped(Text& uri, std::string_view path) {
  for (const char character : path) {
    const bool plain = (character >= 'a' && character <= 'z') ||
                       (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9') || character == '/' ||
                       character == '.' || character == '-' || character == '_';
    if (plain) {
      PAWL_TRY(uri.append(character));
    } else {
      PAWL_TRY(uri.append('%'));
      PAWL_TRY(uri.append_hex(static_cast<unsigned char>(character), 2));
    }
  }
  return Status::kOk;
}

// An empty authority ("//") keeps a path that begins with two slashes a path.
inline Status begin_uri(Text& uri, std::string_view path) {
  PAWL_TRY(uri.assign(!path.empty() && path.front() == '/' ? "file://" : "file:"));
  return append_escaped(uri, path);
}

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_DATABASE_URI_HPP
