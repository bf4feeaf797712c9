// Goal: no member of a struct that is shown is forgotten in its table, and each row can be shown.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "parts/fields/client_fields.hpp"
#include "parts/fields/runtime_fields.hpp"

namespace pawl::fields {
namespace {

// Becomes whatever member it is to initialise.
struct Any {
  template <typename T>
  operator T() const;
};

// Fewer values than members are what is asked for here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
template <typename T, typename... Members>
constexpr auto has_members(std::nullptr_t) -> decltype(T{std::declval<Members>()...}, true) {
  return true;
}
template <typename T, typename... Members>
constexpr bool has_members(...) {
  return false;
}
#pragma GCC diagnostic pop

// The members of an aggregate, by the most that it can be made of.
template <typename T, typename... Members>
constexpr std::size_t member_count() {
  if constexpr (has_members<T, Members..., Any>(nullptr))
    return member_count<T, Members..., Any>();
  else
    return sizeof...(Members);
}

// Fails for a new member: it gets a row, or a reason here.
template <typename T>
void expect_rows(const char* name, std::size_t more_rows = 0, std::size_t not_shown = 0) {
  EXPECT_EQ(std::size(FieldsOf<T>::kAll) - more_rows, member_count<T>() - not_shown)
      << "a member of " << name << " has no row";
}

TEST(Fields, EachMemberHasARow) {
  expect_rows<InstanceInfo>("InstanceInfo");
  expect_rows<InstanceStats>("InstanceStats");
  expect_rows<OrchestrationStatus>("OrchestrationStatus");
  expect_rows<ExecutionInfo>("ExecutionInfo");
  expect_rows<ActivityInfo>("ActivityInfo");
  expect_rows<WorkInfo>("WorkInfo");
  expect_rows<MessageInfo>("MessageInfo");
  expect_rows<HistoryEvent>("HistoryEvent");
  expect_rows<WorkerInfo>("WorkerInfo");
  expect_rows<SessionInfo>("SessionInfo");
  expect_rows<KvEntry>("KvEntry");
  expect_rows<CallAnswer>("CallAnswer");  // but the key, which the caller knows
  expect_rows<Removed>("Removed");
  expect_rows<Metrics>("Metrics", 2);  // session_ends has three rows
  // Sixteen are for the program itself: what Metrics has for all workers, and what the log says.
  expect_rows<RuntimeStats>("RuntimeStats", 0, 16);
  expect_rows<OrchestrationStats>("OrchestrationStats");
  expect_rows<ActivityStats>("ActivityStats");
}

// A name stands once, and rows of one metric in a sequence.
template <typename T>
void expect_order() {
  std::set<std::string> names;
  std::set<std::string> metrics;
  std::string begun;
  for (const Field& one : FieldsOf<T>::kAll) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    const std::string help = one.help;
    EXPECT_EQ(help.back(), '.') << one.name;
    EXPECT_EQ(help.find_first_of("\"\\\n"), std::string::npos) << one.name;
    if (one.metric == nullptr || one.metric == begun) continue;
    begun = one.metric;
    EXPECT_EQ(begun.rfind("pawl_", 0), 0U);
    EXPECT_TRUE(metrics.insert(begun).second) << begun;
  }
}

TEST(Fields, NamesAreOnesOfTheirOwn) {
  expect_order<InstanceInfo>();
  expect_order<OrchestrationStatus>();
  expect_order<SessionInfo>();
  expect_order<WorkerInfo>();
  expect_order<HistoryEvent>();
  expect_order<Metrics>();
  expect_order<RuntimeStats>();
  expect_order<OrchestrationStats>();
  expect_order<ActivityStats>();
}

}  // namespace
}  // namespace pawl::fields
