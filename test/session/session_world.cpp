#include "session_world.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/arena.hpp"
#include "store/sqlite/sqlite_memory.hpp"
#include "store/sqlite/sqlite_vfs.hpp"

namespace pawl::test {

namespace {

// A broken set-up makes every later result meaningless.
void must(Status status, const Store& store, const char* what) {
  if (status == Status::kOk) return;
  const std::string text(store.diagnostic().text());
  std::fprintf(stderr, "%s: %s: %s\n", what, status_name(status), text.c_str());
  std::abort();
}

// SQLite calls this for every connection that opens. The storage gives its own connection to no
// caller.
sqlite3* last_opened = nullptr;
int remember(sqlite3* handle, const char**, const sqlite3_api_routines*) {
  last_opened = handle;
  return SQLITE_OK;
}

Job keep(const WorkItem& item) {
  Job job;
  job.item = item;
  job.instance = item.instance_id;
  job.activity = item.activity_name;
  job.session = item.session_info.name;
  job.tag = item.tag;
  job.input = item.input;
  job.item.instance_id = job.item.orchestration_name = job.item.orchestration_version = {};
  job.item.activity_name = job.item.session_info.name = job.item.tag = job.item.input = {};
  return job;
}

}  // namespace

// ---- Worker ----

Worker::Worker(World& world)
    : node(world.machine), world_(world), port_(node.port()), store_(EngineBeside::make_store()) {
  Diagnostic diagnostic;
  EXPECT_EQ(port_.clock->open(diagnostic), Status::kOk);
  StoreOptions open;
  open.path = kPath;
  if (EngineBeside::current_alone() != nullptr) EngineBeside::current_alone()->complete(&open);
  const auto entry = reinterpret_cast<void (*)()>(remember);
  sqlite3_auto_extension(entry);
  const Status opened = store_->open(open, port_, diagnostic);
  sqlite3_cancel_auto_extension(entry);
  if (opened != Status::kOk) {
    std::fprintf(stderr, "open: %s\n", std::string(diagnostic.text()).c_str());
    std::abort();
  }
  handle_ = last_opened;
  store_->set_change_sink(this);
  world_.workers.push_back(this);
}

Worker::Worker(World& world, std::string_view name, const std::vector<CrashNote>& notes)
    : Worker(world) {
  join(name, notes);
}

Worker::~Worker() {
  auto& all = world_.workers;
  all.erase(std::remove(all.begin(), all.end(), this), all.end());
}

std::int64_t Worker::writes() {
  EngineAlone* const alone = EngineBeside::current_alone();
  return alone == nullptr ? sqlite3_total_changes(handle_) : alone->batches();
}

Status Worker::try_join(std::string_view name, const std::vector<CrashNote>& notes) {
  if (!evidence_) {
    Evidence::Options observer;
    observer.fast_handoff = options.fast_handoff;
    observer.renewal_interval_ms = observe_ms >= 0 ? observe_ms : options.renewal_interval_ms();
    observer.oversleep_ms = oversleep_ms;
    evidence_ = std::make_unique<Evidence>(*port_.storage, kPath, observer, seen_leases_);
  }
  BatchInfo info;
  Status status = store_->batch().begin(0, &info);
  if (status != Status::kOk) return status;
  evidence_->observe_tick(info.now);
  std::vector<std::string_view> names(handlers.begin(), handlers.end());
  if (names.empty()) names = {"a", "b", "c"};
  Incarnation former = 0;
  NewWorker row;
  row.node = name;
  row.pid = pid != 0 ? pid : port_.threads->process_id();
  row.lease_ms = options.session_lock_timeout_ms;
  row.sessions_max = options.max_sessions_per_worker;
  row.handlers = names.data();
  row.handler_count = names.size();
  row.former = &former;
  row.tags = tags;
  Incarnation registered = 0;
  status = store_->worker().register_worker(row, *evidence_, limits, &registered);
  if (status == Status::kOk && former != 0)
    status = store_->worker().bury_worker(former, registered, notes.data(), notes.size(), limits);
  if (status != Status::kOk) {
    store_->batch().rollback();
    return status;
  }
  // The worker was buried by another one and registered anew: its old lock goes.
  if (me_ != 0) port_.storage->worker_close(kPath, me_, file_);
  me_ = registered;
  wakes_ = true;
  name_ = name;
  const auto file = port_.storage->worker_create(kPath, me_, 4096);
  EXPECT_TRUE(file.ok());
  file_ = file.value();
  return store_->batch().commit();
}

void Worker::join(std::string_view name, const std::vector<CrashNote>& notes) {
  must(try_join(name, notes), *store_, "join");
}

void Worker::kill() {
  node.kill();
  auto& all = world_.workers;
  all.erase(std::remove(all.begin(), all.end(), this), all.end());
}

Status Worker::batch(const std::function<Status(Store&)>& call) {
  BatchInfo info;
  const Status begun = store_->batch().begin(me_, &info);
  if (begun != Status::kOk) return begun;
  const Status status = call(*store_);
  if (status == Status::kOk || status == Status::kStale) {
    const Status committed = store_->batch().commit();
    return committed == Status::kOk ? status : committed;
  }
  store_->batch().rollback();
  return status;
}

std::optional<Job> Worker::fetch() {
  std::optional<Job> job;
  char buffer[4096];
  const Status status = batch([&](Store& store) {
    FetchWork how;
    how.me = me_;
    how.draining = draining;
    how.options = &options;
    how.filter = this;
    how.tags = tags;
    how.evidence = evidence_.get();
    how.limits = limits;
    how.look_again = &look_again_;
    WorkItem item;
    bool found = false;
    std::size_t woken = 0;
    if (wakes_ && !draining)
      PAWL_TRY(store.work().unregistered.wake_unregistered(me_, 64, &woken, &wakes_));
    const Status fetched =
        store.work().fetch.fetch_work_item(how, buffer, sizeof buffer, &item, &found);
    if (fetched == Status::kOk && found) job = keep(item);
    if (job.has_value() && draws_tokens)
      job->token = std::string(store::OutsideWork::token_of(item.id, drawn_).view());
    return fetched;
  });
  must(status, *store_, "fetch");
  return job;
}

Status Worker::ack(const Job& job, std::string_view payload, bool abort_session) {
  return batch([&](Store& store) {
    WorkResult result;
    result.payload = payload;
    WorkDone done = job.done();
    done.abort_session = abort_session;
    return store.work().items.ack_work_item(done, result);
  });
}

Status Worker::check(const Job& job) {
  return batch([&](Store& store) { return store.work().items.check_work_item(job.done()); });
}

Status Worker::abandon(const Job& job, std::int64_t delay_ms, bool strike) {
  return batch([&](Store& store) {
    return store.work().items.abandon_work_item(job.done(), delay_ms, strike, limits);
  });
}

Status Worker::renew(const Job& job) {
  return batch([&](Store& store) {
    PAWL_TRY(store.work().rows.renew_work_item_lock(job.done(), me_, options));
    return store.worker().renew_worker(me_, options.worker_lock_timeout_ms);
  });
}

std::size_t Worker::renew_sessions(std::size_t* released) {
  std::size_t renewed = 0;
  std::size_t let_go = 0;
  must(batch([&](Store& store) {
         return store.session().owners.renew_session_lock(me_, options, &renewed, &let_go);
       }),
       *store_, "renew sessions");
  if (released != nullptr) *released = let_go;
  return renewed;
}

Status Worker::renew_self() {
  return batch([&](Store& store) {
    return store.worker().renew_worker(me_, options.session_lock_timeout_ms);
  });
}

std::size_t Worker::cleanup(std::size_t limit) {
  std::size_t removed = 0;
  must(batch([&](Store& store) {
         return store.session().expiry.cleanup_orphaned_sessions(*evidence_, limit, &removed);
       }),
       *store_, "cleanup");
  return removed;
}

std::size_t Worker::wake() {
  std::size_t woken = 0;
  must(batch([&](Store& store) { return store.instance().ready.wake_delayed(100, &woken); }),
       *store_, "wake");
  return woken;
}

void Worker::bury(Incarnation incarnation, const std::vector<CrashNote>& notes, Incarnation heir) {
  must(batch([&](Store& store) {
         return store.worker().bury_worker(incarnation, heir, notes.data(), notes.size(), limits);
       }),
       *store_, "bury");
}

void Worker::leave() {
  must(batch([&](Store& store) { return store.worker().unregister_worker(me_); }), *store_,
       "leave");
  port_.storage->worker_close(kPath, me_, file_);
  me_ = 0;
}

void Worker::drain() {
  draining = true;
  must(batch([&](Store& store) { return store.session().moves.drain_worker(name_, kStopMs); }),
       *store_, "drain");
}

Status Worker::declare(std::string_view device, bool standby, bool* held) {
  DeclareSession how;
  how.me = me_;
  how.device = device;
  how.standby = standby;
  how.stop_ms = kStopMs;
  bool holds = false;
  const Status status = batch(
      [&](Store& store) { return store.session().moves.declare_session(how, *evidence_, &holds); });
  if (held != nullptr) *held = holds;
  return status;
}

Status Worker::withdraw(std::string_view device) {
  return batch(
      [&](Store& store) { return store.session().moves.withdraw_session(me_, device, kStopMs); });
}

void Worker::take_devices_over() {
  must(batch([&](Store& store) {
         return store.session().moves.take_devices_over(me_, options, *evidence_);
       }),
       *store_, "take devices over");
}

Status Worker::transfer(std::string_view session, std::string_view to, bool force) {
  return batch([&](Store& store) {
    return store.session().moves.transfer_session({}, session, to, kStopMs, force);
  });
}

std::size_t Worker::end_stops() {
  std::size_t ended = 0;
  must(batch([&](Store& store) { return store.session().moves.end_stops(100, &ended); }), *store_,
       "end stops");
  return ended;
}

void Worker::observe() {
  if (evidence_) evidence_->observe_tick(world_.now());
}

Job Worker::take(Here here) {
  const auto job = fetch();
  if (!job) ADD_FAILURE_AT(here.file, here.line) << "fetch_work_item: " << name_ << " gets none";
  return job.value_or(Job());
}

Job Worker::run_one(std::string_view session, Here here) {
  world_.schedule("a", session);
  const Job job = take(here);
  acked(job, "done", here);
  return job;
}

void Worker::acked(const Job& job, std::string_view payload, Here here) {
  expect_ok(ack(job, payload), "ack_work_item", refusal(), here);
}

void Worker::abandoned(const Job& job, std::int64_t delay_ms, bool strike, Here here) {
  expect_ok(abandon(job, delay_ms, strike), "abandon_work_item", refusal(), here);
}

bool Worker::declared(std::string_view device, bool standby, Here here) {
  bool held = false;
  expect_ok(declare(device, standby, &held), "declare_session", refusal(), here);
  return held;
}

bool Worker::logged(std::string_view what) const {
  return std::any_of(events.begin(), events.end(),
                     [what](const std::string& event) { return event.rfind(what, 0) == 0; });
}

std::string Worker::refusal() const { return std::string(store_->diagnostic().text()); }

void Worker::on_session_change(const SessionChange& change) {
  const std::string what = std::string(change.session) + "@" + std::to_string(change.epoch);
  const std::string to(change.to);
  switch (change.kind) {
    case SessionChange::Kind::kClaimed:
      events.push_back((change.resumed ? "resumed " : "claimed ") + what + " by " + to);
      break;
    case SessionChange::Kind::kMigrated:
      events.push_back("migrated " + what + " from " + std::string(change.from) + " to " + to);
      break;
    case SessionChange::Kind::kReleased:
      events.push_back("released " + what + " " + std::string(change.reason));
      break;
    case SessionChange::Kind::kLost: events.push_back("lost " + what); break;
    case SessionChange::Kind::kConflict:
      events.push_back("conflict " + std::string(change.session) + " " +
                       std::string(change.reason));
      break;
    case SessionChange::Kind::kStopFailed:
      events.push_back("stop failed " + std::string(change.session));
      break;
    case SessionChange::Kind::kEnding: break;
    case SessionChange::Kind::kSwept:
      events.push_back("swept " + std::string(change.session));
      break;
    case SessionChange::Kind::kExpired:
      events.push_back(change.instance.empty() ? "expired shared " + std::string(change.session)
                                               : "expired " + std::string(change.instance));
      break;
    case SessionChange::Kind::kClosed:
      if (change.reason == "idle") events.push_back("closed idle " + std::string(change.instance));
      break;
    default: break;  // events of opened sessions
  }
}

void Worker::on_poison(InstanceKey instance, EventId event, std::string_view why) {
  events.push_back("poison " + std::to_string(instance) + "/" + std::to_string(event) + " " +
                   std::string(why));
}

void Worker::on_unregistered(std::string_view activity, std::string_view tag, InstanceKey,
                             EventId) {
  events.push_back("unregistered " + std::string(activity) + (tag.empty() ? "" : " tagged ") +
                   std::string(tag));
}

bool Worker::has_handler(std::string_view activity_name) const {
  return handlers.empty() || handlers.count(std::string(activity_name)) != 0;
}

bool Worker::runs_item(WorkItemId id) const {
  return std::any_of(running.begin(), running.end(),
                     [id](const Job& job) { return job.item.id == id; });
}

bool Worker::runs_session(InstanceKey scope, std::string_view name) const {
  return std::any_of(running.begin(), running.end(), [scope, name](const Job& job) {
    return job.item.session_info.scope == scope && job.session == name;
  });
}

bool Worker::draw_token(std::string_view /*activity_name*/, WorkItemId id, Sha256* hash) const {
  if (draws_tokens) store::OutsideWork::draw(*port_.clock, id, &drawn_, hash);
  return draws_tokens;
}

bool Worker::may_run_with(std::int32_t crashes) const {
  if (!one_crashed_at_a_time || crashes == 0) return true;
  return std::none_of(running.begin(), running.end(),
                      [](const Job& job) { return job.item.crashes > 0; });
}

// ---- World ----

// The events of one turn, made on demand: a start, then activities.
struct World::Turn final : EventSource {
  const Event& event(EventId id) const override {
    made = Event();
    made.id = id;
    made.time_ms = 1;
    if (id == 1) {
      made.kind = EventKind::kStarted;
      made.name = "orchestration";
    } else if (closes != 0) {
      made.kind = EventKind::kClose;
      made.number = closes;
    } else {
      made.kind = EventKind::kActivity;
      made.ordinal = id - 2;
      made.name = activity;
      made.session = session;
      made.tag = tag;
      made.payload = "input";
    }
    return made;
  }
  bool is_open(EventId) const override { return true; }
  std::string activity;
  std::string session;
  std::string tag;
  std::int64_t closes = 0;
  mutable Event made;
};

World::World(std::uint64_t seed) : machine(seed) { open_client(); }

World::~World() { close_client(); }

void World::open_client() {
  client_node_ = std::make_unique<sim::Node>(machine);
  client_ = EngineBeside::make_store();
  const port::Port port = client_node_->port();
  Diagnostic diagnostic;
  EXPECT_EQ(port.clock->open(diagnostic), Status::kOk);
  StoreOptions options;
  options.path = kPath;
  if (EngineBeside::current_alone() != nullptr) EngineBeside::current_alone()->complete(&options);
  if (client_->open(options, port, diagnostic) != Status::kOk) {
    std::fprintf(stderr, "open: %s\n", std::string(diagnostic.text()).c_str());
    std::abort();
  }
  BatchInfo info;
  must(client_->batch().begin(0, &info), *client_, "adopt");
  must(client_->batch().commit(), *client_, "adopt");
  if (EngineBeside::current_alone() != nullptr) return;
  const char* vfs = nullptr;
  EXPECT_EQ(sqlite::vfs_for(port, &vfs), Status::kOk);
  EXPECT_EQ(sqlite3_open_v2(kPath, &raw_, SQLITE_OPEN_READWRITE, vfs), SQLITE_OK);
}

void World::close_client() {
  sqlite3_close(raw_);
  if (raw_ != nullptr) sqlite::forget_vfs(*client_node_->port().storage);
  raw_ = nullptr;
  client_.reset();
  client_node_.reset();
}

void World::reboot(std::int64_t off_ms, bool rtc) {
  machine.reboot(off_ms, rtc);
  workers.clear();
  close_client();
  open_client();
}

void World::turn(InstanceKey key, const std::function<void(TurnCommit&)>& fill,
                 std::vector<Message>* messages) {
  std::vector<char> block(1 << 20);
  Arena arena(block.data(), block.size());
  OrchestrationItem item;
  must(client_->instance().history.fetch_orchestration_item(key, now(), {1000}, arena, &item),
       *client_, "fetch instance");
  std::vector<MessageId> ids;
  for (std::size_t i = 0; i < item.message_count; ++i) {
    const pawl::Message& one = item.messages[i];
    ids.push_back(one.id);
    if (messages != nullptr) messages->push_back({one.ref, one.error, std::string(one.payload)});
  }
  TurnCommit commit;
  commit.key = key;
  commit.revision = item.revision;
  commit.execution = item.execution;
  commit.messages = {ids.data(), ids.size()};
  commit.first_new = item.last_event + 1;
  commit.last_new = item.last_event;
  fill(commit);
  BatchInfo info;
  must(client_->batch().begin(0, &info), *client_, "begin turn");
  must(client_->instance().turns.ack_orchestration_item(commit), *client_, "commit turn");
  must(client_->batch().commit(), *client_, "commit");
}

InstanceKey World::create() {
  const std::string id = "i" + std::to_string(next_instance_++);
  NewInstance instance;
  instance.id = id;
  instance.name = "orchestration";
  InstanceKey key = 0;
  BatchInfo info;
  must(client_->batch().begin(0, &info), *client_, "begin");
  must(client_->instance().deliveries.start_orchestration(instance, &key), *client_, "create");
  must(client_->batch().commit(), *client_, "commit");
  return key;
}

InstanceKey World::instance() {
  const InstanceKey key = create();
  Turn events;
  turn(
      key,
      [&](TurnCommit& commit) {
        commit.events = &events;
        commit.first_new = commit.last_new = 1;
      },
      nullptr);
  return key;
}

std::vector<Message> World::commit(InstanceKey instance, const std::vector<Command>& commands) {
  struct Commands final : EventSource {
    const Event& event(EventId id) const override {
      const Command& command = (*all)[id - first];
      made = Event();
      made.id = id;
      made.kind = command.kind;
      made.ordinal = id - 2;
      made.time_ms = 1;
      made.name = command.name;
      made.session = command.session;
      made.policy = command.policy;
      made.tag = command.tag;
      if (command.kind == EventKind::kActivity) made.payload = "input";
      return made;
    }
    bool is_open(EventId) const override { return true; }
    const std::vector<Command>* all = nullptr;
    EventId first = 0;
    mutable Event made;
  } events;
  events.all = &commands;
  std::vector<NewWork> work;
  std::vector<Message> taken;
  turn(
      instance,
      [&](TurnCommit& commit) {
        events.first = commit.first_new;
        for (std::size_t i = 0; i < commands.size(); ++i) {
          const EventId id = commit.first_new + static_cast<EventId>(i);
          if (commands[i].kind == EventKind::kActivity)
            work.push_back({id, commands[i].session, commands[i].policy, commands[i].tag});
        }
        commit.events = &events;
        commit.last_new = commit.first_new + static_cast<EventId>(commands.size()) - 1;
        commit.work = {work.data(), work.size()};
      },
      &taken);
  return taken;
}

InstanceKey World::schedule(std::string_view activity, std::string_view session, int count,
                            std::string_view policy, std::string_view tag) {
  const InstanceKey key = create();
  Turn events;
  events.activity = activity;
  events.session = session;
  events.tag = tag;
  std::vector<NewWork> work;
  for (int i = 0; i < count; ++i)
    work.push_back({static_cast<EventId>(2 + i), session, policy, tag});
  turn(
      key,
      [&](TurnCommit& commit) {
        commit.events = &events;
        commit.first_new = 1;
        commit.last_new = static_cast<EventId>(1 + count);
        commit.work = {work.data(), work.size()};
      },
      nullptr);
  return key;
}

std::vector<Message> World::completions(InstanceKey instance) {
  std::vector<Message> messages;
  turn(
      instance, [](TurnCommit&) {}, &messages);
  return messages;
}

Message World::completion(InstanceKey instance, Here here) {
  const std::vector<Message> all = completions(instance);
  if (all.size() == 1) return all.front();
  ADD_FAILURE_AT(here.file, here.line)
      << "instance " << instance << " has " << all.size() << " completions";
  return {};
}

void World::end(InstanceKey instance) {
  struct End final : EventSource {
    const Event& event(EventId id) const override {
      made.id = id;
      made.kind = EventKind::kEnded;
      made.end = EndKind::kCompleted;
      made.time_ms = 1;
      return made;
    }
    bool is_open(EventId) const override { return false; }
    mutable Event made;
  } events;
  turn(
      instance,
      [&](TurnCommit& commit) {
        commit.events = &events;
        commit.last_new = commit.first_new;
        commit.end = EndKind::kCompleted;
      },
      nullptr);
}

void World::close(InstanceKey instance, EventId command) {
  Turn events;
  events.closes = command;
  const EventId closed[] = {command};
  turn(
      instance,
      [&](TurnCommit& commit) {
        commit.events = &events;
        commit.last_new = commit.first_new;
        commit.closed = {closed, 1};
      },
      nullptr);
}

void World::pass(std::int64_t ms) {
  constexpr std::int64_t kStepMs = 5'000;
  while (ms > 0) {
    const std::int64_t step = std::min(ms, kStepMs);
    machine.advance(step);
    ms -= step;
    for (Worker* worker : workers)
      worker->observe();
  }
}

std::int64_t World::now() { return client_->place().pawl_now(); }

std::int64_t World::number(const char* sql, const std::vector<std::int64_t>& values) {
  if (EngineBeside::current_alone() != nullptr) {
    std::string asked = sql;
    for (std::size_t i = values.size(); i > 0; --i) {
      const std::string name = "?" + std::to_string(i);
      for (std::size_t at = asked.find(name); at != std::string::npos; at = asked.find(name))
        asked.replace(at, name.size(), std::to_string(values[i - 1]));
    }
    return std::strtoll(EngineBeside::current_alone()->ask(asked).c_str(), nullptr, 10);
  }
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(raw_, sql, -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(raw_);
  int index = 0;
  for (const std::int64_t value : values)
    sqlite3_bind_int64(statement, ++index, value);
  const bool row = sqlite3_step(statement) == SQLITE_ROW;
  EXPECT_TRUE(row) << sql;
  const std::int64_t result = row ? sqlite3_column_int64(statement, 0) : -1;
  sqlite3_finalize(statement);
  return result;
}

std::string World::text(const char* sql) {
  if (EngineBeside::current_alone() != nullptr) return EngineBeside::current_alone()->ask(sql);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(raw_, sql, -1, &statement, nullptr), SQLITE_OK);
  std::string result;
  if (sqlite3_step(statement) == SQLITE_ROW)
    result = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  return result;
}

std::int64_t World::rows(const char* table) {
  return number(("SELECT count(*) FROM " + std::string(table)).c_str());
}

std::int64_t World::sum(const char* table, const char* column) {
  const std::string sql = "SELECT coalesce(sum(" + std::string(column) + "),-1) FROM " + table;
  return number(sql.c_str());
}

void World::execute(const char* sql) {
  char* error = nullptr;
  if (EngineBeside::current_alone() == nullptr) {
    EXPECT_EQ(sqlite3_exec(raw_, sql, nullptr, nullptr, &error), SQLITE_OK) << error;
  }
  if (EngineBeside::current != nullptr) EngineBeside::current->changed(sql);
}

std::int64_t World::session_number(const char* column, std::string_view session) {
  const std::string sql = "SELECT coalesce(" + std::string(column) +
                          ",-1) FROM sessions WHERE scope=0 AND name='" + std::string(session) +
                          "'";
  return number(sql.c_str());
}

}  // namespace pawl::test
