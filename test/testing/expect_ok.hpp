// Checks that a helper makes for a test: a failure has the line of the test, and names the call and
// its diagnostic.
#ifndef PAWL_TEST_EXPECT_OK_HPP
#define PAWL_TEST_EXPECT_OK_HPP

#include <gtest/gtest.h>

#include <string_view>

#include "pawl/status.hpp"

namespace pawl::test {

// The place that calls a helper, if it is the default of the helper's last parameter.
struct Here {
  // NOLINTNEXTLINE(google-explicit-constructor): so that `Here here = {}` is enough
  Here(const char* of_file = __builtin_FILE(), int of_line = __builtin_LINE())
      : file(of_file), line(of_line) {}
  const char* file;
  int line;
};

inline bool expect_ok(Status status, std::string_view call, std::string_view diagnostic,
                      Here here) {
  if (status == Status::kOk) return true;
  ADD_FAILURE_AT(here.file, here.line) << call << ": " << status_name(status) << ": " << diagnostic;
  return false;
}

}  // namespace pawl::test

#endif  // PAWL_TEST_EXPECT_OK_HPP
