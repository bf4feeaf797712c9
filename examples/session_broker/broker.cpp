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

// The session itself counts, slows down and ends: its limits are the same for all workers, whatever
// is killed.
pawl::SessionSettings settings_of(const Thread& thread) {
  pawl::SessionSettings settings;
  settings.owner_label = thread.owner.view();
  settings.kind = kSession;
  settings.exclusive = true;
  settings.notify = true;
  settings.idle_close = std::chrono::milliseconds(thread.idle_ms);
  settings.max_age = std::chrono::milliseconds(thread.age_ms_max);
  settings.rate_burst = std::max(thread.messages_a_minute, std::int32_t{1});
  settings.rate_interval = std::chrono::milliseconds(60'000 / settings.rate_burst);
  settings.max_activities = thread.messages_max;
  settings.activity_warning = std::max(thread.messages_max - kWarnBefore, 0);
  return settings;
}

// Posts into the thread. Any worker can do it, so a post may also report the end of the agent's
// worker.
Poll post(OrchestrationContext& ctx, const std::string& text) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("post", text));
  return Poll::done();
}

// Asks the agent. `about`: "summary", or "prompt" with its number and text.
pawl::Handle ask(OrchestrationContext& ctx, const std::string& about) {
  pawl::ActivityOptions options;
  options.target = pawl::Target::own(kSession);
  options.start_to_close = std::chrono::milliseconds(kAnswerMsMax);
  options.retry.max_attempts = 3;
  options.retry.base = std::chrono::milliseconds(100);
  return ctx.schedule_activity("ask", about, options);
}

// Hands the thread to an agent of another kind, which gets this agent's summary of it.
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

// Posts the agent's answer to a message. `over`: why the thread ends; empty: it goes on.
Poll prompt(OrchestrationContext& ctx, Thread& thread, std::string_view text, std::string* over) {
  const std::string number = std::to_string(thread.asked + 1);
  PAWL_AWAIT(answer, ask(ctx, "prompt " + number + " " + std::string(text)));
  if (answer.ok()) {
    ++thread.asked;
    PAWL_CALL(post(ctx, std::string(answer.value())));
    return Poll::done();
  }
  switch (answer.error().kind) {
    case ErrorKind::kRateLimited: PAWL_CALL(post(ctx, "⏳ Rate limited, please wait.")); break;
    case ErrorKind::kLimit:
      *over = "full";
      PAWL_CALL(post(ctx, "Session closed: it is full."));
      break;
    default: PAWL_CALL(post(ctx, "The agent failed: " + std::string(answer.error().text)));
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
  return prompt(ctx, thread, text, over);
}

// Posts a change of the session that users must know. A new worker is no such change.
Poll on_change(OrchestrationContext& ctx, std::string_view message, std::string* over) {
  pawl::SessionEvent event;
  if (pawl::from_json(message, &event) != pawl::Status::kOk) return Poll::done();
  const std::string_view change = event.change.view();
  if (change == "ending") PAWL_CALL(post(ctx, "🔄 Broker restarting..."));
  if (change == "near_limit")
    PAWL_CALL(post(ctx, "⚠️ This session is long. Use /handoff or /close soon."));
  if (change == "expired") {
    *over = "expired";
    PAWL_CALL(post(ctx, "⏰ Session expired: it was open for too long"));
  }
  if (change == "closed") {
    const bool is_idle = event.reason.view() == "idle";
    *over = is_idle ? "expired" : "closed";
    PAWL_CALL(post(ctx, is_idle ? "⏰ Session expired due to inactivity" : "Session closed."));
  }
  return Poll::done();
}

// Opens the session, for workers that have this kind of agent. Refused with kLimit: its owner has
// as many threads as allowed, and the error's text says which of them could go.
Poll begin(OrchestrationContext& ctx, Thread& thread, const pawl::Session& session,
           std::string* over) {
  PAWL_AWAIT(opened, ctx.session_opened(session));
  if (!opened.ok()) {
    *over = "refused";
    // The message that asked for the agent comes next, and this post answers it.
    PAWL_AWAIT_DONE(ctx.dequeue_event(kQueue));
    PAWL_CALL(post(ctx, "No agent: " + std::string(opened.error().text)));
    return Poll::done();
  }
  if (ctx.handoff_session(session, thread.kind.view()) != ErrorKind::kNone) *over = "refused";
  thread.is_open = true;
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
  const pawl::Session session = ctx.open_session(kSession, settings_of(thread));

  std::string over;
  if (!thread.is_open) PAWL_CALL(begin(ctx, thread, session, &over));
  for (int round = 0; round < kRoundsAnExecution && over.empty(); ++round) {
    PAWL_AWAIT(next, ctx.select(ctx.dequeue_event(kQueue), ctx.session_events(session)));
    if (next.cancelled()) {
      over = "cancelled";
    } else if (next.index() == 0) {
      PAWL_CALL(on_message(ctx, thread, session, next.value(), &over));
    } else {
      PAWL_CALL(on_change(ctx, next.value(), &over));
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
