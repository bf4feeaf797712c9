// The floor: the rows and commits that a scenario needs, written by SQLite or libpq alone.
//
// Same schema, settings, writing statements, sizes of values and instances per commit; everything
// that reads, checks, encodes or runs is left out. A hello is two commits: it is created with its
// first turn, which schedules an activity that is handed over at once; its second turn takes the
// result and ends.
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "bare.hpp"
#include "measure.hpp"

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
const Value kNull;

// The keys of instances, messages and work items are 1, 2, 3, ... each, since all are made in
// order.
class Steps {
 public:
  explicit Steps(Bare& bare) : bare_(bare) {}

  void create(std::int64_t key) {
    char id[32];
    const int size = std::snprintf(id, sizeof(id), "hello-%lld", static_cast<long long>(key));
    bare_.run(kInsertInstance, std::string_view(id, static_cast<std::size_t>(size)), kStamp,
              bare_.new_row(key));
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
  void insert_event(std::int64_t key, std::int64_t id, std::int64_t kind, Value branch,
                    Value ordinal, Value ref, Value meta, Value payload) {
    Place& place = place_of(key);
    const Value row = place.is_in_turn ? place.row + 1 : bare_.new_row(bare_.last_row() + 1);
    const Value before = place.is_in_turn || id == 1 ? kNull : place.row;
    bare_.run(kInsertEvent, row, key, id, before, kind, branch, ordinal, ref, kStamp, meta, payload,
              crc_of(id));
    place = {bare_.last_row(), true};
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

void run_trip_floor(const Setup& setup, Bare& bare, Figures* figures) {
  for (std::uint64_t i = 0; i < setup.n && bare.well(); ++i) {
    const double begin_ms = now_ms();
    bare.run(kTrip);
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

std::unique_ptr<Bare> open_bare(const Setup& setup) {
#ifdef BENCH_POSTGRES
  if (!setup.server.empty()) return open_server(setup);
#endif
  return open_sqlite(setup);
}

struct Floor {
  const char* name;
  const char* what;
  void (*run)(const Setup&, Bare&, Figures*);
  void (*prepare)(const Setup&, Bare&);
};

constexpr Floor kFloors[] = {
    {"commit", "N commits of one row", run_commit_floor, nullptr},
    {"trip", "N times a statement that does nothing", run_trip_floor, nullptr},
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
  const std::unique_ptr<Bare> bare = open_bare(setup);
  figures->latencies_ms.reserve(static_cast<std::size_t>(setup.n));
  for (const Floor& floor : kFloors) {
    if (setup.scenario != floor.name || !bare->well()) continue;
    if (floor.prepare != nullptr) floor.prepare(setup, *bare);
    const std::uint64_t trips = bare->trips();
    Measurement measurement;
    floor.run(setup, *bare, figures);
    measurement.end(figures);
    figures->server_trips = bare->trips() - trips;
  }
  *error = bare->text();
  figures->steps = setup.n;
  figures->step = "step";
  return bare->well();
}

}  // namespace bench
