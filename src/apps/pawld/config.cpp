#include "apps/pawld/config.hpp"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "apps/common/server.hpp"
#include "apps/pawld/template_text.hpp"
#include "pawl/files.hpp"
#include "pawl/options.hpp"
#include "pawl/registry.hpp"

namespace pawld {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{256} * 1024;
constexpr std::size_t kActivitiesMax = pawl::Registry::kActivitiesMax - 1;  // and pawld.definition
constexpr std::size_t kOrchestrationsMax = pawl::Registry::kOrchestrationsMax;
constexpr std::size_t kArgumentsMax = 64;
constexpr std::size_t kStartMax = 256;
constexpr char kNotPlain[] = "is \".\" or \"..\", or begins or ends with a blank";

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Returns the problem with the name of an activity, orchestration or node; empty: none.
std::string name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > pawl::kNameBytesMax) return "is longer than 256 bytes";
  if (has_control(name)) return "has a control character in it";
  if (name.substr(0, 6) == "pawld." || name.substr(0, 5) == "pawl.")
    return "begins with \"pawl.\" or \"pawld.\", which are names of the library";
  return {};
}

void read_exits(Section& section, const char* name, std::vector<int>* out) {
  if (!section.has(name)) return;
  out->clear();
  std::size_t number = 0;
  for (const JsonDocument::Id value : section.elements(name, 256)) {
    const std::string path = section.path_of(name) + "[" + std::to_string(number++) + "]";
    const std::string raw(section.document().raw(value));
    const bool is_number = section.document().type(value) == JsonType::kNumber &&
                           raw.find_first_not_of("0123456789") == std::string::npos &&
                           raw.size() <= 3;
    const int code = is_number ? std::stoi(raw) : 0;
    if (code < 1 || code > 255)
      section.problem_at(value, path,
                         "is " + raw.substr(0, 32) + ", expected an exit code, 1 to 255");
    out->push_back(code);
  }
}

void read_exit_codes(Section& section, ProgramActivity* out) {
  const auto value = section.find("exit_codes");
  if (!value.has_value()) return;
  Section codes(section.document(), *value, section.path_of("exit_codes"), section.problems());
  read_exits(codes, "retry", &out->retry_exits);
  read_exits(codes, "permanent", &out->permanent_exits);
  std::size_t others = 0;
  codes.read_choice("others", {"retry", "permanent"}, &others);
  out->others_are_permanent = others == 1;
  codes.finish();
  for (const int code : out->retry_exits)
    if (std::find(out->permanent_exits.begin(), out->permanent_exits.end(), code) !=
        out->permanent_exits.end())
      section.problem("exit_codes", std::to_string(code) + " is both \"retry\" and \"permanent\"");
}

void read_argv(Section& section, ProgramActivity* out) {
  if (!section.require("argv", "the program and its arguments, such as [\"/usr/bin/read-soil\"]"))
    return;
  std::size_t number = 0;
  for (const JsonDocument::Id value : section.elements("argv", kArgumentsMax)) {
    const std::string path = section.path_of("argv") + "[" + std::to_string(number++) + "]";
    const std::string text = section.document().text(value);
    if (section.document().type(value) != JsonType::kText)
      section.problem_at(value, path,
                         std::string("is ") + json_type_name(section.document().type(value)) +
                             ", expected a text");
    else if (text.find('\0') != std::string::npos)
      section.problem_at(value, path, "has a zero character in it");
    out->argv.push_back(text);
  }
  const auto argv = section.find("argv");
  if (argv.has_value() && section.document().type(*argv) == JsonType::kArray && number == 0)
    section.problem("argv", "is empty, expected the path of a program");
  if (!out->argv.empty() && (out->argv[0].empty() || out->argv[0].front() != '/'))
    section.problem("argv", "the program is " + quoted(out->argv[0]) +
                                ", expected an absolute path; there is no shell and no PATH");
}

void read_environment(Section& section, ProgramActivity* out) {
  for (const JsonDocument::Id value : section.members("env", 256)) {
    const std::string name = section.document().key(value);
    const std::string path = section.path_of("env") + "." + name.substr(0, 64);
    const std::string text = section.document().text(value);
    if (section.document().type(value) != JsonType::kText)
      section.problem_at(value, path, "expected a text");
    if (name.empty() || name.find('=') != std::string::npos || has_control(name))
      section.problem_at(value, path, "is no name of an environment variable");
    if (name.compare(0, 5, "PAWL_") == 0)
      section.problem_at(value, path, "begins with PAWL_, which are set by pawld");
    if (text.find('\0') != std::string::npos)
      section.problem_at(value, path, "has a zero character in it");
    out->env.emplace_back(name, text);
  }
}

ProgramActivity read_activity(Section& section, std::int64_t payload_max) {
  ProgramActivity out;
  read_argv(section, &out);
  read_environment(section, &out);
  section.read("cwd", &out.cwd);
  if (!out.cwd.empty() && out.cwd.front() != '/')
    section.problem("cwd", "is " + quoted(out.cwd) + ", expected an absolute path");
  out.result_max = std::min(out.result_max, payload_max);
  section.read_size("result_max", 1, payload_max, &out.result_max);
  section.read_duration("kill_after", 0, 600'000, &out.kill_after_ms);
  read_exit_codes(section, &out);
  read_policy(section, &out.policy);
  section.finish();
  return out;
}

}  // namespace

ProgramActivity::Outcome ProgramActivity::outcome_of(int exit_code) const {
  const auto has = [exit_code](const std::vector<int>& codes) {
    return std::find(codes.begin(), codes.end(), exit_code) != codes.end();
  };
  if (exit_code == 0) return Outcome::kDone;
  if (has(retry_exits)) return Outcome::kRetry;
  if (has(permanent_exits) || others_are_permanent) return Outcome::kPermanent;
  return Outcome::kRetry;
}

void Config::read_limits(Section& top) {
  const auto value = top.find("limits");
  if (!value.has_value()) return;
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  Section limits(top.document(), *value, top.path_of("limits"), top.problems());
  limits.read_number("programs", 1, 64, &programs);
  limits.read_size("payload", 256, kMiB, &payload_max);
  limits.read_number("sessions", 0, 1'000, &sessions);
  limits.read_size("memory", 128 * 1024, 256 * kMiB, &memory);
  limits.read_duration("stop", 0, 600'000, &stop_ms);
  limits.finish();
  if (memory < 4 * payload_max) {
    const bool given = limits.has("memory");
    if (given) limits.problem("memory", "is less than four times \"payload\"");
    memory = 4 * payload_max;
  }
}

void Config::read_retention(Section& top) {
  const auto value = top.find("retention");
  if (!value.has_value()) return;
  Section retention(top.document(), *value, top.path_of("retention"), top.problems());
  retention.read_duration("age", 1'000, kDurationMostMs, &retention_age_ms);
  retention.read_number("count", 1, 1'000'000'000, &retention_count);
  retention.read_number("executions", 1, 1'000'000, &retention_executions);
  retention.finish();
}

void Config::read_activities(Section& top) {
  for (const JsonDocument::Id value : top.members("activities", kActivitiesMax)) {
    const std::string name = top.document().key(value);
    const std::string path = top.path_of("activities") + "." + name.substr(0, 64);
    const std::string wrong = name_problem(name);
    if (!wrong.empty()) top.problem_at(value, path, "the name " + wrong);
    Section section(top.document(), value, path, top.problems());
    activities.push_back(read_activity(section, payload_max));
    activities.back().name = name;
  }
  const std::size_t devices_max = pawl::LimitOptions().devices_max;
  if (devices().size() > devices_max)
    top.problem("activities", "they name more than " + std::to_string(devices_max) + " devices");
}

void Config::read_definitions(Section& top) {
  Policies policies;
  for (const ProgramActivity& activity : activities)
    policies.entries.push_back({activity.name, activity.policy});
  const auto members = top.members("orchestrations", kOrchestrationsMax);
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const JsonDocument::Id value : members)
    names.push_back(top.document().key(value));
  for (const JsonDocument::Id value : members) {
    NamedDefinition one;
    one.name = top.document().key(value);
    const std::string path = top.path_of("orchestrations") + "." + one.name.substr(0, 64);
    const std::string wrong = name_problem(one.name);
    if (!wrong.empty()) top.problem_at(value, path, "the name " + wrong);
    Section section(top.document(), value, path, top.problems());
    one.definition = read_definition(section, policies, names);
    if (top.problems().empty())
      one.record = record_of(top.document(), value, top.find("activities"));
    if (one.record.size() > static_cast<std::size_t>(payload_max))
      top.problem_at(value, path,
                     "is too long: with its activities it has " +
                         std::to_string(one.record.size()) + " bytes, \"limits.payload\" is " +
                         std::to_string(payload_max));
    definitions.push_back(std::move(one));
  }
}

void Config::read_start(Section& top) {
  std::size_t number = 0;
  std::vector<std::string> names;
  for (const NamedDefinition& definition : definitions)
    names.push_back(definition.name);
  for (const JsonDocument::Id value : top.elements("start", kStartMax)) {
    Section section(top.document(), value,
                    top.path_of("start") + "[" + std::to_string(number++) + "]", top.problems());
    InstanceToStart one;
    one.input = "null";
    if (section.require("name", "the name of an orchestration")) section.read("name", &one.name);
    if (!one.name.empty() && find_definition(one.name) == nullptr)
      section.problem(
          "name", "there is no orchestration " + quoted(one.name) + suggestion(one.name, names));
    one.id = one.name;
    section.read("id", &one.id);
    if (one.id.empty() || one.id.size() > pawl::kNameBytesMax || has_control(one.id) ||
        one.id.find("::") != std::string::npos)
      section.problem("id",
                      "expected 1 to 256 bytes without control characters and without \"::\"");
    else if (!pawl::is_plain_id(one.id))
      section.problem("id", kNotPlain);
    for (const InstanceToStart& other : start)
      if (other.id == one.id)
        section.problem("id", quoted(one.id) + " is there twice; give each its own \"id\"");
    const auto input = section.find("input");
    if (input.has_value()) one.input = compact_json(section.document().raw(*input));
    if (one.input.size() > static_cast<std::size_t>(payload_max))
      section.problem("input", "is longer than \"limits.payload\"");
    section.finish();
    start.push_back(std::move(one));
  }
}

void Config::read_log(Section& top) {
  std::size_t level = static_cast<std::size_t>(log);
  top.read_choice("log", {"debug", "info", "warning", "error"}, &level);
  log = static_cast<pawl::LogLevel>(level);
  std::size_t place = static_cast<std::size_t>(log_to);
  top.read_choice("log_to", {"auto", "stderr", "journal", "syslog"}, &place);
  log_to = static_cast<LogPlace>(place);
  std::size_t form = static_cast<std::size_t>(log_form);
  top.read_choice("log_form", {"text", "timed", "json"}, &form);
  log_form = static_cast<pawl::posix::LogForm>(form);
}

// Reads the one socket. A token guards a port; the file's mode guards a Unix socket.
void Config::read_endpoint(Section& top) {
  const auto found = top.find("endpoint");
  if (!found.has_value()) return;
  Section section(top.document(), *found, top.path_of("endpoint"), top.problems());
  EndpointConfig& one = endpoint.emplace();
  const auto read_path = [&](const char* name, std::string* path) {
    section.read(name, path);
    if (section.has(name) && (path->empty() || path->front() != '/'))
      section.problem(name, "is " + quoted(*path) + ", expected an absolute path");
    if (path->size() > 380) section.problem(name, "is longer than 380 bytes");
  };
  read_path("socket", &one.socket);
  section.read_number("port", 1, 65'535, &one.port);
  if (section.has("port") && section.has("socket"))
    section.problem("socket", "and \"port\" exclude each other");
  if (section.has("port"))
    static_cast<void>(
        section.require("token_file", "a file with the token that each request shows"));
  read_path("token_file", &one.token_file);
  section.read("address", &one.address);
  section.read("allow_others", &one.allow_others);
  section.read("host_name", &one.host_name);
  for (const char* const name : {"token_file", "address", "allow_others", "host_name"})
    if (section.has(name) && !section.has("port"))
      section.problem(name, "is for \"port\", which is not there");
  section.read("read_only", &one.read_only);
  read_path("metrics_file", &one.metrics_file);
  section.finish();
}

void Config::read_server(Section& top) {
  std::string schema(pawl::programs::kUsualSchema);
  top.read("schema", &schema);
  server = pawl::programs::server_at(database, schema);
  if (!server.has_value())
    top.problem("database", "is on a server, and this pawld was built without PostgreSQL");
  database.clear();
  if (top.require("beside",
                  "the path that files beside the database begin with, such as "
                  "\"/var/lib/pawl/pawl\""))
    top.read("beside", &database);
}

void Config::read_database(Section& top) {
  if (top.require("database", "the path of the database, such as \"/var/lib/pawl/pawl.db\""))
    top.read("database", &database);
  const bool is_server = pawl::programs::is_server(database);
  if (is_server) read_server(top);
  for (const char* const name : {"schema", "beside"})
    if (top.has(name) && !is_server)
      top.problem(name, "is for a \"database\" on a server, postgresql://..");
  const char* const path = is_server ? "beside" : "database";
  if (top.has(path) && (database.empty() || database.front() != '/'))
    top.problem(path, "is " + quoted(database) + ", expected an absolute path");
  if (database.size() > 380) top.problem(path, "is longer than 380 bytes");
}

void Config::read_all(Section& top) {
  read_database(top);
  top.read("node", &node);
  std::string wrong = name_problem(node);
  if (wrong.empty() && !pawl::is_plain_id(node)) wrong = kNotPlain;
  if (!wrong.empty()) top.problem("node", wrong);
  read_log(top);
  top.read("group_access", &group_access);
  std::size_t trust = 0;
  top.read_choice("clock", {"kernel", "always", "never"}, &trust);
  constexpr pawl::posix::WallTrust kTrusts[] = {pawl::posix::WallTrust::kKernel,
                                                pawl::posix::WallTrust::kAlways,
                                                pawl::posix::WallTrust::kNever};
  clock = kTrusts[trust];
  top.read("session_folders", &session_folders);
  if (top.has("session_folders") && (session_folders.empty() || session_folders.front() != '/'))
    top.problem("session_folders", "is " + quoted(session_folders) + ", expected an absolute path");
  if (session_folders.size() > 380) top.problem("session_folders", "is longer than 380 bytes");
  top.read_size("quota", std::int64_t{1} << 20, INT64_MAX, &quota_bytes);
  read_endpoint(top);
  read_limits(top);
  read_retention(top);
  read_activities(top);
  read_definitions(top);
  read_start(top);
  top.finish();
}

std::vector<std::string> Config::read(const std::string& file, std::string_view text) {
  Problems problems(file);
  JsonDocument document;
  if (text.size() > kFileBytesMax) {
    problems.add({}, "", "the file is longer than 256 KiB");
  } else if (!document.parse(text)) {
    problems.add(document.error_at(), "", document.error());
  } else {
    Section top(document, document.root(), "", problems);
    read_all(top);
  }
  std::vector<std::string> lines;
  for (const std::string& line : problems.lines())
    lines.push_back(pawl::programs::without_address(line));
  return lines;
}

std::vector<std::string> Config::read_file(const std::string& file) {
  // The file decides which programs this user runs.
  constexpr unsigned kOthersMayWrite = 022;
  pawl::Diagnostic why;
  const int fd = pawl::posix::open_trusted(file.c_str(), kOthersMayWrite, why);
  if (fd < 0) return {pawl::programs::without_address(why.text())};
  std::string text;
  char part[4096];
  ssize_t got = 0;
  while (text.size() <= kFileBytesMax && (got = ::read(fd, part, sizeof part)) > 0)
    text.append(part, static_cast<std::size_t>(got));
  const int error = errno;
  close(fd);
  if (got < 0) return {file + ": " + strerror(error)};
  return read(file, text);
}

const ProgramActivity* Config::find_activity(std::string_view name) const {
  for (const ProgramActivity& activity : activities)
    if (activity.name == name) return &activity;
  return nullptr;
}

const NamedDefinition* Config::find_definition(std::string_view name) const {
  for (const NamedDefinition& definition : definitions)
    if (definition.name == name) return &definition;
  return nullptr;
}

std::vector<std::string> Config::devices() const {
  std::vector<std::string> devices;
  for (const ProgramActivity& activity : activities) {
    const std::string& device = activity.policy.device;
    if (!device.empty() && std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  }
  return devices;
}

}  // namespace pawld
