// A test fails if its Workers logged an error that it did not announce
// (pawl::testing::expect_errors()), or did not log an announced one. Every GoogleTest program that
// links pawl::testing has this.
#include <gtest/gtest.h>

#include "pawl/testing.hpp"

namespace {

class Announced final : public testing::EmptyTestEventListener {
  // The fixture is destroyed by now, and all Workers with it.
  void OnTestEnd(const testing::TestInfo& test) override {
    for (const std::string& text : pawl::testing::unexpected_errors())
      ADD_FAILURE() << test.test_suite_name() << "." << test.name()
                    << ": errors in the log: " << text;
  }
};

const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Announced);
  return true;
}();

}  // namespace
