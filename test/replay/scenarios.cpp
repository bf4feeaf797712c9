#include "scenarios.hpp"

#include <cstdlib>

#include "event_text.hpp"
#include "program.hpp"

namespace pawl::test {
namespace {

const Scenario kScenarios[] = {
    // Rules: R5.1.
    {"LoserRanOn_WinnerFirstInTheBatch",
     "open b { act p  await p  act q  await q }  act w  sel b w  act z  await z",
     {{"start", "1 started\n2 branch_opened 0.0 = 1\n3 activity 1.0 p\n4 activity 0.1 w\n", 1, 0},
      {"done 0.1  done 1.0",
       "5 activity_done 0.1\n6 activity_done 1.0\n7 close 0.2 of 0.0 at 5\n8 activity 0.3 z\n", 1,
       1},
      {"done 0.3", "9 activity_done 0.3\n10 ended completed = end\n", 1, 0}},
     9},
    // Rules: R5.1.
    {"LoserRanOn_LoserFirstInTheBatch",
     "open b { act p  await p  act q  await q }  act w  sel b w  act z  await z",
     {{"start", "1 started\n2 branch_opened 0.0 = 1\n3 activity 1.0 p\n4 activity 0.1 w\n", 1, 0},
      {"done 1.0  done 0.1",
       "5 activity_done 1.0\n6 activity_done 0.1\n7 activity 1.1 q\n8 close 0.2 of 0.0 at 6\n9 "
       "activity 0.3 z\n",
       1, 0},
      {"done 0.3", "10 activity_done 0.3\n11 ended completed = end\n", 1, 0}},
     10},
    // Rules: R4.1.
    {"LateSelect_HorizonIsThePositionOfTheSelector",
     "act w  timer t  open b { act p  await p  act q  await q }  await t  sel b w  act z  await z",
     {{"start",
       "1 started\n2 activity 0.0 w\n3 timer 0.1\n4 branch_opened 0.2 = 1\n5 activity 1.0 p\n", 1,
       0},
      {"done 0.0", "6 activity_done 0.0\n", 1, 0},
      {"done 1.0", "7 activity_done 1.0\n8 activity 1.1 q\n", 1, 0},
      {"done 0.1", "9 timer_fired 0.1\n10 close 0.3 of 0.2 at 9\n11 activity 0.4 z\n", 1, 0},
      {"done 0.4", "12 activity_done 0.4\n13 ended completed = end\n", 1, 0}},
     12},
    // Rules: R4.4.
    {"NestedSelectInALosingBranch",
     "open b { open c { act p  await p }  timer t  sel c t  act q  await q }  act w  sel b w  act "
     "z  await z",
     {{"start",
       "1 started\n2 branch_opened 0.0 = 1\n3 branch_opened 1.0 = 2\n4 activity 2.0 p\n5 timer "
       "1.1\n"
       "6 activity 0.1 w\n",
       1, 0},
      {"done 0.1  done 1.1",
       "7 activity_done 0.1\n8 timer_fired 1.1\n9 close 0.2 of 0.0 at 7\n10 activity 0.3 z\n", 1,
       2},
      {"done 0.3", "11 activity_done 0.3\n12 ended completed = end\n", 1, 0}},
     11},
    // Rules: R8.5.
    {"CancelBetweenTwoCompletions_CompensationIsNotCancelledAgain",
     "open b { act p  await p  act q  await q }  open c { act r  await r }  join b c  "
     "shield { open d { act s  await s }  await d  join b c }",
     {{"start",
       "1 started\n2 branch_opened 0.0 = 1\n3 activity 1.0 p\n4 branch_opened 0.1 = 2\n5 activity "
       "2.0 r\n",
       1, 0},
      {"done 1.0  cancel  done 2.0",
       "6 activity_done 1.0\n7 cancel_requested = stop\n8 activity_done 2.0\n9 activity 1.1 q\n"
       "10 close 1.2 of 1.1 at 7\n11 close 2.1 of 2.0 at 7\n12 branch_opened 0.2 = 3\n13 activity "
       "3.0 s\n",
       1, 0},
      {"done 3.0", "14 activity_done 3.0\n15 ended completed = end\n", 1, 0}},
     14},
    // Rules: R2.3.
    {"SameHandleTwice_JoinBesideItsMember",
     "act a  act b  selj a | a b  await a  await b",
     {{"start", "1 started\n2 activity 0.0 a\n3 activity 0.1 b\n", 1, 0},
      {"done 0.0", "4 activity_done 0.0\n5 close 0.2 of 0.1 at 4\n6 ended completed = end\n", 1,
       0}},
     4},
    // Rules: R6.8.
    {"CloseWakesAnotherBranchInASecondPass",
     "timer h  open b { timer t  sel t h  await h }  open c { act p  sel p h }  act w  await w  "
     "cancel h  "
     "join b c",
     {{"start",
       "1 started\n2 timer 0.0\n3 branch_opened 0.1 = 1\n4 timer 1.0\n5 branch_opened 0.2 = 2\n"
       "6 activity 2.0 p\n7 activity 0.3 w\n",
       1, 0},
      {"done 1.0", "8 timer_fired 1.0\n", 1, 0},
      {"done 0.3",
       "9 activity_done 0.3\n10 close 0.4 of 0.0 at 9\n11 close 2.1 of 2.0 at 10\n12 ended "
       "completed = end\n",
       2, 0}},
     10},
    // Rules: R7.5.
    {"TimerAndMessageInOneBatch_ThenDequeueAgain",
     "deq a  timer t  sel a t  deq b  await b  deq c  await c",
     {{"start", "1 started\n2 dequeue 0.0\n3 timer 0.1\n", 1, 0},
      {"done 0.1  msg 1  msg 2",
       "4 timer_fired 0.1\n5 delivery 0.0 m1\n6 close 0.2 of 0.0 at 4\n7 dequeue 0.3\n8 return m1\n"
       "9 delivery 0.3 m1\n10 dequeue 0.4\n11 delivery 0.4 m2\n12 ended completed = end\n",
       3, 0}},
     11},
    // Rules: R6.6.
    {"ALosingBranchReceivedAMessageBeyondItsHorizon",
     "open b { deq p  await p  act q  await q }  act w  sel b w  deq z  await z",
     {{"start", "1 started\n2 branch_opened 0.0 = 1\n3 dequeue 1.0\n4 activity 0.1 w\n", 1, 0},
      {"done 0.1  msg 1",
       "5 activity_done 0.1\n6 delivery 1.0 m1\n7 close 0.2 of 0.0 at 5\n8 dequeue 0.3\n9 return "
       "m1\n"
       "10 delivery 0.3 m1\n11 ended completed = end\n",
       2, 1}},
     10},
    // Rules: R6.6.
    {"EndIsAHorizon_AMessageIsGivenBack",
     "open b { deq p  await p  act q }  act w  await w",
     {{"start", "1 started\n2 branch_opened 0.0 = 1\n3 dequeue 1.0\n4 activity 0.1 w\n", 1, 0},
      {"done 0.1  msg 1",
       "5 activity_done 0.1\n6 delivery 1.0 m1\n7 ended completed = end\n8 return m1\n", 1, 2,
       "1"}},
     5},
    // Rules: R4.3.
    {"AWaitOfTheOpenerIsClosedForTheBranchesToo",
     "wait h  open b { timer t  sel t h  await h }  open c { act p  sel p h }  act w  await w  "
     "cancel h  "
     "join b c",
     {{"start",
       "1 started\n2 wait 0.0\n3 branch_opened 0.1 = 1\n4 timer 1.0\n5 branch_opened 0.2 = 2\n"
       "6 activity 2.0 p\n7 activity 0.3 w\n",
       1, 0},
      {"done 1.0", "8 timer_fired 1.0\n", 1, 0},
      {"done 0.3",
       "9 activity_done 0.3\n10 close 0.4 of 0.0 at 9\n11 close 2.1 of 2.0 at 10\n12 ended "
       "completed = end\n",
       2, 0}},
     10},
    // R7.4: an event raised before its wait is offered again within the turn.
    // Rules: R7.4.
    {"EventRaisedAheadOfItsWaitInOneBatch",
     "act a  await a  wait e  await e",
     {{"start", "1 started\n2 activity 0.0 a\n", 1, 0},
      {"raise 1  done 0.0",
       "3 activity_done 0.0\n4 wait 0.1\n5 delivery 0.1 m1\n6 ended completed = end\n", 2, 0}},
     5},
    // Rules: R7.4.
    {"EventRaisedWithoutAWaitWaitsForIt",
     "act a  await a  wait e  await e",
     {{"start", "1 started\n2 activity 0.0 a\n", 1, 0},
      {"raise 1  raise 2", "", 1, 0, "12"},
      {"done 0.0", "3 activity_done 0.0\n4 wait 0.1\n5 delivery 0.1 m1\n6 ended completed = end\n",
       2, 0, "2"}},
     5},
    // Rules: R6.6, R7.4.
    {"EventOfAWaitThatLostGoesBack",
     "wait e  timer t  sel e t  wait f  await f",
     {{"start", "1 started\n2 wait 0.0\n3 timer 0.1\n", 1, 0},
      {"done 0.1  raise 1",
       "4 timer_fired 0.1\n5 delivery 0.0 m1\n6 close 0.2 of 0.0 at 4\n7 wait 0.3\n8 return m1\n"
       "9 delivery 0.3 m1\n10 ended completed = end\n",
       2, 0}},
     9},
    // Rules: R7.4.
    {"OfferWithoutAWaitIsGone",
     "act a  await a  wait e  await e",
     {{"start", "1 started\n2 activity 0.0 a\n", 1, 0},
      {"offer 1", "", 1, 0},
      {"offer 2  done 0.0",
       "3 activity_done 0.0\n4 wait 0.1\n5 delivery 0.1 m2\n6 ended completed = end\n", 2, 0}},
     5},
    // Rules: R7.4.
    {"OfferThatAWaitReceivedStays",
     "wait e  timer t  sel e t  act a  await a  wait f  await f",
     {{"start", "1 started\n2 wait 0.0\n3 timer 0.1\n", 1, 0},
      {"done 0.1  offer 1",
       "4 timer_fired 0.1\n5 delivery 0.0 m1\n6 close 0.2 of 0.0 at 4\n7 activity 0.3 a\n"
       "8 return m1\n",
       1, 0, "1"},
      {"done 0.3",
       "9 activity_done 0.3\n10 wait 0.4\n11 delivery 0.4 m1\n12 ended completed = end\n", 2, 0}},
     11},
    // Rules: R6.7, R7.2.
    {"MessagesWaitForTheirWait",
     "act a  await a  deq b  deq c  await c  await b",
     {{"start  msg 5  msg 7", "1 started\n2 activity 0.0 a\n", 1, 0, "57"},
      {"done 0.0",
       "3 activity_done 0.0\n4 dequeue 0.1\n5 dequeue 0.2\n6 delivery 0.1 m5\n7 delivery 0.2 m7\n"
       "8 ended completed = end\n",
       2, 0}},
     7},
    // Rules: R2.2.
    {"ABranchThatAwaitsNothing_TieAndLowerPosition",
     "act w  timer t  await t  open b { set name=k in=v }  sel b w  await b  await w",
     {{"start", "1 started\n2 activity 0.0 w\n3 timer 0.1\n", 1, 0},
      {"done 0.0  done 0.1",
       "4 activity_done 0.0\n5 timer_fired 0.1\n6 branch_opened 0.2 = 1\n7 state_write 1.0 k\n"
       "8 close 0.3 of 0.2 at 5\n9 ended completed = end\n",
       1, 0}},
     5},
    // Rules: R5.3.
    {"StateFollowsCause",
     "set name=k in=five  open b { get name=k  act p  await p  set name=k in=six }  await b  get "
     "name=k  act z  await z",
     {{"start", "1 started\n2 state_write 0.0 k\n3 branch_opened 0.1 = 1\n4 activity 1.0 p\n", 1,
       0},
      {"done 1.0", "5 activity_done 1.0\n6 state_write 1.1 k\n7 activity 0.2 z\n", 1, 0},
      {"done 0.2", "8 activity_done 0.2\n9 ended completed = end\n", 1, 0}},
     8,
     "b get k -> five; root get k -> six; "},
    // Rules: R6.2, R6.3.
    {"EndIsAHorizon_ABranchRanPastIt",
     "open b { act p  await p  act q }  act w  await w",
     {{"start", "1 started\n2 branch_opened 0.0 = 1\n3 activity 1.0 p\n4 activity 0.1 w\n", 1, 0},
      {"done 0.1  done 1.0", "5 activity_done 0.1\n6 activity_done 1.0\n7 ended completed = end\n",
       1, 2}},
     5},
    // Rules: R3.7.
    {"ReturnOfABranchClosesWhatItLeftOpen",
     "open b { act p  act q  await q }  await b",
     {{"start", "1 started\n2 branch_opened 0.0 = 1\n3 activity 1.0 p\n4 activity 1.1 q\n", 1, 0},
      {"done 1.1", "5 activity_done 1.1\n6 close 1.2 of 1.0 at 5\n7 ended completed = end\n", 1,
       0}},
     5},
};

EventId command_id(const History& history, const std::string& place) {
  for (EventId id = 1; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    if (is_command(event.kind) &&
        std::to_string(event.branch) + "." + std::to_string(event.ordinal) == place)
      return id;
  }
  return 0;
}

}  // namespace

Span<const Scenario> scenarios() {
  return {kScenarios, sizeof(kScenarios) / sizeof(kScenarios[0])};
}

std::vector<Message> messages_of(const History& history, const char* text) {
  std::vector<Message> messages;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& what = words[i];
    if (what == "start") messages.push_back(start());
    if (what == "cancel") messages.push_back(cancel());
    if (what == "start" || what == "cancel" || ++i == words.size()) continue;
    const long number = std::strtol(words[i].c_str(), nullptr, 10);
    if (what == "msg") messages.push_back(posted(MessageKind::kQueue, number, "q"));
    if (what == "raise") messages.push_back(posted(MessageKind::kEvent, number, "e"));
    if (what == "offer") messages.push_back(posted(MessageKind::kOffer, number, "e"));
    if (what != "done") continue;
    const EventId id = command_id(history, words[i]);
    const bool is_timer = id != 0 && history.event(id).kind == EventKind::kTimer;
    messages.push_back(is_timer ? fired(id) : done(id, "v"));
  }
  return messages;
}

// Writes "6 activity_done 0.1" instead of "6 activity_done ->4 = v", and the scenario's numbers of
// messages.
std::string facts(const History& history, EventId first, NumberOf number_of) {
  std::string text;
  for (EventId id = first; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    std::string one = line(event);
    if (is_completion(event.kind)) {
      const Event& command = history.event(event.ref);
      one = std::to_string(id) + " " + event_kind_name(event.kind) + " " +
            std::to_string(command.branch) + "." + std::to_string(command.ordinal);
      if (event.kind == EventKind::kDelivery) one += " m" + std::to_string(number_of(event));
    }
    if (event.kind == EventKind::kReturn)
      one = std::to_string(id) + " return m" + std::to_string(number_of(history.event(event.ref)));
    if (event.kind == EventKind::kWait || event.kind == EventKind::kDequeue)
      one.resize(one.size() - 2);
    if (event.kind == EventKind::kActivity) one.resize(one.size() - 2);
    if (event.kind == EventKind::kTimer) one.resize(one.rfind(' '));
    text += one + "\n";
  }
  return text;
}

std::string reads_of_last_run() {
  std::string reads;
  for (const std::string& line : observations())
    if (line.find(" get ") != std::string::npos) reads += line + "; ";
  return reads;
}

EventId horizon_of_end(const History& history) {
  const EventId end = history.end_id();
  return end == 0 ? 0 : history.event(end).horizon;
}

}  // namespace pawl::test
