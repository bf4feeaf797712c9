// Parts of tests about activities that are completed from outside: "ask" gives its token to the
// test and leaves.
#ifndef PAWL_TEST_RUNTIME_OUTSIDE_STORY_HPP
#define PAWL_TEST_RUNTIME_OUTSIDE_STORY_HPP

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl::testing {

class OutsideTest : public CodeTest {
 public:
  using CodeTest::Code;
  static std::string text_of(const Outcome& outcome) {
    if (outcome.ok()) return std::string(outcome.value());
    return error_kind_name(outcome.error().kind) + (": " + std::string(outcome.error().text));
  }

 protected:
  OutsideTest() : CodeTest(31) {
    tokens.clear();
    notes.clear();
    session = WhileOutside::kFreesSession;
    inside = [](ActivityContext&) {};
    add("ask", ask);
    add("note", note);
    EXPECT_EQ(registry.allow_complete_later("ask"), Status::kOk);
  }
  void TearDown() override {
    CodeTest::TearDown();
    inside = nullptr;
  }

  // One "ask" with these options; ends with the outcome's text.
  static Code asks(ActivityOptions how = {}) {
    return [how = std::move(how)](OrchestrationContext& ctx) {
      PAWL_AWAIT(done, ctx.schedule_activity("ask", "q", how));
      return ctx.complete(text_of(done));
    };
  }
  // Starts "i" with the code, and drives until so many tokens were given out.
  void ask_at(const char* node, Code what, std::size_t count = 1) {
    code(std::move(what));
    start_worker(node);
    start("i", "code");
    ASSERT_TRUE(drive_until([&] { return tokens.size() >= count; }));
    pass(100);
  }
  Status complete(std::string_view token, std::string_view result) {
    return client()->complete_activity(token, result);
  }
  Status complete(std::string_view result) { return complete(tokens.back(), result); }
  std::string why() { return std::string(client()->error_text()); }

  // "ask outside 1 1 [] [] []": name, state, attempt, retry, node, progress, last error.
  std::vector<std::string> activities(std::string_view id = "i") {
    std::vector<std::string> all;
    auto keep = visit([&](const ActivityInfo& one) {
      all.push_back(std::string(one.name) + " " + activity_state_name(one.state) + " " +
                    std::to_string(one.attempt) + " " + std::to_string(one.retry_attempt) + " [" +
                    std::string(one.node) + "] [" + std::string(one.last_progress) + "] [" +
                    std::string(one.last_error) + "]");
      since_ms = one.outside_since_ms;
    });
    EXPECT_EQ(client()->list_activities(id, keep), Status::kOk);
    return all;
  }

  static inline std::vector<std::string> tokens;  // of each attempt, in order
  static inline std::vector<std::string> notes;   // inputs of "note", in order of their runs
  static inline WhileOutside session;
  static inline std::function<void(ActivityContext&)> inside;  // called in "ask"
  std::int64_t since_ms = -1;                                  // of the last one listed

 private:
  static ActivityResult ask(ActivityContext& ctx) {
    tokens.emplace_back(ctx.completion_token().view());
    inside(ctx);
    return ctx.complete_later(session);
  }
  static ActivityResult note(ActivityContext& ctx) {
    notes.emplace_back(ctx.input());
    return ctx.ok(ctx.worker_id());
  }
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_OUTSIDE_STORY_HPP
