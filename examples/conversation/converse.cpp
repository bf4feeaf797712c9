#include "converse.hpp"

#include <charconv>
#include <deque>
#include <string>

namespace conversation {
namespace {

using pawl::OrchestrationContext;
using pawl::Outcome;
using pawl::Poll;

// How long an answer is kept for the client that asked. A client that stays away longer has gone.
constexpr std::int64_t kAnswersKeptMs = 60'000;
constexpr char kSession[] = "agent";
// Turns between two checkpoints: at most so many are said again to a new agent.
constexpr std::size_t kTurnsACheckpoint = 3;
// How many agents one message may need: one that is silent, talks nonsense or dies is replaced.
constexpr int kTriesMax = 5;
constexpr char kNoAgent[] = "no agent could be had, or none that knows the checkpoint";
constexpr std::int64_t kTurnMsMax = 30'000;

struct Conversation {
  std::int64_t written_down = 0;  // turns in the checkpoint
  std::deque<Message> since;      // those after it
  std::int64_t known = -1;        // turns that the agent knows; -1: no agent
  int tries = 0;

  [[nodiscard]] std::int64_t turns() const {
    return written_down + static_cast<std::int64_t>(since.size());
  }
};

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

pawl::ActivityOptions on_session() {
  pawl::ActivityOptions options;
  options.target = pawl::Target::own(kSession);
  options.start_to_close = std::chrono::milliseconds(kTurnMsMax);
  return options;
}

// Opens the session and makes its agent. The agent's knowledge is in the memory of its process, so
// the session is lost with its worker and does not move.
Poll hydrate(OrchestrationContext& ctx, Conversation& talk) {
  pawl::SessionRecovery how;
  how.session = kSession;
  how.settings.exclusive = true;
  how.rebuild = kHydrateName;
  how.activity.start_to_close = std::chrono::milliseconds(kTurnMsMax);
  Outcome agent;
  PAWL_CALL(pawl::open_rebuilt_session(ctx, how, &agent));
  // The agent may know more turns than `written_down`: a checkpoint was written, but its result was
  // not.
  Turns of_agent;
  if (agent.ok() && pawl::from_json(agent.value(), &of_agent) == pawl::Status::kOk)
    talk.known = of_agent.turns;
  // An agent that knows more turns than were said belongs to another conversation.
  if (talk.known > talk.turns()) talk.known = -1;
  return Poll::done();
}

// Stores the answer for the client that asked. An answer that does not fit is replaced by a note,
// so that no client waits for it.
void answer(OrchestrationContext& ctx, const Message& message, std::string_view text) {
  const std::string_view request = message.request.view();
  if (ctx.set_kv_value(request, text) == pawl::ErrorKind::kNone) return;
  if (ctx.set_kv_value(request, "the answer is too long") != pawl::ErrorKind::kNone)
    ctx.trace(pawl::LogLevel::kWarning, "an answer was not kept");
}

// Says the next turn to the agent. Only the newest turn is answered to the client: the answers to
// older ones were stored before.
Poll take_turn(OrchestrationContext& ctx, Conversation& talk) {
  const Message& message = talk.since[static_cast<std::size_t>(talk.known - talk.written_down)];
  const bool is_newest = talk.known + 1 == talk.turns();
  PAWL_AWAIT(turn, ctx.schedule_activity(kTurn, {talk.known + 1, message.text}, on_session()));
  if (!turn.ok()) {
    talk.known = -1;
    return Poll::done();
  }
  ++talk.known;
  if (!is_newest) return Poll::done();
  ctx.prune_kv_values_updated_before(ctx.now_ms() - kAnswersKeptMs);
  answer(ctx, message, turn.value());
  return Poll::done();
}

using WriteDown = pawl::ActivityType<Turns, pawl::Nothing>;
Poll write_down(OrchestrationContext& ctx, Conversation& talk, const WriteDown& activity) {
  PAWL_AWAIT(checkpoint, ctx.schedule_activity(activity, {talk.known}, on_session()));
  if (checkpoint.ok()) {
    talk.written_down = talk.known;
    talk.since.clear();
  } else {
    talk.known = -1;
  }
  return Poll::done();
}

// Goes on until the agent knows everything that was said, or the tries are used up.
Poll catch_up(OrchestrationContext& ctx, Conversation& talk) {
  while (talk.known < talk.turns() && talk.tries < kTriesMax) {
    if (talk.known >= talk.written_down) {
      PAWL_CALL(take_turn(ctx, talk));
    } else {
      ++talk.tries;
      PAWL_CALL(hydrate(ctx, talk));
    }
  }
  return Poll::done();
}

// Writes the checkpoint, ends the agent and closes the session. With the next turn the session may
// begin on any worker.
Poll dehydrate(OrchestrationContext& ctx, Conversation& talk) {
  while (talk.tries < kTriesMax) {
    PAWL_CALL(catch_up(ctx, talk));
    if (talk.known == talk.turns()) PAWL_CALL(write_down(ctx, talk, kDehydrate));
    if (talk.known >= 0 && talk.since.empty()) break;
  }
  if (ctx.close_session(kSession) != pawl::ErrorKind::kNone) talk.tries = kTriesMax;
  talk.known = -1;
  return Poll::done();
}

}  // namespace

pawl::PollOf<Progress, Turns> converse(OrchestrationContext& ctx, const Progress& input) {
  Conversation talk;
  talk.written_down = input.written_down.value_or(0);
  if (input.written_down.has_value()) talk.known = talk.written_down;  // its agent is still there
  while (true) {
    PAWL_AWAIT(said, ctx.dequeue_event(kQueue));
    if (said.cancelled()) return ctx.complete(Turns{talk.turns()});
    if (!said.ok()) continue;  // the text is no Message
    const Message& message = said.value();
    const std::string_view text = message.text.view();
    talk.tries = 0;

    if (text.substr(0, 7) == "/pause ") {
      PAWL_CALL(dehydrate(ctx, talk));
      if (talk.tries >= kTriesMax) return ctx.fail(kNoAgent);
      answer(ctx, message, "paused");
      const std::chrono::milliseconds pause(number(text.substr(7)));
      PAWL_AWAIT_DONE(ctx.schedule_timer(pause));
      continue;
    }
    if (text == "/bye") {
      PAWL_CALL(dehydrate(ctx, talk));
      if (talk.tries >= kTriesMax) return ctx.fail(kNoAgent);
      answer(ctx, message, "bye");
      return ctx.complete(Turns{talk.turns()});
    }
    talk.since.push_back(message);
    PAWL_CALL(catch_up(ctx, talk));
    if (talk.tries >= kTriesMax) return ctx.fail(kNoAgent);
    if (talk.since.size() < kTurnsACheckpoint) continue;
    PAWL_CALL(write_down(ctx, talk, kCheckpoint));
    // A new history begins where only the number of turns must be carried over. The session stays
    // open.
    if (talk.since.empty()) return ctx.continue_as_new(Progress{talk.written_down});
  }
}

}  // namespace conversation
