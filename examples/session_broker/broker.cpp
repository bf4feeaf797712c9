#include "broker.hpp"

#include <algorithm>
#include <string>

namespace session_broker {
namespace {

using pawl::ErrorKind;
using pawl::OrchestrationContext;
using pawl::Poll;

constexpr int kRoundsAnExecution = 20;
constexpr std::int64_t kAnswerMsMax = 60'000;
constexpr std::int32_t kWarnBefore = 3;

// Only workers that have this kind of agent take it; in later executions that is so already.
pawl::Session open(OrchestrationContext& ctx, const Thread& thread) {
  pawl::SessionSettings settings;
  settings.owner_label = thread.owner.view();
  settings.kind = kSession;
  settings.exclusive = true;
  settings.notify = true;
  const pawl::Session session = ctx.open_session(kSession, settings);
  const bool is_new = thread.messages == 0;
  if (is_new && ctx.handoff_session(session, thread.kind.view()) != ErrorKind::kNone)
    return pawl::Session();  // nothing can be scheduled on it
  return session;
}

// Into the thread. Any worker does it, so it says what happened to the agent's one, too.
Poll post(OrchestrationContext& ctx, const std::string& text) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("post", text));
  return Poll::done();
}

// `about`: "summary", or "prompt" with its number and text.
pawl::Handle ask(OrchestrationContext& ctx, const std::string& about) {
  pawl::ActivityOptions options;
  options.target = pawl::Target::own(kSession);
  options.start_to_close = std::chrono::milliseconds(kAnswerMsMax);
  options.retry.max_attempts = 3;
  options.retry.base = std::chrono::milliseconds(100);
  return ctx.schedule_activity("ask", about, options);
}

// No more than so many in any 60 seconds.
bool is_too_fast(Thread& thread, std::int64_t now_ms) {
  constexpr std::int32_t kKept = sizeof thread.recent_ms / sizeof thread.recent_ms[0];
  const std::int32_t limit = std::clamp(thread.messages_a_minute, std::int32_t{1}, kKept);
  if (thread.messages >= limit &&
      now_ms - thread.recent_ms[(thread.messages - limit) % kKept] < 60'000)
    return true;
  thread.recent_ms[thread.messages % kKept] = now_ms;
  return false;
}

// To an agent of another kind, which gets what this one has to say of the thread.
Poll hand_over(OrchestrationContext& ctx, Thread& thread, const pawl::Session& session,
               std::string_view kind) {
  if (!is_kind(kind) || kind == thread.kind.view()) {
    PAWL_CALL(post(ctx, "There is no other agent of that kind."));
    return Poll::done();
  }
  PAWL_AWAIT(summary, ask(ctx, "summary"));
  const std::string_view text = summary.ok() ? summary.value() : "nothing";
  if (ctx.handoff_session(session, kind, text) != ErrorKind::kNone) {
    PAWL_CALL(post(ctx, "The handoff was refused."));
    return Poll::done();
  }
  static_cast<void>(thread.kind.assign(kind));
  thread.asked = 0;
  PAWL_CALL(post(ctx, "Handed over to the " + std::string(kind) + "."));
  return Poll::done();
}

// `over`: why the thread ends; empty: it goes on.
Poll prompt(OrchestrationContext& ctx, Thread& thread, std::string_view text, std::string* over) {
  ++thread.asked;
  PAWL_AWAIT(answer, ask(ctx, "prompt " + std::to_string(thread.asked) + " " + std::string(text)));
  if (answer.ok()) {
    PAWL_CALL(post(ctx, std::string(answer.value())));
  } else {
    // kLimit: the owner has as many threads as one may; the text says which of them could go.
    const bool refused = answer.error().kind == ErrorKind::kLimit;
    if (refused) *over = "refused";
    PAWL_CALL(post(
        ctx, (refused ? "No agent: " : "The agent failed: ") + std::string(answer.error().text)));
  }
  if (over->empty() && thread.messages == thread.messages_max - kWarnBefore)
    PAWL_CALL(post(ctx, "⚠️ This session is long. Use /handoff or /close soon."));
  if (over->empty() && thread.messages >= thread.messages_max) {
    *over = "full";
    PAWL_CALL(post(ctx, "Session closed: it is full."));
  }
  return Poll::done();
}

Poll on_message(OrchestrationContext& ctx, Thread& thread, const pawl::Session& session,
                std::string_view message, std::string* over) {
  const std::string_view user = message.substr(0, message.find(' '));
  const std::string_view text = message.substr(std::min(message.size(), user.size() + 1));
  constexpr std::string_view kHandoff = "/handoff ";
  if (text.substr(0, kHandoff.size()) == kHandoff) {
    if (user != thread.owner.view()) {
      PAWL_CALL(post(ctx, "Only " + std::string(thread.owner.view()) + " may do that."));
    } else {
      PAWL_CALL(hand_over(ctx, thread, session, text.substr(kHandoff.size())));
    }
    return Poll::done();
  }
  if (is_too_fast(thread, ctx.now_ms())) {
    PAWL_CALL(post(ctx, "⏳ Rate limited, please wait."));
    return Poll::done();
  }
  ++thread.messages;
  thread.spoke_ms = ctx.now_ms();
  return prompt(ctx, thread, text, over);
}

bool is_change(std::string_view change, std::string_view which) {
  return change.find("\"change\":\"" + std::string(which) + "\"") != std::string_view::npos;
}

// The session's owner changed. Where it goes does not matter here, but for these.
Poll on_change(OrchestrationContext& ctx, std::string_view change, std::string* over) {
  if (is_change(change, "ending")) PAWL_CALL(post(ctx, "🔄 Broker restarting..."));
  if (is_change(change, "closed")) {
    *over = "closed";
    PAWL_CALL(post(ctx, "Session closed."));
  }
  return Poll::done();
}

}  // namespace

bool is_kind(std::string_view word) {
  return std::find(std::begin(kKinds), std::end(kKinds), word) != std::end(kKinds);
}

Poll broker(OrchestrationContext& ctx) {
  Thread thread;
  pawl::Diagnostic why;
  if (pawl::from_json(ctx.input(), &thread, &why) != pawl::Status::kOk) return ctx.fail(why.text());
  if (!is_kind(thread.kind.view())) return ctx.fail("no such kind of agent");
  if (thread.began_ms == 0) thread.began_ms = thread.spoke_ms = ctx.now_ms();
  const pawl::Session session = open(ctx, thread);

  std::string over;
  for (int round = 0; round < kRoundsAnExecution && over.empty(); ++round) {
    const std::int64_t idle_end_ms = thread.spoke_ms + thread.idle_ms;
    const std::int64_t end_ms = std::min(idle_end_ms, thread.began_ms + thread.age_ms_max);
    PAWL_AWAIT(next,
               ctx.select(ctx.dequeue_event(kQueue), ctx.session_events(session),
                          ctx.schedule_timer(std::chrono::milliseconds(end_ms - ctx.now_ms()))));
    if (next.cancelled()) {
      over = "cancelled";
    } else if (next.index() == 0) {
      PAWL_CALL(on_message(ctx, thread, session, next.value(), &over));
    } else if (next.index() == 1) {
      PAWL_CALL(on_change(ctx, next.value(), &over));
    } else {
      over = "expired";
      PAWL_CALL(post(ctx, end_ms == idle_end_ms ? "⏰ Session expired due to inactivity"
                                                : "⏰ Session expired: it was open for too long"));
    }
  }
  if (!over.empty()) {
    if (ctx.close_session(kSession) != ErrorKind::kNone) return ctx.fail(over);
    return ctx.complete(over);
  }
  char state[kThreadBytesMax];
  std::size_t size = 0;
  if (pawl::to_json(thread, state, sizeof state, &size, &why) != pawl::Status::kOk)
    return ctx.fail(why.text());
  return ctx.continue_as_new({state, size});
}

}  // namespace session_broker
