// sensor_gateway: a coordinator and any number of workers on one database file.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "channels.hpp"
#include "coordinator.hpp"
#include "worker.hpp"

namespace {

constexpr char kUsage[] =
    R"(sensor_gateway channels    [--sysfs ROOT] [--proc ROOT]
sensor_gateway coordinator --db FILE [--sysfs ROOT] [--proc ROOT] [--period-ms N]
                           [--alarm CHANNEL=LIMIT]...
sensor_gateway worker      --db FILE --node NAME --log FILE --alarms FILE [--sysfs ROOT]
                           [--proc ROOT] [--max-sessions N]

channels     prints what this machine has to read, one channel a line
coordinator  keeps one orchestration a channel going; samples every N ms (1000)
worker       reads the sensors whose sessions it gets, at most N (10)

Limits and periods are given to a sensor when it is started for the first time. SIGTERM stops either
role in order; kill -9 stops it in any other way and does no harm.
)";

struct Arguments {
  int count;
  char** values;
  int at = 2;

  // Takes the next two arguments if they are `name VALUE`, and returns VALUE; otherwise null.
  const char* option(const char* name) {
    if (at + 1 >= count || std::strcmp(values[at], name) != 0) return nullptr;
    at += 2;
    return values[at - 1];
  }
};

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

std::int64_t number(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) usage();
  if (value < least || value > most) usage();
  return value;
}

bool root_option(Arguments& arguments, gateway::Roots* roots) {
  if (const char* sys = arguments.option("--sysfs")) {
    roots->sys = sys;
  } else if (const char* proc = arguments.option("--proc")) {
    roots->proc = proc;
  } else {
    return false;
  }
  return true;
}

int coordinator(Arguments arguments) {
  gateway::CoordinatorOptions options;
  while (arguments.at < arguments.count) {
    if (root_option(arguments, &options.roots)) continue;
    if (const char* path = arguments.option("--db")) {
      options.database_path = path;
    } else if (const char* period = arguments.option("--period-ms")) {
      options.period_ms = number(period, 10, 86'400'000);
    } else if (const char* alarm = arguments.option("--alarm")) {
      const char* const sign = std::strrchr(alarm, '=');
      if (sign == nullptr) usage();
      const double limit = std::strtod(sign + 1, nullptr);
      options.limits[std::string(alarm, sign)] = std::llround(limit * 1000);
    } else {
      usage();
    }
  }
  if (options.database_path == nullptr) usage();
  return gateway::run_coordinator(options);
}

int worker(Arguments arguments) {
  gateway::WorkerOptions options;
  while (arguments.at < arguments.count) {
    if (root_option(arguments, &options.roots)) continue;
    if (const char* path = arguments.option("--db")) {
      options.database_path = path;
    } else if (const char* node = arguments.option("--node")) {
      options.node = node;
    } else if (const char* log = arguments.option("--log")) {
      options.log_path = log;
    } else if (const char* alarms = arguments.option("--alarms")) {
      options.alarms_path = alarms;
    } else if (const char* sessions = arguments.option("--max-sessions")) {
      options.max_sessions = static_cast<std::uint32_t>(number(sessions, 0, 1000));
    } else {
      usage();
    }
  }
  if (options.database_path == nullptr || options.node == nullptr || options.log_path == nullptr ||
      options.alarms_path == nullptr) {
    usage();
  }
  return gateway::run_worker(options);
}

int channels(Arguments arguments) {
  gateway::Roots roots;
  while (arguments.at < arguments.count) {
    if (!root_option(arguments, &roots)) usage();
  }
  for (const gateway::Channel& channel : gateway::discover(roots)) {
    gateway::OpenChannel open;
    gateway::Counters counters;
    std::int64_t value = 0;
    if (open.open(channel) && open.read(&counters, &value)) {
      std::printf("%s %.3f%s%s\n", channel.id.c_str(), static_cast<double>(value) / 1000,
                  *channel.unit == '\0' ? "" : " ", channel.unit);
    } else {
      std::printf("%s - %s\n", channel.id.c_str(), open.error().c_str());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments{argc, argv};
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "channels") return channels(arguments);
  if (role == "coordinator") return coordinator(arguments);
  if (role == "worker") return worker(arguments);
  if (role == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  usage();
}
