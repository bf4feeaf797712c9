#include "pawl/replay_check.hpp"

#include "pawl/visit.hpp"
#include "runtime/options_check.hpp"
#include "runtime/process_place.hpp"
#include "runtime/runtime_limits.hpp"
#include "store/store_factory.hpp"

namespace pawl {
namespace {

constexpr std::size_t kGroupMax = 32;  // instances that are read in one view of the database

struct Candidate {
  InstanceKey key = 0;
  ExecutionId execution = 0;
  OrchestrationState state = OrchestrationState::kRunning;
  FixedText<kNameBytesMax> id;
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> version;
  FixedText<kTraceIdBytesMax> trace;
  bool is_whole = false;  // true: its texts fit
};

struct Group {
  Candidate candidates[kGroupMax];
  std::size_t count = 0;
};

class Loader final : public EventSink {
 public:
  Loader(History& history, Diagnostic& diagnostic) : history_(history), diagnostic_(diagnostic) {}
  Status on_event(const Event& event) override { return history_.append(event, diagnostic_); }

 private:
  History& history_;
  Diagnostic& diagnostic_;
};

// The reason for a no-go; kNone: there is none.
struct Objection {
  ErrorKind why = ErrorKind::kNone;
  FixedText<2 * kErrorTextBytesMax> text;
  void raise(ErrorKind kind, std::string_view what) {
    why = kind;
    text.assign_cut(what);
  }
};

class Check {
 public:
  Check(Process& process, const Registry& registry, const Options& options, const port::Port& port)
      : place_(process), registry_(registry), options_(options), port_(port) {}
  ~Check() {
    if (store_ != nullptr) StoreFactory::engine_of(options_.database).destroy(store_);
  }
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // Addresses in the caller's memory.
  struct Parts {
    void* store = nullptr;
    void* pool = nullptr;
    void* messages = nullptr;
    Group* group = nullptr;
  };
  template <typename AnyArena>
  static Status lay_out(AnyArena& arena, const Options& options, Parts& parts) {
    parts.store =
        arena.allocate(StoreFactory::engine_of(options.database).bytes, StoreFactory::kAlign);
    parts.pool = arena.allocate(options.limits.warm_bytes, kArenaAlign);
    parts.messages = arena.allocate(tick_bytes(options, 1), kArenaAlign);
    parts.group = arena.template make<Group>();
    return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
  }
  Status lay_out(Arena& arena);
  Status run(ReplayVisitor& visitor, ReplayTotals* totals, Diagnostic& diagnostic);

 private:
  Status open(Diagnostic& diagnostic);
  Status check_group(Page* page, ReplayVisitor& visitor, ReplayTotals* totals);
  Status check(const Candidate& candidate, ReplayVisitor& visitor, ReplayTotals* totals);
  Status look(const Candidate& candidate, History& history, Objection& objection);
  Status look_at_messages(const Candidate& candidate, Objection& objection);
  Status load(const Candidate& candidate, History& history, Objection& objection);
  void replay(const Candidate& candidate, History& history, Objection& objection);

  ProcessPlace place_;
  const Registry& registry_;
  const Options& options_;
  const port::Port& port_;
  Store* store_ = nullptr;
  Engine* engine_ = nullptr;
  Parts parts_;
  Arena messages_;
  BuddyPool pool_;
};

Status Check::lay_out(Arena& arena) {
  PAWL_TRY(lay_out(arena, options_, parts_));
  engine_ = arena.make<Engine>(arena, engine_limits(options_));
  if (engine_ == nullptr || !engine_->ready()) return Status::kResourceExhausted;
  store_ = StoreFactory::engine_of(options_.database).make(parts_.store);
  messages_.attach(parts_.messages, tick_bytes(options_, 1));
  pool_.attach(parts_.pool, options_.limits.warm_bytes);
  return Status::kOk;
}

Status Check::open(Diagnostic& diagnostic) {
  StoreOptions options = StoreFactory::options_of(options_.database_path, options_.database);
  options.create = false;
  options.read_only = true;
  options.busy_ms_max = options_.timing.busy_max.count();
  options.cache_pages = options_.space.cache_pages;
  PAWL_TRY(place_.take(options, diagnostic));
  return store_->open(options, port_, diagnostic);
}

Status Check::run(ReplayVisitor& visitor, ReplayTotals* totals, Diagnostic& diagnostic) {
  PAWL_TRY(open(diagnostic));
  Page page;
  page.rows_max = kGroupMax;
  page.more = true;
  Status status = Status::kOk;
  while (page.more && status == Status::kOk) {
    status = store_->batch().begin_read();
    if (status != Status::kOk) break;
    status = check_group(&page, visitor, totals);
    store_->batch().end_read();
  }
  if (status != Status::kOk) diagnostic = store_->diagnostic();
  store_->close();
  return status;
}

Status Check::check_group(Page* page, ReplayVisitor& visitor, ReplayTotals* totals) {
  Group& group = *parts_.group;
  group.count = 0;
  auto collect = visit([&group](const InstanceInfo& instance) {
    if (instance.state == OrchestrationState::kCompleted ||
        instance.state == OrchestrationState::kFailed)
      return;
    Candidate& to = group.candidates[group.count++];
    to.key = instance.key;
    to.execution = instance.execution_id;
    to.state = instance.state;
    to.id.assign_cut(instance.id);
    to.is_whole = to.id.size() == instance.id.size() &&
                  to.name.assign(instance.name) == Status::kOk &&
                  to.version.assign(instance.version) == Status::kOk &&
                  to.trace.assign(instance.trace_id) == Status::kOk;
  });
  PAWL_TRY(store_->instance().directory.list_instances(InstanceFilter(), page, collect));
  for (std::size_t i = 0; i < group.count; ++i)
    PAWL_TRY(check(group.candidates[i], visitor, totals));
  return Status::kOk;
}

Status Check::check(const Candidate& candidate, ReplayVisitor& visitor, ReplayTotals* totals) {
  visitor.on_begin(candidate.id.view());
  History history(pool_);
  Objection objection;
  PAWL_TRY(look(candidate, history, objection));
  ReplayAnswer answer;
  answer.id = candidate.id.view();
  answer.name = candidate.name.view();
  answer.version = candidate.version.view();
  answer.state = candidate.state;
  answer.execution_id = candidate.execution;
  answer.events = history.last_id();
  answer.go = objection.why == ErrorKind::kNone;
  answer.why = objection.why;
  answer.text = objection.text.view();
  ++(answer.go ? totals->go : totals->no_go);
  visitor.on_answer(answer);
  return Status::kOk;
}

// Returns other than kOk only if the database itself cannot be read.
Status Check::look(const Candidate& candidate, History& history, Objection& objection) {
  if (!candidate.is_whole) {
    objection.raise(ErrorKind::kCorrupt, "its id, name or version is too long");
    return Status::kOk;
  }
  PAWL_TRY(look_at_messages(candidate, objection));
  if (objection.why == ErrorKind::kNone) PAWL_TRY(load(candidate, history, objection));
  if (objection.why == ErrorKind::kNone) replay(candidate, history, objection);
  return Status::kOk;
}

// Messages are not taken here. But one that cannot be read, or does not fit, would stop the
// instance.
Status Check::look_at_messages(const Candidate& candidate, Objection& objection) {
  messages_.rewind(Arena::Mark());
  auto* const item = messages_.make<OrchestrationItem>();
  if (item == nullptr) return Status::kResourceExhausted;
  const Status status = store_->instance().history.fetch_orchestration_item(
      candidate.key, INT64_MAX, {options_.limits.instance_batch_max}, messages_, item);
  if (status == Status::kNotFound) return Status::kOk;  // stopped, suspended or parked
  if (status == Status::kResourceExhausted && item->more_messages) {
    objection.raise(ErrorKind::kLimit, "its stored messages need more than the options allow");
    return Status::kOk;
  }
  if (status == Status::kOk && item->broken != Status::kOk)
    objection.raise(ErrorKind::kCorrupt, item->broken_text);
  return status;
}

Status Check::load(const Candidate& candidate, History& history, Objection& objection) {
  Diagnostic text;
  Loader loader(history, text);
  const Status status =
      store_->instance().history.read_history(candidate.key, candidate.execution, 0, loader);
  if (status == Status::kCorrupt) {
    objection.raise(ErrorKind::kCorrupt,
                    text.text().empty() ? store_->diagnostic().text() : text.text());
    return Status::kOk;
  }
  if (status == Status::kResourceExhausted) {
    objection.raise(ErrorKind::kLimit, "its history does not fit warm_bytes");
    return Status::kOk;
  }
  return status;
}

void Check::replay(const Candidate& candidate, History& history, Objection& objection) {
  const Registry::OrchestrationEntry* const entry =
      registry_.find_orchestration(candidate.name.view(), candidate.version.view());
  if (entry == nullptr) {
    objection.raise(ErrorKind::kUnregistered,
                    unregistered_text(candidate.name.view(), candidate.version.view()).view());
    return;
  }
  TurnInput input;
  input.code = entry->code;
  input.instance_id = candidate.id.view();
  input.orchestration_name = candidate.name.view();
  input.version = entry->version;
  input.trace = candidate.trace.view();
  input.execution = candidate.execution;
  input.stamp_ms = port_.clock->wall_ms();
  port_.clock->random(input.random, sizeof input.random);
  input.verify = true;
  input.more_messages = true;  // stored messages are not taken, so no try is answered with "none"
  Diagnostic why;
  const History::Mark recorded = history.mark();
  const TurnResult result = engine_->run_turn(history, input, why);
  history.rewind(recorded);
  if (result.status != Status::kOk) objection.raise(turn_error_kind(result.status), why.text());
}

}  // namespace

std::size_t replay_check_memory(const Options& options) {
  Diagnostic ignored;
  if (check_options(options, ignored) != Status::kOk) return 0;
  ArenaPlan plan;
  Check::Parts parts;
  static_cast<void>(plan.allocate(sizeof(Check), alignof(Check)));
  static_cast<void>(Check::lay_out(plan, options, parts));
  static_cast<void>(plan.allocate(sizeof(Engine), alignof(Engine)));
  static_cast<void>(plan.allocate(Engine::required_memory(engine_limits(options)), kArenaAlign));
  return plan.exhausted() ? 0 : plan.required_memory();
}

Status replay_check(Process& process, const Registry& registry, const Options& options,
                    const port::Port& port, void* memory, std::size_t bytes, ReplayVisitor& visitor,
                    ReplayTotals* totals, Diagnostic& diagnostic) {
  diagnostic.clear();
  *totals = ReplayTotals();
  if (!process.started()) {
    diagnostic.format("the Process is not started");
    return Status::kInvalidArgument;
  }
  PAWL_TRY(check_options(options, diagnostic));
  PAWL_TRY(check_payload(process, options.limits.payload_bytes_max, diagnostic));
  PAWL_TRY(check_port(port, diagnostic));
  Arena arena(memory, memory == nullptr ? 0 : bytes);
  Check* const check = arena.make<Check>(process, registry, options, port);
  Status status = check == nullptr ? Status::kResourceExhausted : check->lay_out(arena);
  if (status == Status::kOk)
    status = check->run(visitor, totals, diagnostic);
  else
    diagnostic.format("replay_check() was given %zu bytes and needs %zu", bytes,
                      replay_check_memory(options));
  if (check != nullptr) check->~Check();
  return status;
}

}  // namespace pawl
