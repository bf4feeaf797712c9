// Goal: a waiting message makes no instance ready, is in every turn until one takes it, keeps its
// number, and outlives an execution but not its instance; a sender gets an answer when there is no
// room.
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Strings = std::vector<std::string>;

class MailboxStory : public OpenStore {
 protected:
  Status send(Site& by, std::string_view payload, MessageKind kind = MessageKind::kQueue,
              std::size_t count_max = 100, std::size_t bytes_max = 1000) {
    NewMessage posted;
    posted.id = "a";
    posted.kind = kind;
    posted.name = "q";
    posted.payload = payload;
    posted.count_max = count_max;
    posted.bytes_max = bytes_max;
    room = false;
    return batch(by, [&] { return by->instance().deliveries.send_message(posted, &room); });
  }
  void sent(Site& by, std::string_view payload) {
    ASSERT_EQ(send(by, payload), Status::kOk);
    ASSERT_TRUE(room);
  }
  // Takes the messages that are not of a queue, and lets the others wait.
  TurnCommit keeping(const Item& item, const Events* events = nullptr) {
    TurnCommit commit = turn(item, events);
    lists_.emplace_back();
    lists_.emplace_back();
    std::vector<MessageId>& taken = lists_[lists_.size() - 2];
    std::vector<MessageId>& kept = lists_.back();
    for (std::size_t i = 0; i < item.is.message_count; ++i) {
      const Message& message = item.is.messages[i];
      (message.kind == MessageKind::kQueue ? kept : taken).push_back(message.id);
    }
    commit.messages = {taken.data(), taken.size()};
    commit.kept = {kept.data(), kept.size()};
    return commit;
  }
  // An instance "a" after its start, for which these messages wait.
  InstanceKey waiting(Site& by, const Strings& payloads) {
    const InstanceKey key = create(by, "a");
    for (const std::string& payload : payloads)
      sent(by, payload);
    Events events = begun();
    acked(by, keeping(fetched(by, key), &events));
    return key;
  }
  static Strings payloads(const Item& item) {
    Strings all;
    for (std::size_t i = 0; i < item.is.message_count; ++i)
      all.emplace_back(item.is.messages[i].payload);
    return all;
  }

  bool room = false;

 private:
  std::deque<std::vector<MessageId>> lists_;
};
INSTANTIATE_TEST_SUITE_P(Ports, MailboxStory, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(MailboxStory, NewOnesMakeReadyAndWaitingOnesDoNot) {
  const InstanceKey key = waiting(at, {"1", "2"});
  EXPECT_TRUE(ready(at).empty());
  sent(at, "3");
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{key});
  const Item& item = fetched(at, key);
  EXPECT_EQ(payloads(item), (Strings{"1", "2", "3"}));
  EXPECT_EQ(item.is.waiting_count, 2U);
  EXPECT_EQ(item.kinds(), (Strings{"queue", "queue", "queue"}));
  EXPECT_EQ(item.is.messages[0].name, "q");
  acked(at, keeping(item));
  EXPECT_TRUE(ready(at).empty());
}

TEST_P(MailboxStory, WaitingOnesTakeNoPlace) {
  const InstanceKey key = waiting(at, {"1", "2", "3"});
  sent(at, "4");
  sent(at, "5");
  const Item& item = fetched(at, key, 1);
  EXPECT_EQ(payloads(item), (Strings{"1", "2", "3", "4"}));
  EXPECT_TRUE(item.is.more_messages);
  acked(at, keeping(item));
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{key});
  EXPECT_EQ(payloads(fetched(at, key, 1)), (Strings{"1", "2", "3", "4", "5"}));
}

TEST_P(MailboxStory, TakenOnesAreGone) {
  const InstanceKey key = waiting(at, {"1", "2"});
  sent(at, "3");
  TurnCommit commit = turn(fetched(at, key));
  commit.kept = {commit.messages.begin() + 2, 1};
  commit.messages = {commit.messages.begin(), 2};
  acked(at, commit);
  sent(at, "4");
  EXPECT_EQ(payloads(fetched(at, key)), (Strings{"3", "4"}));
}

TEST_P(MailboxStory, GivenBackOnesStandWhereTheyStood) {
  const InstanceKey key = waiting(at, {"1", "2", "3"});
  sent(at, "4");
  const Item& all = fetched(at, key);
  Message first = all.is.messages[0];
  TurnCommit taking = turn(all);
  taking.kept = {taking.messages.begin() + 1, 3};
  taking.messages = {taking.messages.begin(), 1};
  acked(at, taking);
  sent(at, "5");
  TurnCommit giving = keeping(fetched(at, key));
  giving.given_back = {&first, 1};
  acked(at, giving);
  EXPECT_TRUE(ready(at).empty()) << "what comes back wakes nobody";
  sent(at, "6");
  const Item& next = fetched(at, key);
  EXPECT_EQ(payloads(next), (Strings{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(next.is.messages[0].id, first.id);
}

TEST_P(MailboxStory, ContinueAsNewCarriesThemBehindItsStart) {
  const InstanceKey key = waiting(at, {"1", "2"});
  sent(at, "3");
  const Item& item = fetched(at, key);
  Message first = item.is.messages[0];
  sent(at, "4");  // after the turn has read its messages
  Events events(2);
  events.add(EventKind::kEnded).end = EndKind::kContinuedAsNew;
  TurnCommit commit = turn(item, &events);
  commit.kept = {commit.messages.begin() + 1, 2};
  commit.messages = {commit.messages.begin(), 1};
  commit.given_back = {&first, 1};
  commit.end = EndKind::kContinuedAsNew;
  commit.next.input = "again";
  acked(at, commit);
  EXPECT_EQ(ready(at), std::vector<InstanceKey>{key});
  const Item& next = fetched(at, key);
  EXPECT_EQ(payloads(next), (Strings{"again", "1", "2", "3", "4"}));
  EXPECT_EQ(next.is.waiting_count, 3U);
}

// One message was taken, one came back under its old number, and one came after the turn had read
// the mailbox (R7.8).
TEST_P(MailboxStory, TheEndLeavesTheRestUnread) {
  const InstanceKey key = waiting(at, {"1", "2"});
  TurnCommit delivered = turn(fetched(at, key));
  Message first = fetched(at, key).is.messages[0];
  delivered.kept = {delivered.messages.begin() + 1, 1};
  delivered.messages = {delivered.messages.begin(), 1};
  acked(at, delivered);
  sent(at, "3");
  sent(at, "4");
  const Item& item = fetched(at, key);
  Events events(2);
  events.add(EventKind::kDelivery).ref = 1;
  Event& end = events.add(EventKind::kEnded);
  end.end = EndKind::kCompleted;
  end.payload = "out";
  events.add(EventKind::kReturn).ref = 2;
  events.add(EventKind::kReturn).ref = 2;
  ASSERT_EQ(send(at, "offered", MessageKind::kOffer), Status::kOk);
  sent(at, "5");
  TurnCommit commit = turn(item, &events);
  commit.kept = {commit.messages.begin(), 2};
  commit.messages = {commit.messages.begin() + 2, 1};
  commit.given_back = {&first, 1};
  commit.end = EndKind::kCompleted;
  AtEnd mailbox;
  commit.mailbox = &mailbox;
  acked(at, commit);
  EXPECT_EQ(mailbox.unread, 4);
  EXPECT_EQ(raw_text("SELECT group_concat(payload,'') FROM (SELECT payload FROM orchestrator_queue "
                     "WHERE waiting=3 ORDER BY id)"),
            "1235");
  EXPECT_EQ(raw_number("SELECT count(*) FROM orchestrator_queue"), 4);
  EXPECT_EQ(status(at, "a").unread_messages, 4);
  EXPECT_TRUE(ready(at).empty());
  EXPECT_EQ(send(at, "late"), Status::kStale);
  EXPECT_EQ(status(at, "a").output, "out") << "behind the end there may be returns";
  raw("UPDATE history SET kind=7,crc=0 WHERE id=4");
  InstanceStatus out;
  EXPECT_EQ(at->instance().directory.get_status("a", &out, output, sizeof(output)),
            Status::kCorrupt);
  raw("DELETE FROM history WHERE id=4");
  EXPECT_EQ(at->instance().directory.get_status("a", &out, output, sizeof(output)),
            Status::kCorrupt);
}

// Rules: R7.7.
TEST_P(MailboxStory, AnEndWaitsForWhatItHasNotRead) {
  const InstanceKey key = waiting(at, {"1"});
  sent(at, "2");
  const Item& item = fetched(at, key);
  ASSERT_EQ(item.is.message_count, 2U);
  Events events(2);
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = keeping(item, &events);
  commit.end = EndKind::kCompleted;
  AtEnd mailbox;
  commit.mailbox = &mailbox;
  mailbox.read_up_to = item.is.messages[1].id;
  cancel(at, "a", "stop");
  ASSERT_EQ(send(at, "3", MessageKind::kOffer), Status::kOk);
  sent(at, "4");
  const std::string before = dump();
  EXPECT_EQ(ack(at, commit), Status::kStillRunning);
  EXPECT_EQ(dump(), before) << "nothing was written";
  raw("DELETE FROM orchestrator_queue WHERE payload=x'34'");
  EXPECT_EQ(ack(at, commit), Status::kOk) << "an offer and a cancel request are not waited for";
  EXPECT_EQ(status(at, "a").unread_messages, 2);
}

TEST_P(MailboxStory, AnEndThatWaitsForNothingIsWrittenWhateverCame) {
  const InstanceKey key = waiting(at, {});
  Events events(2);
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(fetched(at, key), &events);
  commit.end = EndKind::kCompleted;
  sent(at, "1");
  acked(at, commit);
  EXPECT_EQ(status(at, "a").unread_messages, 1);
}

// The limit of the mailbox does not count other messages, and the limit of other messages does not
// count the mailbox (R7.7).
TEST_P(MailboxStory, TheWholeMailboxIsReadIfAskedFor) {
  const InstanceKey key = waiting(at, {"1"});
  for (int i = 0; i < 3; ++i) {
    cancel(at, "a", "stop");
    sent(at, "m");
  }
  Item item;
  ASSERT_EQ(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(), {1, 4},
                                                            item.arena, &item.is),
            Status::kOk);
  EXPECT_EQ(item.kinds(), (Strings{"queue", "cancel", "queue", "queue", "queue"}));
  EXPECT_TRUE(item.is.more_messages) << "requests";
  Item less;
  ASSERT_EQ(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(), {1, 3},
                                                            less.arena, &less.is),
            Status::kOk);
  EXPECT_EQ(less.kinds(), (Strings{"queue", "cancel", "queue", "queue"}));
}

TEST_P(MailboxStory, ATurnThatIsStaleMovesNoMessage) {
  Site& other = site();
  const InstanceKey key = waiting(at, {"1"});
  sent(at, "2");
  TurnCommit mine = turn(fetched(at, key));
  TurnCommit theirs = turn(fetched(other, key));
  acked(other, theirs);
  const std::string before = dump();
  EXPECT_EQ(ack(at, mine), Status::kStale);
  EXPECT_EQ(dump(), before);
}

TEST_P(MailboxStory, MessagesThatWaitAndDoNotFitAreReported) {
  const InstanceKey key = waiting(at, {std::string(300, 'x'), std::string(300, 'y')});
  alignas(64) unsigned char block[18 * sizeof(Message) + 500];
  Arena arena(block, sizeof(block));
  OrchestrationItem item;
  EXPECT_EQ(at->instance().history.fetch_orchestration_item(key, at->place().pawl_now(), {16},
                                                            arena, &item),
            Status::kResourceExhausted);
  EXPECT_TRUE(item.more_messages);
  EXPECT_EQ(item.revision, 1);
}

TEST_P(MailboxStory, DamagedOneBreaksItsInstance) {
  const InstanceKey key = waiting(at, {"1"});
  raw("UPDATE orchestrator_queue SET payload='im'");
  const Item& item = fetched(at, key);
  EXPECT_EQ(item.is.broken, Status::kCorrupt);
}

// ---- senders ----

TEST_P(MailboxStory, SendersAreRefusedByCountAndBytes) {
  waiting(at, {"1", "2"});
  sent(at, "3");
  const std::string before = dump();
  for (const MessageKind kind : {MessageKind::kQueue, MessageKind::kEvent}) {
    ASSERT_EQ(send(at, "4", kind, 3), Status::kOk);
    EXPECT_FALSE(room) << "waiting and new ones count";
    EXPECT_NE(at->diagnostic().text().find("3 messages with 6 bytes"), std::string_view::npos)
        << at->diagnostic().text();
    ASSERT_EQ(send(at, "4", kind, 4, 7), Status::kOk);
    EXPECT_FALSE(room);
  }
  EXPECT_EQ(dump(), before);
  ASSERT_EQ(send(at, "4", MessageKind::kEvent, 4, 8), Status::kOk);
  EXPECT_TRUE(room);
  ASSERT_EQ(send(at, "5", MessageKind::kEvent, 4, 100), Status::kOk);
  EXPECT_FALSE(room) << "events count too";
}

// ---- numbers of messages that are never stored ----

TEST_P(MailboxStory, ReservedNumbers_AreGivenToNoOther) {
  MessageId last = -1;
  MailboxLimits limits;
  ASSERT_EQ(at->instance().deliveries.last_message(&last, &limits), Status::kOk);
  EXPECT_EQ(last, 0);
  must_batch(at, [&] { return at->instance().deliveries.reserve_messages(last, 5); });
  waiting(at, {"a"});
  EXPECT_EQ(raw_number("SELECT min(id) FROM orchestrator_queue"), 7) << "behind the start";
  ASSERT_EQ(at->instance().deliveries.last_message(&last, &limits), Status::kOk);
  EXPECT_GE(last, 7);
  // A message with a reserved number is stored after all: it comes first, and its number is not the
  // last.
  must_batch(at, [&] {
    PAWL_TRY(at->instance().deliveries.reserve_messages(last, 2));
    NewMessage behind;
    behind.id = "a";
    behind.kind = MessageKind::kQueue;
    behind.name = "q";
    behind.payload = "c";
    behind.count_max = behind.bytes_max = 100;
    return at->instance().deliveries.send_message(behind, &room);
  });
  NewMessage posted;
  posted.id = "a";
  posted.kind = MessageKind::kQueue;
  posted.name = "q";
  posted.payload = "b";
  posted.count_max = posted.bytes_max = 100;
  posted.number = last + 1;
  must_batch(at, [&] { return at->instance().deliveries.send_message(posted, &room); });
  EXPECT_EQ(payloads(fetched(at, 1)), (Strings{"a", "b", "c"}));
  sent(at, "d");
  EXPECT_EQ(payloads(fetched(at, 1)), (Strings{"a", "b", "c", "d"}));
}

TEST_P(MailboxStory, NumbersAreNotReservedBehindAMessageOfAnother) {
  Site& other = site();
  waiting(at, {"a"});
  MessageId last = 0;
  MailboxLimits limits;
  ASSERT_EQ(at->instance().deliveries.last_message(&last, &limits), Status::kOk);
  sent(other, "b");
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.reserve_messages(last, 1); }),
            Status::kStale);
  ASSERT_EQ(at->instance().deliveries.last_message(&last, &limits), Status::kOk);
  must_batch(at, [&] { return at->instance().deliveries.reserve_messages(last, 1); });
  must_batch(at, [&] { return at->place().set_quota_and_reserve(1, 0); });
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.reserve_messages(last + 1, 1); }),
            Status::kQuota);
}

TEST_P(MailboxStory, AnInstanceIsFound_WithTheLivingWorkerThatRanIt) {
  const Incarnation me = worker(at, "me");
  InstanceKey key = 0;
  Incarnation home = -1;
  EXPECT_EQ(at->instance().deliveries.find_instance("a", &key, &home), Status::kNotFound);
  const InstanceKey made = waiting(at, {"a"});
  ASSERT_EQ(at->instance().deliveries.find_instance("a", &key, &home), Status::kOk);
  EXPECT_EQ(key, made);
  EXPECT_EQ(home, 0);
  raw("UPDATE instances SET home=" + std::to_string(me));
  ASSERT_EQ(at->instance().deliveries.find_instance("a", &key, &home), Status::kOk);
  EXPECT_EQ(home, me);
  raw("UPDATE workers SET buried=1");
  ASSERT_EQ(at->instance().deliveries.find_instance("a", &key, &home), Status::kOk);
  EXPECT_EQ(home, 0);
}

TEST_P(MailboxStory, SendersLearnWhetherTheInstanceTakesMessages) {
  EXPECT_EQ(send(at, "1"), Status::kNotFound);
  const InstanceKey key = create(at, "a");
  NewMessage posted;
  posted.id = "a";
  posted.count_max = posted.bytes_max = 10;
  EXPECT_EQ(batch(at, [&] { return at->instance().deliveries.send_message(posted, &room); }),
            Status::kInvalidArgument);
  Events events = begun();
  events.add(EventKind::kEnded).end = EndKind::kCompleted;
  TurnCommit commit = turn(fetched(at, key), &events);
  commit.end = EndKind::kCompleted;
  acked(at, commit);
  EXPECT_EQ(send(at, "1"), Status::kStale);
}

}  // namespace
}  // namespace pawl::test
