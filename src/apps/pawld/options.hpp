// Options of the library, made from the configuration.
//
// Purpose: one place, since the replay check must have the Runtime's limits. Thread rule: none.
#ifndef PAWL_APPS_PAWLD_OPTIONS_HPP
#define PAWL_APPS_PAWLD_OPTIONS_HPP

#include "apps/pawld/config.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace pawld {

// Without log, listener and scratch, which the daemon sets.
[[nodiscard]] pawl::Options runtime_options(const Config& config);
[[nodiscard]] pawl::posix::PortOptions port_options(const Config& config);

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_OPTIONS_HPP
