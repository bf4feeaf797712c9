#include "worker.hpp"

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "host.hpp"
#include "run_log.hpp"
#include "sensor.hpp"
#include "sensor_cache.hpp"

namespace gateway {
namespace {

struct Worker {
  Roots roots;
  RunLog log;
  RunLog alarms;
  SensorCache cache;
};

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

// An activity with a witness: one line on the disk before it starts and one after its end. A line
// has all that a checker needs to find the activity in the database, and to know which worker ran
// it. `body` returns what went wrong, or an empty text.
template <typename In, typename Out>
using Body = std::string (*)(pawl::ActivityContext&, Worker&, const In&, Out*);
template <typename In, typename Out, Body<In, Out> body>
pawl::Reply<Out> witnessed(pawl::ActivityContext& ctx, const In& input) {
  Worker& worker = *static_cast<Worker*>(ctx.user());
  const char* const claimed = ctx.claimed_now() ? " claimed=1" : " claimed=0";
  if (!worker.log.append(log_line(ctx, "start") + claimed)) return ctx.fail("cannot write the log");
  Out result;
  const std::string why = body(ctx, worker, input, &result);
  char stored[256];  // the result in the form that Pawl stores
  std::size_t size = 0;
  if (pawl::to_json(result, stored, sizeof stored, &size) != pawl::Status::kOk)
    return ctx.fail_permanently("a result that is no JSON");
  const std::string end =
      why.empty() ? " ok=1 result=" + std::string(stored, size) : " ok=0 result=" + why;
  if (!worker.log.append(log_line(ctx, "end") + end)) return ctx.fail("cannot write the log");
  if (!why.empty()) return ctx.fail(why);
  return result;
}

// Makes a blocking driver call, and takes the median of the last five values, which no wild reading
// moves. The open file and the window are warm state: when another process had the session, or a
// sample is missing, the window begins again with the level that the orchestration kept.
std::string sample(pawl::ActivityContext& ctx, Worker& worker, const SampleRequest& request,
                   Sample* result) {
  const SensorCache::Lease lease = worker.cache.take(ctx.session_id(), ctx.session_epoch());
  Sensor& sensor = lease.sensor();
  if (!sensor.channel.is_open()) {
    Channel found;
    if (!find_channel(worker.roots, ctx.session_id(), &found)) return "no such channel now";
    if (!sensor.channel.open(found)) return sensor.channel.error();
  }
  result->counters = request.counters;
  if (!sensor.channel.read(&result->counters, &result->value)) return sensor.channel.error();
  if (sensor.last_sample != request.sample - 1) {
    sensor.window.clear();
    if (request.sample > 1) sensor.window.add(request.level);
  }
  sensor.window.add(result->value);
  sensor.last_sample = request.sample;
  result->median = sensor.window.median();
  result->window = sensor.window.count();
  return "";
}

// Has a real effect: a line in a file that all workers share. An attempt after the first one checks
// whether an earlier attempt wrote the line, so an alarm is recorded once, whichever process was
// killed at any time.
std::string record(pawl::ActivityContext& ctx, Worker& worker, const Alarm& alarm,
                   Recorded* result) {
  const std::string key = " key=" + std::string(ctx.idempotency_key()) + ' ';
  result->before = ctx.attempt() > 1 && worker.alarms.contains(key);
  if (result->before) return "";
  std::string line = "alarm utc=" + std::to_string(time(nullptr)) + key + "sensor=";
  line.append(ctx.session_id()).append(" level=").append(std::to_string(alarm.level));
  line.append(" limit=").append(std::to_string(alarm.limit));
  return worker.alarms.append(line) ? "" : "cannot write the alarm";
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
  host.add_activity(kSample, witnessed<SampleRequest, Sample, sample>,
                    pawl::ActivityMode::kThreaded, &worker);
  host.add_activity(kAlarm, witnessed<Alarm, Recorded, record>, pawl::ActivityMode::kThreaded,
                    &worker);
  return host.run();
}

}  // namespace gateway
