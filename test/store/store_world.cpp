#include "store_world.hpp"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "pawl/visit.hpp"
#include "store/sqlite/sqlite_memory.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/sqlite/sqlite_vfs.hpp"
#include "store/store_factory.hpp"

namespace pawl::test {

void TestClock::random(void* out, std::size_t size) {
  auto* const bytes = static_cast<unsigned char*>(out);
  for (std::size_t i = 0; i < size; ++i) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    bytes[i] = static_cast<unsigned char>(state_ >> 56);
  }
}

void TestClock::reboot(std::int64_t off_ms) {
  boot = 1000;
  wall += off_ms;
  trusted = false;
  random(id.bytes, sizeof(id.bytes));
}

Event& Events::add(EventKind kind) {
  events_.push_back(std::make_unique<Event>());
  events_.back()->id = last();
  events_.back()->kind = kind;
  return *events_.back();
}

std::vector<MessageId> Item::ids() const {
  std::vector<MessageId> ids;
  for (std::size_t i = 0; i < is.message_count; ++i)
    ids.push_back(is.messages[i].id);
  return ids;
}

std::vector<std::string> Item::kinds() const {
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < is.message_count; ++i)
    kinds.emplace_back(message_kind_name(is.messages[i].kind));
  return kinds;
}

// ---- life ----

struct StoreWorld::RawHandle {
  sqlite3* handle = nullptr;
  port::Storage* storage = nullptr;
};

StoreWorld::StoreWorld() {
  if (is_sim()) {
    path_ = "test.db";
    return;
  }
  folder_.emplace();
  path_ = folder_->file("test.db");
}

StoreWorld::~StoreWorld() {
  for (const auto& one : sites_)
    close(*one);
  close_raw();
}

Store* StoreWorld::make_store(std::vector<std::uint64_t>& place) {
  if (EngineAlone* const alone = EngineBeside::current_alone(); alone != nullptr)
    return alone->make();
  place.resize(StoreFactory::engine_of(nullptr).bytes / sizeof(std::uint64_t) + 8);
  void* at = place.data();
  std::size_t space = place.size() * sizeof(std::uint64_t);
  void* const aligned =
      std::align(StoreFactory::kAlign, StoreFactory::engine_of(nullptr).bytes, at, space);
  return ::new (aligned) store::SqliteStore(EngineBeside::next());
}

Site& StoreWorld::process() {
  sites_.push_back(std::make_unique<Site>());
  Site& one = *sites_.back();
  if (is_sim()) {
    one.node = std::make_unique<sim::Node>(machine);
    one.port = one.node->port();
  } else {
    one.system = std::make_unique<posix::SystemPort>();
    one.port = one.system->port();
  }
  one.port.clock = &clock;
  return one;
}

Site& StoreWorld::site(const StoreOptions* options) {
  Site& one = process();
  const Status status = options == nullptr ? open(one) : open(one, *options);
  EXPECT_EQ(status, Status::kOk) << one.diagnostic.text();
  return one;
}

Status StoreWorld::open(Site& at) {
  StoreOptions options;
  options.busy_ms_max = 0;
  return open(at, options);
}

Status StoreWorld::open(Site& at, StoreOptions options) {
  places_.emplace_back();
  at.store = make_store(places_.back());
  if (options.path == nullptr) options.path = path();
  if (EngineAlone* const alone = EngineBeside::current_alone(); alone != nullptr)
    alone->complete(&options);
  return at->open(options, at.port, at.diagnostic);
}

void StoreWorld::close(Site& at) {
  if (at.store == nullptr) return;
  at->close();
  if (EngineAlone* const alone = EngineBeside::current_alone(); alone != nullptr)
    alone->destroy(at.store);
  else
    StoreFactory::engine_of(nullptr).destroy(at.store);
  at.store = nullptr;
}

// ---- access without the storage ----

StoreWorld::RawHandle& StoreWorld::raw_handle() {
  if (raw_ != nullptr) return *raw_;
  raw_ = std::make_unique<RawHandle>();
  const char* vfs = nullptr;
  if (is_sim()) {
    Site& own = process();
    raw_->storage = own.port.storage;
    EXPECT_EQ(sqlite::vfs_for(own.port, &vfs), Status::kOk);
  }
  EXPECT_EQ(sqlite3_open_v2(path(), &raw_->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(raw_->handle, "PRAGMA temp_store=MEMORY", nullptr, nullptr, nullptr),
            SQLITE_OK);
  return *raw_;
}

void StoreWorld::close_raw() {
  if (raw_ == nullptr) return;
  sqlite3_close(raw_->handle);
  if (raw_->storage != nullptr) sqlite::forget_vfs(*raw_->storage);
  raw_ = nullptr;
}

void StoreWorld::drop_database(Site& at) {
  close_raw();
  close(at);
  if (EngineBeside::current_alone() != nullptr) EngineBeside::current->begin();
  for (const char* ending : {"", "-wal", "-journal"}) {
    const std::string file = path_ + ending;
    if (is_sim()) {
      static_cast<void>(at.port.storage->remove(file.c_str()));
    } else {
      static_cast<void>(std::remove(file.c_str()));
    }
  }
}

void StoreWorld::raw(const std::string& sql) {
  if (EngineBeside::current_alone() != nullptr) return EngineBeside::current->changed(sql);
  sqlite3* const handle = raw_handle().handle;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sql << ": " << sqlite3_errmsg(handle);
  if (EngineBeside::current != nullptr) EngineBeside::current->changed(sql);
}

std::string StoreWorld::raw_text(const std::string& sql) {
  if (EngineAlone* const alone = EngineBeside::current_alone(); alone != nullptr)
    return alone->ask(sql);
  sqlite3_stmt* statement = nullptr;
  sqlite3* const handle = raw_handle().handle;
  EXPECT_EQ(sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
      << sqlite3_errmsg(handle);
  std::string rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (!rows.empty()) rows += '\n';
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const void* const bytes = sqlite3_column_blob(statement, i);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
      if (i > 0) rows += '|';
      if (bytes != nullptr) rows.append(static_cast<const char*>(bytes), size);
    }
  }
  sqlite3_finalize(statement);
  return rows;
}

std::int64_t StoreWorld::raw_number(const std::string& sql) {
  const std::string text = raw_text(sql);
  return text.empty() ? 0 : std::strtoll(text.c_str(), nullptr, 10);
}

std::string StoreWorld::dump() {
  std::string all;
  for (const char* table : {"meta", "instances", "executions", "history", "orchestrator_queue",
                            "workers", "sessions", "worker_queue"})
    all += std::string(table) + ":\n" + raw_text(std::string("SELECT * FROM ") + table) + "\n";
  return all;
}

std::string StoreWorld::dump_schema() {
  return raw_text("SELECT type,name,tbl_name,sql FROM sqlite_schema");
}

void StoreWorld::damage_file(std::int64_t offset, std::string_view bytes) {
  if (!is_sim()) {
    if (!std::filesystem::exists(path())) std::ofstream(path()).flush();
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_TRUE(file.good());
    return;
  }
  port::Storage& storage = *process().port.storage;
  port::Storage::OpenMode mode;
  mode.create = true;
  const Result<port::FileHandle> file = storage.open(path(), mode);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(storage.write(file.value(), bytes.data(), bytes.size(), offset), Status::kOk);
  EXPECT_EQ(storage.close(file.value()), Status::kOk);
}

// ---- usual steps ----

BatchInfo StoreWorld::touch(Site& at, Here here) {
  BatchInfo info;
  must(at, at->batch().begin(0, &info), "begin", here);
  must(at, at->batch().commit(), "commit", here);
  return info;
}

InstanceKey StoreWorld::create(Site& at, std::string_view id, std::string_view input, Here here) {
  NewInstance instance;
  instance.id = id;
  instance.name = "irrigate";
  instance.version = "1.0";
  instance.input = input;
  return create(at, instance, here);
}

InstanceKey StoreWorld::create(Site& at, const NewInstance& instance, Here here) {
  InstanceKey key = 0;
  must(at, batch(at, [&] { return at->instance().deliveries.start_orchestration(instance, &key); }),
       "start_orchestration", here);
  return key;
}

InstanceKey StoreWorld::key_of(const std::string& id) {
  return raw_number("SELECT coalesce(max(key),0) FROM instances WHERE id='" + id + "'");
}

Incarnation StoreWorld::worker(Site& at, std::string_view node, Here here) {
  return register_with(at, node, {}, here);
}

Incarnation StoreWorld::turn_worker(Site& at, std::string_view node, Here here) {
  return register_with(at, node, MailboxLimits{1'000, 1'000'000}, here);
}

Incarnation StoreWorld::register_with(Site& at, std::string_view node,
                                      const std::optional<MailboxLimits>& mailbox, Here here) {
  Vector<Evidence::Seen> none;
  Evidence evidence(*at.port.storage, path(), Evidence::Options(), none);
  NewWorker worker;
  worker.node = node;
  worker.pid = 1;
  worker.lease_ms = 30'000;
  worker.mailbox = mailbox;
  Incarnation out = 0;
  must(at,
       batch(at,
             [&] { return at->worker().register_worker(worker, evidence, CrashLimits(), &out); }),
       "register_worker", here);
  return out;
}

std::vector<InstanceKey> StoreWorld::ready(Site& at, Incarnation me, std::int64_t grace_ms,
                                           Here here) {
  ReadyQuery query;
  query.me = me;
  query.home_grace_ms = grace_ms;
  query.now = at->place().pawl_now();
  InstanceKey keys[64];
  std::size_t count = 0;
  must(at, at->instance().ready.list_ready(query, keys, 64, &count), "list_ready", here);
  return {keys, keys + count};
}

InstanceStatus StoreWorld::status(Site& at, std::string_view id, Here here) {
  InstanceStatus out;
  must(at, at->instance().directory.get_status(id, &out, output, sizeof(output)), "get_status",
       here);
  return out;
}

std::vector<std::string> StoreWorld::list(Site& at, const InstanceFilter& filter, Here here) {
  std::vector<std::string> ids;
  auto keep = visit([&](const InstanceInfo& instance) { ids.emplace_back(instance.id); });
  Page page;
  must(at, at->instance().directory.list_instances(filter, &page, keep), "list_instances", here);
  return ids;
}

void StoreWorld::cancel(Site& at, std::string_view id, std::string_view reason, Here here) {
  must(at, batch(at, [&] { return at->instance().deliveries.cancel_instance(id, reason); }),
       "cancel_instance", here);
}

void StoreWorld::park(Site& at, InstanceKey key, std::int64_t revision, Parking parking,
                      ErrorKind error, std::string_view text, Here here) {
  must(at,
       batch(at,
             [&] {
               return at->instance().ready.abandon_orchestration_item(key, revision, parking, false,
                                                                      error, text);
             }),
       "abandon_orchestration_item", here);
}

std::size_t StoreWorld::wake_delayed(Site& at, std::size_t most, Here here) {
  std::size_t woken = 0;
  must(at, batch(at, [&] { return at->instance().ready.wake_delayed(most, &woken); }),
       "wake_delayed", here);
  return woken;
}

std::size_t StoreWorld::retry_stopped(Site& at, std::size_t most, Here here) {
  std::size_t retried = 0;
  must(at, batch(at, [&] { return at->instance().ready.retry_stopped(most, &retried); }),
       "retry_stopped", here);
  return retried;
}

// ---- turns ----

Status StoreWorld::fetch(Site& at, InstanceKey key, Item& out, std::size_t messages_max) {
  return at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(),
                                                         {messages_max}, out.arena, &out.is);
}

Item& StoreWorld::fetched(Site& at, InstanceKey key, std::size_t messages_max, Here here) {
  items_.emplace_back();
  must(at, fetch(at, key, items_.back(), messages_max), "fetch_orchestration_item", here);
  return items_.back();
}

Events StoreWorld::begun(std::string_view name) {
  Events events(1);
  events.add(EventKind::kStarted).name = name;
  return events;
}

TurnCommit StoreWorld::turn(const Item& item, const Events* events) {
  taken_.push_back(item.ids());
  TurnCommit turn;
  turn.key = item.is.key;
  turn.revision = item.is.revision;
  turn.execution = item.is.execution;
  turn.messages = {taken_.back().data(), taken_.back().size()};
  if (events != nullptr) {
    turn.events = events;
    turn.first_new = events->first();
    turn.last_new = events->last();
  }
  return turn;
}

void StoreWorld::start(Site& at, InstanceKey key, const std::vector<NewTimer>& timers,
                       const std::vector<NewWork>& work, Here here) {
  const Item& item = fetched(at, key, 16, here);
  Events events = begun();
  for (std::size_t i = 0; i < timers.size(); ++i)
    events.add(EventKind::kTimer);
  for (std::size_t i = 0; i < work.size(); ++i)
    events.add(EventKind::kActivity).name = "read";
  TurnCommit commit = turn(item, &events);
  commit.timers = {timers.data(), timers.size()};
  commit.work = {work.data(), work.size()};
  acked(at, commit, here);
}

void StoreWorld::end(Site& at, InstanceKey key, EndKind kind, const Ending& how, Here here) {
  const Item& item = fetched(at, key, 16, here);
  Events events(item.is.last_event + 1);
  if (item.is.last_event == 0) events.add(EventKind::kStarted).name = "irrigate";
  for (std::size_t i = 0; i < how.more_events; ++i)
    events.add(EventKind::kUtcNow);
  Event& last = events.add(EventKind::kEnded);
  last.end = kind;
  last.error = how.error == ErrorKind::kNone && kind == EndKind::kFailed ? ErrorKind::kApplication
                                                                         : how.error;
  last.payload = how.output;
  TurnCommit commit = turn(item, &events);
  commit.end = kind;
  commit.error = how.error;
  (kind == EndKind::kContinuedAsNew ? commit.next.input : commit.output) = how.output;
  commit.next.keep_executions = how.keep_executions;
  commit.next.removed = how.removed;
  acked(at, commit, here);
}

WorkDone StoreWorld::hand_over(Site& at, InstanceKey key, Here here) {
  start(at, key, {}, {{2, {}}}, here);
  const WorkDone done = take_work(at, 0, here);
  if (done.item == 0) ADD_FAILURE_AT(here.file, here.line) << "no work was handed over";
  return done;
}

WorkDone StoreWorld::take_work(Site& at, Incarnation me, Here here) {
  class Any final : public WorkFilter {
    bool has_handler(std::string_view) const override { return true; }
    bool runs_item(WorkItemId) const override { return false; }
    bool runs_session(InstanceKey, std::string_view) const override { return false; }
    bool may_run_with(std::int32_t) const override { return true; }
  } any;
  const WorkerTerms options;
  FetchWork how;
  how.me = me != 0 ? me : worker(at, "w", here);
  how.options = &options;
  how.filter = &any;
  WorkItem item;
  bool found = false;
  must(at,
       batch(at,
             [&] {
               return at->work().fetch.fetch_work_item(how, output, sizeof output, &item, &found);
             }),
       "fetch_work_item", here);
  return found ? WorkDone{item.id, item.token, item.epoch, item.session} : WorkDone();
}

}  // namespace pawl::test
