#include "pawl/schedule.hpp"

#include "parts/schedule/run_id.hpp"
#include "pawl/printable.hpp"

namespace pawl {
namespace {

constexpr std::string_view kUtc = "UTC0";
constexpr std::int32_t kRoundsMax = 32;  // in one execution; a round records some 15 events
constexpr std::uint64_t kSkippedCountMax = 1'000;
constexpr std::uint32_t kTriggersWaitingMax = 100;
constexpr std::string_view kState = "pawl.schedule";  // a value for the next execution
constexpr std::size_t kStatusBytesMax = 4'096;        // in JSON

Status parse_times(const Schedule& schedule, Timetable* table, Diagnostic& why) {
  const std::string_view zone = schedule.zone.view();
  return table->parse(schedule.cron.view(), zone.empty() ? kUtc : zone, why);
}

Status refuse_length(const char* what, Status status, Diagnostic& why) {
  if (status != Status::kOk)
    why.format("%s: %s", what,
               status == Status::kResourceExhausted ? "too long" : "a zero byte is in it");
  return status;
}

// One execution of a schedule. Each run of the code makes a new Keeper.
class Keeper {
 public:
  Keeper(OrchestrationContext& ctx, const ScheduleInput& input)
      : ctx_(ctx), schedule_(input.schedule) {
    static_cast<void>(ctx_.get_kv_value_typed(kState, &status_));  // the first execution has none
  }

  PollOf<ScheduleInput, ScheduleStatus> run() {
    Diagnostic why;
    if (!is_possible(why)) return ctx_.fail({ErrorKind::kInvalidArgument, why.text()});
    for (std::int32_t round = 0; !is_over_ && round < kRoundsMax; ++round) {
      if (ctx_.is_continue_as_new_due()) break;
      PAWL_CALL(go_round());
    }
    if (has_no_time_) return ctx_.fail({ErrorKind::kInvalidArgument, "no time is left to run at"});
    if (is_over_) return ctx_.complete(status_);
    const ErrorKind kept = ctx_.set_kv_value_typed(kState, status_);
    if (kept != ErrorKind::kNone) return ctx_.fail({kept, "there is no room for its state"});
    return ctx_.continue_as_new(ScheduleInput{schedule_});
  }

 private:
  bool is_possible(Diagnostic& why) {
    const std::string_view id = ctx_.instance_id();
    if (id.size() > kScheduleIdBytesMax || id.find("::") != std::string_view::npos) {
      why.format("the id of a schedule has at most %zu bytes, and no \"::\"", kScheduleIdBytesMax);
      return false;
    }
    return check_schedule(schedule_, why) == Status::kOk &&
           parse_times(schedule_, &table_, why) == Status::kOk;
  }

  // Times count from the first moment at which the clock can be trusted; a UTC timer reports it.
  [[nodiscard]] bool has_begun() const { return status_.handled_until_ms > 0; }

  Poll go_round() {
    if (status_.triggers_waiting > 0) {
      --status_.triggers_waiting;
      return run_trigger();
    }
    status_.next_ms = std::nullopt;
    if (!status_.paused && has_begun()) {
      status_.next_ms = table_.next_after(status_.handled_until_ms);
      is_over_ = has_no_time_ = !status_.next_ms.has_value();
      if (is_over_) return Poll::done();
    }
    show();
    Handle handles[] = {ctx_.schedule_wait(kScheduleCommand.name()), Handle()};
    if (!status_.paused) handles[1] = ctx_.schedule_timer_at(status_.next_ms.value_or(0));
    PAWL_AWAIT(first, ctx_.select_of(handles, status_.paused ? 1 : 2));
    if (!first.ok()) {
      is_over_ = true;
      return Poll::done();
    }
    if (first.index() == 1 && has_begun()) return run_due();
    if (first.index() == 1) {
      status_.handled_until_ms = ctx_.utc_now_ms();
      return Poll::done();
    }
    bool triggers = false;
    obey(first.value(), &triggers);
    return triggers ? run_trigger() : Poll::done();
  }

  // ---- commands ----

  void refuse(const char* what, std::string_view why) {
    Diagnostic text;
    text.format("%s: %.*s", what, PAWL_TEXT(why));
    constexpr std::size_t kMost = 160;
    static_cast<void>(status_.refused.assign(text.text().substr(0, kMost)));
    ctx_.trace(LogLevel::kWarning, text.text());
  }

  // A pause or a change must not run times that have passed. While the clock cannot be trusted, it
  // may show less than handled_until_ms, which stays then.
  void skip_to_now() {
    if (!has_begun()) return;
    const std::int64_t now = ctx_.utc_now_ms();
    if (now > status_.handled_until_ms) status_.handled_until_ms = now;
    status_.next_waits = false;
  }

  void obey(std::string_view text, bool* triggers) {
    ScheduleCommand command;
    Diagnostic why;
    if (from_json(text, &command, &why) != Status::kOk) return refuse("a command", why.text());
    switch (command.action) {
      case ScheduleAction::kPause: status_.paused = true; return;
      case ScheduleAction::kResume:
        if (status_.paused) skip_to_now();
        status_.paused = false;
        return;
      case ScheduleAction::kTrigger: *triggers = true; return;
      case ScheduleAction::kChange: break;
    }
    if (!command.schedule.has_value()) return refuse("kChange", "has no schedule");
    Timetable table;
    if (check_schedule(*command.schedule, why) != Status::kOk ||
        parse_times(*command.schedule, &table, why) != Status::kOk)
      return refuse("kChange", why.text());
    schedule_ = *command.schedule;
    table_ = table;
    skip_to_now();
  }

  // ---- choice of the times ----

  void skip_until(std::int64_t time) {
    std::uint64_t count = 0;
    for (auto at = table_.next_after(status_.handled_until_ms);
         at.has_value() && *at <= time && count < kSkippedCountMax; at = table_.next_after(*at))
      ++count;
    status_.skipped += count;
    status_.handled_until_ms = time;
  }

  // How many of the passed times run.
  [[nodiscard]] std::uint32_t kept(std::int64_t last, std::int64_t now) const {
    if (schedule_.missed == MissedRuns::kRunAll) return schedule_.missed_max;
    const bool runs = schedule_.missed == MissedRuns::kRunOnce || status_.next_waits ||
                      now - last <= schedule_.late_ms;
    return runs ? 1 : 0;
  }

  // The first of the last `count` times up to `last`, or the first of all if there are fewer.
  [[nodiscard]] std::int64_t first_of_last(std::uint32_t count, std::int64_t last) const {
    const auto oldest = table_.next_after(status_.handled_until_ms);
    auto behind = oldest;
    for (std::uint32_t i = 0; i < count && behind.has_value() && *behind <= last; ++i)
      behind = table_.next_after(*behind);
    if (oldest.has_value() && (!behind.has_value() || *behind > last)) return *oldest;
    std::int64_t first = last;
    for (std::uint32_t i = 1; i < count; ++i) {
      const auto before = table_.last_between(status_.handled_until_ms, first - 1);
      if (!before.has_value()) break;
      first = *before;
    }
    return first;
  }

  // Chooses the first time to run, and skips the times before it. None: no passed time runs.
  std::optional<std::int64_t> choose(std::int64_t now) {
    const auto last = table_.last_between(status_.handled_until_ms, now);
    if (!last.has_value()) return std::nullopt;
    const std::uint32_t count = kept(*last, now);
    status_.next_waits = false;
    if (count == 0) {
      skip_until(*last);
      return std::nullopt;
    }
    const std::int64_t first = first_of_last(count, *last);
    skip_until(first - 1);
    return first;
  }

  // ---- runs ----

  Poll run_due() {
    const std::int64_t now = ctx_.utc_now_ms();
    auto time = choose(now);
    if (!time.has_value()) return Poll::done();
    if (schedule_.overlap != RunOverlap::kStartBeside) {
      status_.handled_until_ms = *time;
      return run_child(internal::run_id(ctx_.instance_id(), *time, std::nullopt), *time);
    }
    for (; time.has_value() && *time <= now; time = table_.next_after(*time)) {
      status_.handled_until_ms = *time;
      start_beside(internal::run_id(ctx_.instance_id(), *time, std::nullopt), *time);
    }
    return Poll::done();
  }

  Poll run_trigger() {
    ++status_.triggered;
    const std::int64_t now = ctx_.utc_now_ms();
    const InstanceId id = internal::run_id(ctx_.instance_id(), now, status_.triggered);
    if (schedule_.overlap != RunOverlap::kStartBeside) return run_child(id, now);
    start_beside(id, now);
    return Poll::done();
  }

  [[nodiscard]] std::optional<Name> version() const {
    if (schedule_.version.view().empty()) return std::nullopt;
    return Name(schedule_.version.view());
  }

  void start_beside(const InstanceId& id, std::int64_t time) {
    ++status_.started;
    status_.last_ms = time;
    const ErrorKind error = ctx_.start_orchestration(schedule_.orchestration.view(), id,
                                                     schedule_.input.view(), {version()});
    if (error != ErrorKind::kNone) ++status_.failed;
  }

  Poll run_child(const InstanceId& id, std::int64_t time) {
    ++status_.started;
    status_.last_ms = time;
    status_.next_ms = std::nullopt;
    status_.running = true;
    const Handle child = ctx_.schedule_sub_orchestration(schedule_.orchestration.view(),
                                                         schedule_.input.view(), {id, version()});
    PAWL_CALL(follow(child));
    status_.running = false;
    if (is_over_ || status_.paused || !has_begun()) return Poll::done();
    const std::int64_t now = ctx_.utc_now_ms();
    const auto last = table_.last_between(status_.handled_until_ms, now);
    if (!last.has_value()) return Poll::done();
    status_.next_waits = schedule_.overlap == RunOverlap::kWait;
    if (!status_.next_waits) skip_until(*last);
    return Poll::done();
  }

  // Obeys commands until the run ends. Continuing as new would cancel the run, so an execution with
  // a long history only waits: commands stay in the mailbox.
  Poll follow(const Handle& child) {
    while (!ctx_.is_continue_as_new_due()) {
      show();
      // The select closes all that it owns, so it runs in a branch: then a command does not cancel
      // the run.
      const Handle watch = ctx_.open_branch([&child](OrchestrationContext& branch) -> Poll {
        const Handle command = branch.schedule_wait(kScheduleCommand.name());
        PAWL_AWAIT(first, branch.select(child, command));
        return branch.complete(first.index() == 1 ? first.value() : std::string_view());
      });
      PAWL_AWAIT(watched, watch);
      if (watched.cancelled()) break;
      if (watched.value().empty()) break;
      bool triggers = false;
      obey(watched.value(), &triggers);
      if (triggers) wait_with_trigger();
    }
    PAWL_AWAIT(ended, child);
    is_over_ = ended.cancelled();
    if (!ended.ok() && !is_over_) ++status_.failed;
    return Poll::done();
  }

  void wait_with_trigger() {
    if (schedule_.overlap == RunOverlap::kSkip) {
      ++status_.skipped;
    } else if (status_.triggers_waiting == kTriggersWaitingMax) {
      refuse("kTrigger", "as many as may wait do");
    } else {
      ++status_.triggers_waiting;
    }
  }

  void show() {
    char text[kStatusBytesMax];
    std::size_t size = 0;
    if (to_json(status_, text, sizeof text, &size) != Status::kOk) return;
    if (ctx_.get_custom_status() == std::string_view(text, size)) return;
    static_cast<void>(ctx_.set_custom_status({text, size}));
  }

  OrchestrationContext& ctx_;
  Schedule schedule_;
  ScheduleStatus status_;
  Timetable table_;
  bool is_over_ = false;
  bool has_no_time_ = false;
};

}  // namespace

Status fill_schedule(Schedule* out, std::string_view cron, std::string_view zone,
                     std::string_view orchestration, std::string_view input, Diagnostic& why) {
  Schedule filled = *out;
  PAWL_TRY(refuse_length("cron", filled.cron.assign(cron), why));
  PAWL_TRY(refuse_length("zone", filled.zone.assign(zone), why));
  PAWL_TRY(refuse_length("orchestration", filled.orchestration.assign(orchestration), why));
  PAWL_TRY(refuse_length("input", filled.input.assign(input), why));
  PAWL_TRY(check_schedule(filled, why));
  *out = filled;
  return Status::kOk;
}

Status check_schedule(const Schedule& schedule, Diagnostic& why) {
  Timetable table;
  PAWL_TRY(parse_times(schedule, &table, why));
  if (schedule.orchestration.view().empty()) {
    why.format("orchestration: a schedule needs the name of one");
  } else if (schedule.missed_max < 1 || schedule.missed_max > kMissedRunsMax) {
    why.format("missed_max: %u is not in 1..%u", schedule.missed_max, kMissedRunsMax);
  } else if (schedule.late_ms < 0) {
    why.format("late_ms: %lld is less than 0", static_cast<long long>(schedule.late_ms));
  } else if (schedule.missed == MissedRuns::kRunAll && schedule.overlap == RunOverlap::kSkip) {
    why.format("missed: kRunAll needs an overlap of kWait or kStartBeside, kSkip would skip them");
  } else {
    return Status::kOk;
  }
  return Status::kInvalidArgument;
}

PollOf<ScheduleInput, ScheduleStatus> run_schedule(OrchestrationContext& ctx,
                                                   const ScheduleInput& input) {
  return Keeper(ctx, input).run();
}

}  // namespace pawl
