// A client for the tests of pawld: starts or cancels an instance, raises an event, or shows an
// instance's state.
//
//   pawld_client DATABASE start NAME ID INPUT
//   pawld_client DATABASE cancel ID
//   pawld_client DATABASE raise ID EVENT PAYLOAD
//   pawld_client DATABASE show ID       STATE, a tab, output or error, a tab, the custom status
#include <cstdio>
#include <cstring>
#include <string_view>

#include "pawl/host_client.hpp"

namespace {

pawl::Status show(pawl::Client& client, const char* id) {
  pawl::OrchestrationStatus status;
  PAWL_TRY(client.get_status(id, &status));
  std::printf("%s\t%.*s\t%.*s\n", pawl::orchestration_state_name(status.state),
              PAWL_TEXT(status.output.view()), PAWL_TEXT(status.custom_status.view()));
  return pawl::Status::kOk;
}

pawl::Status obey(pawl::Client& client, int argc, char** argv) {
  const std::string_view command = argc > 3 ? argv[2] : "";
  if (command == "show") return show(client, argv[3]);
  if (command == "cancel") return client.cancel_instance(argv[3], "a test");
  if (command == "start" && argc == 6)
    return client.start_orchestration(argv[3], pawl::InstanceId(argv[4]), argv[5]);
  if (command == "raise" && argc == 6) return client.raise_event(argv[3], argv[4], argv[5]);
  return pawl::Status::kInvalidArgument;
}

}  // namespace

int main(int argc, char** argv) {
  pawl::HostClientOptions options;
  options.client.database_path = argc > 1 ? argv[1] : "";
  options.client.payload_bytes_max = 256 * 1024;
  pawl::HostClient client(options);
  pawl::Status status = client.status();
  if (status == pawl::Status::kOk) status = obey(client, argc, argv);
  if (status == pawl::Status::kOk) return 0;
  std::fprintf(stderr, "%s %.*s\n", pawl::status_name(status), PAWL_TEXT(client.error_text()));
  return 1;
}
