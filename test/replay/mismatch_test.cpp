// Code that does not match its history is stopped; the error names both sides, and nothing is
// appended.
//
// Method: one function makes a history, another one replays it; they differ in one thing.
#include <chrono>
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

using std::chrono::milliseconds;

// `second` replays, with `messages`, what `first` recorded. Returns the text of the error.
std::string mismatch(Orchestration first, Orchestration second,
                     std::vector<Message> messages = {}) {
  Bench bench;
  bench.go(first, {start()});
  const std::string before = bench.all();
  const Status status = bench.turn(second, std::move(messages));
  EXPECT_EQ(status, Status::kNondeterminism) << status_name(status);
  EXPECT_EQ(bench.all(), before) << "something was appended";
  return bench.text();
}

Poll activity(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("read", "a"));
  return ctx.complete(result.value());
}

Poll on_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("read", "a", Target::session("bed-1")));
  return ctx.complete(result.value());
}

Poll timer(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(5)));
  return ctx.complete("");
}

// Rules: R3.1.
TEST(Mismatch, Kind) {
  EXPECT_EQ(mismatch(activity, timer),
            "event 2 (branch 0, ordinal 0): kind differs: history has activity \"read\" hash "
            "270785c39e088cf5, the code issues timer \"\" hash d8ae5c191d4d0413");
}

// Rules: R3.1.
TEST(Mismatch, Name) {
  const std::string text = mismatch(activity, [](OrchestrationContext& ctx) {
    PAWL_AWAIT(result, ctx.schedule_activity("write", "a"));
    return ctx.complete(result.value());
  });
  EXPECT_NE(text.find("name differs: history has activity \"read\""), std::string::npos) << text;
  EXPECT_NE(text.find("the code issues activity \"write\""), std::string::npos) << text;
}

// Rules: R3.1.
TEST(Mismatch, Input) {
  const std::string text = mismatch(activity, [](OrchestrationContext& ctx) {
    PAWL_AWAIT(result, ctx.schedule_activity("read", "b"));
    return ctx.complete(result.value());
  });
  EXPECT_EQ(text,
            "event 2 (branch 0, ordinal 0): input differs: history has activity \"read\" with "
            "\"a\", the code \"b\"");
}

// ---- both payloads are shown ----

std::string& shown_input() {
  static std::string input;
  return input;
}

Poll reads_shown(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("read", shown_input()));
  return ctx.complete("");
}

// History has the first input, the code the second one. Returns what is behind "with".
std::string shown(const std::string& first, const std::string& second) {
  Bench bench;
  shown_input() = first;
  bench.go(reads_shown, {start()});
  shown_input() = second;
  EXPECT_EQ(bench.turn(reads_shown, {}), Status::kNondeterminism);
  const std::size_t begin = bench.text().find(" with ");
  EXPECT_NE(begin, std::string::npos) << bench.text();
  EXPECT_LT(bench.text().size(), Diagnostic::kCapacity - 1) << "nothing was cut behind them";
  return begin == std::string::npos ? "" : bench.text().substr(begin + 6);
}

// Rules: R3.1.
TEST(Mismatch, ShortInputsAreShownWhole) {
  EXPECT_EQ(shown("{\"bed\":7,\"litres\":12}", "{\"bed\":7,\"litres\":13}"),
            "\"{\"bed\":7,\"litres\":12}\", the code \"{\"bed\":7,\"litres\":13}\"");
  EXPECT_EQ(shown("", "a"), "\"\", the code \"a\"");
  EXPECT_EQ(shown("ab", "a"), "\"ab\", the code \"a\"");
}

// Rules: R3.1.
TEST(Mismatch, LongInputsAreCutAroundTheDifference) {
  const std::string same(1'000, 's');
  const std::string dots = "\"..." + std::string(16, 's');
  EXPECT_EQ(shown(same + "a", same + "b"), dots + "a\", the code " + dots + "b\"");
  EXPECT_EQ(shown(same, same + "b"), dots + "\", the code " + dots + "b\"");
  const std::string much(1'000, 'x');
  EXPECT_EQ(shown(same + "a" + much, same + "b"),
            dots + "a" + std::string(55, 'x') + "...\", the code " + dots + "b\"");
  EXPECT_EQ(shown("a" + much, "b" + much),
            "\"a" + std::string(71, 'x') + "...\", the code \"b" + std::string(71, 'x') + "...\"");
}

// Rules: R3.1.
TEST(Mismatch, CutsAreBetweenCharacters) {
  const std::string umlaut = "\xc3\xa4";
  std::string all;
  for (int i = 0; i < 200; ++i)
    all += umlaut;
  for (const std::string& before : {std::string(), std::string("x")}) {
    const std::string text = shown(before + all + "a" + all, before + all + "b" + all);
    EXPECT_EQ(text.find("\\x"), std::string::npos) << text;
    EXPECT_NE(text.find(umlaut + "a" + umlaut), std::string::npos) << text;
    EXPECT_NE(text.find(umlaut + "b" + umlaut), std::string::npos) << text;
    EXPECT_NE(text.find(umlaut + "...\""), std::string::npos) << text;
  }
}

// Rules: R3.1.
TEST(Mismatch, BytesThatAreNoTextAreEscaped) {
  using std::string_literals::operator""s;
  EXPECT_EQ(shown("a\0\n"s, "a\x1b[0m"s), "\"a\\x00\\n\", the code \"a\\x1b[0m\"");
  const std::string zeros(500, '\0');
  const std::string text = shown(zeros + "a" + zeros, zeros + "b" + zeros);
  EXPECT_NE(text.find("\\x00a\\x00...\""), std::string::npos) << text;
  EXPECT_NE(text.find("\\x00b\\x00...\""), std::string::npos) << text;
  EXPECT_EQ(shown(std::string(300, '\x80') + "a", std::string(300, '\x80') + "b"),
            "\"...a\", the code \"...b\"");
}

// Rules: R3.1.
TEST(Mismatch, ALongNameLeavesRoomForBothInputs) {
  static std::string name;
  name = std::string(47, 'n') + "\xc3\xa4" + std::string(200, 'n');
  static std::string input;
  const Orchestration code = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity(name, input));
    return ctx.complete("");
  };
  Bench bench;
  input = "a" + std::string(1'000, 'x');
  bench.go(code, {start()});
  input = "b" + std::string(1'000, 'x');
  EXPECT_EQ(bench.turn(code, {}), Status::kNondeterminism);
  const std::string text = bench.text();
  EXPECT_NE(text.find(std::string(47, 'n') + "\" with \"a"), std::string::npos) << text;
  EXPECT_NE(text.find("the code \"b" + std::string(71, 'x') + "...\""), std::string::npos) << text;
}

// Rules: R3.1.
TEST(Mismatch, ValuesStatusAndSummaryAreShown) {
  using Code = Orchestration;
  const auto differ = [](Code first, Code second, const char* expected) {
    const std::string text = mismatch(first, second);
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  };
  const Code value = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_kv_value("k", "one"), ErrorKind::kNone);
    return activity(ctx);
  };
  const Code other_value = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_kv_value("k", "two"), ErrorKind::kNone);
    return activity(ctx);
  };
  const Code cleared = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.clear_kv_value("k"), ErrorKind::kNone);
    return activity(ctx);
  };
  differ(value, other_value,
         "value differs: history has state_write \"k\" with \"one\", the code "
         "\"two\"");
  differ(value, cleared, "whether it clears the value differs: history has state_write \"k\" hash");
  const Code status = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_custom_status("one"), ErrorKind::kNone);
    return activity(ctx);
  };
  const Code other_status = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_custom_status("two"), ErrorKind::kNone);
    return activity(ctx);
  };
  differ(status, other_status, "with \"one\", the code \"two\"");
  const Code hands = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.handoff_session("s", "", "one"), ErrorKind::kNone);
    return activity(ctx);
  };
  const Code hands_other = [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.handoff_session("s", "", "two"), ErrorKind::kNone);
    return activity(ctx);
  };
  differ(hands, hands_other,
         "summary differs: history has session_handoff \"s\" with \"one\", the "
         "code \"two\"");
}

// Rules: R3.1.
TEST(Mismatch, SessionChanged) {
  const std::string text = mismatch(on_session, [](OrchestrationContext& ctx) {
    PAWL_AWAIT(result, ctx.schedule_activity("read", "a", Target::session("bed-2")));
    return ctx.complete(result.value());
  });
  EXPECT_NE(text.find("session differs"), std::string::npos) << text;
}

TEST(Mismatch, SessionRemovedOrAdded) {
  EXPECT_NE(mismatch(on_session, activity).find("session differs"), std::string::npos);
  EXPECT_NE(mismatch(activity, on_session).find("session differs"), std::string::npos);
}

Poll shows(OrchestrationContext& ctx) {
  EXPECT_EQ(ctx.set_custom_status("open"), ErrorKind::kNone);
  return activity(ctx);
}

TEST(Mismatch, CustomStatus) {
  const std::string changed = mismatch(shows, [](OrchestrationContext& ctx) {
    EXPECT_EQ(ctx.set_custom_status("shut"), ErrorKind::kNone);
    return activity(ctx);
  });
  EXPECT_NE(changed.find("input differs: history has custom_status"), std::string::npos) << changed;
  EXPECT_NE(mismatch(shows, activity).find("kind differs: history has custom_status"),
            std::string::npos);
  EXPECT_NE(mismatch(activity, shows).find("the code issues custom_status"), std::string::npos);
}

ActivityOptions g_options;

Poll with_options(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("read", "a", g_options));
  return ctx.complete(result.value());
}

// Rules: R3.1.
TEST(Mismatch, EachOptionOfAnActivity) {
  ActivityOptions recorded;
  recorded.target = Target::session("bed-1");
  recorded.tag = "gpu";
  recorded.retry = {5, Backoff::kFixed, std::chrono::seconds(1), std::chrono::seconds(2), 10};
  recorded.start_to_close = recorded.schedule_to_close = std::chrono::seconds(9);
  recorded.schedule_to_start = std::chrono::seconds(9);
  const auto differs = [&](auto change) {
    Bench bench;
    g_options = recorded;
    bench.go(with_options, {start()});
    change(g_options);
    EXPECT_EQ(bench.turn(with_options), Status::kNondeterminism);
    const std::string text = bench.text();
    const std::size_t begin = text.find("): ") + 3;
    return text.substr(begin, text.find(" differs") - begin);
  };
  using Options = ActivityOptions;
  EXPECT_EQ(differs([](Options& o) { o.target = Target::session("bed-2"); }), "session");
  EXPECT_EQ(differs([](Options& o) { o.tag = "radio"; }), "tag");
  EXPECT_EQ(differs([](Options& o) { o.tag = ""; }), "tag");
  EXPECT_EQ(differs([](Options& o) { o.retry.max_attempts = 6; }), "retry.max_attempts");
  EXPECT_EQ(differs([](Options& o) { o.retry.max_attempts = 1; }), "retry.max_attempts");
  EXPECT_EQ(differs([](Options& o) { o.retry.backoff = Backoff::kLinear; }), "retry.backoff");
  EXPECT_EQ(differs([](Options& o) { o.retry.base = std::chrono::milliseconds(1'001); }),
            "retry.base");
  EXPECT_EQ(differs([](Options& o) { o.retry.cap = std::chrono::milliseconds(2'001); }),
            "retry.cap");
  EXPECT_EQ(differs([](Options& o) { o.retry.jitter_percent = 0; }), "retry.jitter_percent");
  EXPECT_EQ(differs([](Options& o) { o.start_to_close = std::chrono::milliseconds(0); }),
            "start_to_close");
  EXPECT_EQ(differs([](Options& o) { o.schedule_to_close = std::chrono::milliseconds(1); }),
            "schedule_to_close");
  EXPECT_EQ(differs([](Options& o) { o.schedule_to_start = std::chrono::milliseconds(1); }),
            "schedule_to_start");
}

TEST(Mismatch, OptionsAddedOrRemoved) {
  g_options = ActivityOptions();
  g_options.tag = "gpu";
  EXPECT_NE(mismatch(activity, with_options).find("tag differs"), std::string::npos);
  EXPECT_NE(mismatch(with_options, activity).find("tag differs"), std::string::npos);
  g_options = ActivityOptions();
  g_options.schedule_to_start = std::chrono::milliseconds(5);
  EXPECT_NE(mismatch(activity, with_options).find("schedule_to_start differs"), std::string::npos);
  EXPECT_NE(mismatch(with_options, activity).find("schedule_to_start differs"), std::string::npos);
}

TEST(Mismatch, DefaultOptionsAreNone) {
  g_options = ActivityOptions();
  Bench bench;
  bench.go(activity, {start()}).go(with_options);
}

TEST(Mismatch, OptionsOutOfRangeScheduleNothing) {
  g_options = ActivityOptions();
  g_options.retry.max_attempts = 0;
  Bench bench;
  bench.go(
      [](OrchestrationContext& ctx) {
        PAWL_AWAIT(result, ctx.schedule_activity("read", "a", g_options));
        return ctx.complete(error_kind_name(result.error().kind));
      },
      {start()});
  EXPECT_EQ(bench.all(), "1 started\n2 ended completed = invalid_argument\n");
}

TEST(Mismatch, TimerDuration) {
  const std::string text = mismatch(timer, [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(6)));
    return ctx.complete("");
  });
  EXPECT_NE(text.find("duration differs"), std::string::npos) << text;
}

TEST(Mismatch, TimerBase) {
  const std::string text = mismatch(timer, [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer_at(5));
    return ctx.complete("");
  });
  EXPECT_NE(text.find("time base differs"), std::string::npos) << text;
}

TEST(Mismatch, GuidForUtcNow) {
  const Orchestration with_guid = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.new_guid());
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  const Orchestration with_time = [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.utc_now_ms());
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  EXPECT_NE(mismatch(with_guid, with_time).find("history has guid"), std::string::npos);
  EXPECT_NE(mismatch(with_time, with_guid).find("history has utc_now"), std::string::npos);
}

// Awaits two activities, in one or the other order, before a third one.
template <bool kSwapped>
Poll await_two(OrchestrationContext& ctx) {
  const Handle first = ctx.schedule_activity("a", "");
  const Handle second = ctx.schedule_activity("b", "");
  PAWL_AWAIT_DONE(kSwapped ? second : first);
  PAWL_AWAIT_DONE(kSwapped ? first : second);
  PAWL_AWAIT_DONE(ctx.schedule_activity("c", ""));
  return ctx.complete("");
}

// Rules: R9.4.
TEST(Mismatch, AwaitsSwapped) {
  Bench bench;
  bench.go(await_two<false>, {start()}).go(await_two<false>, {done(2), done(3)});
  EXPECT_EQ(bench.turn(await_two<true>), Status::kNondeterminism);
  EXPECT_NE(bench.text().find("what was awaited before it differs"), std::string::npos)
      << bench.text();
}

Poll await_one_of_two(OrchestrationContext& ctx) {
  static_cast<void>(ctx.schedule_activity("a", ""));
  const Handle second = ctx.schedule_activity("b", "");
  PAWL_AWAIT_DONE(second);
  PAWL_AWAIT_DONE(ctx.schedule_activity("c", ""));
  return ctx.complete("");
}

// Rules: R9.4.
TEST(Mismatch, AwaitRemoved) {
  Bench bench;
  bench.go(await_two<false>, {start()}).go(await_two<false>, {done(2), done(3)});
  EXPECT_EQ(bench.turn(await_one_of_two), Status::kNondeterminism);
  EXPECT_NE(bench.text().find("what was awaited before it differs"), std::string::npos)
      << bench.text();
}

// Rules: R2.5.
TEST(Mismatch, CommandIssuedOnlyAfterWhatFollowedIt) {
  const Orchestration both_first = [](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("a", "");
    const Handle second = ctx.schedule_activity("b", "");
    PAWL_AWAIT_DONE(first);
    PAWL_AWAIT_DONE(second);
    return ctx.complete("");
  };
  const Orchestration one_by_one = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    PAWL_AWAIT_DONE(ctx.schedule_activity("b", ""));
    return ctx.complete("");
  };
  const std::string text = mismatch(both_first, one_by_one, {done(2)});
  EXPECT_NE(text.find("what was awaited before it differs"), std::string::npos) << text;
}

// Rules: R6.1.
TEST(Mismatch, CommandRemoved_TheCodeWaits) {
  const Orchestration two = [](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("a", "");
    static_cast<void>(ctx.schedule_activity("b", "in"));
    PAWL_AWAIT_DONE(first);
    return ctx.complete("");
  };
  const Orchestration one = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
    return ctx.complete("");
  };
  const std::string text = mismatch(two, one);
  EXPECT_NE(text.find("event 3 (branch 0, ordinal 1): history has activity \"b\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the code waits before it"), std::string::npos) << text;
}

// Rules: R6.1.
TEST(Mismatch, EarlyFinish) {
  const std::string text =
      mismatch(activity, [](OrchestrationContext& ctx) { return ctx.complete("early"); });
  EXPECT_NE(text.find("event 2 (branch 0, ordinal 0): history has activity \"read\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the code ends before it"), std::string::npos) << text;
}

// Rules: R5.2.
TEST(Mismatch, CommandAddedBeforeWhatIsRecorded) {
  const Orchestration longer = [](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("read", "a");
    static_cast<void>(ctx.schedule_activity("extra", ""));
    PAWL_AWAIT(result, first);
    return ctx.complete(result.value());
  };
  const std::string text = mismatch(activity, longer, {done(2)});
  EXPECT_NE(text.find("after event 1 (branch 0, ordinal 1): the code issues activity \"extra\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("where history goes on without it"), std::string::npos) << text;
}

// A turn took a completion that the code does not wait for yet, and recorded no command. So a
// command that does not depend on the completion would have been recorded before it.
Poll both(OrchestrationContext& ctx) {
  const Handle first = ctx.schedule_activity("a", "");
  const Handle second = ctx.schedule_activity("b", "");
  PAWL_AWAIT_DONE(second);
  PAWL_AWAIT_DONE(first);
  return ctx.complete("");
}

std::string mismatch_after_a_turn_without_commands(Orchestration second) {
  Bench bench;
  bench.go(both, {start()}).go(both, {done(2)});
  EXPECT_EQ(bench.turn(second, {done(3)}), Status::kNondeterminism);
  EXPECT_EQ(bench.history().last_id(), 4U);
  return bench.text();
}

// Rules: R2.6.
TEST(Mismatch, CommandAddedWhereATurnRecordedNothing) {
  const std::string text = mismatch_after_a_turn_without_commands([](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("a", "");
    const Handle second = ctx.schedule_activity("b", "");
    PAWL_AWAIT_DONE(first);
    PAWL_AWAIT_DONE(ctx.schedule_activity("extra", ""));
    PAWL_AWAIT_DONE(second);
    return ctx.complete("");
  });
  EXPECT_NE(text.find("after event 4 (branch 0, ordinal 2): the code issues activity \"extra\""),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("where history goes on without it"), std::string::npos) << text;
}

// Rules: R2.6.
TEST(Mismatch, EndWhereTheCodeWaited) {
  const std::string text = mismatch_after_a_turn_without_commands([](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("a", "");
    static_cast<void>(ctx.schedule_activity("b", ""));
    PAWL_AWAIT_DONE(first);
    return ctx.complete("");
  });
  EXPECT_EQ(text, "after event 4: the code ends as completed where it waited in an earlier turn");
}

TEST(Mismatch, EndInsteadOfAPendingAwait) {
  const std::string text = mismatch(activity, [](OrchestrationContext& ctx) {
    static_cast<void>(ctx.schedule_activity("read", "a"));
    return ctx.complete("");
  });
  EXPECT_EQ(text, "after event 1: the code ends as completed where it waited in an earlier turn");
}

TEST(Mismatch, LongNamesStillShowBothSides) {
  const Orchestration long_a = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity(std::string(256, 'a'), ""));
    return ctx.complete("");
  };
  const Orchestration long_b = [](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity(std::string(256, 'b'), ""));
    return ctx.complete("");
  };
  const std::string text = mismatch(long_a, long_b);
  EXPECT_NE(text.find("aaaa"), std::string::npos);
  EXPECT_NE(text.find("bbbb"), std::string::npos);
}

// ---- verify ----

int static_counter = 0;

// Rules: R9.3.
TEST(Verify, CatchesAStaticCounterInAnInput) {
  static_counter = 0;
  Bench bench;
  EXPECT_EQ(bench.turn(
                [](OrchestrationContext& ctx) {
                  PAWL_AWAIT_DONE(ctx.schedule_activity("a", std::to_string(static_counter++)));
                  return ctx.complete("");
                },
                {start()}),
            Status::kNondeterminism);
  EXPECT_NE(bench.text().find("input differs"), std::string::npos) << bench.text();
  EXPECT_NE(bench.text().find("with \"0\", the code \"1\""), std::string::npos) << bench.text();
  EXPECT_EQ(bench.history().last_id(), 0U);
}

TEST(Verify, CatchesACommandOfTheSecondRunOnly) {
  static_counter = 0;
  Bench bench;
  EXPECT_EQ(bench.turn(
                [](OrchestrationContext& ctx) {
                  const Handle first = ctx.schedule_activity("a", "");
                  if (static_counter++ == 1) static_cast<void>(ctx.schedule_activity("b", ""));
                  PAWL_AWAIT_DONE(first);
                  return ctx.complete("");
                },
                {start()}),
            Status::kNondeterminism);
  EXPECT_NE(bench.text().find("in a second run over the same history"), std::string::npos)
      << bench.text();
}

// Rules: R9.3.
TEST(Verify, CatchesAnotherOutput) {
  static_counter = 0;
  Bench bench;
  EXPECT_EQ(
      bench.turn(
          [](OrchestrationContext& ctx) { return ctx.complete(std::to_string(static_counter++)); },
          {start()}),
      Status::kNondeterminism);
  EXPECT_EQ(
      bench.text(),
      "event 2 (branch 0, ordinal 0): payload differs: history has completed \"\" with \"0\", "
      "the code \"1\"");
}

TEST(Verify, CatchesAnEndOfOneRunOnly) {
  for (int ends_in = 0; ends_in < 2; ++ends_in) {
    static_counter = ends_in;
    Bench bench;
    EXPECT_EQ(bench.turn(
                  [](OrchestrationContext& ctx) {
                    const Handle handle = ctx.schedule_activity("a", "");
                    if (static_counter++ == 1) return ctx.complete("");
                    PAWL_AWAIT_DONE(handle);
                    return ctx.complete("");
                  },
                  {start()}),
              Status::kNondeterminism);
    EXPECT_EQ(bench.history().last_id(), 0U);
  }
}

// Rules: R9.3.
TEST(Verify, CatchesAnotherAwait) {
  static_counter = 0;
  Bench bench;
  const Orchestration function = [](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("a", "");
    const Handle second = ctx.schedule_activity("b", "");
    if (ctx.is_replaying() || static_counter++ == 0) PAWL_AWAIT_DONE(first);
    PAWL_AWAIT_DONE(second);
    return ctx.complete("");
  };
  EXPECT_EQ(bench.turn(function, {start()}), Status::kOk) << "nothing was received in either run";
  static_counter = 0;
  EXPECT_EQ(bench.turn(
                [](OrchestrationContext& ctx) {
                  const Handle first = ctx.schedule_activity("a", "");
                  const Handle second = ctx.schedule_activity("b", "");
                  if (static_counter++ == 0) PAWL_AWAIT_DONE(first);
                  PAWL_AWAIT_DONE(second);
                  return ctx.complete("");
                },
                {done(2)}),
            Status::kNondeterminism);
  EXPECT_NE(bench.text().find("by other awaits"), std::string::npos) << bench.text();
}

}  // namespace
}  // namespace pawl::test
