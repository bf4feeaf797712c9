// device_gateway: sensors that only one process may touch, with a second gateway that stands by.
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "gateway.hpp"
#include "host.hpp"
#include "measure.hpp"

namespace {

constexpr char kUsage[] =
    R"(device_gateway gateway --db FILE --node NAME --devices FOLDER [--standby]
device_gateway read    --db FILE DEVICE [SAMPLES PERIOD_MS [LIMIT_MS]]

gateway  holds what is plugged into FOLDER, as in /dev/serial/by-id, with --standby what none else holds
read     reads a device, by its path, and prints who read what; without a gateway that has it for LIMIT_MS it fails,
         without a limit it waits

Several gateways may share a folder. kill -9 of the one that holds a device hands it to the one that stands by.
)";

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

const char* option(int argc, char** argv, const char* name) {
  for (int i = 2; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  usage();
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0) usage();
  return value;
}

int gateway(int argc, char** argv) {
  device_gateway::GatewayOptions options;
  options.database_path = option(argc, argv, "--db");
  options.node = option(argc, argv, "--node");
  options.folder = option(argc, argv, "--devices");
  options.standby = std::strcmp(argv[argc - 1], "--standby") == 0;
  return device_gateway::run_gateway(options);
}

int read(int argc, char** argv) {
  if (argc != 5 && argc != 7 && argc != 8) usage();
  device_gateway::Request request;
  if (request.device.assign(argv[4]) != pawl::Status::kOk) usage();
  if (argc > 5) request.samples = static_cast<std::int32_t>(number(argv[5]) % 1'000);
  if (argc > 5) request.period_ms = number(argv[6]);
  if (argc > 7) request.unavailable_ms = number(argv[7]);

  pawl::HostClient client(example::small_client(option(argc, argv, "--db")));
  if (!example::is_open(client, "device_gateway")) return 1;
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);  // process ids are used again, so the time is added
  const pawl::InstanceId id("read-" + std::to_string(getpid()) + "-" + std::to_string(now.tv_sec));
  pawl::OrchestrationStatus result;
  pawl::Status status = client.start_orchestration(device_gateway::kMeasure, id, request);
  if (status == pawl::Status::kOk)
    status = client.wait_for_orchestration(id, std::chrono::seconds(3'600), &result);
  if (status != pawl::Status::kOk) {
    std::fprintf(stderr, "device_gateway: %s\n", pawl::status_name(status));
    return 1;
  }
  std::printf("%.*s\n", PAWL_TEXT(result.output));
  return result.state == pawl::OrchestrationState::kCompleted ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (role == "gateway") return gateway(argc, argv);
  if (role == "read" && argc > 4) return read(argc, argv);
  usage();
}
