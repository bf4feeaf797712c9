#include "apps/pawld/programs.hpp"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace pawld {
namespace {

using pawl::ActivityContext;
using pawl::ActivityStep;
using pawl::CancelReason;
using std::chrono::milliseconds;

constexpr std::int64_t kLookAgainMs = 60'000;
constexpr std::int64_t kAskMs = 50;  // where the kernel does not report when a process ends
constexpr int kReadsAStep = 16;      // from each stream, so that none holds up the loop
constexpr std::size_t kErrorLineMax = 400;
constexpr int kErrorLinesMax = 100;  // in one attempt

std::int64_t monotonic_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

// Standard error, line by line, for the log.
class ErrorLines {
 public:
  void take(ActivityContext& ctx, const char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes[i] == '\n') {
        end_line(ctx);
      } else if (size_ < kErrorLineMax) {
        line_[size_++] = bytes[i];
      }
    }
  }
  void end(ActivityContext& ctx) {
    end_line(ctx);
    if (lines_ <= kErrorLinesMax) return;
    const std::string text =
        "stderr: " + std::to_string(lines_ - kErrorLinesMax) + " more lines are left out";
    ctx.trace(pawl::LogLevel::kWarning, text);
  }
  // The last line that was not empty.
  [[nodiscard]] std::string_view last() const { return {last_, last_size_}; }

 private:
  void end_line(ActivityContext& ctx) {
    if (size_ == 0) return;
    if (lines_++ < kErrorLinesMax) ctx.trace(pawl::LogLevel::kInfo, {line_, size_});
    std::memcpy(last_, line_, size_);
    last_size_ = size_;
    size_ = 0;
  }
  char line_[kErrorLineMax];
  char last_[kErrorLineMax];
  std::size_t size_ = 0;
  std::size_t last_size_ = 0;
  int lines_ = 0;
};

// Variables that are meant for pawld itself, not for its programs.
bool is_inherited(std::string_view variable) {
  for (const std::string_view name :
       {"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=", "LISTEN_FDS=", "LISTEN_PID=",
        "LISTEN_FDNAMES=", "MAINPID=", "PAWL_"})
    if (variable.substr(0, name.size()) == name) return false;
  return true;
}

class Environment {
 public:
  explicit Environment(const std::vector<std::string>& inherited) : variables_(inherited) {}
  void set(const std::string& name, std::string_view value) {
    std::string variable = name + "=";
    const std::size_t head = variable.size();
    variable.append(value);
    for (std::string& known : variables_) {
      if (known.compare(0, head, variable, 0, head) != 0) continue;
      known = std::move(variable);
      return;
    }
    variables_.push_back(std::move(variable));
  }
  [[nodiscard]] std::vector<char*> pointers() {
    std::vector<char*> all;
    all.reserve(variables_.size() + 1);
    for (std::string& variable : variables_)
      all.push_back(variable.data());
    all.push_back(nullptr);
    return all;
  }

 private:
  std::vector<std::string> variables_;
};

void describe(const ActivityContext& ctx, Environment& environment) {
  environment.set("PAWL_IDEMPOTENCY_KEY", ctx.idempotency_key());
  environment.set("PAWL_ACTIVITY", ctx.activity_name());
  environment.set("PAWL_INSTANCE", ctx.instance_id());
  environment.set("PAWL_EXECUTION", std::to_string(ctx.execution_id()));
  environment.set("PAWL_ORCHESTRATION", ctx.orchestration_name());
  environment.set("PAWL_ATTEMPT", std::to_string(ctx.attempt()));
  environment.set("PAWL_RETRY_ATTEMPT", std::to_string(ctx.retry_attempt()));
  environment.set("PAWL_WORKER", ctx.worker_id());
  if (ctx.session_id().empty()) return;
  environment.set("PAWL_SESSION", ctx.session_id());
  environment.set("PAWL_SESSION_EPOCH", std::to_string(ctx.session_epoch()));
  if (!ctx.session_folder().empty()) environment.set("PAWL_SESSION_FOLDER", ctx.session_folder());
}

}  // namespace

// The state of one attempt.
class ProgramRun {
 public:
  ProgramRun() = default;
  ~ProgramRun() {
    if (buffer_ != nullptr) programs_->give_back(buffer_);
  }
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  static ActivityStep step(ActivityContext& ctx, ProgramRun& run) {
    const auto& entry = *static_cast<const Programs::Entry*>(ctx.user());
    if (run.buffer_ != nullptr) return run.go_on(ctx);
    if (ctx.is_cancelled()) return ctx.fail("cancelled before the program began");
    run.programs_ = entry.programs;
    run.activity_ = entry.activity;
    std::string why;
    if (!run.begin(ctx, &why)) return ctx.fail(why);
    return run.go_on(ctx);
  }

 private:
  bool begin(ActivityContext& ctx, std::string* why);
  ActivityStep go_on(ActivityContext& ctx);
  bool exchange(ActivityContext& ctx);
  void stop_if_asked(ActivityContext& ctx);
  ActivityStep end(ActivityContext& ctx, const ChildEnd& ended);
  ActivityStep end_failed(ActivityContext& ctx, const ChildEnd& ended);
  [[nodiscard]] std::int64_t wait_ms(ActivityContext& ctx) const;

  Programs* programs_ = nullptr;
  const ProgramActivity* activity_ = nullptr;
  char* buffer_ = nullptr;
  std::size_t size_ = 0;  // length of the result so far
  std::size_t written_ = 0;
  std::int64_t kill_at_ms_ = 0;  // 0: not asked to end
  bool too_long_ = false;
  Child child_;
  ErrorLines errors_;
};

bool ProgramRun::begin(ActivityContext& ctx, std::string* why) {
  int device = -1;
  Environment environment(programs_->inherited_);
  for (const auto& [name, value] : activity_->env)
    environment.set(name, value);
  describe(ctx, environment);
  if (programs_->devices_.knows(ctx.session_id())) {
    device = programs_->devices_.open_locked(ctx.session_id(), why);
    if (device < 0) return false;
    environment.set("PAWL_DEVICE", ctx.session_id());
    environment.set("PAWL_DEVICE_FD", "3");
  }
  std::vector<std::string> texts = activity_->argv;
  std::vector<char*> argv;
  argv.reserve(texts.size() + 1);
  for (std::string& text : texts)
    argv.push_back(text.data());
  argv.push_back(nullptr);
  const std::vector<char*> variables = environment.pointers();
  Launch launch;
  launch.argv = argv.data();
  launch.environment = variables.data();
  launch.cwd = activity_->cwd.empty() ? nullptr : activity_->cwd.c_str();
  launch.device = device;
  buffer_ = programs_->take_buffer();
  if (buffer_ == nullptr) {
    *why = "no buffer is left for a result";
    return false;
  }
  const int error = child_.start(launch, programs_->leftovers_);
  if (error == 0) return true;
  *why = std::string("the program was not started: ") + strerror(error);
  return false;
}

// Returns whether more output may be there at once.
bool ProgramRun::exchange(ActivityContext& ctx) {
  const std::string_view input = ctx.input();
  written_ += child_.write_input(input.substr(std::min(written_, input.size())));
  bool more = false;
  const auto most = static_cast<std::size_t>(activity_->result_max);
  for (int i = 0; i < kReadsAStep; ++i) {
    // One byte more than allowed shows that the result is too long. The rest is read and dropped.
    char dropped[1024];
    const std::size_t got = size_ > most ? child_.read_output(dropped, sizeof dropped)
                                         : child_.read_output(buffer_ + size_, most + 1 - size_);
    more = got > 0;
    if (!more) break;
    size_ = std::min(size_ + got, most + 1);
  }
  for (int i = 0; i < kReadsAStep; ++i) {
    char part[1024];
    const std::size_t got = child_.read_errors(part, sizeof part);
    if (got == 0) return more;
    errors_.take(ctx, part, got);
  }
  return true;
}

void ProgramRun::stop_if_asked(ActivityContext& ctx) {
  const std::int64_t now = monotonic_ms();
  if (size_ > static_cast<std::size_t>(activity_->result_max) && !too_long_) {
    too_long_ = true;
    child_.signal(SIGKILL);
  }
  if (!ctx.is_cancelled()) return;
  const std::int64_t grace = activity_->kill_after_ms;
  // When the worker stops, programs may finish as long as there is time left to end them.
  const pawl::OptionalMs left = ctx.time_left_ms();
  const bool may_finish = ctx.cancel_reason() == CancelReason::kShutdown && left.has_value() &&
                          left.value() > grace + 2 * kAskMs;
  if (may_finish) return;
  if (kill_at_ms_ == 0) {
    kill_at_ms_ = now + grace;
    child_.signal(SIGTERM);
    child_.signal(SIGCONT);
  }
  if (now >= kill_at_ms_) child_.signal(SIGKILL);
}

std::int64_t ProgramRun::wait_ms(ActivityContext& ctx) const {
  std::int64_t wait = child_.end_is_seen() ? kLookAgainMs : kAskMs;
  if (kill_at_ms_ > 0)
    return std::clamp<std::int64_t>(kill_at_ms_ - monotonic_ms(), kAskMs / 2, kLookAgainMs);
  // A stop waits for the program: the next look must come before the stop's grace is over.
  const pawl::OptionalMs left = ctx.time_left_ms();
  if (ctx.is_cancelled() && left.has_value())
    wait =
        std::min(wait, std::max(left.value() - activity_->kill_after_ms - 2 * kAskMs, kAskMs / 2));
  return wait;
}

ActivityStep ProgramRun::go_on(ActivityContext& ctx) {
  const bool more = exchange(ctx);
  stop_if_asked(ctx);
  ChildEnd ended;
  if (!more && child_.has_ended(&ended)) {
    // The last output may have come after the exchange() above; a pipe that stays open gives no
    // more.
    for (int i = 0; i < kReadsAStep && exchange(ctx); ++i) {
    }
    return end(ctx, ended);
  }
  if (more) return ctx.again_after(milliseconds(0));
  return ctx.when_readable(child_.fd(), milliseconds(wait_ms(ctx)));
}

ActivityStep ProgramRun::end(ActivityContext& ctx, const ChildEnd& ended) {
  errors_.end(ctx);
  if (size_ > static_cast<std::size_t>(activity_->result_max)) {
    const std::string text = "result_too_long: standard output has more than " +
                             std::to_string(activity_->result_max) + " bytes (result_max)";
    return ctx.fail_permanently(text);
  }
  if (ended.by_signal || ended.start_error != 0 || ended.number != 0) return end_failed(ctx, ended);
  if (ctx.is_cancelled()) static_cast<void>(ctx.cancel_reason());  // done: the result counts
  std::string_view result(buffer_, size_);
  if (!result.empty() && result.back() == '\n') result.remove_suffix(1);
  if (!result.empty() && result.back() == '\r') result.remove_suffix(1);
  return ctx.ok(result);
}

ActivityStep ProgramRun::end_failed(ActivityContext& ctx, const ChildEnd& ended) {
  std::string text;
  if (ended.start_error != 0) {
    text = (ended.cwd_failed ? activity_->cwd : activity_->argv[0]) + ": " +
           strerror(ended.start_error);
    return ctx.fail(text);
  }
  if (ended.by_signal) {
    text = "ended by signal " + std::to_string(ended.number) + " (" + strsignal(ended.number) + ")";
  } else {
    text = "exit code " + std::to_string(ended.number);
  }
  if (!errors_.last().empty()) text.append(": ").append(errors_.last());
  const bool is_permanent = !ended.by_signal && activity_->outcome_of(ended.number) ==
                                                    ProgramActivity::Outcome::kPermanent;
  return is_permanent ? ctx.fail_permanently(text) : ctx.fail(text);
}

// ---- Programs ----

Programs::Programs(const Config& config, PluggedDevices& devices) : devices_(devices) {
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (is_inherited(*variable)) inherited_.emplace_back(*variable);
  entries_.reserve(config.activities.size());
  for (const ProgramActivity& activity : config.activities) {
    entries_.push_back({this, &activity});
    buffer_bytes_ = std::max(buffer_bytes_, static_cast<std::size_t>(activity.result_max) + 1);
  }
  const auto count = static_cast<std::size_t>(config.programs);
  memory_.resize(count * buffer_bytes_);
  taken_.resize(count);
}

std::size_t Programs::scratch_bytes() { return sizeof(ProgramRun); }

pawl::Status Programs::add_to(pawl::Registry& registry) {
  for (Entry& entry : entries_)
    PAWL_TRY(registry.add_cooperative(entry.activity->name, ProgramRun::step, &entry));
  return pawl::Status::kOk;
}

char* Programs::take_buffer() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    taken_[i] = true;
    return memory_.data() + i * buffer_bytes_;
  }
  return nullptr;
}

void Programs::give_back(const char* buffer) {
  taken_[static_cast<std::size_t>(buffer - memory_.data()) / buffer_bytes_] = false;
}

}  // namespace pawld
