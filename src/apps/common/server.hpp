// Servers: a database on a server, by the text that stands in the place of a path.
//
// Purpose: `pawl` and `pawld` take the same text, and show no password of it. Where this was built
// without libpq, they still know such a text and refuse it. Ownership: nothing is kept. Thread
// rule: any thread.
#ifndef PAWL_APPS_COMMON_SERVER_HPP
#define PAWL_APPS_COMMON_SERVER_HPP

#include <optional>
#include <string>
#include <string_view>

#include "pawl/server_database.hpp"

namespace pawl::programs {

inline constexpr std::string_view kUsualSchema = "pawl";

// Whether the text begins with postgresql:// or postgres://; any other is the path of a file.
[[nodiscard]] bool is_server(std::string_view database);
// None: the program was built without libpq.
[[nodiscard]] std::optional<ServerDatabase> server_at(std::string_view address,
                                                      std::string_view schema);
// `text` without an address or a password of a server: what stands behind its first one goes with
// it, since only libpq knows where an address ends.
[[nodiscard]] std::string without_address(std::string_view text);

}  // namespace pawl::programs

#endif  // PAWL_APPS_COMMON_SERVER_HPP
