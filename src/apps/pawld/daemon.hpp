// The daemon: a Host around the configured activities and orchestrations.
//
// Purpose: the work of pawld after its configuration is read. Thread rule: the main thread.
#ifndef PAWL_APPS_PAWLD_DAEMON_HPP
#define PAWL_APPS_PAWLD_DAEMON_HPP

#include <string>

#include "apps/pawld/config.hpp"

namespace pawld {

// Exit codes of pawld.
inline constexpr int kStopped = 0;   // in order; also: go; the configuration is good
inline constexpr int kFailed = 1;    // the log says why; also: no-go
inline constexpr int kWrongUse = 2;  // the command line is wrong; also: the check could not be done
inline constexpr int kWrongConfig = 78;  // EX_CONFIG: a restart does not help

// Works until SIGINT or SIGTERM. SIGHUP reads `file` again, but only to check it.
int run_daemon(const Config& config, const std::string& file);
// Whether the instances in the database can go on with this configuration.
int check_replay(const Config& config);

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_DAEMON_HPP
