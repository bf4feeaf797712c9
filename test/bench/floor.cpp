// The floor: the rows and commits that a scenario needs, written by SQLite alone.
//
// Same schema, pragmas, writing statements, sizes of values and instances per commit; everything
// that reads, checks, encodes or runs is left out. A hello is two commits: it is created with its
// first turn, which schedules an activity that is handed over at once; its second turn takes the
// result and ends.
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "measure.hpp"
#include "pawl/options.hpp"
#include "store/sql/schema.hpp"

namespace bench {
namespace {

constexpr std::int64_t kStamp = 2'208'988'800'000;  // the year 2040, as wide as a real stamp
constexpr std::int64_t kPawlTime = 30'000;          // counts from the database's first boot
constexpr std::string_view kStarted = R"({"name":"hello","version":"1.0.0","number":1})";
constexpr std::string_view kActivity = R"({"name":"greet","hash":"0123456789abcdef"})";
constexpr std::string_view kTimer = R"({"delay":3600000,"hash":"0123456789abcdef"})";
constexpr std::string_view kEnded = R"({"end":1,"horizon":3,"path":"0123456789abcdef"})";
constexpr std::string_view kInput = "world";
constexpr std::string_view kOutput = "Hello, world!";

enum Sql {
  kBegin,
  kCommit,
  kInsertInstance,
  kInsertEvent,
  kWriteExecution,
  kInsertWork,
  kInsertHandedOver,
  kGoOn,
  kGoOnAsBefore,
  kNextToken,
  kHandOver,
  kDeleteWork,
  kFinish,
  kWriteTimer,
  kSqlCount
};

constexpr const char* kTexts[kSqlCount] = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "INSERT INTO instances(id,name,version,state,execution,revision,home,crashes,strikes,reboots,"
    "created_stamp,updated_stamp) VALUES(?1,'hello','1.0.0',0,1,0,0,0,0,0,?2,?2)",
    "INSERT INTO history(row_number,instance,execution,id,prev,kind,branch,ordinal,ref,time,meta,"
    "payload,crc) VALUES(?,?,1,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO executions(instance,execution,end,last_event,last_row,started_stamp,ended_stamp) "
    "VALUES(?1,1,?2,?3,?4,?5,?6) ON CONFLICT(instance,execution) DO UPDATE SET end=excluded.end,"
    "last_event=excluded.last_event,last_row=excluded.last_row,ended_stamp=excluded.ended_stamp",
    "INSERT INTO worker_queue(id,instance,execution,event,event_row,state,attempt,crashes,strikes,"
    "reboots,unregistered) VALUES(?1,?2,1,?3,?4,0,0,0,0,0,0)",
    "INSERT INTO worker_queue(id,instance,execution,event,event_row,state,attempt,crashes,strikes,"
    "reboots,unregistered,token,inc,epoch,locked_until,boot_seq) "
    "VALUES(?1,?2,1,?3,?4,1,1,0,0,0,0,?1,1,0,?5,1)",
    "UPDATE instances SET execution=1,revision=revision+1,home=1,ready_id=NULL,ready_at=NULL,"
    "parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,reboots=0,"
    "updated_stamp=?2,last_event=?3,last_row=?4 WHERE key=?1",
    "UPDATE instances SET revision=revision+1,updated_stamp=?2,last_event=?3,last_row=?4 "
    "WHERE key=?1",
    "UPDATE meta SET next_token=next_token+1",
    "UPDATE worker_queue SET state=1,token=?1,inc=1,epoch=0,locked_until=?2,boot_seq=1,"
    "attempt=attempt+1,unregistered=0 WHERE id=?1",
    "DELETE FROM worker_queue WHERE id=?",
    "UPDATE instances SET state=1,revision=revision+1,home=1,ready_id=NULL,ready_at=NULL,"
    "parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,reboots=0,"
    "updated_stamp=?2,finished_at=?3,last_event=?4,last_row=?5 WHERE key=?1",
    "UPDATE instances SET timer_id=?2,timer_ref=?3,timer_base=?4,timer_due=?5,timer_seg=?6 "
    "WHERE key=?1"};

class Bare {
 public:
  Bare() = default;
  ~Bare() { close(); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  bool open(const Setup& setup) {
    const pawl::Options defaults;
    const std::string pragmas =
        std::string("PRAGMA temp_store=MEMORY;PRAGMA foreign_keys=OFF;PRAGMA trusted_schema=OFF;") +
        "PRAGMA mmap_size=0;PRAGMA cell_size_check=ON;PRAGMA page_size=" +
        std::to_string(pawl::store::kPageBytes) + ";PRAGMA journal_mode=WAL;PRAGMA synchronous=" +
        (setup.synchronous_full ? "FULL" : "NORMAL") +
        ";PRAGMA cache_size=" + std::to_string(defaults.space.cache_pages) +
        ";PRAGMA wal_autocheckpoint=" + std::to_string(defaults.space.checkpoint_pages);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    well_ = ::sqlite3_open_v2(setup.database.c_str(), &handle_, flags, nullptr) == SQLITE_OK;
    execute(pragmas.c_str());
    execute("BEGIN");
    execute(pawl::store::kSchema);
    execute(
        "INSERT INTO meta(id,database_id,next_epoch,next_token,boot_id,boot_seq,k,mark,off_seq,"
        "adopted) VALUES(1,'0123456789abcdef0123456789abcdef',1,1,zeroblob(16),1,0,0,0,0);COMMIT");
    for (int i = 0; well_ && i < kSqlCount; ++i) {
      well_ = ::sqlite3_prepare_v3(handle_, kTexts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                   &statements_[i], nullptr) == SQLITE_OK;
    }
    return well_;
  }
  void close() {
    for (sqlite3_stmt*& statement : statements_) {
      ::sqlite3_finalize(statement);
      statement = nullptr;
    }
    ::sqlite3_close(handle_);
    handle_ = nullptr;
  }
  // Binds the values in order, integers and texts, and runs the statement.
  template <typename... Values>
  void run(Sql which, const Values&... values) {
    if (!well_) return;
    sqlite3_stmt* statement = statements_[which];
    int at = 0;
    (bind(statement, ++at, values), ...);
    well_ = ::sqlite3_step(statement) == SQLITE_DONE;
    ::sqlite3_reset(statement);
    // A statement that should change one row and did not is reported.
    if (well_ && which > kCommit && ::sqlite3_changes(handle_) != 1) {
      well_ = false;
      text_ = std::string("changed no row: ") + kTexts[which];
    }
  }
  [[nodiscard]] std::int64_t last_id() const { return ::sqlite3_last_insert_rowid(handle_); }
  [[nodiscard]] bool well() const { return well_; }
  [[nodiscard]] std::string text() const {
    return text_.empty() ? ::sqlite3_errmsg(handle_) : text_;
  }

  struct Null {};

 private:
  void execute(const char* sql) {
    well_ = well_ && ::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  void bind(sqlite3_stmt* statement, int at, std::int64_t value) {
    ::sqlite3_bind_int64(statement, at, value);
  }
  void bind(sqlite3_stmt* statement, int at, Null) { ::sqlite3_bind_null(statement, at); }
  void bind(sqlite3_stmt* statement, int at, std::string_view text) {
    ::sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* statements_[kSqlCount] = {};
  bool well_ = true;
  std::string text_;
};

constexpr Bare::Null kNull;

// The keys of instances, messages and work items are 1, 2, 3, ... each, since all are made in
// order.
class Steps {
 public:
  explicit Steps(Bare& bare) : bare_(bare) {}

  void create(std::int64_t key) {
    char id[32];
    const int size = std::snprintf(id, sizeof(id), "hello-%lld", static_cast<long long>(key));
    bare_.run(kInsertInstance, std::string_view(id, static_cast<std::size_t>(size)), kStamp);
  }
  void first_turn(std::int64_t key) {
    create(key);
    start(key);
    schedule_handed_over(key, 2);
    begin_to_wait(key, 2);
  }
  void second_turn(std::int64_t key) {
    take_result(key, 3, 2);
    end(key, 4);
  }
  // Writes the first event.
  void start(std::int64_t key) { insert_event(key, 1, 1, kNull, kNull, kNull, kStarted, kInput); }
  void schedule(std::int64_t key, std::int64_t event) {
    insert_activity(key, event);
    bare_.run(kInsertWork, ++last_work_, key, event, place_of(key).row);
  }
  void schedule_handed_over(std::int64_t key, std::int64_t event) {
    insert_activity(key, event);
    ++last_handed_;
    bare_.run(kInsertHandedOver, ++last_work_, key, event, place_of(key).row, kPawlTime);
  }
  // begin_to_wait() ends the first turn, go_on() any other.
  void begin_to_wait(std::int64_t key, std::int64_t last_event) {
    bare_.run(kWriteExecution, key, std::int64_t{0}, kNull, kNull, kStamp, kNull);
    bare_.run(kGoOn, key, kStamp, last_event, end_turn(key));
  }
  void go_on(std::int64_t key, std::int64_t last_event) {
    bare_.run(kGoOnAsBefore, key, kStamp, last_event, end_turn(key));
  }
  void hand_over() { bare_.run(kHandOver, ++last_handed_, kPawlTime); }
  void take_result(std::int64_t key, std::int64_t event, std::int64_t command) {
    bare_.run(kDeleteWork, ++last_done_);
    insert_event(key, event, 32, kNull, kNull, command, kNull, kOutput);
  }
  void end(std::int64_t key, std::int64_t event) {
    insert_event(key, event, 50, kNull, kNull, kNull, kEnded, kOutput);
    const std::int64_t row = end_turn(key);
    bare_.run(kWriteExecution, key, std::int64_t{1}, event, row, kStamp, kStamp);
    bare_.run(kFinish, key, kStamp, kPawlTime, event, row);
  }
  // Makes an instance that waits for a timer; the next function does what follows when it is due.
  void park(std::int64_t key) {
    create(key);
    start(key);
    insert_event(key, 2, 3, std::int64_t{0}, std::int64_t{0}, kNull, kTimer, kNull);
    bare_.run(kWriteTimer, key, key, std::int64_t{2}, std::int64_t{0}, kPawlTime, std::int64_t{1});
    begin_to_wait(key, 2);
  }
  void wake(std::int64_t key) {
    insert_event(key, 3, 33, kNull, kNull, std::int64_t{2}, kNull, kNull);
    bare_.run(kWriteTimer, key, kNull, kNull, kNull, kNull, kNull);
    end(key, 4);
  }

 private:
  void insert_activity(std::int64_t key, std::int64_t event) {
    insert_event(key, event, 2, std::int64_t{0}, event, kNull, kActivity, kInput);
  }
  // Half of all checksums need six bytes, half four.
  static std::int64_t crc_of(std::int64_t id) {
    return id % 2 == 0 ? 1'735'928'559 : 3'735'928'559;
  }
  template <typename Branch, typename Ordinal, typename Ref, typename Meta, typename Payload>
  void insert_event(std::int64_t key, std::int64_t id, std::int64_t kind, const Branch& branch,
                    const Ordinal& ordinal, const Ref& ref, const Meta& meta,
                    const Payload& payload) {
    Place& place = place_of(key);
    const auto run = [&](const auto& row, const auto& before) {
      bare_.run(kInsertEvent, row, key, id, before, kind, branch, ordinal, ref, kStamp, meta,
                payload, crc_of(id));
    };
    if (place.is_in_turn) {
      run(place.row + 1, kNull);
    } else if (id == 1) {
      run(kNull, kNull);
    } else {
      run(kNull, place.row);
    }
    place = {bare_.last_id(), true};
  }
  // The row of an instance's last event, and whether the next one follows it in the same turn.
  struct Place {
    std::int64_t row = 0;
    bool is_in_turn = false;
  };
  Place& place_of(std::int64_t key) {
    const auto at = static_cast<std::size_t>(key);
    if (places_.size() <= at) places_.resize(at + 1);
    return places_[at];
  }
  std::int64_t end_turn(std::int64_t key) {
    place_of(key).is_in_turn = false;
    return place_of(key).row;
  }

  Bare& bare_;
  std::vector<Place> places_;
  std::int64_t last_work_ = 0;
  std::int64_t last_handed_ = 0;
  std::int64_t last_done_ = 0;
};

void commit(Bare& bare, Figures* figures) {
  bare.run(kCommit);
  ++figures->commits;
}

void run_latency_floor(const Setup& setup, Bare& bare, Figures* figures) {
  Steps steps(bare);
  for (std::uint64_t i = 0; i < setup.n && bare.well(); ++i) {
    const auto key = static_cast<std::int64_t>(i + 1);
    const double begin_ms = now_ms();
    bare.run(kBegin);
    steps.first_turn(key);
    commit(bare, figures);
    bare.run(kBegin);
    steps.second_turn(key);
    commit(bare, figures);
    figures->latencies_ms.push_back(now_ms() - begin_ms);
  }
}

// Each commit has up to `batch` second turns, for the work that the previous commit handed over,
// and as many starts.
void run_hello_floor(const Setup& setup, Bare& bare, Figures* figures) {
  const auto batch = static_cast<std::int64_t>(setup.batch);
  const auto all = static_cast<std::int64_t>(setup.n);
  Steps steps(bare);
  std::int64_t started = 0;
  std::int64_t ended = 0;
  const double begin_ms = now_ms();
  while (ended < all && bare.well()) {
    bare.run(kBegin);
    for (const std::int64_t end = started; ended < end; ++ended)
      steps.second_turn(ended + 1);
    for (const std::int64_t end = std::min(all, started + batch); started < end; ++started)
      steps.first_turn(started + 1);
    commit(bare, figures);
    figures->latencies_ms.resize(static_cast<std::size_t>(ended), now_ms() - begin_ms);
  }
}

// Each commit writes one row on one page.
void run_commit_floor(const Setup& setup, Bare& bare, Figures* figures) {
  for (std::uint64_t i = 0; i < setup.n && bare.well(); ++i) {
    const double begin_ms = now_ms();
    bare.run(kBegin);
    bare.run(kNextToken);
    commit(bare, figures);
    figures->latencies_ms.push_back(now_ms() - begin_ms);
  }
}

// Each commit has the result of one step and hands over the next one.
void run_chain_floor(const Setup& setup, Bare& bare, Figures* figures) {
  Steps steps(bare);
  bare.run(kBegin);
  steps.first_turn(1);
  commit(bare, figures);
  for (std::uint64_t i = 1; i < setup.n && bare.well(); ++i) {
    const auto event = static_cast<std::int64_t>(2 * i + 1);
    const double begin_ms = now_ms();
    bare.run(kBegin);
    steps.take_result(1, event, event - 1);
    steps.schedule_handed_over(1, event + 1);
    steps.go_on(1, event + 1);
    commit(bare, figures);
    figures->latencies_ms.push_back(now_ms() - begin_ms);
  }
  bare.run(kBegin);
  steps.take_result(1, static_cast<std::int64_t>(2 * setup.n + 1), 1);
  steps.end(1, static_cast<std::int64_t>(2 * setup.n + 2));
  commit(bare, figures);
}

// Each commit has as many results and hand-overs as there are slots.
void run_fanout_floor(const Setup& setup, Bare& bare, Figures* figures) {
  const auto slots = static_cast<std::int64_t>(setup.batch);
  const auto all = static_cast<std::int64_t>(setup.n);
  Steps steps(bare);
  const double begin_ms = now_ms();
  std::int64_t event = 1;
  std::int64_t handed = 0;
  bare.run(kBegin);
  steps.create(1);
  steps.start(1);
  for (; handed < std::min(all, slots); ++handed)
    steps.schedule_handed_over(1, ++event);
  for (std::int64_t i = handed; i < all; ++i)
    steps.schedule(1, ++event);
  steps.begin_to_wait(1, event);
  commit(bare, figures);
  for (std::int64_t done = 0; done < all && bare.well();) {
    bare.run(kBegin);
    for (const std::int64_t end = handed; done < end; ++done)
      steps.take_result(1, ++event, done + 2);
    if (done == all) {
      steps.end(1, ++event);
    } else {
      steps.go_on(1, event);
    }
    for (const std::int64_t end = std::min(all, handed + slots); handed < end; ++handed)
      steps.hand_over();
    commit(bare, figures);
  }
  figures->latencies_ms.push_back(now_ms() - begin_ms);
}

void prepare_burst_floor(const Setup& setup, Bare& bare) {
  Steps steps(bare);
  bare.run(kBegin);
  for (std::uint64_t i = 0; i < setup.n; ++i)
    steps.park(static_cast<std::int64_t>(i + 1));
  bare.run(kCommit);
}

void run_burst_floor(const Setup& setup, Bare& bare, Figures* figures) {
  const auto batch = static_cast<std::int64_t>(setup.batch);
  const auto all = static_cast<std::int64_t>(setup.n);
  Steps steps(bare);
  const double begin_ms = now_ms();
  for (std::int64_t done = 0; done < all && bare.well();) {
    bare.run(kBegin);
    for (const std::int64_t end = std::min(all, done + batch); done < end; ++done)
      steps.wake(done + 1);
    commit(bare, figures);
    figures->latencies_ms.resize(static_cast<std::size_t>(done), now_ms() - begin_ms);
  }
}

struct Floor {
  const char* name;
  const char* what;
  void (*run)(const Setup&, Bare&, Figures*);
  void (*prepare)(const Setup&, Bare&);
};

constexpr Floor kFloors[] = {
    {"commit", "N commits of one row", run_commit_floor, nullptr},
    {"hello", "as the scenario", run_hello_floor, nullptr},
    {"latency", "as the scenario", run_latency_floor, nullptr},
    {"chain", "as the scenario", run_chain_floor, nullptr},
    {"fanout", "as the scenario", run_fanout_floor, nullptr},
    {"burst", "as the scenario", run_burst_floor, prepare_burst_floor},
};

}  // namespace

std::vector<Name> floor_list() {
  std::vector<Name> names;
  for (const Floor& floor : kFloors)
    names.push_back({floor.name, floor.what});
  return names;
}

bool run_floor(const Setup& setup, Figures* figures, std::string* error) {
  Bare bare;
  figures->latencies_ms.reserve(static_cast<std::size_t>(setup.n));
  for (const Floor& floor : kFloors) {
    if (setup.scenario != floor.name || !bare.open(setup)) continue;
    if (floor.prepare != nullptr) floor.prepare(setup, bare);
    Measurement measurement;
    floor.run(setup, bare, figures);
    measurement.end(figures);
  }
  *error = "SQLite: " + bare.text();
  figures->steps = setup.n;
  figures->step = "step";
  return bare.well();
}

}  // namespace bench
