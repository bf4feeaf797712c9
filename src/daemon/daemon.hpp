// The daemon: a Host around the configured activities and orchestrations.
//
// Purpose: what pawld does once its configuration is read. Thread rule: the main thread.
#ifndef PAWL_DAEMON_DAEMON_HPP
#define PAWL_DAEMON_DAEMON_HPP

#include <string>

#include "config.hpp"

namespace pawld {

// Exit codes of pawld.
inline constexpr int kStopped = 0;       // in order; or: go, or: the configuration is good
inline constexpr int kFailed = 1;        // the log says why; or: no-go
inline constexpr int kWrongUse = 2;      // of the command line; or: the check could not be done
inline constexpr int kWrongConfig = 78;  // EX_CONFIG: a restart does not help

// Works until SIGINT or SIGTERM. `file` is read again, and only checked, at SIGHUP.
int run_daemon(const Config& config, const std::string& file);
// Whether what is in flight in the database can go on with this configuration.
int check_replay(const Config& config);

}  // namespace pawld

#endif  // PAWL_DAEMON_DAEMON_HPP
