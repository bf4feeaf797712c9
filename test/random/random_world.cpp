#include "random_world.hpp"

#include <algorithm>

#include "pawl/maintenance.hpp"
#include "pawl/visit.hpp"
#include "random_code.hpp"

namespace pawl::test {
namespace {

using testing::Block;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";
constexpr std::size_t kBytesMax = 16 * 1024 * 1024;
constexpr int kSteps = 160;
constexpr int kRounds = 8;  // rounds of messages, until every program has ended
constexpr const char* kQueues[] = {"q", "q2"};
constexpr const char* kEvents[] = {"e", "e2"};

// Larger than any history, turn, mailbox or payload of these programs.
constexpr std::uint32_t kEventsEnough = 2'000;
constexpr std::uint32_t kCommandsEnough = 400;
constexpr std::uint32_t kMessagesEnough = 256;
constexpr std::uint32_t kKeysEnough = 64;
constexpr std::chrono::hours kKeyAgeEnough{24};
constexpr std::size_t kPayloadEnough = 512;
constexpr std::size_t kWarmEnough = 1024 * 1024;

std::string line_of(LogLevel level, std::string_view event, const LogField* fields,
                    std::size_t count) {
  std::string line = std::string(log_level_name(level)) + " " + std::string(event);
  for (std::size_t i = 0; i < count; ++i)
    line += " " + std::string(fields[i].key) + "=" +
            (fields[i].is_number ? std::to_string(fields[i].number) : std::string(fields[i].text));
  return line;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Collects what one execution received, and checks that it is well formed.
struct Execution final : HistoryVisitor {
  void on_event(const HistoryEvent& event) noexcept override {
    const std::string_view kind = event.kind;
    kinds += " " + std::to_string(event.id) + ":" + std::string(kind);
    if (event.ref != 0) kinds += "(" + std::to_string(event.ref) + ")";
    if (event.id != ++last) problem = "event " + std::to_string(event.id) + " is out of its place";
    // An execution that was ended before it began has only its end.
    if ((event.id == 1) != (kind == "started") && (event.id != 1 || kind != "ended"))
      problem = "does not begin with its start";
    if (kind == "cancel_requested" && event.payload.substr(0, 14) == "time limit of ")
      ++limits_over;
    if (has_ended && kind != "return") problem = "has an event behind its end";
    has_ended = has_ended || kind == "ended";
    const bool completes = kind == "activity_done" || kind == "timer_fired" ||
                           kind == "child_done" || kind == "delivery" || kind == "value_answer";
    if (completes && event.ref >= event.id) problem = "has a result before its command";
    if (completes && !completed.insert(event.ref).second)
      problem = "has two results of event " + std::to_string(event.ref);
    if (kind == "delivery" && event.number != 0)
      received[event.id] = std::string(event.payload.substr(0, event.payload.find(' ')));
    if (kind == "return") received.erase(event.ref);
  }
  std::int64_t last = 0;
  bool has_ended = false;
  int limits_over = 0;
  std::string kinds;
  std::set<std::int64_t> completed;
  std::map<std::int64_t, std::string> received;  // text by the id of its delivery
  std::string problem;
};

}  // namespace

void WorldCounts::add(const WorldCounts& other) {
  messages += other.messages;
  received += other.received;
  kills += other.kills;
  reboots += other.reboots;
  cancels += other.cancels;
  limits_over += other.limits_over;
  restarts += other.restarts;
  suspensions += other.suspensions;
  stopped_by_limit += other.stopped_by_limit;
  executions += other.executions;
  completed += other.completed;
  failed += other.failed;
  outside += other.outside;
  answers += other.answers;
}

// A worker, with the options of this life.
struct RandomWorld::Life final : LogSink {
  Life(RandomWorld& of, const Registry& registry, const Options& given)
      : world(of), options(given), worker(of.machine_, registry, with_log(given, this)) {}
  static Options with_log(Options options, LogSink* log) {
    options.log = log;
    return options;
  }
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override {
    if (level < LogLevel::kWarning || worker.killed) return;
    const std::string line = line_of(level, event, fields, count);
    world.note("    " + line);
    if (level == LogLevel::kError) world.note_error(options, event, line);
  }
  Runtime* operator->() { return worker.runtime.get(); }
  RandomWorld& world;
  const Options options;
  Worker worker;
};

struct RandomWorld::Sender {
  Sender(sim::Machine& machine, const ClientOptions& given)
      : options(given), node(machine), memory(Client::required_memory(given)) {}
  ClientOptions options;
  sim::Node node;
  Block memory;
  Client client;
};

// A call that is piggybacked on the tick of a worker.
struct RandomWorld::Piggybacked {
  RandomWorld* world = nullptr;
  std::string root;
  std::string message;  // empty: a start
};

RandomWorld::RandomWorld(std::uint64_t seed)
    : how_(draw_of(seed)), random_(seed), machine_(seed), cuts_power_(any(2) == 0) {
  machine_.set_power_cut_losses(cuts_power_);
  ProcessOptions process;
  process.connections_max = 8;
  if (how_ == Draw::kLeast || (how_ == Draw::kAny && any(3) == 0)) {
    process.page_cache_pages = 0;
    process.statement_bytes = 32 * 1024;
  }
  process_memory_ = std::make_unique<Block>(Process::required_memory(process));
  Diagnostic why;
  if (process_.start(process, process_memory_->data(), process_memory_->bytes(), why) !=
      Status::kOk)
    fail("the process does not start: " + std::string(why.text()));
  if (fill(registry_) != Status::kOk) fail("the registry is too small");
  static_cast<void>(take_tokens());  // those of another world
  for (std::size_t i = 0; i < kRoots; ++i)
    programs_[kRoot + std::to_string(i)] = make_program(seed * kRoots + i);
  set_programs(&programs_);
  note_least(Options());
}

RandomWorld::~RandomWorld() {
  for (std::unique_ptr<Life>& life : workers_)
    life.reset();
  sender_.reset();
  static_cast<void>(process_.stop());
  for (const auto& [event, count] : permitted_)
    testing::expect_errors(event, count);
}

std::string RandomWorld::story() const {
  std::string all = story_;
  for (const auto& [id, program] : programs_)
    all += id + ":\n" + print(program);
  return all;
}

void RandomWorld::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

std::string RandomWorld::run() {
  for (int i = 0; i < kSteps && failure_.empty(); ++i) {
    for (std::size_t number = 0; number < kWorkers; ++number)
      if (workers_[number] == nullptr && any(3) == 0) start_worker(number, draw_worker(number));
    if (sender_ == nullptr) {
      ClientOptions client;
      client.database_path = kPath;
      client.database = on_server_.database;
      client = draw_client_options(client, how_, random_, kBytesMax);
      client.synchronous_full = client.synchronous_full || cuts_power_;
      open_client(client);
    }
    act();
    step(true);
  }
  if (failure_.empty()) settle();
  if (failure_.empty()) check();
  return failure_;
}

// ---- log ----

void RandomWorld::note_error(const Options& of, std::string_view event, const std::string& line) {
  if (!dying_ && !is_permitted(of, event, line)) fail("the log says: " + line);
  ++permitted_[std::string(event)];
}

// Permits the errors that the options of this life, or of some life, ask for.
bool RandomWorld::is_permitted(const Options& of, std::string_view event,
                               const std::string& line) const {
  if (event == "instance_stopped") {
    const LimitOptions& limits = of.limits;
    return ((has(line, "more messages wait") || has(line, "more than mailbox_max")) &&
            limits.queue_messages_max < kMessagesEnough) ||
           (has(line, "commands_a_turn_max") && limits.commands_a_turn_max < kCommandsEnough) ||
           (has(line, "events_max") && limits.history_events_max < kEventsEnough) ||
           (has(line, "it was to go on with was removed") && removes_executions_) ||
           (has(line, "payload_bytes_max") && limits.payload_bytes_max < kPayloadEnough) ||
           ((has(line, "warm_bytes") || has(line, "no memory left")) &&
            limits.warm_bytes < kWarmEnough);
  }
  // All processes slept for longer than a lease, or a slow one was late for a lease that it renews
  // late.
  const bool loses_leases =
      longest_sleep_ >=
          std::min(least_.leases.session_lock_timeout, least_.leases.worker_lock_timeout) ||
      std::min(least_.leases.session_lock_renewal_buffer,
               least_.leases.worker_lock_renewal_buffer) < std::chrono::seconds(4);
  if (event == "worker_was_buried") return has_slow_handoff_ || loses_leases;
  const std::int64_t least =
      std::min({least_.limits.crashes_max, least_.limits.strikes_max, least_.limits.reboots_max});
  if (event == "activity_poisoned") return least <= counts_.kills + counts_.reboots || loses_leases;
  if (event == "activity_unregistered") return has_narrow_worker_;
  if (event == "activity_abandoned" || event == "session_evicted")
    return least_.timing.activity_grace < std::chrono::seconds(10) ||
           longest_sleep_ >= least_.timing.activity_grace;
  return false;
}

// ---- processes ----

void RandomWorld::note_least(const Options& options) {
  const auto lower = [](auto& least, auto value) { least = std::min(least, value); };
  lower(least_.limits.history_events_max, options.limits.history_events_max);
  lower(least_.limits.commands_a_turn_max, options.limits.commands_a_turn_max);
  lower(least_.limits.crashes_max, options.limits.crashes_max);
  lower(least_.limits.strikes_max, options.limits.strikes_max);
  lower(least_.limits.reboots_max, options.limits.reboots_max);
  lower(least_.limits.queue_messages_max, options.limits.queue_messages_max);
  lower(least_.limits.warm_bytes, options.limits.warm_bytes);
  lower(least_.retention.message_keys, options.retention.message_keys);
  lower(least_.retention.message_key_age, options.retention.message_key_age);
  longest_grace_ = std::max(longest_grace_, options.timing.cancel_grace);
  has_endless_grace_ = has_endless_grace_ || options.timing.cancel_grace.count() == 0;
  lower(least_.timing.activity_grace, options.timing.activity_grace);
  lower(least_.leases.session_lock_timeout, options.leases.session_lock_timeout);
  lower(least_.leases.worker_lock_timeout, options.leases.worker_lock_timeout);
  lower(least_.leases.session_lock_renewal_buffer, options.leases.session_lock_renewal_buffer);
  lower(least_.leases.worker_lock_renewal_buffer, options.leases.worker_lock_renewal_buffer);
  has_narrow_worker_ = has_narrow_worker_ || options.slots.inline_activities == 0 ||
                       options.slots.threads == 0 || options.slots.cooperative == 0 ||
                       options.worker_tag_filter.mode != TagFilter::Mode::kAny;
  has_slow_handoff_ = has_slow_handoff_ || !options.leases.fast_handoff;
  removes_executions_ =
      removes_executions_ || options.retention.executions != 0 || options.space.quota_bytes != 0;
  removes_instances_ = removes_instances_ || options.retention.age.count() != 0 ||
                       options.retention.count != 0 || options.space.quota_bytes != 0;
}

// Raises what the code needs: the number of its names, and the state of its activity in steps.
Options RandomWorld::draw_worker(std::size_t number) {
  Options options;
  options.database_path = kPath;
  options.database = on_server_.database;
  if (any(2) == 0) options.worker_node_id = "node-" + std::to_string(number);
  options = draw_options(options, how_, random_, kBytesMax);
  options.limits.orchestrations_max = std::max(options.limits.orchestrations_max, 6U);
  options.limits.activities_max = std::max(options.limits.activities_max, 3U);
  if (options.database != nullptr)
    options.leases.session_lock_timeout =
        std::max(options.leases.session_lock_timeout, std::chrono::milliseconds(10'000));
  options.slots.cooperative_scratch_bytes =
      std::max<std::size_t>(options.slots.cooperative_scratch_bytes, 64);
  options.synchronous_full = options.synchronous_full || cuts_power_;
  options.run_orchestrations = options.run_orchestrations || number == 0;
  constexpr int kFilters = 4;
  switch (how_ == Draw::kAny ? any(kFilters) : std::size_t{0}) {
    case 0: options.worker_tag_filter = TagFilter::any(); break;
    case 1: options.worker_tag_filter = TagFilter::none(); break;
    case 2: options.worker_tag_filter = TagFilter::tags({"camera"}); break;
    default: break;
  }
  return options;
}

void RandomWorld::start_worker(std::size_t number, const Options& options) {
  note("worker " + std::to_string(number) + " starts with " + text_of(options));
  note_least(options);
  auto life = std::make_unique<Life>(*this, registry_, options);
  life->worker.node.hold_jobs(any(2) == 0);
  const Status status = life->worker.start(&process_);
  if (status != Status::kOk)
    return fail("worker " + std::to_string(number) + " does not start: " + status_name(status) +
                ": " + std::string(life->worker.diagnostic.text()) + " with " + text_of(options));
  workers_[number] = std::move(life);
  ++lives_;
}

void RandomWorld::kill_worker(std::size_t number) {
  if (workers_[number] == nullptr) return;
  note("worker " + std::to_string(number) + " dies");
  workers_[number]->worker.kill();
  workers_[number].reset();
  ++counts_.kills;
}

void RandomWorld::open_client(const ClientOptions& options) {
  sender_ = std::make_unique<Sender>(machine_, options);
  Diagnostic why;
  const Status status = sender_->client.open(process_, options, sender_->node.port(),
                                             sender_->memory.data(), sender_->memory.bytes(), why);
  if (status != Status::kOk)
    fail(std::string("the client does not open: ") + status_name(status) + ": " +
         std::string(why.text()));
}

void RandomWorld::reboot() {
  note("power is off");
  machine_.reboot(static_cast<std::int64_t>(any(5'000)));
  for (std::unique_ptr<Life>& life : workers_) {
    if (life != nullptr) life->worker.killed = true;
    life.reset();
  }
  sender_.reset();
  dies_at_ = 0;
  ++counts_.reboots;
}

// Runs `call`; true if its process dies in it, at one of its writes.
template <typename Call>
bool RandomWorld::dies_in(const Call& call) {
  if (dies_at_ == 0) {
    call();
    return false;
  }
  const std::uint64_t before = machine_.writes() + machine_.syncs();
  machine_.fail_write(dies_at_, Status::kIo, true);
  dying_ = true;
  call();
  dying_ = false;
  machine_.fail_write(0, Status::kOk, false);
  const std::uint64_t written = machine_.writes() + machine_.syncs() - before;
  const bool dies = written >= dies_at_;
  dies_at_ = dies ? 0 : dies_at_ - written;
  return dies;
}

// ---- actions ----

void RandomWorld::act() {
  const std::size_t what = any(12);
  if (what == 0) return trouble();
  if (sender_ == nullptr) return;
  if (roots_.size() < kRoots && (what < 3 || roots_.empty())) return start_root();
  if (roots_.empty()) return;
  const std::size_t root = any(roots_.size());
  if (what < 8 && !keyed_.empty() && any(3) == 0) return send(keyed_[any(keyed_.size())]);
  if (what < 8 && any(4) == 0) return ask(root);
  if (what < 8) return send(root);
  if (what < 10) return manage(root);
  answer_from_outside();
}

void RandomWorld::start_root() {
  const std::string id = kRoot + std::to_string(roots_.size());
  Root& root = roots_[id];
  Status status = Status::kOk;
  StartOptions how;
  how.time_limit = draw_limit();
  how.if_running = any(2) == 0 ? IfRunning::kTake : IfRunning::kRefuse;
  how.if_ended = IfEnded::kNextExecution;
  note("start of " + id + " for " +
       std::to_string(how.time_limit.value_or(std::chrono::milliseconds(0)).count()) + " ms");
  const bool died = dies_in(
      [&] { status = sender_->client.start_orchestration(kRoot, InstanceId(id), "in", how); });
  note_limit(root, how.time_limit, !died && !is_begun_by_code(id));
  root.is_acknowledged = !died && status == Status::kOk;
  root.is_maybe = died;
  if (died) {
    sender_->node.kill();
    sender_.reset();
  } else if (status != Status::kOk && status != Status::kQuota &&
             status != Status::kAlreadyExists) {  // one that another sent to was started by that
    fail("a start answers " + std::string(status_name(status)));
  }
}

// Whether code of another instance may begin an execution of this one (random_code.cpp).
bool RandomWorld::is_begun_by_code(const std::string& id) {
  return id.back() == '1' || id.back() == '3';
}

// Two of three have none.
std::optional<std::chrono::milliseconds> RandomWorld::draw_limit() {
  const std::size_t most[] = {1, 1'000, 60'000};
  if (any(3) != 0) return std::nullopt;
  return std::chrono::milliseconds(1 + any(most[any(3)]));
}

void RandomWorld::note_limit(Root& root, std::optional<std::chrono::milliseconds> limit,
                             bool is_known) {
  root.may_be_limited = root.may_be_limited || limit.has_value();
  root.over_at.reset();
  if (limit.has_value() && is_known) root.over_at = machine_.wall_ms() + limit->count();
}

void RandomWorld::send(std::size_t at) {
  const auto found = std::next(roots_.begin(), static_cast<std::ptrdiff_t>(at));
  const std::string& id = found->first;
  const bool is_event = any(2) == 0;
  const std::string token = (is_event ? "e" : "m") + std::to_string(++messages_sent_);
  std::string payload = token;
  if (any(6) == 0) payload += " " + std::string(any(400), 'x');
  if (payload.size() > sender_->options.payload_bytes_max) payload = token;
  const char* const name = is_event ? kEvents[any(4) / 3] : kQueues[any(4) / 3];
  Sent sent = {id, is_event, name, token, payload, any(3) == 0, any(4) == 0};
  send(sent);
  if (sent.has_key) keyed_.push_back(sent);
}

// Sends it, or sends it again. One with a key is delivered once.
void RandomWorld::send(const Sent& sent) {
  const std::string& id = sent.root;
  const std::string& token = sent.token;
  const std::string& payload = sent.payload;
  if (payload.size() > sender_->options.payload_bytes_max) return;
  SendOptions how;
  if (sent.has_key) how.key = token;
  if (sent.starts) how.start_if_ended = StartIfEnded{kRoot, "begun"};
  // It may begin an execution without a limit.
  if (sent.starts) roots_[id].over_at.reset();
  Life* const life = workers_[any(kWorkers)].get();
  if (life != nullptr && any(3) == 0 && payload.size() <= life->options.limits.payload_bytes_max) {
    piggybacked_.push_back(std::make_unique<Piggybacked>(Piggybacked{this, id, token}));
    const pawl::Answer answer = [](void* user, Status status) noexcept {
      auto& one = *static_cast<Piggybacked*>(user);
      if (status != Status::kOk) return;
      one.world->roots_[one.root].messages.insert(one.message);
      ++one.world->counts_.messages;
    };
    void* const user = piggybacked_.back().get();
    note(token + " is piggybacked for " + id);
    const Status asked = sent.is_event
                             ? (*life)->raise_event(id, sent.name, payload, how, answer, user)
                             : (*life)->enqueue_event(id, sent.name, payload, how, answer, user);
    if (asked != Status::kOk && asked != Status::kResourceExhausted)
      fail("a piggybacked message answers " + std::string(status_name(asked)));
    return;
  }
  Status status = Status::kOk;
  const bool died = dies_in([&] {
    status = sent.is_event ? sender_->client.raise_event(id, sent.name, payload, how)
                           : sender_->client.enqueue_event(id, sent.name, payload, how);
  });
  note(token + " for " + sent.name + " of " + id + ": " + (died ? "dies" : status_name(status)));
  if (died) {
    sender_->node.kill();
    sender_.reset();
  } else if (status == Status::kOk) {
    roots_[id].messages.insert(token);
    ++counts_.messages;
  } else if (status != Status::kNotFound && status != Status::kStale &&
             status != Status::kResourceExhausted && status != Status::kQuota) {
    fail("a message answers " + std::string(status_name(status)) + ": " +
         std::string(sender_->client.error_text()));
  }
}

// Makes a call, or makes one again.
void RandomWorld::ask(std::size_t root) {
  if (!asked_.empty() && any(2) == 0) return ask(asked_[any(asked_.size())], false);
  const auto found = std::next(roots_.begin(), static_cast<std::ptrdiff_t>(root));
  asked_.push_back({found->first, "c" + std::to_string(++messages_sent_), false, {}});
  ask(asked_.back(), false);
}

// Whether what the instance knew of keys and answers may be gone.
bool RandomWorld::may_forget(const Root& root) const {
  return root.is_deleted || removes_instances_ || least_.retention.message_keys < kKeysEnough ||
         least_.retention.message_key_age < kKeyAgeEnough;
}

// Rules: R13.1 to R13.5.
void RandomWorld::ask(Asked& call, bool at_end) {
  Root& root = roots_[call.root];
  SendOptions how;
  how.key = call.token;
  CallAnswer answer;
  Status status = Status::kOk;
  const bool died = dies_in([&] {
    status = sender_->client.call(call.root, "asked", call.token, std::chrono::milliseconds(0),
                                  &answer, how);
  });
  std::string text = status == Status::kStale ? "none" : std::string(answer.value);
  note(call.token + " asks " + call.root + ": " + (died ? "dies" : status_name(status)) + " " +
       text);
  if (died) {
    sender_->node.kill();
    sender_.reset();
    return;
  }
  if (status == Status::kOk &&
      text != (answer.error == ErrorKind::kNone ? "r" : "no ") + call.token)
    return fail(call.token + " is answered with " + text);
  const bool is_answer =
      status == Status::kOk || (status == Status::kStale && call.is_acknowledged);
  if (is_answer && !call.answer.empty() && call.answer != text && !may_forget(root))
    return fail(call.token + " is answered with " + text + " after " + call.answer);
  if (status == Status::kTimeout && !call.answer.empty() && !may_forget(root))
    return fail(call.token + " has no answer any more");
  if (status == Status::kTimeout && at_end) return fail(call.token + " is open at the end");
  if (status == Status::kOk && call.answer.empty()) ++counts_.answers;
  if (is_answer) call.answer = text;
  if (is_answer || status == Status::kTimeout) {
    if (!call.is_acknowledged) ++counts_.messages;
    call.is_acknowledged = true;
    root.messages.insert(call.token);
  } else if (status != Status::kNotFound && status != Status::kStale &&
             status != Status::kResourceExhausted && status != Status::kQuota) {
    fail("a call answers " + std::string(status_name(status)) + ": " +
         std::string(sender_->client.error_text()));
  } else if (call.is_acknowledged && !may_forget(root)) {
    fail(call.token + " was acknowledged, and now answers " + status_name(status));
  }
}

// Makes one call of an operator.
void RandomWorld::manage(std::size_t at) {
  const auto found = std::next(roots_.begin(), static_cast<std::ptrdiff_t>(at));
  const std::string& id = found->first;
  Root& root = found->second;
  const std::size_t what = any(28);
  Status status = Status::kOk;
  const char* name = "";
  const bool died = dies_in([&] {
    Client& client = sender_->client;
    if (what < 6) {
      name = "cancel";
      status = client.cancel_instance(id, "by the world");
      ++counts_.cancels;
    } else if (what < 10) {
      name = "suspend";
      status = client.suspend_instance(id);
      ++counts_.suspensions;
    } else if (what < 14) {
      name = "resume";
      status = client.resume_instance(id);
    } else if (what < 20) {
      name = "restart";
      status = client.restart_instance(
          id, any(2) == 0 ? RestartFrom::kStart : RestartFrom::kLastGoodEvent);
      root.is_restarted = root.is_restarted || status == Status::kOk;
      counts_.restarts += status == Status::kOk ? 1U : 0U;
    } else if (what == 20) {
      name = "terminate";
      root.is_touched = true;
      status = client.terminate_instance(id, "by the world");
    } else if (what == 21) {
      name = "delete";
      root.is_deleted = true;
      status = client.delete_instance(id, any(2) == 0);
    } else if (what > 23) {
      name = "limit";
      const std::optional<std::chrono::milliseconds> limit = draw_limit();
      status = client.change_time_limit(id, limit);
      if (status != Status::kStale && status != Status::kNotFound)
        note_limit(root, limit, status == Status::kOk && !dying_ && !is_begun_by_code(id));
    } else if (what == 22) {
      name = "prune";
      removes_executions_ = true;
      status = client.prune_executions(id, 1, 0);
    } else {
      name = "close";
      status = client.close_session("", any(2) == 0 ? "bed-1" : "bed-2");
    }
  });
  note(std::string(name) + " " + id + ": " + (died ? "dies" : status_name(status)));
  if (died) {
    root.is_restarted = true;
    sender_->node.kill();
    sender_.reset();
    return;
  }
  if (status == Status::kCorrupt || status == Status::kIo)
    fail(std::string(name) + " answers " + status_name(status) + ": " +
         std::string(sender_->client.error_text()));
}

// Gives an answer with the token of some attempt, which may be over, and which may have an answer.
void RandomWorld::answer_from_outside() {
  for (std::string& text : take_tokens())
    tokens_.push_back({std::move(text), {}});
  if (tokens_.empty()) return;
  // The last ones, since most of those before are stale.
  const std::size_t last = std::min<std::size_t>(tokens_.size(), 8);
  Token& token = tokens_[tokens_.size() - 1 - any(last)];
  const std::size_t what = any(8);
  const std::string text = what < 4 && !token.answer.empty() && any(2) == 0
                               ? token.answer.substr(1)
                               : "o" + std::to_string(++messages_sent_);
  std::string given = token.text;
  const bool is_wrong = what == 7;
  if (is_wrong) given.back() = given.back() == 'a' ? 'b' : 'a';
  std::string kind = "k";
  Status status = Status::kOk;
  const bool died = dies_in([&] {
    Client& client = sender_->client;
    if (what == 4) {
      kind = "heartbeat";
      status = client.heartbeat_activity(given, text);
    } else if (what == 5 || what == 6) {
      kind = what == 5 ? "f" : "p";
      status = client.fail_activity(given, text, what == 6);
    } else {
      status = client.complete_activity(given, text);
    }
  });
  note(kind + text + " for " + given + ": " + (died ? "dies" : status_name(status)));
  if (died) {
    tokens_.erase(tokens_.begin() + (&token - tokens_.data()));
    sender_->node.kill();
    sender_.reset();
    return;
  }
  if (status != Status::kOk && status != Status::kNotFound && status != Status::kStale)
    return fail("an answer answers " + std::string(status_name(status)) + ": " +
                std::string(sender_->client.error_text()));
  if (is_wrong && status != Status::kNotFound) return fail("a wrong token is taken");
  if (is_wrong) return;
  if (kind == "heartbeat") {
    if (status == Status::kOk && !token.answer.empty())
      fail("an activity that was answered is alive");
    return;
  }
  const std::string answer = kind + text;
  if (!token.answer.empty() && (status == Status::kOk) != (answer == token.answer))
    return fail("after " + token.answer + ", " + answer + " is " + status_name(status));
  if (status != Status::kOk || !token.answer.empty()) return;
  token.answer = answer;
  ++counts_.outside;
}

void RandomWorld::answer_all() {
  for (const std::string& text : take_tokens())
    tokens_.push_back({text, {}});
  for (const Token& token : tokens_) {
    const Status status = sender_->client.complete_activity(token.text, "at the end");
    if (status != Status::kOk && status != Status::kNotFound && status != Status::kStale)
      fail("an answer at the end answers " + std::string(status_name(status)));
  }
  tokens_.clear();
}

void RandomWorld::trouble() {
  const std::size_t what = any(10);
  if (what == 0) return reboot();
  if (what < 3) {
    const std::chrono::milliseconds slept(any(40'000));
    longest_sleep_ = std::max(longest_sleep_, slept);
    return pass(slept.count());
  }
  if (what == 3) {
    sender_.reset();
    return;
  }
  const std::size_t number = any(kWorkers);
  if (what < 6) return kill_worker(number);
  if (what == 6) {
    if (workers_[number] == nullptr) return;
    note("worker " + std::to_string(number) + " stops");
    // The worker's threads return.
    workers_[number]->worker.node.hold_jobs(false);
    static_cast<void>(workers_[number]->worker.node.run_jobs());
    workers_[number]->worker.stop();
    workers_[number].reset();
    return;
  }
  dies_at_ = 1 + any(40);
}

void RandomWorld::pass(std::int64_t ms) { machine_.advance(ms); }

// Runs a tick of each worker, and moves time when there is nothing to do.
void RandomWorld::step(bool has_trouble) {
  bool more = false;
  std::int64_t due = machine_.boot_ms() + 1'000;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    Life* const life = workers_[i].get();
    if (life == nullptr || (has_trouble && any(4) == 0)) continue;
    Result<bool> ticked(false);
    if (dies_in([&] { ticked = (*life)->tick(std::chrono::milliseconds::max()); })) {
      kill_worker(i);
      continue;
    }
    if (!ticked.ok())
      return fail("a tick answers " + std::string(status_name(ticked.status())) + ": " +
                  std::string((*life)->error_text()));
    more = more || ticked.value();
    const OptionalMs next = (*life)->next_due();
    if (next.has_value()) due = std::min(due, next.value());
    if (!has_trouble || any(3) == 0) more = life->worker.node.run_jobs() > 0 || more;
  }
  if (!more) pass(std::max<std::int64_t>(1, due - machine_.boot_ms()));
}

// ---- end ----

// Starts workers and a client with room for everything, and sends what programs may wait for.
void RandomWorld::settle() {
  note("--- the end");
  dies_at_ = 0;
  for (std::size_t i = 0; i < kWorkers; ++i)
    kill_worker(i);
  sender_.reset();
  Options options;
  options.database_path = kPath;
  options.database = on_server_.database;
  options.worker_tag_filter = TagFilter::any();
  options.limits.queue_messages_max = 1'024;
  options.limits.crashes_max = options.limits.strikes_max = 1'000;
  options.sessions.max_sessions_per_worker = 1'000;
  start_worker(0, options);
  ClientOptions client;
  client.database_path = kPath;
  client.database = on_server_.database;
  client.queue_messages_max = 1'024;
  open_client(client);
  if (!failure_.empty()) return;
  static_cast<void>(sender_->client.set_quota(0));
  for (int round = 0; round < kRounds && failure_.empty(); ++round) {
    const std::int64_t until = machine_.boot_ms() + 60'000;
    while (machine_.boot_ms() < until && failure_.empty())
      step(false);
    answer_all();
    if (all_ended()) return;
    if (round == 0) check_waiting();
    check_limits(round);
    for (auto& [id, root] : roots_) {
      static_cast<void>(sender_->client.resume_instance(id));
      // Only in the last rounds, so that some programs have ended by themselves before they are
      // asked to.
      if (round == kRounds - 4)
        static_cast<void>(sender_->client.cancel_instance(id, "at the end"));
      if (round == kRounds - 2) {
        root.is_touched = true;
        static_cast<void>(sender_->client.terminate_instance(id, "at the end"));
      }
      for (const char* queue : kQueues)
        static_cast<void>(sender_->client.enqueue_event(id, queue, "x"));
      for (const char* event : kEvents)
        static_cast<void>(sender_->client.raise_event(id, event, "x"));
    }
  }
  if (failure_.empty() && !all_ended()) fail("not all instances come to an end");
}

// Checks of each running instance that an acknowledged message waits or was received.
void RandomWorld::check_waiting() {
  for (const auto& [id, root] : roots_) {
    OrchestrationStatus status;
    if (sender_->client.get_status(id, &status) != Status::kOk) continue;
    const bool runs = status.state == OrchestrationState::kRunning ||
                      status.state == OrchestrationState::kSuspended;
    if (runs && status.execution_id > 0 && failure_.empty()) check_messages(id, root, false);
  }
}

// Checks what time limits did while nothing came between: for `calm_rounds` of a minute since
// suspended instances were resumed. Rules: R8.9.
void RandomWorld::check_limits(int calm_rounds) {
  for (const auto& [id, root] : roots_) {
    InstanceInfo info;
    if (sender_->client.get_instance_info(id, &info) != Status::kOk) continue;
    if (info.time_left_ms == OptionalMs(0))
      return fail(id + " is over its limit and was not asked");
    const bool is_over = root.over_at.has_value() && *root.over_at < machine_.wall_ms();
    if (is_over && !root.is_restarted && info.time_left_ms.has_value())
      return fail(id + " has time left, and is over its limit");
    const std::chrono::milliseconds calm = calm_rounds * std::chrono::minutes(1);
    const bool is_given_time =
        is_over && *root.over_at < machine_.wall_ms() - calm.count() - 60'000 &&
        calm > longest_grace_ + std::chrono::seconds(10) && !has_endless_grace_;
    if (is_given_time && !root.is_restarted && info.state == OrchestrationState::kRunning)
      return fail(id + " runs beyond its limit and grace");
  }
}

bool RandomWorld::all_ended() {
  for (const auto& [id, root] : roots_) {
    OrchestrationStatus status;
    const Status read = sender_->client.get_status(id, &status);
    if (read == Status::kNotFound) continue;
    if (read != Status::kOk) {
      fail("the status of " + id + " answers " + status_name(read));
      return true;
    }
    if (status.state != OrchestrationState::kCompleted &&
        status.state != OrchestrationState::kFailed)
      return false;
  }
  return true;
}

void RandomWorld::check() {
  for (Asked& call : asked_)
    if (failure_.empty()) ask(call, true);
  for (auto& [id, root] : roots_)
    if (failure_.empty()) check_root(id, root);
  if (failure_.empty()) check_file();
}

void RandomWorld::check_root(const std::string& id, Root& root) {
  OrchestrationStatus status;
  const Status read = sender_->client.get_status(id, &status);
  if (read == Status::kNotFound) {
    if (root.is_acknowledged && !root.is_deleted && !removes_instances_)
      fail(id + " was acknowledged and is not there");
    return;
  }
  check_end(id, root, status);
  if (failure_.empty()) check_messages(id, root, true);
}

void RandomWorld::check_end(const std::string& id, const Root& root,
                            const OrchestrationStatus& status) {
  if (status.state == OrchestrationState::kCompleted) {
    ++counts_.completed;
    return;
  }
  ++counts_.failed;
  const std::string text(status.output);
  const auto may_fail = [&] {
    switch (status.error) {
      case ErrorKind::kApplication:
      case ErrorKind::kCancelled: return true;
      case ErrorKind::kTerminated: return root.is_touched;
      case ErrorKind::kPoison:
        return std::min({least_.limits.crashes_max, least_.limits.strikes_max,
                         least_.limits.reboots_max}) <=
               static_cast<std::int32_t>(counts_.kills + counts_.reboots);
      case ErrorKind::kLimit:
        return least_.limits.history_events_max < kEventsEnough ||
               least_.limits.commands_a_turn_max < kCommandsEnough ||
               least_.limits.queue_messages_max < kMessagesEnough ||
               least_.limits.warm_bytes < kWarmEnough;
      default: return false;
    }
  };
  if (!may_fail()) fail(id + " failed with " + error_kind_name(status.error) + ": " + text);
}

// Rules: R7.5, R7.7, R7.8, R9.5.
void RandomWorld::check_messages(const std::string& id, const Root& root, bool has_ended) {
  std::vector<std::int64_t> executions;
  auto keep = visit([&](const ExecutionInfo& one) { executions.push_back(one.execution_id); });
  if (sender_->client.list_executions(id, keep) != Status::kOk)
    return fail("the executions of " + id + " cannot be listed");
  std::map<std::string, int> received;
  for (const std::int64_t number : executions) {
    Execution one;
    const Status read = sender_->client.read_history(id, number, one);
    const std::string where = "execution " + std::to_string(number) + " of " + id;
    if (read != Status::kOk) return fail(where + " answers " + status_name(read));
    if (!one.problem.empty()) return fail(where + " " + one.problem + ":" + one.kinds);
    // The last execution of a running instance may have no history yet.
    if (!one.has_ended && (has_ended || number != executions.back()))
      return fail(where + " has no end");
    for (const auto& [event, token] : one.received)
      if (token != "x") ++received[token];
    if (one.limits_over > 0 && !root.may_be_limited)
      return fail(where + " was asked to stop by a limit that it does not have");
    counts_.limits_over += static_cast<unsigned>(one.limits_over);
    ++counts_.executions;
  }
  for (const auto& [token, count] : received) {
    ++counts_.received;
    // A key that was forgotten makes a message of its own.
    const bool is_forgotten = least_.retention.message_keys < kKeysEnough ||
                              least_.retention.message_key_age < kKeyAgeEnough;
    if (count > 1 && !root.is_restarted && !is_forgotten)
      return fail(token + " was received " + std::to_string(count) + " times by " + id);
  }
  std::set<std::string> waiting;
  std::int64_t messages = 0;
  std::int64_t unread = 0;
  auto take = visit([&](const MessageInfo& one) {
    waiting.insert(std::string(one.payload.substr(0, one.payload.find(' '))));
    ++messages;
    unread += one.is_unread ? 1 : 0;
  });
  Page page;
  do {
    if (sender_->client.list_messages(id, &page, take) != Status::kOk)
      return fail("the messages of " + id + " cannot be listed");
  } while (page.more);
  if (has_ended) check_unread(id, unread, messages);
  if (removes_executions_) return;
  for (const std::string& token : root.messages)
    if (received.count(token) == 0 && waiting.count(token) == 0)
      return fail(token + " was acknowledged and vanished from " + id);
}

// Rules: R7.8.
void RandomWorld::check_unread(const std::string& id, std::int64_t unread, std::int64_t all) {
  OrchestrationStatus status;
  if (sender_->client.get_status(id, &status) != Status::kOk) return fail(id + " is not there");
  if (unread != all || unread != status.unread_messages)
    fail(id + " has ended, and of " + std::to_string(all) + " messages that it has " +
         std::to_string(unread) + " are unread; it counts " +
         std::to_string(status.unread_messages));
}

void RandomWorld::check_file() {
  workers_[0]->worker.stop();
  workers_[0].reset();
  sender_.reset();
  sim::Node node(machine_);
  DatabasePlace place;
  place.path = kPath;
  place.database = on_server_.database;
  Block memory(std::max(maintenance_memory(), check_rows_memory(place)));
  std::string findings;
  auto find = visit([&](std::string_view text) { findings += std::string(text) + "; "; });
  DatabaseReport report;
  Diagnostic why;
  const Status status = place.database == nullptr
                            ? check_database(process_, kPath, false, node.port(), memory.data(),
                                             memory.bytes(), find, &report, why)
                            : check_rows(process_, place, node.port(), memory.data(),
                                         memory.bytes(), find, &report, why);
  if (status != Status::kOk)
    return fail(std::string("the check answers ") + status_name(status) + ": " +
                std::string(why.text()));
  if (report.findings != 0) fail("the database is not sound: " + findings);
}

}  // namespace pawl::test
