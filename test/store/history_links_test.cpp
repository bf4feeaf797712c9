// Goal: histories come back in order whatever their length and whatever lies between their rows; a
// broken link stops its instance only, and hides no other event for ever.
#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "store/store_check.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Numbers = std::vector<EventId>;

class HistoryLinks : public OpenStore {
 protected:
  // Commits a turn with `events` more events; each has its id as payload.
  void grow(InstanceKey key, std::size_t events) {
    Item& item = fetched(at, key);
    Events made(item.is.last_event + 1);
    for (std::size_t i = 0; i < events; ++i) {
      const bool begins = item.is.last_event == 0 && i == 0;
      Event& event = made.add(begins ? EventKind::kStarted : EventKind::kGuid);
      if (begins) event.name = "irrigate";
      texts_.push_back(std::to_string(made.last()));
      event.payload = texts_.back();
    }
    TurnCommit commit = turn(item, &made);
    commit.more = true;  // ready again
    acked(at, commit);
  }
  // Two turns of a, two of b, with their rows between each other: events 1 to 4, then 5 and 6.
  void make_two() {
    a = create(at, "a");
    b = create(at, "b");
    grow(a, 4);
    grow(b, 4);
    grow(a, 2);
    grow(b, 2);
  }
  struct Reading {
    Status status = Status::kOk;
    Numbers ids;
    std::string why;
  };
  using AtBreak = store::InstanceHistory::AtBreak;
  Reading read(InstanceKey key, EventId after = 0, AtBreak at_break = AtBreak::kStop) {
    KeepEvents sink;
    Reading out;
    out.status = at->instance().history.read_history(key, 1, after, sink, at_break);
    for (const KeptEvent& event : sink.kept) {
      out.ids.push_back(event.is.id);
      EXPECT_EQ(event.payload, std::to_string(event.is.id));
    }
    out.why = at->diagnostic().text();
    return out;
  }
  static Numbers from_to(EventId first, EventId last) {
    Numbers out;
    for (EventId id = first; id <= last; ++id)
      out.push_back(id);
    return out;
  }
  void expect_broken(InstanceKey key, EventId event, Here here = {}) {
    const Reading reading = read(key);
    const std::string name = "execution 1, event " + std::to_string(event) + ": ";
    EXPECT_EQ(reading.status, Status::kCorrupt) << here.line;
    EXPECT_NE(reading.why.find(name), std::string::npos) << reading.why << " " << here.line;
  }
  Removed sweep(std::size_t events_max, int* calls) {
    Removed removed;
    for (bool more = true; more;) {
      must_batch(at,
                 [&] { return at->instance().removal.sweep_deleted(events_max, &removed, &more); });
      ++*calls;
    }
    return removed;
  }
  void remove(InstanceKey key) {
    must_batch(at, [&] { return at->instance().removal.delete_instance(key, true); });
    int calls = 0;
    sweep(100, &calls);
  }
  std::int64_t events_of(InstanceKey key) {
    return raw_number("SELECT count(*) FROM history WHERE instance=" + std::to_string(key));
  }
  // Rows of an instance that does not exist, behind all others.
  void add_rows(int count) {
    raw("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<" +
        std::to_string(count) +
        ") INSERT INTO history(instance,execution,id,kind,time,crc) SELECT 999,1,i,10,0,0 FROM n");
  }

  InstanceKey a = 0;
  InstanceKey b = 0;

 private:
  std::deque<std::string> texts_;
};
INSTANTIATE_TEST_SUITE_P(Ports, HistoryLinks, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

// The stored form: rows in the order of arrival, a link in the first row of each later turn.
TEST_P(HistoryLinks, TheFirstEventOfATurnNamesTheRowBeforeIt) {
  make_two();
  EXPECT_EQ(
      raw_text("SELECT group_concat(row_number||':'||instance||'.'||id||"
               "coalesce('<'||prev,''),' ') FROM (SELECT * FROM history ORDER BY row_number)"),
      "1:1.1 2:1.2 3:1.3 4:1.4 5:2.1 6:2.2 7:2.3 8:2.4 9:1.5<4 10:1.6 11:2.5<8 12:2.6");
  EXPECT_EQ(raw_text("SELECT group_concat(last_row) FROM instances"), "10,12");
  EXPECT_EQ(raw_number("SELECT count(*) FROM executions WHERE last_row IS NOT NULL"), 0);
  end(at, a, EndKind::kCompleted);
  EXPECT_EQ(raw_text("SELECT last_event||' '||last_row FROM executions WHERE instance=1"), "7 13");
  EXPECT_EQ(raw_number("SELECT prev FROM history WHERE row_number=13"), 10);
}

// A reading keeps the rows of some events only, so lengths around its limits count.
TEST_P(HistoryLinks, AnyLengthIsReadFromAnyEvent) {
  const EventId lengths[] = {1, 2, 63, 64, 65, 127, 128, 129, 1'000, 4'095, 4'096, 4'097, 9'001};
  a = create(at, "a");
  b = create(at, "b");
  EventId have = 0;
  std::size_t step = 1;
  for (const EventId length : lengths) {
    if (is_sim() && length > 4'097) break;
    while (have < length) {
      const std::size_t events = std::min<std::size_t>(step++ % 90 + 1, length - have);
      grow(a, events);
      have += static_cast<EventId>(events);
      if (step % 3 == 0) grow(b, 1);  // rows of another instance between the turns
    }
    for (const EventId after : {EventId{0}, EventId{1}, length / 2, length - 1, length}) {
      const Reading reading = read(a, after);
      ASSERT_EQ(reading.status, Status::kOk) << reading.why;
      ASSERT_EQ(reading.ids, from_to(after + 1, length)) << length << " after " << after;
    }
  }
  EXPECT_EQ(read(b).status, Status::kOk);
}

TEST_P(HistoryLinks, OneTurnOfManyEvents) {
  a = create(at, "a");
  grow(a, 300);
  EXPECT_EQ(read(a).ids, from_to(1, 300));
  EXPECT_EQ(read(a, 150).ids, from_to(151, 300));
}

// ---- broken links ----

TEST_P(HistoryLinks, ABrokenLinkStopsItsInstanceOnlyAndHidesNoEvent) {
  make_two();
  for (const char* link : {"3", "8", "10", "9", "0", "-9223372036854775807-1",
                           "9223372036854775807", "99", "NULL", "'x'", "x'00'", "4.5"}) {
    raw("UPDATE history SET prev=" + std::string(link) + " WHERE row_number=9");
    // Without the link the row before must be its own: 8 is b's.
    expect_broken(a, 4);
    const Reading searched = read(a, 0, AtBreak::kSearch);
    EXPECT_EQ(searched.status, Status::kCorrupt) << link;
    EXPECT_EQ(searched.ids, from_to(1, 4)) << link;
    EXPECT_NE(searched.why.find("event 5: checksum or form"), std::string::npos) << searched.why;
    EXPECT_EQ(read(b).ids, from_to(1, 6)) << "of b nothing is broken";
  }
  raw("UPDATE history SET prev=4 WHERE row_number=9");
  EXPECT_EQ(read(a).ids, from_to(1, 6));
}

TEST_P(HistoryLinks, ALinkWhereNoneBelongsIsDamageOfItsRow) {
  make_two();
  raw("UPDATE history SET prev=3 WHERE row_number=4");  // true, and not what was written
  const Reading reading = read(a);
  EXPECT_EQ(reading.status, Status::kCorrupt);
  EXPECT_EQ(reading.ids, from_to(1, 3));
  EXPECT_NE(reading.why.find("event 4: checksum or form"), std::string::npos) << reading.why;
}

TEST_P(HistoryLinks, EventsBeforeAndBehindAMissingOneAreFound) {
  make_two();
  add_rows(3'000);  // a search takes several steps
  grow(a, 2);
  grow(a, 1);
  raw("DELETE FROM history WHERE instance=1 AND id=5");
  expect_broken(a, 5);
  const Reading searched = read(a, 0, AtBreak::kSearch);
  EXPECT_EQ(searched.status, Status::kCorrupt);
  EXPECT_EQ(searched.ids, from_to(1, 4));
  EXPECT_NE(searched.why.find("event 5: is missing"), std::string::npos) << searched.why;
  EXPECT_EQ(read(a, 5, AtBreak::kSearch).ids, from_to(6, 9)) << "those behind it";
  EXPECT_EQ(read(b).ids, from_to(1, 6));
}

TEST_P(HistoryLinks, EveryMissingEventOfALongHistoryIsNamed) {
  a = create(at, "a");
  b = create(at, "b");
  for (int i = 0; i < 50; ++i) {
    grow(a, 3);
    grow(b, 1);
  }
  for (const EventId id : {1U, 2U, 63U, 64U, 65U, 100U, 148U, 149U, 150U}) {
    const std::string row = " WHERE instance=1 AND id=";
    raw("UPDATE history SET id=id+1000" + row + std::to_string(id));
    expect_broken(a, id);
    const Reading searched = read(a, 0, AtBreak::kSearch);
    EXPECT_EQ(searched.status, Status::kCorrupt) << id;
    EXPECT_EQ(searched.ids, from_to(1, id - 1));
    raw("UPDATE history SET id=id-1000" + row + std::to_string(id + 1000));
    EXPECT_EQ(read(a).status, Status::kOk) << id;
  }
}

TEST_P(HistoryLinks, TheRowOfTheLastEventMustBeIts) {
  make_two();
  for (const char* row : {"9", "12", "11", "0", "-1", "99", "NULL", "'x'"}) {
    raw("UPDATE instances SET last_row=" + std::string(row) + " WHERE key=1");
    expect_broken(a, 6);
    EXPECT_EQ(read(a, 0, AtBreak::kSearch).ids, from_to(1, 6)) << row;
    EXPECT_EQ(read(b).status, Status::kOk);
  }
}

// A turn that lost the link would break the history that others rely on.
TEST_P(HistoryLinks, ATurnIsRefusedIfItsRowHasLostTheLink) {
  make_two();
  Events events(7);
  events.add(EventKind::kGuid);
  const TurnCommit commit = turn(fetched(at, a), &events);
  raw("UPDATE instances SET last_row=NULL WHERE key=1");
  EXPECT_EQ(ack(at, commit), Status::kCorrupt);
  EXPECT_EQ(events_of(a), 6);
}

// ---- what else walks ----

TEST_P(HistoryLinks, StatisticsCountTheCurrentExecution) {
  make_two();
  InstanceStats stats;
  ASSERT_EQ(at->instance().directory.get_instance_stats("a", &stats), Status::kOk);
  EXPECT_EQ(stats.history_events, 6);
  EXPECT_EQ(stats.history_bytes,
            raw_number("SELECT sum(coalesce(length(meta),0)+coalesce(length(payload),0)) FROM "
                       "history WHERE instance=1"));
  end(at, a, EndKind::kContinuedAsNew);
  ASSERT_EQ(at->instance().directory.get_instance_stats("a", &stats), Status::kOk);
  EXPECT_EQ(stats.history_events, 0);
  EXPECT_EQ(at->instance().directory.get_instance_stats("c", &stats), Status::kNotFound);
}

// ---- removal ----

TEST_P(HistoryLinks, ALongHistoryGoesInBoundedSteps) {
  make_two();
  for (int i = 0; i < 100; ++i)
    grow(a, 7);
  must_batch(at, [&] { return at->instance().removal.delete_instance(a, true); });
  const std::int64_t all = events_of(a);
  int calls = 0;
  bool more = true;
  std::int64_t left = all;
  while (more) {
    Removed removed;
    must_batch(at, [&] { return at->instance().removal.sweep_deleted(50, &removed, &more); });
    EXPECT_LE(removed.events, 50);
    left -= removed.events;
    EXPECT_EQ(events_of(a), left);
    ++calls;
  }
  EXPECT_EQ(left, 0);
  EXPECT_GE(calls, static_cast<int>(all / 50));
  EXPECT_EQ(raw_number("SELECT count(*) FROM executions"), 1);
  EXPECT_EQ(read(b).ids, from_to(1, 6));
}

TEST_P(HistoryLinks, WhatABrokenLinkHidesIsRemovedWithItsInstance) {
  const char* damages[] = {
      "UPDATE history SET prev=2 WHERE row_number=9",
      "DELETE FROM history WHERE row_number=10",
      "DELETE FROM history WHERE row_number=1",
      "UPDATE history SET execution=0 WHERE row_number=2",
      "UPDATE instances SET last_row=5 WHERE key=1",
      "UPDATE instances SET last_row=NULL WHERE key=1",
      "UPDATE instances SET last_event=0 WHERE key=1",
      "UPDATE instances SET last_event=77 WHERE key=1",
      "DELETE FROM executions WHERE instance=1",
      "UPDATE instances SET execution=1e300 WHERE key=1",
      "UPDATE instances SET execution='x' WHERE key=1",
      "UPDATE instances SET execution=0 WHERE key=1",
      "UPDATE instances SET execution=9223372036854775807 WHERE key=1",
      "UPDATE instances SET execution=-9223372036854775807-1 WHERE key=1",
      "UPDATE executions SET last_event='x' WHERE instance=1",
      "UPDATE executions SET last_row=3 WHERE instance=1 AND end<>0",
      "UPDATE executions SET last_event=0 WHERE instance=1 AND end<>0",
      "UPDATE executions SET last_row=NULL WHERE instance=1 AND end<>0",
      "UPDATE executions SET last_event=NULL,last_row=NULL WHERE instance=1 AND end<>0",
  };
  for (const char* damage : damages) {
    make_two();
    if (std::string_view(damage).find("end<>0") != std::string_view::npos)
      end(at, a, EndKind::kCompleted);
    add_rows(100);
    raw(damage);
    remove(a);
    EXPECT_EQ(events_of(a), 0) << damage;
    EXPECT_EQ(raw_number("SELECT count(*) FROM instances WHERE key=1"), 0) << damage;
    EXPECT_EQ(raw_number("SELECT count(*) FROM executions WHERE instance=1"), 0) << damage;
    EXPECT_EQ(read(b).ids, from_to(1, 6)) << damage;
    EXPECT_EQ(raw_number("SELECT count(*) FROM history WHERE instance=999"), 100) << damage;
    drop_database(at);
    ASSERT_EQ(open(at), Status::kOk);
  }
}

// However large the table is, no commit looks at all of it.
TEST_P(HistoryLinks, TheSearchForHiddenEventsTakesBoundedSteps) {
  make_two();
  add_rows(20'000);
  grow(a, 1);
  raw("UPDATE history SET prev=1 WHERE row_number=9");
  must_batch(at, [&] { return at->instance().removal.delete_instance(a, true); });
  int calls = 0;
  sweep(100, &calls);
  EXPECT_GE(calls, 5);
  EXPECT_LE(calls, 30);
  EXPECT_EQ(events_of(a), 0);
  EXPECT_EQ(events_of(999), 20'000);
}

TEST_P(HistoryLinks, AnEarlierExecutionWithABrokenLinkIsPrunedInSteps) {
  make_two();
  add_rows(20'000);
  end(at, a, EndKind::kContinuedAsNew);
  grow(a, 3);
  raw("UPDATE history SET prev=1 WHERE row_number=9");
  Removed removed;
  int calls = 0;
  for (bool more = true; more && calls < 100; ++calls)
    must_batch(at, [&] {
      return at->instance().removal.prune_executions(a, PruneLimits(), 100, &removed, &more);
    });
  EXPECT_GE(calls, 5);
  EXPECT_EQ(raw_number("SELECT count(*) FROM history WHERE instance=1 AND execution=1"), 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM history WHERE instance=1 AND execution=2"), 3);
  EXPECT_EQ(removed.executions, 1);
  EXPECT_EQ(removed.events, 7);
  EXPECT_EQ(raw_text("SELECT group_concat(execution) FROM executions WHERE instance=1"), "2");
}

// ---- row numbers ----

// SQLite numbers rows at random once the highest number is taken.
TEST_P(HistoryLinks, ARowWithTheHighestNumberStopsNoTurn) {
  make_two();
  // The next row gets the last number, and all others have none behind it.
  raw("INSERT INTO history(row_number,instance,execution,id,kind,time,crc) "
      "VALUES(9223372036854775806,999,1,1,10,0,0)");
  grow(a, 3);
  grow(b, 2);
  grow(a, 1);
  EXPECT_EQ(read(a).ids, from_to(1, 10));
  EXPECT_EQ(read(b).ids, from_to(1, 8));
  EXPECT_EQ(read(a, 0, AtBreak::kSearch).ids, from_to(1, 10));
  remove(a);
  EXPECT_EQ(events_of(a), 0);
  EXPECT_EQ(read(b).ids, from_to(1, 8));
}

// The numbers of removed rows are given out again, behind all others.
TEST_P(HistoryLinks, NumbersThatAreUsedAgainShowNoOtherEvent) {
  make_two();
  remove(b);
  EXPECT_EQ(raw_number("SELECT max(row_number) FROM history"), 10);
  const InstanceKey c = create(at, "c");
  grow(c, 4);
  grow(a, 1);
  EXPECT_EQ(read(a).ids, from_to(1, 7));
  EXPECT_EQ(read(c).ids, from_to(1, 4));
}

// ---- an operator ends an instance whose links are broken ----

TEST_P(HistoryLinks, ATerminatedInstanceHasAReadableEnd) {
  struct Case {
    const char* damage;
    EventId end;
  };
  const Case cases[] = {
      {"UPDATE instances SET last_row=NULL WHERE key=1", 7},
      {"UPDATE instances SET last_row=12 WHERE key=1", 7},
      {"UPDATE instances SET last_event=40 WHERE key=1", 7},  // the row knows better
      {"UPDATE history SET prev=1 WHERE row_number=9", 7},
  };
  for (const Case& one : cases) {
    make_two();
    raw(one.damage);
    must_batch(at, [&] { return at->instance().verbs.terminate_instance("a", "enough"); });
    Item& item = fetched(at, a);
    ASSERT_TRUE(item.is.terminate) << one.damage;
    EXPECT_EQ(item.is.last_event + 1, one.end) << one.damage;
    Events events(item.is.last_event + 1);
    Event& ended = events.add(EventKind::kEnded);
    ended.end = EndKind::kFailed;
    ended.error = ErrorKind::kTerminated;
    ended.payload = "enough";
    TurnCommit commit = turn(item, &events);
    commit.messages = {};
    commit.end = EndKind::kFailed;
    commit.error = ErrorKind::kTerminated;
    acked(at, commit);
    EXPECT_EQ(status(at, "a").output, "enough") << one.damage;
    remove(a);
    EXPECT_EQ(events_of(a), 0) << one.damage;
    drop_database(at);
    ASSERT_EQ(open(at), Status::kOk);
  }
}

// ---- a look through all rows ----

TEST_P(HistoryLinks, ALookThroughAllRowsNamesWhatIsMissing) {
  const auto found = [&](std::int64_t orphans) {
    std::vector<std::string> texts;
    auto keep = visit([&](std::string_view text) { texts.emplace_back(text); });
    DatabaseReport report;
    Diagnostic why;
    EXPECT_EQ(store::StoreCheck::run(*at.operator->(), keep, &report, why), Status::kOk)
        << why.text();
    EXPECT_EQ(report.findings, static_cast<std::int64_t>(texts.size()));
    EXPECT_EQ(report.orphans, orphans);
    EXPECT_EQ(report.unfinished, 2);
    EXPECT_EQ(std::string_view(report.id), at->database_id());
    return texts;
  };
  make_two();
  EXPECT_TRUE(found(0).empty());
  const std::string of_a = " WHERE instance=" + std::to_string(a);
  raw("DELETE FROM history" + of_a + " AND id=5");
  const std::string begin = "history of instance " + std::to_string(a) + ", execution 1, event ";
  EXPECT_EQ(found(0), std::vector<std::string>{begin + "5: is missing, or its link is wrong"});
  raw("DELETE FROM executions" + of_a);
  EXPECT_EQ(found(5).size(), 1U);
}

}  // namespace
}  // namespace pawl::test
