// Config: the configuration file of pawld, read and checked as a whole.
//
// Purpose: docs/pawld.md and docs/pawld/programs.md are the reference of the format. Ownership: a
// Config owns all of its texts and does not move after read(), since other objects keep pointers to
// them. Thread rule: constant after read().
#ifndef PAWL_APPS_PAWLD_CONFIG_HPP
#define PAWL_APPS_PAWLD_CONFIG_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/pawld/definition.hpp"
#include "pawl/log_sinks.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/server_database.hpp"

namespace pawld {

// An activity that is a program.
struct ProgramActivity {
  enum class Outcome : std::uint8_t { kDone, kRetry, kPermanent };

  std::string name;
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env;
  std::string cwd;
  std::int64_t result_max = 16 * 1024;
  std::int64_t kill_after_ms = 5'000;  // between SIGTERM and SIGKILL
  std::vector<int> retry_exits{75};
  std::vector<int> permanent_exits{64, 65, 77, 78};
  bool others_are_permanent = false;
  Policy policy;

  [[nodiscard]] Outcome outcome_of(int exit_code) const;
};

struct NamedDefinition {
  std::string name;
  Definition definition;
  std::string record;
};

struct InstanceToStart {
  std::string name;
  std::string id;
  std::string input;
};

// The target of the log. kAuto: the journal if standard error leads there.
enum class LogPlace : std::uint8_t { kAuto, kStandardError, kJournal, kSyslog };

// The HTTP endpoint: a Unix socket, or a TCP socket if a port is set.
struct EndpointConfig {
  std::string socket;     // empty: beside the database
  std::int64_t port = 0;  // 0: no TCP
  std::string address = "127.0.0.1";
  std::string token_file;    // needed with a port
  std::string host_name;     // empty: none
  std::string metrics_file;  // empty: none
  bool allow_others = false;
  bool read_only = false;
};

class Config {
 public:
  Config() = default;
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  // Returns the problems; empty: none, and the members below hold the values.
  [[nodiscard]] std::vector<std::string> read(const std::string& file, std::string_view text);
  // The same for a file.
  [[nodiscard]] std::vector<std::string> read_file(const std::string& file);

  [[nodiscard]] const ProgramActivity* find_activity(std::string_view name) const;
  [[nodiscard]] const NamedDefinition* find_definition(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> devices() const;  // each once

  std::string database;  // with `server`, what lies beside it on this machine begins with this path
  std::optional<pawl::ServerDatabase> server;  // none: the file
  std::string node = "pawld";
  pawl::LogLevel log = pawl::LogLevel::kInfo;
  LogPlace log_to = LogPlace::kAuto;
  pawl::posix::LogForm log_form = pawl::posix::LogForm::kTimedText;  // for standard error
  std::optional<EndpointConfig> endpoint;
  bool group_access = false;
  pawl::posix::WallTrust clock = pawl::posix::WallTrust::kKernel;
  std::string session_folders;  // empty: none
  std::int64_t programs = 4;    // at the same time
  std::int64_t payload_max = 64 * 1024;
  std::int64_t sessions = 128;
  std::int64_t memory = 2 * 1024 * 1024;  // for decoded histories
  std::int64_t stop_ms = 10'000;
  std::int64_t quota_bytes = 0;
  std::int64_t retention_age_ms = 0;
  std::int64_t retention_count = 0;
  std::int64_t retention_executions = 0;
  std::vector<ProgramActivity> activities;
  std::vector<NamedDefinition> definitions;
  std::vector<InstanceToStart> start;

 private:
  void read_all(Section& top);
  void read_database(Section& top);
  void read_server(Section& top);
  void read_log(Section& top);
  void read_endpoint(Section& top);
  void read_limits(Section& top);
  void read_retention(Section& top);
  void read_activities(Section& top);
  void read_definitions(Section& top);
  void read_start(Section& top);
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_CONFIG_HPP
