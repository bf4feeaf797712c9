// Shared parts of the messages of `pawl` and `pawld` to people: both say the same thing in the same
// way. Both are programs like a user's, so this file includes public headers alone.
#ifndef PAWL_APPS_COMMON_MESSAGE_HPP
#define PAWL_APPS_COMMON_MESSAGE_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::programs {

// `text` as write_printable() writes it: a terminal shows it and obeys nothing in it.
[[nodiscard]] std::string printable(std::string_view text);

// The name that was probably meant by a word that is none of `names`: one that begins with the
// word, or the one that needs the fewest letters added, removed, replaced or swapped with their
// neighbour, if they are few for a word of that length. Looks at 64 letters of each.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& names);

}  // namespace pawl::programs

#endif  // PAWL_APPS_COMMON_MESSAGE_HPP
