// Goal: the text for Prometheus has the right names, labels and sums.
#include "pawl/prometheus.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

namespace pawl::testing {
namespace {

class Text final : public TextSink {
 public:
  bool write(std::string_view text) noexcept override {
    if (value.size() + text.size() > limit) return false;
    value += text;
    return true;
  }
  std::string value;
  std::size_t limit = SIZE_MAX;
};

std::string write(const PrometheusSources& sources) {
  Text text;
  EXPECT_EQ(write_prometheus(sources, text), Status::kOk);
  return text.value;
}

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Prometheus, WithoutASourceNothingIsWritten) { EXPECT_EQ(write({}), ""); }

TEST(Prometheus, CountsOfTheDatabase) {
  Metrics metrics;
  metrics.instances_stopped = 3;
  metrics.sessions_waiting = 2;
  metrics.used_bytes = 4'096;
  metrics.refuses_new = true;
  metrics.session_ends.add(1'500, 7);
  PrometheusSources sources;
  sources.database = &metrics;
  sources.workers = 4;
  const std::string text = write(sources);
  EXPECT_TRUE(has(text, "# TYPE pawl_instances gauge"));
  EXPECT_TRUE(has(text, "pawl_instances{state=\"stopped\"} 3"));
  EXPECT_TRUE(has(text, "pawl_sessions_waiting 2"));
  EXPECT_TRUE(has(text, "pawl_used_bytes 4096"));
  EXPECT_TRUE(has(text, "pawl_refuses_new 1"));
  EXPECT_TRUE(has(text, "pawl_workers 4"));
  EXPECT_TRUE(has(text, "pawl_session_duration_seconds_bucket{le=\"1.000\"} 0"));
  EXPECT_TRUE(has(text, "pawl_session_duration_seconds_bucket{le=\"10.000\"} 1"));
  EXPECT_TRUE(has(text, "pawl_session_duration_seconds_sum 1.500"));
  EXPECT_TRUE(has(text, "pawl_session_activities_bucket{le=\"10\"} 1"));
  EXPECT_TRUE(has(text, "pawl_session_activities_sum 7"));
  EXPECT_EQ(text.find("pawl_ticks_total"), std::string::npos);
}

// A bucket counts all durations up to its bound, as Prometheus wants it; Durations counts each
// once.
TEST(Prometheus, BucketsAreSums) {
  auto counters = std::make_unique<RuntimeCounters>();
  counters->stats.commits = 4;
  for (const std::int64_t ms : {1, 5, 5, 4'000'000})
    counters->stats.flushed.add(ms);
  PrometheusSources sources;
  sources.runtime = counters.get();
  const std::string text = write(sources);
  EXPECT_TRUE(has(text, "# TYPE pawl_flush_duration_seconds histogram"));
  EXPECT_TRUE(has(text, "pawl_flush_duration_seconds_bucket{le=\"0.001\"} 1"));
  EXPECT_TRUE(has(text, "pawl_flush_duration_seconds_bucket{le=\"0.010\"} 3"));
  EXPECT_TRUE(has(text, "pawl_flush_duration_seconds_bucket{le=\"3600.000\"} 3"));
  EXPECT_TRUE(has(text, "pawl_flush_duration_seconds_bucket{le=\"+Inf\"} 4"));
  EXPECT_TRUE(has(text, "pawl_flush_duration_seconds_sum 4000.011"));
  EXPECT_TRUE(has(text, "pawl_flush_duration_seconds_count 4"));
  EXPECT_TRUE(has(text, "pawl_commits_total 4"));
}

TEST(Prometheus, LabelsAreEscaped) {
  auto counters = std::make_unique<RuntimeCounters>();
  counters->activity_count = 1;
  counters->activities[0].name = "a\"b\\c\nd\xff";
  counters->activities[0].completed = 2;
  PrometheusSources sources;
  sources.runtime = counters.get();
  const std::string text = write(sources);
  EXPECT_TRUE(
      has(text, "pawl_activities_completed_total{activity=\"a\\\"b\\\\\\\\c\\\\nd\\\\xff\"} 2"));
}

// Each line is a comment or a sample, and each metric stands once, in one block.
TEST(Prometheus, EachMetricIsOneBlock) {
  auto counters = std::make_unique<RuntimeCounters>();
  counters->orchestration_count = 2;
  counters->orchestrations[0].name = "one";
  counters->orchestrations[1].name = "two";
  const Metrics metrics;
  const RuntimeBoard::Life life;
  PrometheusSources sources;
  sources.database = &metrics;
  sources.runtime = counters.get();
  sources.life = &life;
  sources.workers = sources.workers_draining = sources.devices_waiting = 0;
  sources.clock_trusted = false;
  std::istringstream text(write(sources));
  std::string line;
  std::string current;
  std::string seen = " ";
  while (std::getline(text, line)) {
    ASSERT_FALSE(line.empty());
    if (line.rfind("# HELP ", 0) == 0) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_EQ(seen.find(" " + current + " "), std::string::npos) << current;
      seen += current + " ";
    } else if (line.rfind("# TYPE ", 0) == 0) {
      EXPECT_EQ(line.rfind("# TYPE " + current + " ", 0), 0U) << line;
    } else {
      EXPECT_EQ(line.rfind(current, 0), 0U) << line;
    }
  }
}

TEST(Prometheus, AFullSinkIsReported) {
  const Metrics metrics;
  PrometheusSources sources;
  sources.database = &metrics;
  Text text;
  text.limit = 100;
  EXPECT_EQ(write_prometheus(sources, text), Status::kIo);
}

}  // namespace
}  // namespace pawl::testing
