#include "worker.hpp"

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "fields.hpp"
#include "host.hpp"
#include "run_log.hpp"
#include "sensor_cache.hpp"

namespace gateway {
namespace {

struct Worker {
  Roots roots;
  RunLog log;
  RunLog alarms;
  SensorCache cache;
};

// What an activity has to say.
struct Report {
  bool ok;
  std::string text;
};

using Body = Report (*)(pawl::ActivityContext&, Worker&);

std::string log_line(const pawl::ActivityContext& ctx, const char* what) {
  std::string line(what);
  line += " t=" + std::to_string(boot_us());
  line.append(" key=").append(ctx.idempotency_key());
  line.append(" instance=").append(ctx.instance_id());
  line += " execution=" + std::to_string(ctx.execution_id());
  line.append(" activity=").append(ctx.activity_name());
  line.append(" session=").append(ctx.session_id());
  line += " epoch=" + std::to_string(ctx.session_epoch());
  line += " attempt=" + std::to_string(ctx.attempt());
  line.append(" node=").append(ctx.worker_id());
  line += " pid=" + std::to_string(getpid());
  return line;
}

// An activity with a witness: a line on the disk before it starts and one when it has ended, with
// all that a checker needs to find it in the database and to know whose it was.
template <Body body>
pawl::ActivityResult witnessed(pawl::ActivityContext& ctx) {
  Worker& worker = *static_cast<Worker*>(ctx.user());
  const char* const claimed = ctx.claimed_now() ? " claimed=1" : " claimed=0";
  if (!worker.log.append(log_line(ctx, "start") + claimed)) return ctx.fail("cannot write the log");
  const Report report = body(ctx, worker);
  const char* const ok = report.ok ? " ok=1 result=" : " ok=0 result=";
  if (!worker.log.append(log_line(ctx, "end") + ok + report.text)) {
    return ctx.fail("cannot write the log");
  }
  return report.ok ? ctx.ok(report.text) : ctx.fail(report.text);
}

// A blocking driver call, and the median of the last five values, which no wild reading moves. The
// open file and the window are warm: after a hand-over, or when a sample is not the one after the
// last, the window begins again with the level that the orchestration kept.
Report sample(pawl::ActivityContext& ctx, Worker& worker) {
  const SensorCache::Lease lease = worker.cache.take(ctx.session_id(), ctx.session_epoch());
  Sensor& sensor = lease.sensor();
  if (!sensor.channel.is_open()) {
    Channel found;
    if (!find_channel(worker.roots, ctx.session_id(), &found))
      return {false, "no such channel now"};
    if (!sensor.channel.open(found)) return {false, sensor.channel.error()};
  }
  std::int64_t number = 0;
  std::int64_t level = 0;
  Counters counters;
  if (!read_field(ctx.input(), "sample", &number) || !read_field(ctx.input(), "level", &level) ||
      !read_field(ctx.input(), "a", &counters.first) ||
      !read_field(ctx.input(), "b", &counters.second)) {
    return {false, "the input is not a request for a sample"};
  }
  std::int64_t value = 0;
  if (!sensor.channel.read(&counters, &value)) return {false, sensor.channel.error()};
  if (sensor.last_sample != number - 1) {
    sensor.window.clear();
    if (number > 1) sensor.window.add(level);
  }
  sensor.window.add(value);
  sensor.last_sample = number;
  Fields result;
  result.add("value", value).add("median", sensor.window.median());
  result.add("window", sensor.window.count());
  if (counters.second != 0) result.add("a", counters.first).add("b", counters.second);
  return {true, result.text()};
}

// A real effect: a line in a file that all workers share. An attempt after the first one looks
// whether an earlier one got as far as the line, so that an alarm is recorded once, whichever process was
// killed when.
Report alarm(pawl::ActivityContext& ctx, Worker& worker) {
  const std::string key = " key=" + std::string(ctx.idempotency_key()) + ' ';
  if (ctx.attempt() > 1 && worker.alarms.contains(key)) return {true, "recorded before"};
  std::string line = "alarm utc=" + std::to_string(time(nullptr)) + key + "sensor=";
  line.append(ctx.session_id()).append(" ").append(ctx.input());
  if (!worker.alarms.append(line)) return {false, "cannot write the alarm"};
  return {true, "recorded"};
}

}  // namespace

int run_worker(const WorkerOptions& wanted) {
  static Worker worker;
  worker.roots = wanted.roots;
  if (!worker.log.open(wanted.log_path) || !worker.alarms.open(wanted.alarms_path)) {
    std::perror("sensor_gateway: log");
    return 1;
  }
  pawl::HostOptions options = example::small_host(wanted.database_path, wanted.node);
  options.runtime.run_orchestrations = false;
  options.runtime.slots.threads = 2;
  options.runtime.sessions.max_sessions_per_worker = wanted.max_sessions;
  pawl::Host host(options);
  host.add_activity("sample", witnessed<sample>, pawl::ActivityMode::kThreaded, &worker);
  host.add_activity("alarm", witnessed<alarm>, pawl::ActivityMode::kThreaded, &worker);
  return host.run();
}

}  // namespace gateway
