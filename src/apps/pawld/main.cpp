// pawld: activities that are programs, and orchestrations that are data, from one file.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "apps/pawld/daemon.hpp"
#include "apps/pawld/manual.hpp"
#include "pawl/version.h"

namespace {

// Opens closed standard streams: otherwise the database would get their numbers.
void open_streams() {
  int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO)
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd >= 0) close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  open_streams();
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool checks_config = first == "--check-config";
  const bool checks_replay = first == "--replay-check";
  if (first == "--help" || first == "--man") {  // --man is for the build
    std::fputs((first == "--help" ? pawld::help_text() : pawld::manual_page()).c_str(), stdout);
    return pawld::kStopped;
  }
  if (first == "--version") {
    std::printf("pawld %s\n", pawl::version());
    return pawld::kStopped;
  }
  const bool has_option = checks_config || checks_replay;
  const int files = has_option ? 2 : 1;
  if (argc > files + 1 || (!has_option && first.substr(0, 1) == "-")) {
    std::fprintf(stderr, "pawld: unknown use, see below\n\n%s", pawld::help_text().c_str());
    return pawld::kWrongUse;
  }
  const std::string file = argc > files ? argv[files] : pawld::kDefaultFile;
  pawld::Config config;
  const std::vector<std::string> problems = config.read_file(file);
  for (const std::string& problem : problems)
    std::fprintf(stderr, "%s\n", problem.c_str());
  if (!problems.empty()) return pawld::kWrongConfig;
  if (checks_config) {
    std::printf("%s: ok, %zu activities, %zu orchestrations\n", file.c_str(),
                config.activities.size(), config.definitions.size());
    return pawld::kStopped;
  }
  return checks_replay ? pawld::check_replay(config) : pawld::run_daemon(config, file);
}
