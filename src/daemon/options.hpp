// What the configuration means as options of the library.
//
// Purpose: one place, since the replay check must have the limits of the Runtime. Thread rule: none.
#ifndef PAWL_DAEMON_OPTIONS_HPP
#define PAWL_DAEMON_OPTIONS_HPP

#include "config.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace pawld {

// Without log, listener and scratch, which the daemon has.
[[nodiscard]] pawl::Options runtime_options(const Config& config);
[[nodiscard]] pawl::posix::PortOptions port_options(const Config& config);

}  // namespace pawld

#endif  // PAWL_DAEMON_OPTIONS_HPP
