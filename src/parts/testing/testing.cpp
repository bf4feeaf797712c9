#include "pawl/testing.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace pawl::testing {
namespace {

// How often an error event was logged, and how often a test announced it.
struct EventCount {
  std::size_t seen = 0;
  std::size_t least = 0;
  std::size_t most = 0;
  std::string first;  // the line of the first
};

struct Errors {
  std::mutex lock;
  std::map<std::string, EventCount, std::less<>> events;

  EventCount& of(std::string_view event) { return events[std::string(event)]; }
  void count(const std::string& event, const std::string& line) {
    EventCount& one = events[event];
    if (one.seen++ == 0) one.first = line;
  }
};

// Never destroyed, because a World may be a static object.
Errors& errors() {
  static auto* const all = new Errors;
  return *all;
}

std::string text_of(LogLevel level, std::string_view event, const LogField* fields,
                    std::size_t count) {
  std::string line = std::string(log_level_name(level)) + " " + std::string(event);
  for (std::size_t i = 0; i < count; ++i) {
    line += " " + std::string(fields[i].key) + "=";
    line += fields[i].is_number ? std::to_string(fields[i].number) : std::string(fields[i].text);
  }
  return line;
}

constexpr char kDatabase[] = "/world.db";
constexpr char kNode[] = "world";
constexpr int kRoundsMax = 10'000;  // without time passing; an instance that needs more never rests

class HistoryText final : public TextSink {
 public:
  explicit HistoryText(std::string* out) : out_(out) {}
  bool write(std::string_view text) noexcept override {
    out_->append(text);
    return true;
  }

 private:
  std::string* out_;
};

}  // namespace

Status shared_process(Process** out, Diagnostic& diagnostic) {
  static Process process;
  static Block* block = nullptr;
  *out = &process;
  if (process.started()) return Status::kOk;
  ProcessOptions options;
  options.connections_max = 8;
  options.page_cache_pages = 8 * 256;
  if (block == nullptr) block = new Block(Process::required_memory(options));
  return process.start(options, block->data(), block->bytes(), diagnostic);
}

// ---- Lines ----

void Lines::write(LogLevel level, std::string_view event, const LogField* fields,
                  std::size_t count) noexcept {
  lines_.push_back(text_of(level, event, fields, count));
}

std::size_t Lines::count(std::string_view part) const {
  std::size_t found = 0;
  for (const std::string& line : lines_)
    found += line.find(part) != std::string::npos ? 1U : 0U;
  return found;
}

std::string Lines::all() const {
  std::string text;
  for (const std::string& line : lines_)
    text += line + "\n";
  return text;
}

// ---- errors that a test announces ----

void expect_errors(std::string_view event, std::size_t count) {
  expect_errors(event, count, count);
}

void expect_errors(std::string_view event, std::size_t least, std::size_t most) {
  const std::lock_guard<std::mutex> hold(errors().lock);
  EventCount& one = errors().of(event);
  one.least += least;
  one.most += most;
}

std::vector<std::string> unexpected_errors() {
  const std::lock_guard<std::mutex> hold(errors().lock);
  std::vector<std::string> all;
  for (const auto& [event, one] : errors().events) {
    if (one.seen >= one.least && one.seen <= one.most) continue;
    std::string text =
        event + ": " + std::to_string(one.seen) + ", not " + std::to_string(one.least);
    if (one.most > one.least) text += ".." + std::to_string(one.most);
    all.push_back(one.first.empty() ? text : text + ": " + one.first);
  }
  errors().events.clear();
  return all;
}

void ErrorWatch::write(LogLevel level, std::string_view event, const LogField* fields,
                       std::size_t count) noexcept {
  if (level == LogLevel::kError) {
    const std::lock_guard<std::mutex> hold(errors().lock);
    const std::string line = text_of(level, event, fields, count);
    if (is_held_) {
      held_.emplace_back(event, line);
    } else {
      errors().count(std::string(event), line);
    }
  }
  if (next_ != nullptr) next_->write(level, event, fields, count);
}

void ErrorWatch::release() {
  const std::lock_guard<std::mutex> hold(errors().lock);
  is_held_ = false;
  for (const auto& [event, line] : held_)
    errors().count(event, line);
  held_.clear();
}

// ---- FakeActivity ----

FakeActivity& FakeActivity::returns(std::string_view result) {
  answers_.push_back({true, std::string(result), {}});
  return *this;
}

FakeActivity& FakeActivity::fails(std::string_view text) {
  answers_.push_back({false, std::string(text), {}});
  return *this;
}

Status FakeActivity::add_to(Registry& registry, std::string_view name, ActivityMode mode) {
  return registry.add_activity(name, run, mode, this);
}

FakeActivity& FakeActivity::does(std::function<ActivityResult(ActivityContext&)> code) {
  answers_.push_back({true, "", std::move(code)});
  return *this;
}

ActivityResult FakeActivity::run(ActivityContext& context) {
  auto& fake = *static_cast<FakeActivity*>(context.user());
  fake.inputs_.emplace_back(context.input());
  if (fake.answers_.empty()) return context.ok("");
  const Answer& answer = fake.answers_[std::min(fake.calls(), fake.answers_.size()) - 1];
  if (answer.code) return answer.code(context);
  return answer.ok ? context.ok(answer.text) : context.fail(answer.text);
}

// ---- Worker ----

Worker::Worker(sim::Machine& machine, const Registry& known, const Options& given)
    : node(machine),
      options(given),
      registry(known),
      watch(given.log == nullptr ? &lines : given.log) {
  options.log = &watch;
}

// Stops a running worker. On a killed node every call fails, so the stop changes nothing on the
// machine, and only frees SQLite's memory.
Worker::~Worker() {
  if (running()) stop();
  if (killed) watch.hold();  // a dead process logs nothing
  if (runtime == nullptr || runtime->stats().busy_ticks == 0) return;
  const std::lock_guard<std::mutex> hold(errors().lock);
  errors().of("busy_tick").seen += static_cast<std::size_t>(runtime->stats().busy_ticks);
}

Status Worker::start(Process* process) {
  if (process == nullptr) PAWL_TRY(shared_process(&process, diagnostic));
  memory = std::make_unique<Block>(Runtime::required_memory(options));
  runtime = std::make_unique<Runtime>();
  return runtime->start(*process, registry, options, node.port(), memory->data(), memory->bytes(),
                        diagnostic);
}

void Worker::kill() {
  node.kill();
  killed = true;
}

bool drive(sim::Machine& machine, const std::vector<Worker*>& workers,
           const std::function<bool()>& until, std::int64_t ms) {
  const std::int64_t end = machine.boot_ms() + ms;
  // Ends, because every round does something or moves time.
  while (true) {
    bool more = false;
    bool overdue = false;  // due since before the boot, which is at 0
    std::int64_t due = end;
    for (Worker* worker : workers) {
      if (!worker->running()) continue;
      const Result<bool> ticked = worker->runtime->tick(std::chrono::milliseconds::max());
      if (!ticked.ok()) continue;
      more = more || ticked.value();
      const OptionalMs next = worker->runtime->next_due();
      overdue = overdue || next.has_passed(0);
      if (next.has_value() && next.value() < due) due = next.value();
    }
    if (until()) return true;
    // Jobs that a tick has handed to a thread belong to this moment too.
    for (Worker* worker : workers)
      more = (worker->running() && worker->node.run_jobs() > 0) || more;
    if (more || overdue) continue;
    if (machine.boot_ms() >= end) return false;
    machine.advance(due > machine.boot_ms() ? due - machine.boot_ms() : 1);
  }
}

// ---- World ----

World::World(const Registry& registry, const WorldOptions& options)
    : machine_(options.seed), registry_(registry), options_(options) {
  if (options_.runtime.database_path.empty()) options_.runtime.database_path = kDatabase;
  if (!options_.runtime.worker_node_id.has_value()) options_.runtime.worker_node_id = kNode;
  if (options_.runtime.log == nullptr) options_.runtime.log = &lines_;
  if (options_.crash != nullptr) writes_left_ = options_.crash->at;
}

World::~World() {
  if (options_.crash != nullptr) options_.crash->writes = writes_;
}

Status World::start() {
  diagnostic_.clear();
  if (!running()) {
    worker_ = std::make_unique<Worker>(machine_, registry_, options_.runtime);
    const Status status = worker_->start(options_.process);
    if (status != Status::kOk) {
      diagnostic_ = worker_->diagnostic;
      worker_ = nullptr;
      return status;
    }
    for (const std::string& device : options_.devices)
      PAWL_TRY(worker_->runtime->declare_session(device, false));
  }
  return client_ != nullptr ? Status::kOk : open_client();
}

Status World::open_client() {
  Process* process = options_.process;
  if (process == nullptr) PAWL_TRY(shared_process(&process, diagnostic_));
  const Options& runtime = options_.runtime;
  ClientOptions options;
  options.database_path = runtime.database_path;
  options.payload_bytes_max = runtime.limits.payload_bytes_max;
  options.queue_messages_max = runtime.limits.queue_messages_max;
  client_node_ = std::make_unique<sim::Node>(machine_);
  client_memory_ = std::make_unique<Block>(Client::required_memory(options));
  client_ = std::make_unique<Client>();
  const Status status = client_->open(*process, options, client_node_->port(),
                                      client_memory_->data(), client_memory_->bytes(), diagnostic_);
  if (status != Status::kOk) client_ = nullptr;
  return status;
}

Status World::stop() {
  if (!running()) return Status::kStopped;
  const Status status = worker_->runtime->stop(std::chrono::seconds(1));
  worker_ = nullptr;
  return status;
}

void World::crash() {
  if (running()) worker_->kill();
  if (options_.crash == nullptr) writes_left_ = 0;
  machine_.fail_write(0, Status::kOk, false);
}

Status World::declare_device(std::string_view device) {
  options_.devices.emplace_back(device);
  return running() ? worker_->runtime->declare_session(device, false) : Status::kOk;
}

Status World::withdraw_device(std::string_view device) {
  auto& devices = options_.devices;
  devices.erase(std::remove(devices.begin(), devices.end(), device), devices.end());
  return running() ? worker_->runtime->withdraw_session(device) : Status::kOk;
}

void World::crash_at_write(std::uint64_t nth) { writes_left_ = nth; }

void World::reboot(std::int64_t off_ms) {
  crash();
  machine_.reboot(off_ms);
  client_ = nullptr;
}

// The disk takes nothing from the n-th write on, and then the process is dead. To the file this is
// the same as a death in the middle of the write. Only writes of the Runtime's ticks count, so the
// disk works between ticks.
template <typename Until>
Status World::go_on(std::int64_t ms, Until&& until) {
  if (!running()) return Status::kStopped;
  std::uint64_t before = 0;
  const auto arm = [&] {
    before = machine_.writes() + machine_.syncs();
    if (writes_left_ == 0) return;
    worker_->watch.hold();
    machine_.fail_write(writes_left_, Status::kIo, true);
  };
  const auto settle = [&] {
    const std::uint64_t written = machine_.writes() + machine_.syncs() - before;
    writes_ += written;
    if (writes_left_ == 0) return;
    machine_.fail_write(0, Status::kOk, false);
    if (written >= writes_left_) {
      writes_left_ = 0;
      if (options_.crash != nullptr) options_.crash->happened = true;
      return crash();
    }
    worker_->watch.release();
    writes_left_ -= written;
  };
  arm();
  const bool holds = drive(
      machine_, {worker_.get()},
      [&] {
        settle();
        const bool is_over = !running() || until();
        if (!is_over) arm();
        return is_over;
      },
      ms);
  if (!holds) settle();
  if (!running()) return Status::kStopped;
  return holds ? Status::kOk : Status::kTimeout;
}

// After the planned crash the next process goes on.
template <typename Until>
Status World::go(std::int64_t ms, Until&& until) {
  const std::int64_t end = machine_.boot_ms() + ms;
  const bool is_ahead = options_.crash != nullptr && !options_.crash->happened;
  const Status status = go_on(ms, until);
  if (!is_ahead || !options_.crash->happened) return status;
  return start() == Status::kOk ? go_on(end - machine_.boot_ms(), until) : Status::kStopped;
}

Status World::run_until_idle() {
  int rounds = 0;
  const Status status = go(0, [&rounds] { return ++rounds > kRoundsMax; });
  if (status == Status::kStopped) return status;
  return status == Status::kOk ? Status::kTimeout : Status::kOk;
}

Status World::advance(std::int64_t ms) {
  const bool was_running = running();
  const std::int64_t end = machine_.boot_ms() + ms;
  const Status status = was_running ? go(ms, [] { return false; }) : Status::kOk;
  if (machine_.boot_ms() < end) machine_.advance(end - machine_.boot_ms());
  return status == Status::kTimeout ? Status::kOk : status;
}

Status World::run_until(const std::function<bool()>& holds, std::int64_t ms_max) {
  return go(ms_max, holds);
}

Status World::run_until_done(std::string_view id, OrchestrationStatus* out, std::int64_t ms_max) {
  OrchestrationStatus status;
  Status read = Status::kOk;
  const Status gone = go(ms_max, [&] {
    read = client_->get_status(id, &status);
    return read != Status::kOk || (status.state != OrchestrationState::kRunning &&
                                   status.state != OrchestrationState::kSuspended);
  });
  if (gone == Status::kOk && read != Status::kOk) return read;
  if (gone != Status::kStopped && out != nullptr) *out = status;
  return gone;
}

Status World::history(std::string_view id, std::string* out, std::int64_t execution_id) {
  out->clear();
  HistoryText text(out);
  return export_history(*client_, id, execution_id, text);
}

}  // namespace pawl::testing

namespace pawl::internal {

std::uint64_t for_each_crash(std::uint64_t stride,
                             const std::function<bool(const testing::WorldOptions&)>& scenario) {
  std::uint64_t crashes = 0;
  bool goes_on = true;
  const auto run = [&](std::uint64_t at) {
    testing::PlannedCrash crash;
    crash.at = at;
    testing::WorldOptions options;
    options.crash = &crash;
    goes_on = scenario(options);
    crashes += crash.happened ? 1 : 0;
    return crash.writes;
  };
  const std::uint64_t writes = run(0);
  const std::uint64_t step = std::max(stride, std::uint64_t{1});
  for (std::uint64_t at = 1; goes_on && at <= writes; at += std::min(step, writes))
    run(at);
  return crashes;
}

}  // namespace pawl::internal
