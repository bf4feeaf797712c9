// Goal: typed values go everywhere that texts go, and a text that is no value of its type is an
// error that names the field.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "story.hpp"

namespace farm {

struct ReadRequest {
  std::int32_t bed = 0;
};
PAWL_JSON(ReadRequest, bed)
struct Reading {
  std::int32_t bed = 0;
  double wet = 0;
};
PAWL_JSON(Reading, bed, wet)
struct Config {
  std::int32_t rounds = 0;
  pawl::JsonText<16> crop;
  std::int32_t beds = 2;  // added by the second release
};
PAWL_JSON(Config, rounds, crop, beds)
PAWL_JSON_DEFAULTS(Config, beds)
struct Report {
  double mean = 0;
  pawl::JsonText<64> notes;
};
PAWL_JSON(Report, mean, notes)
struct Order {
  std::int32_t litres = 0;
  bool urgent = false;  // added by the second release
};
PAWL_JSON(Order, litres, urgent)
PAWL_JSON_DEFAULTS(Order, urgent)
constexpr std::size_t kWideBytes = 7'000;
struct Wide {
  pawl::JsonText<kWideBytes> text;
};
PAWL_JSON(Wide, text)

inline Wide wide_of(std::size_t bytes) {
  Wide wide;
  EXPECT_EQ(wide.text.assign(std::string(bytes, 'x')), pawl::Status::kOk);
  return wide;
}

inline constexpr pawl::ActivityType<ReadRequest, Reading> kRead{"read"};
inline constexpr pawl::ActivityType<pawl::Nothing, pawl::Nothing> kFlush{"flush"};
inline constexpr pawl::ActivityType<std::string_view, std::string_view> kEcho{"echo"};
inline constexpr pawl::ActivityType<Wide, pawl::Nothing> kPrint{"print"};
inline constexpr pawl::ActivityType<Wide, Wide> kRepeat{"repeat"};
inline constexpr pawl::OrchestrationType<Config, Report> kGrow{"grow"};
inline constexpr pawl::OrchestrationType<ReadRequest, Reading> kBed{"bed"};
inline constexpr pawl::EventType<Order> kGo{"go"};
inline constexpr pawl::QueueType<Order> kOrders{"orders"};

}  // namespace farm

namespace pawl {
namespace {

using namespace farm;  // NOLINT(google-build-using-namespace)
using testing::Story;
using testing::Worker;

Reply<Reading> read(ActivityContext& ctx, const ReadRequest& request) {
  if (request.bed < 0) return ctx.fail_permanently("no such bed");
  return Reading{request.bed, request.bed * 0.5};
}
Reply<Nothing> flush(ActivityContext& /*ctx*/, const Nothing& /*input*/) { return Nothing(); }
Reply<std::string_view> echo(ActivityContext& /*ctx*/, const std::string_view& input) {
  return input;
}

// Reads in as many steps as the bed's number says.
struct Steps {
  std::int32_t left;
  bool begun;
};
StepReply<Reading> read_slowly(ActivityContext& ctx, const ReadRequest& request, Steps& steps) {
  if (!steps.begun) {
    EXPECT_EQ(steps.left, 0) << "the state begins as Steps()";
    steps = {request.bed, true};
  }
  if (request.bed < 0) return ctx.fail_permanently("no such bed");
  if (--steps.left > 0) return ctx.again_after(std::chrono::seconds(1));
  return Reading{request.bed, 0.25};
}

PollOf<ReadRequest, Reading> bed(OrchestrationContext& ctx, const ReadRequest& request) {
  PAWL_AWAIT(reading, ctx.schedule_activity(kRead, request, Target::session("bus")));
  if (!reading.ok()) return ctx.fail(reading.error());
  return ctx.complete(reading.value());
}

// Makes every typed call once in each round.
PollOf<Config, Report> grow(OrchestrationContext& ctx, const Config& config) {
  const TypedHandle<Reading> readings[] = {ctx.schedule_activity(kRead, {1}),
                                           ctx.schedule_activity(kRead, {2})};
  PAWL_AWAIT_DONE(ctx.join(readings));
  double sum = 0;
  for (const TypedHandle<Reading>& handle : readings) {
    PAWL_AWAIT(reading, handle);
    sum += reading.value().wet;
  }
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration(kBed, {config.beds}));
  PAWL_AWAIT_DONE(ctx.schedule_activity(kFlush, {}));
  PAWL_AWAIT(order, ctx.dequeue_event(kOrders));
  PAWL_AWAIT(none, ctx.try_dequeue_event(kOrders));
  if (none.error().kind != ErrorKind::kNotFound) return ctx.fail("another order");
  PAWL_AWAIT(go, ctx.schedule_wait(kGo));
  if (!child.ok() || !order.ok() || !go.ok()) return ctx.fail("not ok");
  if (config.rounds > 1) {
    Config next = config;
    --next.rounds;
    return ctx.continue_as_new(next);
  }
  if (ctx.start_orchestration(kBed, InstanceId("detached"), {9}) != ErrorKind::kNone)
    return ctx.fail("not started");
  Report report;
  report.mean = sum + child.value().wet;
  const std::string notes =
      std::string(config.crop.view()) + " " + std::to_string(order.value().litres) +
      (order.value().urgent ? " urgent" : "") + " " + std::to_string(go.value().litres);
  if (report.notes.assign(notes) != Status::kOk) return ctx.fail("long notes");
  return ctx.complete(report);
}

class Typed : public Story {
 protected:
  Typed() {
    EXPECT_EQ(registry.add_activity(kRead, read), Status::kOk);
    EXPECT_EQ(registry.add_activity(kFlush, flush), Status::kOk);
    EXPECT_EQ(registry.add_activity(kEcho, echo), Status::kOk);
    EXPECT_EQ(registry.add_orchestration(kGrow, grow), Status::kOk);
    EXPECT_EQ(registry.add_orchestration(kBed, bed), Status::kOk);
  }
  static Config config(std::int32_t rounds) {
    Config out;
    out.rounds = rounds;
    EXPECT_EQ(out.crop.assign("kale"), Status::kOk);
    return out;
  }
  // Runs code that needs only the context of an orchestration; returns its outcome.
  std::string end_of_code(Orchestration code) {
    add("code", code);
    start_worker();
    start("code", "code");
    return end_of("code");
  }
};

TEST_F(Typed, ValuesGoThroughEveryCall) {
  start_worker();
  ASSERT_EQ(client()->start_orchestration(kGrow, InstanceId("g"), config(2)), Status::kOk);
  for (int round = 0; round < 2; ++round) {
    pass(1'000);
    ASSERT_EQ(client()->enqueue_event("g", kOrders, {5, true}), Status::kOk);
    pass(1'000);
    ASSERT_EQ(client()->raise_event("g", kGo, {6 + round}), Status::kOk);
  }
  EXPECT_EQ(end_of("g"), R"(completed {"mean":2.5,"notes":"kale 5 urgent 7"})");
  EXPECT_EQ(end_of("detached"), R"(completed {"bed":9,"wet":4.5})");
  workers.clear();  // a wait on the thread of a Runtime would wait for itself
  OrchestrationStatus status;
  TypedEnd<Report> end;
  ASSERT_EQ(
      client()->wait_for_orchestration(kGrow, "g", std::chrono::milliseconds(0), &status, &end),
      Status::kOk);
  ASSERT_TRUE(end.value.has_value());
  EXPECT_EQ(end.value->mean, 2.5);
}

TEST_F(Typed, TheRuntimesOwnCallsToo) {
  Worker& worker = start_worker();
  ASSERT_EQ(worker.runtime->start_orchestration(kGrow, InstanceId("g"), config(1)), Status::kOk);
  ASSERT_EQ(worker.runtime->enqueue_event("g", kOrders, {5}), Status::kOk);
  pass(1'000);
  ASSERT_EQ(worker.runtime->raise_event("g", kGo, {8}), Status::kOk);
  EXPECT_EQ(end_of("g"), R"(completed {"mean":2.5,"notes":"kale 5 8"})");
}

// The first release stored these payloads, as texts; the second one has two fields more.
TEST_F(Typed, PayloadsOfAnOlderFormAreRead) {
  start_worker();
  ASSERT_EQ(client()->start_orchestration("grow", InstanceId("g"), R"({"rounds":1,"crop":"leek"})"),
            Status::kOk);
  ASSERT_EQ(client()->enqueue_event("g", "orders", R"({"litres":3})"), Status::kOk);
  pass(1'000);
  ASSERT_EQ(client()->raise_event("g", "go", R"({"litres":4,"by":"newer"})"), Status::kOk);
  EXPECT_EQ(end_of("g"), R"(completed {"mean":2.5,"notes":"leek 3 4"})");
}

TEST_F(Typed, ContinueAsNewAndValuesOfAnOlderFormAreRead) {
  EXPECT_EQ(end_of_code([](OrchestrationContext& ctx) {
              if (ctx.execution_id() == 1) {
                if (ctx.set_kv_value("order", R"({"litres":2})") != ErrorKind::kNone)
                  return ctx.fail("not set");
                return ctx.continue_as_new(R"({"rounds":4,"crop":"leek"})");
              }
              Config config;
              Order order;
              if (from_json(ctx.input(), &config) != Status::kOk) return ctx.fail("input");
              if (ctx.get_kv_value_typed("order", &order) != Status::kOk) return ctx.fail("value");
              return ctx.complete(std::to_string(config.beds + order.litres));
            }),
            "completed 4");
}

TEST_F(Typed, AResultThatIsNoneOfItsTypeNamesTheField) {
  ASSERT_EQ(
      registry.add_activity("other", [](ActivityContext& ctx) { return ctx.ok(R"({"bed":1})"); }),
      Status::kOk);
  EXPECT_EQ(end_of_code([](OrchestrationContext& ctx) {
              constexpr ActivityType<ReadRequest, Reading> kOther{"other"};
              PAWL_AWAIT(reading, ctx.schedule_activity(kOther, {1}));
              if (reading.ok() || reading.value().bed != 0) return ctx.complete("read");
              return ctx.fail(reading.error());
            }),
            "failed bad_payload wet is missing");
}

TEST_F(Typed, AnInputThatIsNoneOfItsTypeIsAnError) {
  start_worker();
  start("o", "bed", R"({"bed":"seven"})");
  EXPECT_EQ(end_of("o"), "failed bad_payload bed is no whole number in its range");
  add("code", [](OrchestrationContext& ctx) {
    ActivityOptions often;
    often.retry.max_attempts = 5;
    PAWL_AWAIT(read_by_text, ctx.schedule_activity("read", "{}", often));
    return ctx.fail(read_by_text.error());
  });
  restart();
  start("a", "code");
  EXPECT_EQ(end_of("a"), "failed application the input: bed is missing");
}

TEST_F(Typed, AnErrorOfAnActivityStaysItsOwn) {
  EXPECT_EQ(end_of_code([](OrchestrationContext& ctx) {
              PAWL_AWAIT(reading, ctx.schedule_activity(kRead, {-1}));
              return ctx.fail(reading.error());
            }),
            "failed application no such bed");
}

TEST_F(Typed, ActivitiesInStepsToo) {
  constexpr ActivityType<ReadRequest, Reading> kSlowly{"slowly"};
  ASSERT_EQ(registry.add_cooperative(kSlowly, read_slowly), Status::kOk);
  StepReply<Reading> (*const none)(ActivityContext&, const ReadRequest&, Steps&) = nullptr;
  EXPECT_EQ(registry.add_cooperative(kRead, none), Status::kInvalidArgument);
  EXPECT_EQ(end_of_code([](OrchestrationContext& ctx) {
              constexpr ActivityType<ReadRequest, Reading> kOfSteps{"slowly"};
              const std::int64_t begun = ctx.now_ms();
              PAWL_AWAIT(reading, ctx.schedule_activity(kOfSteps, {3}));
              if (!reading.ok() || reading.value().wet != 0.25) return ctx.fail("no reading");
              if (ctx.now_ms() - begun != 2'000) return ctx.fail("not three steps");
              PAWL_AWAIT(refused, ctx.schedule_activity(kOfSteps, {-1}));
              if (refused.error().text != "no such bed") return ctx.fail("not refused");
              PAWL_AWAIT(unread, ctx.schedule_activity("slowly", R"({"bed":"x"})"));
              return ctx.fail(unread.error());
            }),
            "failed application the input: bed is no whole number in its range");
}

TEST_F(Typed, OffersGoToAWaitThatIsOpen) {
  add("code", [](OrchestrationContext& ctx) {
    PAWL_AWAIT(order, ctx.schedule_wait(kGo));
    return ctx.complete(std::to_string(order.value().litres));
  });
  Worker& worker = start_worker();
  start("code", "code");
  pass(1'000);
  static bool was_received = false;
  ASSERT_EQ(worker.runtime->offer_event("code", kGo, {7},
                                        [](void*, Status status, bool received) noexcept {
                                          was_received = status == Status::kOk && received;
                                        }),
            Status::kOk);
  EXPECT_EQ(end_of("code"), "completed 7");
  EXPECT_TRUE(was_received);
  workers.clear();  // a wait on the thread of a Runtime would wait for itself
  bool received = false;
  EXPECT_EQ(client()->offer_event("code", kGo, {7}, std::chrono::milliseconds(1), &received),
            Status::kStale);
}

TEST_F(Typed, TextsGoAsTheyAre) {
  EXPECT_EQ(end_of_code([](OrchestrationContext& ctx) {
              PAWL_AWAIT(text, ctx.schedule_activity(kEcho, "no \"JSON\""));
              return ctx.complete(text.value());
            }),
            R"(completed no "JSON")");
}

// A value may be as long as a payload, in every call.
TEST_F(Typed, LongValuesGoByEveryCall) {
  add("ends_wide", [](OrchestrationContext& ctx) {
    PAWL_AWAIT(order, ctx.schedule_wait(EventType<Wide>("go")));
    if (!order.ok()) return ctx.fail(order.error());
    PAWL_AWAIT(queued, ctx.dequeue_event(QueueType<Wide>("orders")));
    if (!queued.ok()) return ctx.fail(queued.error());
    PAWL_AWAIT(result, ctx.schedule_activity(kRepeat, order.value()));
    if (!result.ok()) return ctx.fail(result.error());
    if (ctx.set_kv_value_typed("wide", result.value()) != ErrorKind::kNone)
      return ctx.fail("value");
    return Poll(ctx.complete(result.value()));
  });
  ASSERT_EQ(registry.add_activity(kRepeat,
                                  [](ActivityContext& ctx, const Wide& input) -> Reply<Wide> {
                                    static_cast<void>(ctx);
                                    return input;
                                  }),
            Status::kOk);
  Worker& worker = start_worker();
  start("a", "ends_wide");
  pass(100);
  const Wide wide = wide_of(kWideBytes);
  ASSERT_EQ(client()->raise_event("a", EventType<Wide>("go"), wide), Status::kOk)
      << client()->error_text();
  ASSERT_EQ(worker.runtime->enqueue_event("a", QueueType<Wide>("orders"), wide), Status::kOk);
  const std::string json = R"({"text":")" + std::string(kWideBytes, 'x') + R"("})";
  EXPECT_EQ(end_of("a"), "completed " + json);
  KvEntry entry;
  bool found = false;
  ASSERT_EQ(client()->get_kv_value("a", "wide", &entry, &found), Status::kOk);
  EXPECT_EQ(entry.value, json);
}

TEST_F(Typed, ASenderThatIsNotOpenSaysSo) {
  Client closed;
  Runtime stopped;
  EXPECT_EQ(closed.raise_event("a", kGo, {7}), Status::kStopped);
  EXPECT_EQ(stopped.raise_event("a", kGo, {7}), Status::kStopped);
}

TEST_F(Typed, WhatDoesNotGoAsJsonIsRefused) {
  options.limits.payload_bytes_max = 4'096;
  EXPECT_EQ(
      end_of_code([](OrchestrationContext& ctx) {
        const Wide wide = wide_of(5'000);
        PAWL_AWAIT(printed, ctx.schedule_activity(kPrint, wide));
        if (printed.error().kind != ErrorKind::kBadPayload) return ctx.fail("no refusal");
        return ctx.fail(printed.error());
      }),
      "failed bad_payload the value is longer than payload_bytes_max as JSON, or has a number "
      "that JSON has not");
  ClientOptions small = client_options;
  small.payload_bytes_max = 4'096;
  testing::TestClient sender(machine, testing::kPath, small);
  EXPECT_EQ(sender->raise_event("code", EventType<Wide>("go"), wide_of(5'000)),
            Status::kResourceExhausted);
}

// ---- ranges, and the pointer of an orchestration ----

TEST_F(Typed, JoinsAndSelectsTakeRanges) {
  EXPECT_EQ(end_of_code([](OrchestrationContext& ctx) {
              const std::array<TypedHandle<Reading>, 2> fixed = {ctx.schedule_activity(kRead, {1}),
                                                                 ctx.schedule_activity(kRead, {2})};
              std::vector<Handle> many;
              for (int i = 3; i < 8; ++i)
                many.push_back(ctx.schedule_activity(kRead, {i}));
              const Handle bare[] = {ctx.join(fixed), ctx.join(many)};
              PAWL_AWAIT_DONE(ctx.join(bare));
              PAWL_AWAIT(last, many[4]);
              PAWL_AWAIT(first, fixed[0]);
              const std::vector<Handle> none;
              PAWL_AWAIT_DONE(ctx.join(none));
              const Handle race[] = {ctx.schedule_timer(std::chrono::hours(1)),
                                     ctx.schedule_timer(std::chrono::seconds(1))};
              PAWL_AWAIT(won, ctx.select(race));
              return ctx.complete(std::string(last.value()) + std::to_string(first.value().bed) +
                                  std::to_string(won.index()));
            }),
            R"(completed {"bed":7,"wet":3.5}11)");
}

TEST_F(Typed, AnOrchestrationHasThePointerOfItsRegistration) {
  struct Settings {
    const char* greeting;
  } settings = {"hello"};
  const auto greets = [](OrchestrationContext& ctx) {
    const Handle branch = ctx.open_branch([](OrchestrationContext& own) {
      return own.complete(static_cast<Settings*>(own.user())->greeting);
    });
    PAWL_AWAIT(greeting, branch);
    return ctx.complete(greeting.value());
  };
  ASSERT_EQ(registry.add_orchestration("greets", greets, "1.0.0", &settings), Status::kOk);
  ASSERT_EQ(
      registry.add_orchestration("plain",
                                 [](OrchestrationContext& ctx) {
                                   return ctx.complete(ctx.user() == nullptr ? "none" : "one");
                                 }),
      Status::kOk);
  start_worker();
  start("a", "greets");
  start("b", "plain");
  EXPECT_EQ(end_of("a"), "completed hello");
  EXPECT_EQ(end_of("b"), "completed none");
}

}  // namespace
}  // namespace pawl
