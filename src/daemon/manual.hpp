// Manual: what `pawld --help` and the manual page say, from one table.
//
// Purpose: the page is made by the program in the build, so it never has other options than the
// program. Ownership: none. Thread rule: any.
#ifndef PAWL_DAEMON_MANUAL_HPP
#define PAWL_DAEMON_MANUAL_HPP

#include <string>

namespace pawld {

inline constexpr char kDefaultFile[] = "/etc/pawl/pawld.json";

[[nodiscard]] std::string help_text();
// pawld(8), in roff.
[[nodiscard]] std::string manual_page();

}  // namespace pawld

#endif  // PAWL_DAEMON_MANUAL_HPP
