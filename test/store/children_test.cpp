// Goal: a child is created with its parent's turn, and reported once, by the commit that ends it;
// late reports are dropped; no id is taken from its instance.
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Strings = std::vector<std::string>;

class Children : public OpenStore {
 protected:
  // The first turn of a parent "p": event 2, of the given kind, starts `id`.
  InstanceKey parent_of(Site& by, const char* id, EventKind kind = EventKind::kChild) {
    const InstanceKey key = create(by, "p");
    Events events = begun();
    Event& start = events.add(kind);
    start.name = "station";
    start.session = id;
    start.payload = "12";
    TurnCommit commit = turn(fetched(by, key), &events);
    commit.id = "p";
    acked(by, commit);
    return key;
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Children, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(Children, CreatedWithTheTurnAndReady) {
  parent_of(at, "");
  const InstanceKey child = key_of("p::1.2");
  ASSERT_NE(child, 0);
  const Item& item = fetched(at, child);
  EXPECT_EQ(item.is.name.view(), "station");
  EXPECT_TRUE(item.is.known.has_parent);
  ASSERT_EQ(item.kinds(), Strings{"start"});
  EXPECT_EQ(item.is.messages[0].payload, "12");
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{child});
}

TEST_P(Children, EndIsReportedOnceAndWhole) {
  const InstanceKey parent = parent_of(at, "c");
  EXPECT_EQ(fetched(at, parent).is.message_count, 0U);
  end(at, key_of("c"), EndKind::kFailed, {0, "no water", ErrorKind::kPoison});
  const Item& item = fetched(at, parent);
  ASSERT_EQ(item.kinds(), Strings{"child_done"});
  const Message& reported = item.is.messages[0];
  EXPECT_EQ(reported.error, ErrorKind::kPoison);
  EXPECT_EQ(reported.execution, 1);
  EXPECT_EQ(reported.ref, 2U);
  EXPECT_EQ(reported.payload, "no water");
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{parent});
}

TEST_P(Children, ChildThatContinuesAsNewNotifiesAtItsEnd) {
  const InstanceKey parent = parent_of(at, "c");
  end(at, key_of("c"), EndKind::kContinuedAsNew, {0, "next"});
  EXPECT_EQ(fetched(at, parent).is.message_count, 0U);
  end(at, key_of("c"), EndKind::kCompleted, {0, "out"});
  ASSERT_EQ(fetched(at, parent).kinds(), Strings{"child_done"});
}

TEST_P(Children, StaleEndReportsNothing) {
  const InstanceKey parent = parent_of(at, "c");
  const InstanceKey child = key_of("c");
  const Item& item = fetched(at, child);
  Events events = begun();
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kCompleted;
  acked(at, commit);
  EXPECT_EQ(ack(at, commit), Status::kStale);
  EXPECT_EQ(fetched(at, parent).is.message_count, 1U);
}

TEST_P(Children, LateNoticesAreDropped) {
  for (const EndKind how : {EndKind::kCompleted, EndKind::kContinuedAsNew}) {
    const InstanceKey parent = parent_of(at, "c");
    end(at, parent, how, {0, "x"});
    EXPECT_EQ(fetched(at, key_of("c")).kinds(), (Strings{"start", "cancel"}));
    end(at, key_of("c"), EndKind::kCompleted, {0, "late"});
    EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue WHERE kind=8"), 0);
    drop_database(at);
    ASSERT_EQ(open(at), Status::kOk);
  }
}

// A detached instance does not depend on its starter, so it is there.
TEST_P(Children, ChildrenAndReadsThatTheirTurnClosedAreNotThere) {
  const InstanceKey parent = create(at, "p");
  Events events(1);
  events.open = false;
  events.add(EventKind::kStarted).name = "n";
  for (const EventKind kind : {EventKind::kChild, EventKind::kDetached, EventKind::kValueRead}) {
    Event& event = events.add(kind);
    event.name = "n";
    event.session = kind == EventKind::kChild ? "child" : "detached";
  }
  TurnCommit commit = turn(fetched(at, parent), &events);
  commit.id = "p";
  acked(at, commit);
  EXPECT_EQ(key_of("child"), 0);
  EXPECT_NE(key_of("detached"), 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue WHERE instance=" +
                       std::to_string(parent)),
            0);
}

TEST_P(Children, CloseAsksTheChildToStop) {
  const InstanceKey parent = parent_of(at, "c");
  Events events(3);
  events.add(EventKind::kCancelRequested);
  TurnCommit commit = turn(fetched(at, parent), &events);
  const EventId closed = 2;
  commit.closed = {&closed, 1};
  acked(at, commit);
  EXPECT_EQ(fetched(at, key_of("c")).kinds(), (Strings{"start", "cancel"}));
}

TEST_P(Children, TakenIdIsAnAnswerToTheParent) {
  const InstanceKey other = create(at, "c", "mine");
  const InstanceKey parent = parent_of(at, "c");
  const Item& item = fetched(at, parent);
  ASSERT_EQ(item.kinds(), Strings{"child_done"});
  EXPECT_EQ(item.is.messages[0].error, ErrorKind::kApplication);
  EXPECT_EQ(fetched(at, other).is.messages[0].payload, "mine");
  EXPECT_FALSE(fetched(at, other).is.known.has_parent);
}

TEST_P(Children, DetachedHasNoParentAndATakenIdChangesNothing) {
  const InstanceKey first = parent_of(at, "d", EventKind::kDetached);
  EXPECT_FALSE(fetched(at, key_of("d")).is.known.has_parent);
  end(at, first, EndKind::kCompleted);
  EXPECT_EQ(fetched(at, key_of("d")).kinds(), Strings{"start"});
  drop_database(at);
  ASSERT_EQ(open(at), Status::kOk);
  create(at, "d", "mine");
  const InstanceKey second = parent_of(at, "d", EventKind::kDetached);
  EXPECT_EQ(fetched(at, second).is.message_count, 0U);
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances"), 2);
}

TEST_P(Children, RootsCannotTakeTheirIds) {
  NewInstance root;
  root.id = "p::1.2";
  root.name = "n";
  InstanceKey key = 0;
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.start_orchestration(root, &key); }),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace pawl::test
