// Manual: the texts of `pawld --help` and of the manual page, from one table.
//
// Purpose: the build runs the program to make the page, so page and program have the same options.
// Ownership: none. Thread rule: any.
#ifndef PAWL_APPS_PAWLD_MANUAL_HPP
#define PAWL_APPS_PAWLD_MANUAL_HPP

#include <string>

namespace pawld {

inline constexpr char kDefaultFile[] = "/etc/pawl/pawld.json";

[[nodiscard]] std::string help_text();
// The page pawld(8), in roff.
[[nodiscard]] std::string manual_page();

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_MANUAL_HPP
