// Goal: a child is created with its parent's turn, and reported once, by the commit that ends it;
// late reports are dropped; no id is taken from its instance.
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Strings = std::vector<std::string>;

class Children : public StoreWorld {
 protected:
  Item& fetched(Site& at, InstanceKey key) {
    items_.push_back(std::make_unique<Item>());
    EXPECT_EQ(fetch(at, key, *items_.back()), Status::kOk) << at->diagnostic().text();
    return *items_.back();
  }
  InstanceKey key_of(const std::string& id) {
    return raw_number("SELECT coalesce(max(key),0) FROM instances WHERE id='" + id + "'");
  }
  // The first turn of a parent "p": event 2, of the given kind, starts `id`.
  InstanceKey parent_of(Site& at, const char* id, EventKind kind = EventKind::kChild) {
    const InstanceKey key = create(at, "p");
    Events events(1);
    events.add(EventKind::kStarted).name = "n";
    Event& start = events.add(kind);
    start.name = "station";
    start.session = id;
    start.payload = "12";
    TurnCommit commit = turn(fetched(at, key), &events);
    commit.id = "p";
    EXPECT_EQ(ack(at, commit), Status::kOk) << at->diagnostic().text();
    return key;
  }
  void end(Site& at, InstanceKey key, EndKind kind, std::string_view out = {},
           ErrorKind error = ErrorKind::kNone) {
    const Item& item = fetched(at, key);
    Events events(item.is.last_event + 1);
    if (item.is.last_event == 0) events.add(EventKind::kStarted).name = "n";
    Event& ended = events.add(EventKind::kEnded);
    ended.end = kind;
    ended.error = error;
    ended.payload = out;
    TurnCommit commit = turn(item, &events);
    commit.end = kind;
    commit.error = error;
    (kind == EndKind::kContinuedAsNew ? commit.next.input : commit.output) = out;
    EXPECT_EQ(ack(at, commit), Status::kOk) << at->diagnostic().text();
  }
  std::deque<std::unique_ptr<Item>> items_;
};
INSTANTIATE_TEST_SUITE_P(Ports, Children, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(Children, CreatedWithTheTurnAndReady) {
  Site& at = site();
  parent_of(at, "");
  const InstanceKey child = key_of("p::1.2");
  ASSERT_NE(child, 0);
  const Item& item = fetched(at, child);
  EXPECT_EQ(item.is.name.view(), "station");
  EXPECT_TRUE(item.is.has_parent);
  ASSERT_EQ(item.kinds(), Strings{"start"});
  EXPECT_EQ(item.is.messages[0].payload, "12");
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{child});
}

TEST_P(Children, EndIsReportedOnceAndWhole) {
  Site& at = site();
  const InstanceKey parent = parent_of(at, "c");
  EXPECT_EQ(fetched(at, parent).is.message_count, 0U);
  end(at, key_of("c"), EndKind::kFailed, "no water", ErrorKind::kPoison);
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
  Site& at = site();
  const InstanceKey parent = parent_of(at, "c");
  end(at, key_of("c"), EndKind::kContinuedAsNew, "next");
  EXPECT_EQ(fetched(at, parent).is.message_count, 0U);
  end(at, key_of("c"), EndKind::kCompleted, "out");
  ASSERT_EQ(fetched(at, parent).kinds(), Strings{"child_done"});
}

TEST_P(Children, StaleEndReportsNothing) {
  Site& at = site();
  const InstanceKey parent = parent_of(at, "c");
  const InstanceKey child = key_of("c");
  const Item& item = fetched(at, child);
  Events events(1);
  events.add(EventKind::kStarted).name = "n";
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(item, &events);
  commit.end = EndKind::kCompleted;
  ASSERT_EQ(ack(at, commit), Status::kOk);
  EXPECT_EQ(ack(at, commit), Status::kStale);
  EXPECT_EQ(fetched(at, parent).is.message_count, 1U);
}

TEST_P(Children, LateNoticesAreDropped) {
  for (const EndKind how : {EndKind::kCompleted, EndKind::kContinuedAsNew}) {
    Site& at = site();
    const InstanceKey parent = parent_of(at, "c");
    end(at, parent, how, "x");
    EXPECT_EQ(fetched(at, key_of("c")).kinds(), (Strings{"start", "cancel"}));
    end(at, key_of("c"), EndKind::kCompleted, "late");
    EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue WHERE kind=8"), 0);
    drop_database(at);
  }
}

// A detached instance does not depend on its starter, so it is there.
TEST_P(Children, ChildrenAndReadsThatTheirTurnClosedAreNotThere) {
  Site& at = site();
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
  ASSERT_EQ(ack(at, commit), Status::kOk) << at->diagnostic().text();
  EXPECT_EQ(key_of("child"), 0);
  EXPECT_NE(key_of("detached"), 0);
  EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue WHERE instance=" +
                       std::to_string(parent)),
            0);
}

TEST_P(Children, CloseAsksTheChildToStop) {
  Site& at = site();
  const InstanceKey parent = parent_of(at, "c");
  Events events(3);
  events.add(EventKind::kCancelRequested);
  TurnCommit commit = turn(fetched(at, parent), &events);
  const EventId closed = 2;
  commit.closed = {&closed, 1};
  ASSERT_EQ(ack(at, commit), Status::kOk);
  EXPECT_EQ(fetched(at, key_of("c")).kinds(), (Strings{"start", "cancel"}));
}

TEST_P(Children, TakenIdIsAnAnswerToTheParent) {
  Site& at = site();
  const InstanceKey other = create(at, "c", "mine");
  const InstanceKey parent = parent_of(at, "c");
  const Item& item = fetched(at, parent);
  ASSERT_EQ(item.kinds(), Strings{"child_done"});
  EXPECT_EQ(item.is.messages[0].error, ErrorKind::kApplication);
  EXPECT_EQ(fetched(at, other).is.messages[0].payload, "mine");
  EXPECT_FALSE(fetched(at, other).is.has_parent);
}

TEST_P(Children, DetachedHasNoParentAndATakenIdChangesNothing) {
  {
    Site& at = site();
    const InstanceKey parent = parent_of(at, "d", EventKind::kDetached);
    EXPECT_FALSE(fetched(at, key_of("d")).is.has_parent);
    end(at, parent, EndKind::kCompleted);
    EXPECT_EQ(fetched(at, key_of("d")).kinds(), Strings{"start"});
    drop_database(at);
  }
  Site& at = site();
  create(at, "d", "mine");
  const InstanceKey parent = parent_of(at, "d", EventKind::kDetached);
  EXPECT_EQ(fetched(at, parent).is.message_count, 0U);
  EXPECT_EQ(raw_number("SELECT count(*) FROM instances"), 2);
}

TEST_P(Children, RootsCannotTakeTheirIds) {
  Site& at = site();
  NewInstance root;
  root.id = "p::1.2";
  root.name = "n";
  InstanceKey key = 0;
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.start_orchestration(root, &key); }),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace pawl::test
