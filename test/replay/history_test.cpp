// Histories: form, memory, rewinding, and rows of any bytes.
#include "replay/history.hpp"

#include <random>
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

struct Rows {
  explicit Rows(std::size_t bytes = 256 * 1024)
      : block(new unsigned char[bytes]), pool(block.get(), bytes) {}
  Status add(Event event) {
    event.id = history.last_id() + 1;
    return history.append(event, diagnostic);
  }
  std::string text() const { return std::string(diagnostic.text()); }

  std::unique_ptr<unsigned char[]> block;
  BuddyPool pool;
  History history{pool};
  Diagnostic diagnostic;
};

Event started() {
  Event event;
  event.kind = EventKind::kStarted;
  event.name = "flow";
  return event;
}

Event command(EventKind kind, Ordinal ordinal, BranchId branch = 0) {
  Event event;
  event.kind = kind;
  event.ordinal = ordinal;
  event.branch = branch;
  if (needs_name(kind)) event.name = "name";
  return event;
}

Event about(EventKind kind, EventId ref) {
  Event event;
  event.kind = kind;
  event.ref = ref;
  return event;
}

Event ended(EventId horizon) {
  Event event;
  event.kind = EventKind::kEnded;
  event.end = EndKind::kCompleted;
  event.horizon = horizon;
  return event;
}

Event close(Ordinal ordinal, Ordinal target, EventId horizon, BranchId branch = 0) {
  Event event = command(EventKind::kClose, ordinal, branch);
  event.number = target;
  event.horizon = horizon;
  return event;
}

Event opening(Ordinal ordinal, std::int64_t number, BranchId branch = 0) {
  Event event = command(EventKind::kBranchOpened, ordinal, branch);
  event.number = number;
  return event;
}

TEST(History, KeepsCopiesOfAllTexts) {
  Rows rows;
  std::string name = "flow";
  std::string payload(3000, 'p');
  Event event = started();
  event.name = name;
  event.payload = payload;
  event.version = "2";
  ASSERT_EQ(rows.add(event), Status::kOk);
  const Event* const before = &rows.history.event(1);
  name = "gone";
  payload.assign(3000, 'q');
  for (Ordinal i = 0; i < 40; ++i) {
    Event activity = command(EventKind::kActivity, i);
    activity.payload = payload;
    ASSERT_EQ(rows.add(activity), Status::kOk) << rows.text();
  }
  EXPECT_EQ(&rows.history.event(1), before);
  EXPECT_EQ(before->name, "flow");
  EXPECT_EQ(before->payload, std::string(3000, 'p'));
}

TEST(History, RefusesWhatCannotFollow) {
  struct Case {
    const char* why;
    std::vector<Event> before;
    Event event;
  };
  Event nameless = command(EventKind::kActivity, 0);
  nameless.name = {};
  Event unknown = command(EventKind::kActivity, 0);
  unknown.kind = static_cast<EventKind>(31);
  Event endless = ended(1);
  endless.end = EndKind::kNone;
  Event no_guid = command(EventKind::kGuid, 0);
  no_guid.payload = "short";
  const std::vector<Event> one = {started(), command(EventKind::kActivity, 0)};
  const std::vector<Event> branch = {started(), opening(0, 1), command(EventKind::kActivity, 0, 1)};
  const Case cases[] = {
      {"where the start should be", {}, command(EventKind::kActivity, 0)},
      {"where the start should be", {started()}, started()},
      {"without a name", {started()}, nameless},
      {"of an unknown kind", {started()}, unknown},
      {"without a kind of end", {started()}, endless},
      {"without a guid", {started()}, no_guid},
      {"with an ordinal out of order", {started()}, command(EventKind::kActivity, 1)},
      {"with an ordinal out of order", one, command(EventKind::kActivity, 0)},
      {"in a branch that does not exist", one, command(EventKind::kActivity, 0, 4)},
      {"for an event that does not exist", one, about(EventKind::kActivityDone, 3)},
      {"for an event that does not exist", one, about(EventKind::kActivityDone, 0)},
      {"for an event of another kind", one, about(EventKind::kTimerFired, 2)},
      {"for an event of another kind", one, about(EventKind::kActivityDone, 1)},
      {"for a second time",
       {started(), command(EventKind::kActivity, 0), about(EventKind::kActivityDone, 2)},
       about(EventKind::kActivityDone, 2)},
      {"for a closed command",
       {started(), command(EventKind::kActivity, 0), close(1, 0, 1)},
       about(EventKind::kActivityDone, 2)},
      {"for a second time",
       {started(), command(EventKind::kActivity, 0), close(1, 0, 1)},
       close(2, 0, 1)},
      {"of a command that does not exist", one, close(1, 1, 1)},
      {"of a command that cannot complete",
       {started(), command(EventKind::kUtcNow, 0)},
       close(1, 0, 1)},
      {"with a horizon that does not exist", one, close(1, 0, 3)},
      {"with a horizon that does not exist", one, ended(3)},
      {"with a horizon that does not exist", one, ended(0)},
      {"with a number out of order", branch, opening(1, 1)},
      {"with a number out of order", branch, opening(1, -1)},
      {"in a retired branch",
       {started(), opening(0, 1), close(1, 0, 1)},
       command(EventKind::kActivity, 0, 1)},
      {"for a command of a retired branch",
       {started(), opening(0, 1), command(EventKind::kActivity, 0, 1), close(1, 0, 1)},
       about(EventKind::kActivityDone, 3)},
      {"of what is no delivery", one, about(EventKind::kReturn, 2)},
      {"of an event that does not exist", one, about(EventKind::kReturn, 7)},
      {"for a second time",
       {started(), command(EventKind::kDequeue, 0), about(EventKind::kDelivery, 2), close(1, 0, 1),
        about(EventKind::kReturn, 3)},
       about(EventKind::kReturn, 3)},
      {"for a second time",
       {started(), about(EventKind::kCancelRequested, 0)},
       about(EventKind::kCancelRequested, 0)},
      {"behind the end", {started(), ended(1)}, command(EventKind::kActivity, 0)},
  };
  for (const Case& item : cases) {
    Rows rows;
    for (const Event& event : item.before)
      ASSERT_EQ(rows.add(event), Status::kOk) << rows.text();
    const std::size_t bytes = rows.history.bytes();
    EXPECT_EQ(rows.add(item.event), Status::kCorrupt) << item.why;
    EXPECT_NE(rows.text().find(item.why), std::string::npos) << rows.text() << " for " << item.why;
    EXPECT_NE(rows.text().find("event " + std::to_string(item.before.size() + 1)),
              std::string::npos);
    EXPECT_EQ(rows.history.last_id(), item.before.size());
    EXPECT_EQ(rows.history.bytes(), bytes);
  }
}

TEST(History, RefusesAGapInTheIds) {
  Rows rows;
  ASSERT_EQ(rows.add(started()), Status::kOk);
  Event event = command(EventKind::kActivity, 0);
  event.id = 3;
  EXPECT_EQ(rows.history.append(event, rows.diagnostic), Status::kCorrupt);
  event.id = 0;
  EXPECT_EQ(rows.history.append(event, rows.diagnostic), Status::kCorrupt);
}

TEST(History, ADeliveryMayBeGivenBackBehindTheEnd) {
  Rows rows;
  for (const Event& event :
       {started(), command(EventKind::kDequeue, 0), about(EventKind::kDelivery, 2), ended(1),
        about(EventKind::kReturn, 3)})
    ASSERT_EQ(rows.add(event), Status::kOk) << rows.text();
}

TEST(History, GivesAllMemoryBack) {
  Rows rows;
  ASSERT_EQ(rows.add(started()), Status::kOk);
  for (Ordinal i = 0; i < 100; ++i)
    ASSERT_EQ(rows.add(opening(i, i + 1)), Status::kOk);
  EXPECT_EQ(rows.pool.used(), rows.history.bytes());
  rows.history.clear();
  EXPECT_EQ(rows.pool.used(), 0U);
  EXPECT_EQ(rows.history.last_id(), 0U);
  EXPECT_EQ(rows.add(started()), Status::kOk);
}

// The n-th allocation fails, for every n: the history does not change, and the same append works
// later.
TEST(History, EveryFailedAllocationLeavesItAsItWas) {
  for (std::size_t bytes = 128; bytes < 40000; bytes += 128) {
    Rows rows(bytes);
    Status status = rows.add(started());
    for (Ordinal i = 0; status == Status::kOk && i < 60; ++i)
      status = rows.add(opening(i, i + 1));
    if (status == Status::kOk) continue;
    ASSERT_EQ(status, Status::kResourceExhausted);
    const EventId last = rows.history.last_id();
    if (last > 0) {
      EXPECT_EQ(rows.history.event(last).id, last);
      rows.history.rewind({last - 1});
      EXPECT_EQ(rows.history.last_id(), last - 1);
    }
    rows.history.clear();
    EXPECT_EQ(rows.pool.used(), 0U);
  }
}

class RandomRows {
 public:
  explicit RandomRows(unsigned seed) : random_(seed) {}

  Event next(EventId last) {
    Event event;
    event.id = chance(40) ? below(last + 3) : last + 1;
    event.kind = static_cast<EventKind>(chance(20) ? below(256) : kKinds[below(sizeof(kKinds))]);
    event.error = static_cast<ErrorKind>(chance(30) ? below(256) : 0);
    event.end = static_cast<EndKind>(below(5));
    event.base = static_cast<TimerBase>(chance(30) ? below(256) : 0);
    event.branch = chance(30) ? wild() : below(4);
    event.ordinal = chance(30) ? wild() : below(8);
    event.ref = chance(30) ? wild() : below(last + 2);
    event.horizon = chance(30) ? wild() : below(last + 2);
    event.number = chance(30) ? -static_cast<std::int64_t>(wild()) : below(8);
    if (!chance(10)) event.name = "name";
    if (chance(5)) event.name = std::string_view("\0\x01", 2);
    if (chance(5)) event.session = std::string_view("x\n", 2);
    if (chance(2)) event.payload = "000000000000000000000000000000000000";
    return event;
  }
  bool chance(unsigned one_of) { return below(one_of) == 0; }
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }

 private:
  std::uint32_t wild() { return static_cast<std::uint32_t>(random_()); }
  static constexpr unsigned char kKinds[] = {2,  3,  4,  5,  6,  8,  9,  14, 14,
                                             15, 32, 33, 34, 35, 35, 48, 49, 50};
  std::mt19937 random_;
};

// Whatever the rows hold: a clear answer, balanced memory, and a rewind that leaves exactly what a
// rebuild of the same prefix gives.
TEST(History, SurvivesRandomRows) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomRows random(seed);
    Rows rows(64 * 1024);
    ASSERT_EQ(rows.add(started()), Status::kOk);
    for (int i = 0; i < 400; ++i) {
      const Status status =
          rows.history.append(random.next(rows.history.last_id()), rows.diagnostic);
      ASSERT_TRUE(status == Status::kOk || status == Status::kCorrupt) << status_name(status);
      if (random.chance(25)) rows.history.rewind({1 + random.below(rows.history.last_id())});
    }
    Rows rebuilt;
    for (EventId id = 1; id <= rows.history.last_id(); ++id)
      ASSERT_EQ(rebuilt.add(rows.history.event(id)), Status::kOk) << rebuilt.text();
    for (EventId id = 1; id <= rows.history.last_id(); ++id)
      ASSERT_EQ(rebuilt.history.awaits_completion(id), rows.history.awaits_completion(id)) << seed;
    ASSERT_EQ(rows.pool.used(), rows.history.bytes());
  }
}

}  // namespace
}  // namespace pawl::test
