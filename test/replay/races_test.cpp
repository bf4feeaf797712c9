// Races between messages, timers and closes: the code receives live what it receives in a replay,
// and no message is lost or received twice.
//
// Method: a table of shapes, and every select of up to three arms under every order of up to three
// messages. Each turn runs warm, warm again after a rewind, and cold from the stored events.
#include <algorithm>
#include <ostream>
#include <set>
#include <sstream>
#include <string>

#include "program.hpp"
#include "replay_bench.hpp"

namespace pawl::test {
namespace {

// Runs one turn in three ways.
void turn_three_ways(Bench& warm, const std::vector<Message>& batch) {
  Bench cold;
  cold.load(warm, warm.history().last_id());
  cold.set_posted(warm.posted());
  const std::vector<Message> posted = warm.posted();
  const History::Mark mark = warm.history().mark();
  warm.go(run_program, batch);
  const std::string first = warm.all();
  const auto seen = observations();
  warm.history().rewind(mark);
  warm.set_posted(posted);
  warm.go(run_program, batch);
  ASSERT_EQ(warm.all(), first);
  ASSERT_EQ(observations(), seen);
  cold.go(run_program, batch);
  ASSERT_EQ(cold.all(), first);
  ASSERT_EQ(observations(), seen);
}

// Every queue message waits, or is in one valid delivery.
void expect_each_message_once(const Bench& bench, const std::multiset<MessageId>& sent) {
  std::multiset<MessageId> found;
  for (const Message& message : bench.posted())
    if (message.kind == MessageKind::kQueue) found.insert(message.id);
  const History& history = bench.history();
  for (EventId id = 1; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kDelivery && event.number != 0 &&
        history.event(event.ref).kind == EventKind::kDequeue)
      found.insert(event.number);
    if (event.kind == EventKind::kReturn) {
      const auto returned = found.find(history.event(event.ref).number);
      if (returned != found.end()) found.erase(returned);
    }
  }
  ASSERT_EQ(found, sent) << bench.all();
}

// The steps: "q 1", "q2 1": a message; "e 1": a raised event; "h": the completion of the oldest
// open command of handle h.
class Story {
 public:
  explicit Story(const std::string& program) : program_(parse(program)) {
    set_program(&program_);
    turn({start()});
  }
  Story(const Story&) = delete;
  Story& operator=(const Story&) = delete;

  void play(const std::string& text) {
    std::vector<Message> batch;
    std::istringstream words(text);
    for (std::string word; words >> word;)
      batch.push_back(message(word, &words));
    turn(batch);
  }
  // The answers that the root received, as "sel 1 -> ; await x -> m1".
  [[nodiscard]] static std::string received() {
    std::string text;
    for (const std::string& line : observations())
      if (line.compare(0, 5, "root ") == 0)
        text += (text.empty() ? "" : "; ") + line.substr(5, line.find(": ") - 5);
    return text;
  }
  [[nodiscard]] std::string waiting() const {
    std::string text;
    for (const Message& message : bench_.posted())
      text += (text.empty() ? "" : " ") + std::string(message.payload);
    return text;
  }
  [[nodiscard]] Bench& bench() { return bench_; }
  [[nodiscard]] EventId open_command(std::string_view name) const {
    const History& history = bench_.history();
    for (EventId id = 1; id <= history.last_id(); ++id)
      if (history.awaits_completion(id) &&
          (history.event(id).name == name ||
           (history.event(id).kind == EventKind::kTimer && name == "timer")))
        return id;
    return 0;
  }
  Message answer(EventId id) const {
    const Event& command = bench_.history().event(id);
    if (command.kind == EventKind::kTimer) return fired(id);
    if (command.kind == EventKind::kChild)
      return completion(MessageKind::kChildDone, id, ErrorKind::kNone, "v");
    return done(id, "v");
  }
  Message queued(const std::string& queue) {
    const MessageId id = ++number_;
    sent_.insert(id);
    return posted(MessageKind::kQueue, id, keep(queue), keep("m" + std::to_string(id)));
  }
  Message raised(const std::string& name) {
    const MessageId id = ++number_;
    return posted(MessageKind::kEvent, id, keep(name), keep("e" + std::to_string(id)));
  }
  void turn(const std::vector<Message>& batch) {
    ASSERT_NO_FATAL_FAILURE(turn_three_ways(bench_, batch));
    ASSERT_NO_FATAL_FAILURE(expect_each_message_once(bench_, sent_));
  }

 private:
  Message message(const std::string& word, std::istringstream* /*words*/) {
    if (word == "q" || word == "q2") return queued(word);
    if (word == "e" || word == "e2") return raised(word);
    if (word == "cancel") return cancel();
    const EventId id = open_command(word);
    EXPECT_NE(id, 0U) << word << "\n" << bench_.all();
    return answer(id);
  }
  static std::string_view keep(const std::string& text) {
    static std::set<std::string> texts;
    return *texts.insert(text).first;
  }

  Program program_;
  Bench bench_;
  MessageId number_ = 0;
  std::multiset<MessageId> sent_;
};

struct Shape {
  const char* name;
  const char* program;
  std::vector<const char*> turns;
  const char* received;
  const char* waiting = "";
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class Races : public testing::TestWithParam<Shape> {};

TEST_P(Races, LiveAsReplayed) {
  Story story(GetParam().program);
  for (const char* const turn : GetParam().turns)
    story.play(turn);
  EXPECT_EQ(story.received(), GetParam().received) << story.bench().all();
  EXPECT_EQ(story.waiting(), GetParam().waiting) << story.bench().all();
}

const Shape kShapes[] = {
    // ---- queues: a message given to a loser goes back and is received once, in its place ----
    {"QueueRaces_TimerThenMessage",
     "deq a  timer t  sel a t  deq b  timer u  sel b u  deq c  await c",
     {"timer q", "q"},
     "sel 1 -> ; sel 0 -> m1; await c -> m2"},
    {"QueueRaces_MessageThenTimer",
     "deq a  timer t  sel a t  deq b  await b",
     {"q timer", "q"},
     "sel 0 -> m1; await b -> m2"},
    {"QueueRaces_WaitThatIsCancelledAtOnceTakesNothing",
     "act w  await w  deq a  cancel a  deq b  await b  deq c  await c",
     {"q q w"},
     "await w -> v; await b -> m1; await c -> m2"},
    {"QueueRaces_WaitThatIsCancelledLater",
     "deq a  timer t  await t  cancel a  deq b  await b",
     {"q timer"},
     "await t -> ; await b -> m1"},
    {"QueueRaces_CancelledBeforeANewerOneIsRead",
     "deq a  deq b  timer t  await t  cancel a  await b  deq c  await c",
     {"q q", "timer"},
     "await t -> ; await b -> m2; await c -> m1"},
    {"QueueRaces_PartOfAJoinLoses",
     "deq a  deq b  timer t  selj t | a b  deq c  await c",
     {"q timer"},
     "selj 0 -> ; await c -> m1"},
    {"QueueRaces_TwoSelectsNested",
     "open n { deq a  timer t  sel a t }  timer u n=5  sel n u  deq b  await b",
     {"timer q"},
     "sel 0 -> of n; await b -> m1"},
    {"QueueRaces_DropWhileAnotherQueueIsRead",
     "deq a name=q2  deq b  await b  cancel a  deq c name=q2  await c",
     {"q2 q"},
     "await b -> m2; await c -> m1"},
    {"QueueRaces_HeldOverContinueAsNew",
     "deq a  timer t  sel a t  end name=can",
     {"timer q q"},
     "sel 1 -> ",
     "m1 m2"},
    {"QueueRaces_HeldAndOneReadOverContinueAsNew",
     "deq a  timer t  await t  deq b  await b  end name=can",
     {"timer q q"},
     "await t -> ; await b -> m2",
     "m1"},
    {"QueueRaces_OrderOverContinueAsNew",
     "deq a  timer t  sel a t  deq b  await b  end name=can",
     {"timer q2 q q2 q"},
     "sel 1 -> ; await b -> m2",
     "m1 m3 m4"},
    {"QueueRaces_BranchesThatAskInTheOtherOrder",
     "act v  act p  open a { await v  deq x name=q  await x }  open b { await p  deq y name=q2  "
     "await "
     "y }  sel a b  act r  await r",
     {"p q2 v q", "r"},
     "sel 1 -> of b; await r -> v",
     "m2"},
    {"QueueRaces_Q1_TwoLosersAndNoMessage",
     "deq a  deq b  timer t  sel a b t  deq c  await c",
     {"timer", "q"},
     "sel 2 -> ; await c -> m1"},
    {"QueueRaces_Q1_TwoLosersAndThreeMessages",
     "deq a  deq b  timer t  sel a b t  deq c  await c  deq d  await d  deq e  await e",
     {"timer q q q"},
     "sel 2 -> ; await c -> m1; await d -> m2; await e -> m3"},
    {"QueueRaces_Q2_FirstOfTwoWinsTheSecondMessageStays",
     "deq a  deq b  timer t  sel a b t  deq c  await c",
     {"q q"},
     "sel 0 -> m1; await c -> m2"},
    {"QueueRaces_Q4_EachQueueForItself",
     "deq a  deq b name=q2  timer t  sel a b t  deq c  await c  deq d name=q2  await d",
     {"timer q q2"},
     "sel 2 -> ; await c -> m1; await d -> m2"},
    {"QueueRaces_Q7_BesideAnActivity",
     "deq a  act w  timer t  sel a w t  deq c  await c",
     {"timer w q"},
     "sel 2 -> ; await c -> m1"},
    {"QueueRaces_Q8_BesideAChild",
     "deq a  child w  sel a w  deq c  await c",
     {"w q"},
     "sel 1 -> v; await c -> m1"},
    {"QueueRaces_BoundBeforeTwoSelects",
     "deq a  deq b  timer t  timer u n=9  sel a t  sel b u  deq c  await c",
     {"timer q timer", "q"},
     "sel 1 -> ; sel 0 -> m1; await c -> m2"},
    {"QueueRaces_DrainByTrying",
     "deq a  timer t  sel a t  try b  await b  try c  await c  try d  await d",
     {"timer q q"},
     "sel 1 -> ; await b -> m1; await c -> m2; await d -> not_found"},
    // ---- raised events: one given to a loser goes to the next wait of the same turn ----
    // An event that finds no wait in its turn is gone.
    {"PositionalRaces_MS1_LoserThenABarrier",
     "wait a name=e  timer t  sel a t  act w  await w  wait b name=e  await b",
     {"timer e", "w", "e"},
     "sel 1 -> ; await w -> v; await b -> e1",
     "e2"},
    {"PositionalRaces_MS1_WithAWaitCancelledAtOnce",
     "wait a name=e  timer t  sel a t  act w  await w  wait b name=e  cancel b  wait c name=e  "
     "await c",
     {"timer e", "w", "e"},
     "sel 1 -> ; await w -> v; await c -> e1",
     "e2"},
    {"PositionalRaces_MS3_CancelledAfterItWasAnswered",
     "wait a name=e  act w  await w  cancel a  act x  await x  wait b name=e  await b",
     {"e w", "x", "e"},
     "await w -> v; await x -> v; await b -> e1",
     "e2"},
    {"PositionalRaces_MS14_ReplacementInTheSameTurn",
     "wait a name=e  timer t  sel a t  wait b name=e  await b",
     {"timer e"},
     "sel 1 -> ; await b -> e1"},
    {"PositionalRaces_MS17_CancelledAtOnceThenAReplacement",
     "timer t  await t  wait a name=e  cancel a  wait b name=e  await b",
     {"timer e"},
     "await t -> ; await b -> e1"},
    {"PositionalRaces_MS17_VotesUntilADeadline",
     "timer t  loop n=2 { wait a name=e  sel a t }  wait b name=e  await b",
     {"e e timer e"},
     "sel 0 -> e1; sel 1 -> closed; await b -> e2",
     "e3"},
    {"PositionalRaces_MS18_BranchesThatAskInTheOtherOrder",
     "act v  act p  open a { await v  wait x name=e  await x }  open b { await p  wait y name=e2  "
     "await y }  sel a b  act r  await r",
     {"p e2 v e", "r"},
     "sel 1 -> of b; await r -> v",
     "e2"},
    {"PositionalRaces_MS17_CancelledAtOnceBeforeABarrier",
     "timer t  await t  wait a name=e  cancel a  act w  await w  wait b name=e  await b",
     {"timer e", "w", "e"},
     "await t -> ; await w -> v; await b -> e1",
     "e2"},
    {"PositionalRaces_HeldOverATimer",
     "wait a name=e  timer t  await t  await a",
     {"timer e"},
     "await t -> ; await a -> e1"},
    {"PositionalRaces_HeldOverATimerAndCancelled",
     "wait a name=e  timer t  await t  cancel a  wait b name=e  await b",
     {"e", "timer"},
     "await t -> ; await b -> e1"},
    {"PositionalRaces_S1_TimerThenEvent",
     "wait a name=e  timer t  sel a t  wait b name=e  await b  act w  await w",
     {"timer e", "w"},
     "sel 1 -> ; await b -> e1; await w -> v"},
    {"PositionalRaces_S1_EventThenTimer",
     "wait a name=e  timer t  sel a t  wait b name=e  await b",
     {"e timer", "e"},
     "sel 0 -> e1; await b -> e2"},
    {"PositionalRaces_S2_TwoWaitsAndATimer",
     "wait a name=e  wait b name=e  timer t  loop n=1 { sel a b t }  wait c name=e  await c",
     {"timer e", "e"},
     "sel 2 -> ; await c -> e1",
     "e2"},
    {"PositionalRaces_S3_EventQueueAndTimer",
     "wait a name=e  deq b  timer t  sel a b t  wait c name=e  await c  deq d  await d",
     {"timer e q", "e q"},
     "sel 2 -> ; await c -> e1; await d -> m2",
     "e3 m4"},
    {"PositionalRaces_S4_BeforeItsWait",
     "timer t  await t  wait a name=e  await a",
     {"e", "timer", "e"},
     "await t -> ; await a -> e1",
     "e2"},
    {"PositionalRaces_S5_TwoEventsForTwoWaits",
     "wait a name=e  wait b name=e  timer t  sel a b t  wait c name=e  await c",
     {"e e"},
     "sel 0 -> e1; await c -> e2"},
    {"PositionalRaces_OverContinueAsNew",
     "wait a name=e  timer t  sel a t  end name=can",
     {"timer e"},
     "sel 1 -> ",
     "e1"},
    {"PositionalRaces_OfAnotherName",
     "timer t  await t  wait a name=e  await a",
     {"e2 timer", "e2", "e"},
     "await t -> ; await a -> e3",
     "e1 e2"},
    // ---- others ----
    {"CancellationCornerCases_MS16_LosersInOrderOfTheirIssue",
     "act a  child c  deq d  wait e  timer t  sel a c d e t  act z  await z",
     {"timer", "z"},
     "sel 4 -> ; await z -> v"},
    {"CancellationCornerCases_AllHeldOverContinueAsNew",
     "act a  child c  deq d  wait e  timer t  await t  end name=can",
     {"timer q e"},
     "await t -> ",
     "m1 e2"},
    {"CancellationCornerCases_TimersAgainstEachOther",
     "timer t  timer u n=9  sel t u  timer v n=4  await v",
     {"timer", "timer"},
     "sel 0 -> ; await v -> "},
    {"CancellationCornerCases_RequestBetweenTimerAndMessage",
     "deq a  timer t  sel a t  deq b  await b  shield { deq c  await c }",
     {"timer cancel q", "q"},
     "sel 1 -> ; await b -> cancelled; await c -> m2",
     "m1"},
};

INSTANTIATE_TEST_SUITE_P(Replay, Races, testing::ValuesIn(kShapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

// ---- every select under every order ----

#ifdef NDEBUG
constexpr unsigned kEvery = 1;
#else
constexpr unsigned kEvery = 13;
#endif

// Every select of three arms, twice, then both queues drained; every order of three messages in one
// turn, then whatever it waits for.
// Rules: R7.5.
TEST(RaceMatrix, EverySelectOfThreeUnderEveryOrderOfThree) {
  const char* const arms[] = {"deq", "deq2", "wait", "timer", "act", "child"};
  const char* const messages[] = {"q", "q2", "e", "timer", "act", "child"};
  unsigned stories = 0;
  for (unsigned program = 0; program < 6 * 6 * 6; ++program) {
    const unsigned picks[] = {program % 6, program / 6 % 6, program / 36};
    std::string text;
    for (const char* const round : {"a", "b"}) {
      std::string select = " sel";
      for (unsigned i = 0; i < 3; ++i) {
        const std::string handle = round + std::to_string(i);
        const std::string arm = arms[picks[i]];
        text += arm == "deq2"                    ? " deq " + handle + " name=q2"
                : arm == "act" || arm == "child" ? " " + arm + " " + handle + " name=" + arm
                : arm == "timer"                 ? " timer " + handle
                                                 : " " + arm + " " + handle;
        select += " " + handle;
      }
      text += select;
    }
    text += " deq y  deq z name=q2  join y z";
    for (unsigned order = 0; order < 6 * 6 * 6; ++order) {
      if ((program * 216 + order) % kEvery != 0) continue;
      Story story(text);
      std::vector<Message> batch;
      for (const unsigned pick : {order % 6, order / 6 % 6, order / 36}) {
        const std::string what = messages[pick];
        if (pick < 2) batch.push_back(story.queued(what));
        if (pick == 2) batch.push_back(story.raised(what));
        if (pick < 3) continue;
        const EventId id = story.open_command(what);
        if (id != 0) batch.push_back(story.answer(id));
      }
      story.turn(batch);
      for (int turn = 0; turn < 12 && !story.bench().history().ended(); ++turn) {
        std::vector<Message> rest = {story.queued("q"), story.queued("q2"), story.raised("e")};
        for (const char* const what : {"timer", "act", "child"})
          if (const EventId id = story.open_command(what); id != 0)
            rest.push_back(story.answer(id));
        story.turn(rest);
      }
      ASSERT_TRUE(story.bench().history().ended()) << text;
      ASSERT_FALSE(testing::Test::HasFailure()) << text << " order " << order;
      ++stories;
    }
  }
  EXPECT_EQ(stories, (46656U + kEvery - 1) / kEvery);
}

}  // namespace
}  // namespace pawl::test
