// greenhouse-ctl: the gardener's program, for requests and for a look at the beds.
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "garden.hpp"
#include "host.hpp"

namespace {

using pawl::Client;
using pawl::InstanceId;
using pawl::Status;

constexpr char kUsage[] =
    R"(greenhouse-ctl --db FILE start  BED MOISTURE PAUSE_MS   tends a bed from now on
greenhouse-ctl --db FILE target BED MOISTURE            gives it another aim
greenhouse-ctl --db FILE water  BED MS                  a job for its queue; waits until it is done
greenhouse-ctl --db FILE show   BED                     what it is at
greenhouse-ctl --db FILE watch  BED                     likewise, again with each change, until it ends
greenhouse-ctl --db FILE cancel BED                     ends it, and waits until the pump is off
greenhouse-ctl --db FILE survey BED...                  measures beds, side by side

A bed is a number from 1 on, moisture is in thousandths.
)";

// A new id of a job or a survey. Process ids are used again, so the time is added.
std::string fresh_id(const char* what) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return what + ("-" + std::to_string(getpid())) + "." + std::to_string(now.tv_sec) + "." +
         std::to_string(now.tv_nsec);
}

Status start(Client& client, const InstanceId& id, int bed, int moisture, int pause_ms) {
  greenhouse::Tending tending;
  tending.bed = bed;
  tending.target = moisture;
  tending.pause_ms = pause_ms;
  return client.start_orchestration(greenhouse::kTend, id, tending);
}

Status water(Client& client, const InstanceId& id, int ms) {
  greenhouse::Job job;
  job.ms = ms;
  PAWL_TRY(job.id.assign(fresh_id("job")));
  PAWL_TRY(client.enqueue_event(id, greenhouse::kJobs, job));
  greenhouse::Watering done;
  PAWL_TRY(client.wait_for_kv_value_typed(id, job.id.view(), std::chrono::hours(1), &done));
  std::printf("%.*s: watered for %" PRId64 " ms\n", PAWL_TEXT(id.view()), done.ms);
  return Status::kOk;
}

Status show(Client& client, const InstanceId& id, bool watches) {
  pawl::InstanceInfo info;
  PAWL_TRY(client.get_instance_info(id, &info));
  std::printf("%.*s: version %.*s\n", PAWL_TEXT(id.view()), PAWL_TEXT(info.version.view()));
  pawl::OrchestrationStatus status;
  PAWL_TRY(client.get_status(id, &status));
  while (true) {
    std::printf("%.*s: %s, %.*s\n", PAWL_TEXT(id.view()),
                pawl::orchestration_state_name(status.state),
                PAWL_TEXT(status.custom_status.view()));
    std::fflush(stdout);
    if (!watches) return Status::kOk;
    const Status changed = client.wait_for_status_change(id, status.custom_status_version,
                                                         std::chrono::hours(24), &status);
    if (changed == Status::kStale) return Status::kOk;  // the bed's instance has ended
    if (changed != Status::kTimeout) PAWL_TRY(changed);
  }
}

Status cancel(Client& client, const InstanceId& id) {
  PAWL_TRY(client.cancel_instance(id, "the gardener asked for it"));
  pawl::OrchestrationStatus status;
  pawl::TypedEnd<greenhouse::Tending> end;
  PAWL_TRY(
      client.wait_for_orchestration(greenhouse::kTend, id, std::chrono::minutes(2), &status, &end));
  if (!end.value.has_value()) {
    std::printf("%.*s: failed, %.*s\n", PAWL_TEXT(id.view()), PAWL_TEXT(status.output.view()));
    return Status::kStopped;
  }
  std::printf("%.*s: ended, %" PRId64 " waterings, %" PRId64 " ms\n", PAWL_TEXT(id.view()),
              end.value->waterings, end.value->watered_ms);
  return Status::kOk;
}

Status survey(Client& client, char** first, char** last) {
  greenhouse::Survey wanted;
  for (char** at = first; at != last; ++at)
    PAWL_TRY(wanted.beds.push_back(greenhouse::number_of(*at)));
  const pawl::InstanceId id(fresh_id("survey"));
  PAWL_TRY(client.start_orchestration(greenhouse::kSurvey, id, wanted));
  pawl::OrchestrationStatus status;
  pawl::TypedEnd<greenhouse::Readings> end;
  PAWL_TRY(client.wait_for_orchestration(greenhouse::kSurvey, id, std::chrono::minutes(1), &status,
                                         &end));
  if (!end.value.has_value()) {
    std::printf("failed, %.*s\n", PAWL_TEXT(status.output.view()));
    return Status::kStopped;
  }
  for (const greenhouse::Reading& one : end.value->all)
    std::printf("bed-%d: moisture %d\n", one.bed, one.moisture);
  return Status::kOk;
}

Status obey(Client& client, std::string_view verb, int argc, char** argv) {
  const auto number = [&](int at) { return greenhouse::number_of(argv[at]); };
  const InstanceId id = greenhouse::instance_of(number(4));
  if (verb == "start" && argc == 7) return start(client, id, number(4), number(5), number(6));
  if (verb == "target" && argc == 6)
    return client.raise_event(id, greenhouse::kTarget, {number(5)});
  if (verb == "water" && argc == 6) return water(client, id, number(5));
  if (verb == "show" && argc == 5) return show(client, id, false);
  if (verb == "watch" && argc == 5) return show(client, id, true);
  if (verb == "cancel" && argc == 5) return cancel(client, id);
  if (verb == "survey") return survey(client, argv + 4, argv + argc);
  std::fputs(kUsage, stderr);
  return Status::kInvalidArgument;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_understood = argc > 4 && std::strcmp(argv[1], "--db") == 0;
  for (int at = 4; at < argc; ++at)
    is_understood = is_understood && greenhouse::number_of(argv[at]) > 0;
  if (!is_understood) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  pawl::HostClient client(example::small_client(argv[2]));
  if (!example::is_open(client, "greenhouse-ctl")) return 1;
  const Status status = obey(client, argv[3], argc, argv);
  if (status == Status::kOk) return 0;
  std::fprintf(stderr, "greenhouse-ctl: %s %.*s\n", pawl::status_name(status),
               PAWL_TEXT(client.error_text()));
  return 1;
}
