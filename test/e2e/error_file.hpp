// Writes the errors in the log of a process that a test starts to a file. The test reads it at its
// end (Folder of crash_driver.hpp).
#ifndef PAWL_TEST_ERROR_FILE_HPP
#define PAWL_TEST_ERROR_FILE_HPP

#include <fcntl.h>

#include <cstdlib>

#include "pawl/log_sinks.hpp"

namespace crash_test {

// Null: no test reads the file. The sink lives as long as the process.
inline pawl::LogSink* error_file() {
  const char* const path = std::getenv("PAWL_TEST_ERRORS");
  if (path == nullptr) return nullptr;
  const int fd = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) std::abort();
  static pawl::posix::FdLogSink sink(fd, pawl::LogLevel::kError);
  return &sink;
}

}  // namespace crash_test

#endif  // PAWL_TEST_ERROR_FILE_HPP
