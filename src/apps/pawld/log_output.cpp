#include "apps/pawld/log_output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace pawld {
namespace {

constexpr char kIdentifier[] = "pawld";

// systemd.exec(5): JOURNAL_STREAM has device and inode of the stream that leads to the journal. A
// program that was started by another program has the variable, too, but another standard error.
bool is_the_journal(int fd) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat seen = {};
  return stream != nullptr && ::fstat(fd, &seen) == 0 &&
         std::to_string(seen.st_dev) + ":" + std::to_string(seen.st_ino) == stream;
}

LogPlace place_of(const Config& config) {
  if (config.log_to != LogPlace::kAuto) return config.log_to;
  return is_the_journal(STDERR_FILENO) ? LogPlace::kJournal : LogPlace::kStandardError;
}

}  // namespace

LogOutput::LogOutput(const Config& config) {
  switch (place_of(config)) {
    case LogPlace::kJournal: sink_ = &journal_.emplace(kIdentifier, config.log); return;
    case LogPlace::kSyslog: sink_ = &syslog_.emplace(kIdentifier, config.log); return;
    case LogPlace::kAuto:
    case LogPlace::kStandardError: break;
  }
  sink_ = &standard_error_.emplace(STDERR_FILENO, config.log, config.log_form);
}

}  // namespace pawld
