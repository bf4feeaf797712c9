// Golden histories: a history that an engine has recorded must replay, event for event, in every
// later engine.
//
// Each file under golden/ is one execution, one line an event: id, kind, branch, ordinal, ref,
// time, meta, payload, separated by tabs. To record a file anew, delete it and run with
// PAWL_GOLDEN_WRITE=1; a file is only ever replaced together with a new behaviour number of the
// engine.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

std::string path_of(const std::string& name) {
  return std::string(PAWL_GOLDEN_FOLDER) + "/" + name + ".txt";
}

std::string text_of(const Event& event) {
  char meta[kMetaBytesMax];
  std::size_t size = 0;
  EXPECT_EQ(encode_meta(event, meta, sizeof meta, &size), Status::kOk);
  std::ostringstream text;
  text << event.id << '\t' << static_cast<int>(event.kind) << '\t' << event.branch << '\t'
       << event.ordinal << '\t' << event.ref << '\t' << event.time_ms << '\t'
       << std::string_view(meta, size) << '\t' << event.payload << '\n';
  return text.str();
}

std::string text_of(const History& history) {
  std::string text;
  for (EventId id = 1; id <= history.last_id(); ++id)
    text += text_of(history.event(id));
  return text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Appends the events of the file.
void load(const std::string& text, History& history) {
  std::istringstream in(text);
  alignas(std::max_align_t) static char json[kJsonMemoryBytes];
  for (std::string row; std::getline(in, row);) {
    std::istringstream fields(row);
    std::string field[8];
    for (std::string& one : field)
      std::getline(fields, one, '\t');
    Event event;
    event.id = static_cast<EventId>(std::stoul(field[0]));
    event.kind = static_cast<EventKind>(std::stoi(field[1]));
    event.branch = static_cast<BranchId>(std::stoul(field[2]));
    event.ordinal = static_cast<Ordinal>(std::stoul(field[3]));
    event.ref = static_cast<EventId>(std::stoul(field[4]));
    event.time_ms = std::stoll(field[5]);
    event.payload = field[7];
    char texts[kMetaBytesMax];
    const JsonMemory memory(json, sizeof json);
    ASSERT_EQ(decode_meta(field[6], &event, texts, sizeof texts), Status::kOk) << row;
    Diagnostic diagnostic;
    ASSERT_EQ(history.append(event, diagnostic), Status::kOk) << diagnostic.text();
  }
}

struct Golden {
  const char* name;
  Orchestration function;
  std::vector<std::vector<Message>> turns;
  std::int64_t behaviour = 1;
};

Message child_done(EventId ref, std::string_view result) {
  return completion(MessageKind::kChildDone, ref, ErrorKind::kNone, result);
}

Poll basic(OrchestrationContext& ctx) {
  const Guid guid = ctx.new_guid();
  const std::int64_t now = ctx.utc_now_ms();
  PAWL_AWAIT(read, ctx.schedule_activity("read", guid.view(), Target::session("bed-7")));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(5)));
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(now + 1));
  PAWL_AWAIT(write, ctx.schedule_activity("write", read.value()));
  return write.ok() ? ctx.complete(write.value()) : ctx.fail(write.error());
}

Poll branches(OrchestrationContext& ctx) {
  const auto body = [](OrchestrationContext& branch) -> Poll {
    PAWL_AWAIT(a, branch.schedule_activity("a", "1"));
    PAWL_AWAIT_DONE(branch.schedule_timer(std::chrono::seconds(1)));
    return branch.complete(a.value());
  };
  const Handle one = ctx.open_branch(body);
  const Handle two = ctx.open_branch(body);
  PAWL_AWAIT(first, ctx.select(one, two));
  if (first.cancelled()) return ctx.fail(first.error());
  PAWL_AWAIT(last, ctx.schedule_activity("last", first.value()));
  return ctx.continue_as_new(last.value(), "1.2.3");
}

Poll family(OrchestrationContext& ctx) {
  static_cast<void>(ctx.start_orchestration("report", InstanceId("r-1"), "x"));
  const Handle one = ctx.schedule_sub_orchestration("bed", "1");
  const Handle two = ctx.schedule_sub_orchestration("bed", "2", {InstanceId("b-2"), "2.0.0"});
  PAWL_AWAIT_DONE(ctx.join(one, two));
  PAWL_AWAIT(result, two);
  return ctx.complete(result.value());
}

Poll cancelled(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity("slow", "");
  PAWL_AWAIT(result, slow);
  ctx.cancel(slow);
  PAWL_AWAIT_DONE(ctx.schedule_activity("undo", ""));
  return ctx.fail(result.error());
}

// The request stays: outside the scope no command is issued, and awaits return at once.
Poll cleaned_up(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity("slow", "");
  PAWL_AWAIT(result, slow);
  PAWL_AWAIT_DONE(ctx.schedule_activity("never", ""));
  static_cast<void>(ctx.set_custom_status(ctx.cancel_reason().value_or("")));
  const Handle inner = ctx.open_branch([](OrchestrationContext& own) -> Poll {
    PAWL_AWAIT(nothing, own.schedule_timer(std::chrono::seconds(1)));
    return own.fail(nothing.error());
  });
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT(undone, ctx.schedule_activity("undo", ""));
  PAWL_AWAIT(late, slow);
  PAWL_AWAIT(failed_branch, inner);
  static_cast<void>(ctx.set_kv_value("late", late.value()));
  return ctx.fail(undone.ok() ? failed_branch.error() : result.error());
}

Poll handed_on(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("never", ""));
  const CleanUpScope scope = ctx.clean_up();
  PAWL_AWAIT_DONE(ctx.schedule_activity("undo", first.error().text));
  return ctx.continue_as_new("");
}

// Attempts leave no events: one command with its policy, one outcome.
Poll retries(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::session("bed-7");
  options.retry.max_attempts = 5;
  options.retry.backoff = Backoff::kLinear;
  options.retry.jitter_percent = 10;
  options.start_to_close = std::chrono::seconds(30);
  const Handle pump = ctx.schedule_activity("pump", "on", options);
  const Handle read = ctx.schedule_activity("read", "", ActivityOptions());
  PAWL_AWAIT(pumped, pump);
  if (!pumped.ok()) PAWL_AWAIT_DONE(ctx.schedule_activity("alarm", pumped.error().text));
  PAWL_AWAIT(level, read);
  return level.ok() ? ctx.complete(level.value()) : ctx.fail(level.error());
}

// Message 2 comes after the timer that wins and goes back; a branch receives it and is retired
// later. Message 4 goes back by cancel().
Poll give_back(OrchestrationContext& ctx) {
  const Handle first = ctx.dequeue_event("q");
  PAWL_AWAIT(one, first);
  const Handle limit = ctx.schedule_timer(std::chrono::seconds(5));
  PAWL_AWAIT_DONE(ctx.select(ctx.dequeue_event("q"), limit));
  const Handle loser = ctx.open_branch([](OrchestrationContext& own) {
    PAWL_AWAIT_DONE(own.dequeue_event("q"));
    PAWL_AWAIT_DONE(own.schedule_timer(std::chrono::hours(1)));
    return own.complete("");
  });
  const Handle other = ctx.dequeue_event("other");
  PAWL_AWAIT_DONE(ctx.select(loser, ctx.schedule_activity("work", "")));
  ctx.cancel(other);
  PAWL_AWAIT(two, ctx.dequeue_event("q"));
  PAWL_AWAIT(three, ctx.dequeue_event("other"));
  return ctx.complete(std::string(one.value()) + std::string(two.value()) +
                      std::string(three.value()));
}

Poll losers(OrchestrationContext& ctx) {
  const auto body = [](OrchestrationContext& own) -> Poll {
    const Handle inner = own.open_branch([](OrchestrationContext& deep) -> Poll {
      PAWL_AWAIT_DONE(deep.schedule_timer(std::chrono::seconds(1)));
      return deep.complete("");
    });
    PAWL_AWAIT_DONE(own.schedule_activity("step", ""));
    PAWL_AWAIT_DONE(inner);
    return own.complete("");
  };
  const Handle branch = ctx.open_branch(body);
  const Handle event = ctx.schedule_wait("stop");
  const Handle child = ctx.schedule_sub_orchestration("bed", "");
  const Handle a = ctx.schedule_activity("a", "");
  const Handle b = ctx.schedule_activity("b", "");
  const Handle pair = ctx.join(a, b);
  PAWL_AWAIT(first, ctx.select(branch, event, child, pair));
  static_cast<void>(ctx.set_custom_status(first.value()));
  PAWL_AWAIT(lost, child);
  return lost.closed() ? ctx.complete(first.value()) : ctx.fail("");
}

// Like an execution begun by continue-as-new: messages already wait for it.
Poll carried(OrchestrationContext& ctx) {
  PAWL_AWAIT(one, ctx.dequeue_event("q"));
  PAWL_AWAIT(two, ctx.dequeue_event("q"));
  const Handle third = ctx.dequeue_event("q");
  PAWL_AWAIT_DONE(ctx.schedule_activity("sum", one.value()));
  static_cast<void>(third);  // goes back at the end without being received
  return ctx.continue_as_new(two.value());
}

Poll versions(OrchestrationContext& ctx) {
  static_cast<void>(ctx.start_orchestration("report", InstanceId("r-1"), "x", {"2.0.0-rc.1"}));
  const Handle bed = ctx.schedule_sub_orchestration("bed", "1", {std::nullopt, "1.4.0"});
  PAWL_AWAIT(result, bed);
  return ctx.continue_as_new(result.value(), "2.0.0");
}

Message queued(MessageId number, std::string_view payload, std::string_view queue = "q") {
  return posted(MessageKind::kQueue, number, queue, payload);
}

Message continued() {
  Message message = start();
  message.kind = MessageKind::kContinue;
  return message;
}

Message request_handed_on() {
  Message message = cancel("rain");
  message.execution = 1;
  message.ref = 4;
  return message;
}

const Golden kGolden[] = {
    {"retries",
     retries,
     {{start()}, {done(3, "17")}, {failed(2, ErrorKind::kTimeout, "no pump")}, {done(6)}}},
    {"give_back",
     give_back,
     {{start()},
      {queued(1, "a")},
      {fired(4), queued(2, "b")},
      {queued(3, "c"), queued(4, "o", "other")},
      {done(12, "w")}}},
    {"losers",
     losers,
     {{start()}, {fired(4)}, {done(8), posted(MessageKind::kEvent, 1, "stop", "rain")}}},
    {"carried",
     carried,
     {{continued(), queued(3, "a"), queued(4, "b"), queued(7, "c")}, {done(7)}}},
    {"versions", versions, {{start()}, {child_done(3, "b")}}},
    {"basic", basic, {{start()}, {done(4, "17")}, {fired(6)}, {fired(8)}, {done(10, "out")}}},
    {"branches",
     branches,
     {{start()}, {done(5, "b")}, {done(3, "a")}, {fired(9)}, {done(12, "z")}}},
    {"family", family, {{start()}, {child_done(4, "b")}, {child_done(3, "a")}}},
    {"cancelled", cancelled, {{start()}, {cancel("rain")}, {done(5)}}},
    {"cleaned_up", cleaned_up, {{start()}, {cancel("rain")}, {done(6), done(2)}}, 2},
    {"handed_on", handed_on, {{continued(), request_handed_on()}, {done(3)}}, 2},
};

// Returns the last event of each of its turns.
std::vector<EventId> record(const Golden& golden, Bench& bench) {
  std::vector<EventId> ends;
  for (const std::vector<Message>& messages : golden.turns) {
    if (ends.empty()) {
      bench.begin_under(golden.behaviour, golden.function, messages);
    } else {
      bench.go(golden.function, messages);
    }
    ends.push_back(bench.history().last_id());
  }
  return ends;
}

TEST(GoldenHistories, EveryPrefixReplays) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.name);
    if (std::getenv("PAWL_GOLDEN_WRITE") != nullptr && read_file(path_of(golden.name)).empty()) {
      Bench writer;
      record(golden, writer);
      std::ofstream(path_of(golden.name), std::ios::binary) << text_of(writer.history());
    }
    const std::string text = read_file(path_of(golden.name));
    ASSERT_FALSE(text.empty());
    Bench whole;
    load(text, whole.history());
    EXPECT_TRUE(whole.history().ended());
    EXPECT_EQ(text_of(whole.history()), text);
    // The code agrees with whatever is stored before a turn. A turn is stored as a whole, so a part
    // of one is not a prefix.
    Bench again;
    for (const EventId count : record(golden, again)) {
      Bench bench;
      bench.load(whole, count);
      bench.go(golden.function);
      for (EventId id = 1; id <= count; ++id)
        EXPECT_EQ(text_of(bench.history().event(id)), text_of(whole.history().event(id)));
    }
  }
}

// The same messages make the same history.
TEST(GoldenHistories, AreMadeAgain) {
  for (const Golden& golden : kGolden) {
    Bench bench;
    record(golden, bench);
    EXPECT_EQ(text_of(bench.history()), read_file(path_of(golden.name))) << golden.name;
  }
}

TEST(GoldenHistories, ThoseOfANewerEngineAreRefusedByName) {
  Bench recorded;
  recorded.go(basic, {start()});
  Bench bench;
  Event started = recorded.history().event(1);
  started.number = 3;
  ASSERT_EQ(bench.history().append(started, bench.diagnostic()), Status::kOk);
  EXPECT_EQ(bench.turn(basic), Status::kUnsupported);
  EXPECT_EQ(bench.text(), "event 1: recorded by behaviour 3 of the engine, this one knows up to 2");
  EXPECT_EQ(bench.history().last_id(), 1U);
}

}  // namespace
}  // namespace pawl::test
