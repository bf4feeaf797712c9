#include "soak_code.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <vector>

#include "pawl/visit.hpp"

namespace soak {
namespace {

using pawl::ErrorKind;
using pawl::Handle;
using pawl::OrchestrationContext;
using pawl::Outcome;
using pawl::Poll;
using std::chrono::milliseconds;

// ---- activities ----

void note_run(pawl::ActivityContext& ctx) {
  auto& witness = *static_cast<Witness*>(ctx.user());
  witness.on_run("run " + std::string(ctx.idempotency_key()) + " " + std::to_string(ctx.attempt()) +
                 " " + std::to_string(ctx.retry_attempt()) + " " + witness.worker());
}

pawl::ActivityResult one(pawl::ActivityContext& ctx) {
  note_run(ctx);
  return ctx.ok(ctx.input());
}

pawl::ActivityResult slow(pawl::ActivityContext& ctx) {
  note_run(ctx);
  static_cast<Witness*>(ctx.user())->pause();
  return ctx.ok(ctx.input());
}

pawl::ActivityResult flaky(pawl::ActivityContext& ctx) {
  note_run(ctx);
  return ctx.retry_attempt() < 3 ? ctx.fail("not yet") : ctx.ok(ctx.input());
}

pawl::ActivityResult is_sent(pawl::ActivityContext& ctx) {
  note_run(ctx);
  return ctx.ok(static_cast<Witness*>(ctx.user())->is_sent(std::string(ctx.instance_id())) ? "yes"
                                                                                           : "no");
}

// Its progress is its token, and its input.
pawl::ActivityResult leave(pawl::ActivityContext& ctx) {
  note_run(ctx);
  const std::string progress =
      std::string(ctx.completion_token().view()) + " " + std::string(ctx.input());
  if (ctx.heartbeat(progress) != pawl::Status::kOk) return ctx.fail("heartbeat");
  return ctx.complete_later();
}

// ---- state passed to the next execution ----

struct State {
  int round = 0;
  std::size_t events = 0;  // number of raised events that were received
  std::string received;
  std::string worked;
  bool is_cancelled = false;

  // Reads "ROUND EVENTS|RECEIVED|WORKED"; `text` is empty at first.
  explicit State(std::string_view text) {
    if (text.empty()) return;
    const std::string all(text);
    const std::size_t first = all.find('|');
    const std::size_t second = all.find('|', first + 1);
    char* end = nullptr;
    round = static_cast<int>(std::strtol(all.c_str(), &end, 10));
    events = std::strtoul(end, nullptr, 10);
    received = all.substr(first + 1, second - first - 1);
    worked = all.substr(second + 1);
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(round) + " " + std::to_string(events) + "|" + received + "|" + worked;
  }
  [[nodiscard]] std::string output() const {
    return std::string(is_cancelled ? "cancelled" : "done") + "|" + received + "|" + worked;
  }
  // Records the result of an activity or a child for `token`.
  void count(const std::string& token, const Outcome& result) {
    if (result.cancelled()) {
      is_cancelled = true;
    } else {
      worked += result.ok() && result.value() == token
                    ? token + " "
                    : token + ":" + pawl::error_kind_name(result.error().kind) + "! ";
    }
  }
};

// A different length in each round, so that timers and messages meet in all orders.
milliseconds pause_of(const State& state, int step) {
  return milliseconds(10 + (state.round * 37 + step * 61) % 180);
}

constexpr int kSteps = 6;  // in one execution

Poll end(OrchestrationContext& ctx, const State& state) { return ctx.complete(state.output()); }

Poll again(OrchestrationContext& ctx, State& state) {
  ++state.round;
  return ctx.continue_as_new(state.text());
}

// ---- kinds ----

Poll reader(OrchestrationContext& ctx) {
  State state(ctx.input());
  for (int step = 0; step < kSteps; ++step) {
    const Handle message = ctx.dequeue_event("in");
    PAWL_AWAIT(first, ctx.select(message, ctx.schedule_timer(pause_of(state, step))));
    if (first.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return end(ctx, state);
    if (first.index() == 1) continue;
    const std::string token(first.value());
    if (token == "end") return end(ctx, state);
    state.received += token + " ";
    PAWL_AWAIT(result, ctx.schedule_activity("one", token));
    state.count(token, result);
    if (state.is_cancelled) return end(ctx, state);
  }
  static_cast<void>(ctx.dequeue_event("in"));
  static_cast<void>(ctx.dequeue_event("in"));
  return again(ctx, state);
}

// Takes all messages that are there, then does the work for them.
Poll drain(OrchestrationContext& ctx, State* state) {
  std::vector<std::string> tokens;
  while (!state->is_cancelled) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("in"));
    if (message.cancelled()) state->is_cancelled = true;
    if (!message.ok()) break;
    tokens.emplace_back(message.value());
  }
  for (const std::string& token : tokens)
    state->received += token + " ";
  for (const std::string& token : tokens) {
    if (state->is_cancelled) break;
    PAWL_AWAIT(result, ctx.schedule_activity("one", token));
    state->count(token, result);
  }
  return Poll::done();
}

// "end" goes to another queue, after all messages, so all of them have come by then.
Poll drainer(OrchestrationContext& ctx) {
  State state(ctx.input());
  for (int step = 0; step < kSteps; ++step) {
    const Handle bell = ctx.dequeue_event("bell");
    PAWL_AWAIT(first, ctx.select(ctx.schedule_timer(pause_of(state, step)), bell));
    if (first.cancelled()) state.is_cancelled = true;
    PAWL_CALL(drain(ctx, &state));
    if (state.is_cancelled || first.index() == 1) return end(ctx, state);
  }
  return again(ctx, state);
}

// The answer of "is_sent" comes beside the messages, not after them: it does not say what the turn
// has read.
Poll emptier(OrchestrationContext& ctx) {
  State state(ctx.input());
  for (int step = 0; step < kSteps; ++step) {
    PAWL_AWAIT(sent, ctx.schedule_activity("is_sent", ""));
    if (sent.cancelled()) state.is_cancelled = true;
    PAWL_CALL(drain(ctx, &state));
    if (state.is_cancelled || sent.value() == "yes") return end(ctx, state);
    PAWL_AWAIT(slept, ctx.schedule_timer(4 * pause_of(state, step)));
    if (slept.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return end(ctx, state);
  }
  return again(ctx, state);
}

// Each branch takes at most two messages, or gives up after `pause`; its output is the tokens.
auto taking_branch(milliseconds pause) {
  return [pause](OrchestrationContext& own) -> Poll {
    std::string tokens;
    for (int taken = 0; taken < 2; ++taken) {
      const Handle message = own.dequeue_event("in");
      const Handle timer = own.schedule_timer(pause);
      PAWL_AWAIT(first, own.select(timer, message));
      if (first.cancelled()) return own.complete(tokens);
      if (first.index() == 0) break;
      tokens += std::string(first.value()) + " ";
    }
    return own.complete(tokens);
  };
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = text.find(' ', at);
    words.emplace_back(text.substr(at, space - at));
    at = space + 1;
  }
  return words;
}

Poll branches(OrchestrationContext& ctx) {
  State state(ctx.input());
  bool is_over = false;
  for (int step = 0; step < kSteps / 2 && !is_over; ++step) {
    const Handle left = ctx.open_branch(taking_branch(pause_of(state, step)));
    const Handle right = ctx.open_branch(taking_branch(pause_of(state, step + 1)));
    PAWL_AWAIT(both, ctx.join(left, right));
    if (both.cancelled()) state.is_cancelled = true;
    PAWL_AWAIT(of_left, left);
    PAWL_AWAIT(of_right, right);
    if (of_left.cancelled() || of_right.cancelled()) state.is_cancelled = true;
    for (const std::string& token :
         words_of(std::string(of_left.value()) + std::string(of_right.value()))) {
      is_over = is_over || token == "end";
      if (token == "end") continue;
      state.received += token + " ";
      PAWL_AWAIT(result, ctx.schedule_activity("one", token));
      state.count(token, result);
      if (result.cancelled()) return end(ctx, state);
    }
    if (state.is_cancelled) return end(ctx, state);
  }
  if (!is_over) return again(ctx, state);
  // Messages that the other branch gave back are older than "end".
  PAWL_CALL(drain(ctx, &state));
  return end(ctx, state);
}

// Reads what another instance has counted so far.
Poll value_reader(OrchestrationContext& ctx) {
  PAWL_AWAIT(value, ctx.get_kv_value_from_instance(ctx.input(), "count"));
  if (!value.ok()) return ctx.fail(value.error());
  return ctx.complete(value.value());
}

// All counts are kept in values; the input passes on only the round.
Poll values(OrchestrationContext& ctx) {
  State state("");
  state.round = std::atoi(std::string(ctx.input()).c_str());
  const auto read = [&ctx](const char* key) {
    return std::string(ctx.get_kv_value(key).value_or(std::string_view()));
  };
  const auto finish = [&]() -> Poll {
    state.received = read("received");
    state.worked = read("worked");
    const std::size_t tokens = words_of(state.received).size();
    if (std::to_string(tokens) != (read("count").empty() ? "0" : read("count")))
      return ctx.fail("counted " + read("count") + ", received " + state.received);
    return end(ctx, state);
  };
  for (int step = 0; step < 2; ++step) {
    const Handle message = ctx.dequeue_event("in");
    PAWL_AWAIT(first, ctx.select(message, ctx.schedule_timer(pause_of(state, step))));
    if (first.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return finish();
    if (first.index() == 1) continue;
    const std::string token(first.value());
    if (token == "end") return finish();
    const int count = std::atoi(read("count").c_str()) + 1;
    ErrorKind error = ctx.set_kv_value("received", read("received") + token + " ");
    if (error == ErrorKind::kNone) error = ctx.set_kv_value("count", std::to_string(count));
    if (error == ErrorKind::kNone) error = ctx.set_kv_value("last", token);
    if (error != ErrorKind::kNone) return ctx.fail("a value is refused");
    PAWL_AWAIT(seen, ctx.schedule_sub_orchestration("value_reader", ctx.instance_id()));
    if (seen.cancelled()) state.is_cancelled = true;
    if (!seen.cancelled() && std::string(seen.value()) != std::to_string(count))
      return ctx.fail("a child read another count: " + std::string(seen.value()) +
                      std::string(seen.error().text));
    PAWL_AWAIT(result, ctx.schedule_activity("one", read("last")));
    if (ctx.clear_kv_value("last") != ErrorKind::kNone) return ctx.fail("clear");
    state.worked = read("worked");
    state.count(token, result);
    if (ctx.set_kv_value("worked", state.worked) != ErrorKind::kNone) return ctx.fail("set");
    if (state.is_cancelled) return finish();
  }
  return ctx.continue_as_new(std::to_string(state.round + 1));
}

// Has two executions, with an activity in each.
Poll child(OrchestrationContext& ctx) {
  const std::string input(ctx.input());
  const bool is_second = input.back() == '+';
  const std::string token = is_second ? input.substr(0, input.size() - 1) : input;
  PAWL_AWAIT(result, ctx.schedule_activity(is_second ? "slow" : "one", token));
  if (!result.ok()) return ctx.fail(result.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(15)));
  return is_second ? ctx.complete(result.value()) : ctx.continue_as_new(token + "+");
}

Poll sleeper(OrchestrationContext& ctx) {
  PAWL_AWAIT(slept, ctx.schedule_timer(std::chrono::hours(10)));
  return ctx.complete(slept.cancelled() ? "cancelled" : "slept");
}

Poll detached(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("one", ctx.input()));
  return result.ok() ? ctx.complete(result.value()) : ctx.fail(result.error());
}

Poll parent(OrchestrationContext& ctx) {
  State state(ctx.input());
  const std::string id(ctx.instance_id());
  for (int step = 0; step < kSteps; ++step) {
    const Handle message = ctx.dequeue_event("in");
    PAWL_AWAIT(first, ctx.select(ctx.schedule_timer(pause_of(state, step)), message));
    if (first.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return end(ctx, state);
    if (first.index() == 0) continue;
    const std::string token(first.value());
    if (token == "end") return end(ctx, state);
    state.received += token + " ";
    if (ctx.start_orchestration("detached", pawl::InstanceId("detached:" + id + ":" + token),
                                token) != ErrorKind::kNone)
      return ctx.fail("detached");
    const Handle named = ctx.schedule_sub_orchestration(
        "child", token, {pawl::InstanceId("child:" + id + ":" + token)});
    const Handle unnamed = ctx.schedule_sub_orchestration("child", token);
    const Handle loser = ctx.schedule_sub_orchestration("sleeper", token);
    PAWL_AWAIT(all, ctx.select(ctx.join(named, unnamed), loser));
    if (all.cancelled()) {
      state.is_cancelled = true;
      return end(ctx, state);
    }
    PAWL_AWAIT(of_named, named);
    PAWL_AWAIT(of_unnamed, unnamed);
    if (of_named.ok() && of_named.value() != of_unnamed.value()) return ctx.fail("children differ");
    state.count(token, of_unnamed.ok() ? of_named : of_unnamed);
  }
  return again(ctx, state);
}

// An event without an answer is sent again. If it had been received, its action is not above the
// last one.
bool is_new_event(const State& state, const std::string& token) {
  const std::vector<std::string> before = words_of(state.received);
  return before.empty() || std::stoul(token) > std::stoul(before.back());
}

// The custom status says which event is waited for. An event given to a losing wait goes to the
// next wait of the same turn. The last wait of an execution sets no status, so that no event comes
// in the turn that ends it.
Poll raised(OrchestrationContext& ctx) {
  State state(ctx.input());
  for (int step = 0; step < 2 * kSteps; ++step) {
    const bool is_last = step + 1 == 2 * kSteps;
    if (ctx.set_custom_status(is_last ? std::string() : status_of_wait(state.events)) !=
        ErrorKind::kNone)
      return ctx.fail("status");
    const Handle event = ctx.schedule_wait("go");
    const Handle timer = ctx.schedule_timer(is_last ? milliseconds(500) : pause_of(state, step));
    PAWL_AWAIT(first, ctx.select(timer, event));
    if (first.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return end(ctx, state);
    if (first.index() == 0) continue;
    const std::string token(first.value());
    if (token == "end") return end(ctx, state);
    if (!is_new_event(state, token)) continue;
    ++state.events;
    state.received += token + " ";
    PAWL_AWAIT(result, ctx.schedule_activity("one", token));
    state.count(token, result);
    if (state.is_cancelled) return end(ctx, state);
  }
  return again(ctx, state);
}

pawl::SessionSettings outcome_of() {
  pawl::SessionSettings settings;
  settings.exclusive = true;
  settings.notify = true;
  return settings;
}

// Uses another kind of session for each token. A session opened for this activity alone is closed
// after it.
Poll on_session(OrchestrationContext& ctx, const std::string& token, State* state, bool* is_lost) {
  Handle handle;
  pawl::Session own;
  const std::size_t kind = std::stoul(token) % 5;
  if (kind == 0) {
    handle =
        ctx.schedule_activity("one", token, pawl::Target::session("shared-" + token.substr(0, 1)));
  } else if (kind == 1) {
    handle = ctx.schedule_activity("one", token, pawl::Target::device(kDevices[state->round % 2]));
  } else if (kind == 2) {
    handle = ctx.schedule_activity("slow", token,
                                   pawl::Target::own(ctx.open_session("mine", outcome_of())));
  } else if (kind == 3) {
    own = ctx.open_session();
    handle = ctx.schedule_activity("one", token, pawl::Target::own(own));
  } else {
    pawl::SessionSettings settings;
    settings.fail_on_loss = true;
    handle = ctx.schedule_activity("slow", token,
                                   pawl::Target::own(ctx.open_session("fragile", settings)));
  }
  PAWL_AWAIT(result, handle);
  *is_lost = result.error().kind == ErrorKind::kSessionLost;
  if (!*is_lost) state->count(token, result);
  if (kind == 3 && ctx.close_session(own.id()) != ErrorKind::kNone) return ctx.fail("close");
  return Poll::done();
}

Poll sessions(OrchestrationContext& ctx) {
  State state(ctx.input());
  const pawl::Session mine = ctx.open_session("mine", outcome_of());
  for (int step = 0; step < kSteps; ++step) {
    const Handle message = ctx.dequeue_event("in");
    const Handle timer = ctx.schedule_timer(pause_of(state, step));
    PAWL_AWAIT(first, ctx.select(message, timer, ctx.session_events(mine)));
    if (first.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return end(ctx, state);
    if (first.index() != 0) continue;
    const std::string token(first.value());
    if (token == "end") return end(ctx, state);
    state.received += token + " ";
    for (bool is_lost = true; is_lost;)
      PAWL_CALL(on_session(ctx, token, &state, &is_lost));
    if (state.is_cancelled) return end(ctx, state);
  }
  if (state.round % 2 == 0 && ctx.close_session("mine") != ErrorKind::kNone)
    return ctx.fail("close");
  return again(ctx, state);
}

Poll retrier(OrchestrationContext& ctx) {
  State state(ctx.input());
  for (int step = 0; step < kSteps; ++step) {
    const Handle message = ctx.dequeue_event("in");
    PAWL_AWAIT(first, ctx.select(message, ctx.schedule_timer(pause_of(state, step))));
    if (first.cancelled()) state.is_cancelled = true;
    if (state.is_cancelled) return end(ctx, state);
    if (first.index() == 1) continue;
    const std::string token(first.value());
    if (token == "end") return end(ctx, state);
    state.received += token + " ";
    pawl::ActivityOptions options;
    options.retry.max_attempts = 5;
    options.retry.backoff = pawl::Backoff::kFixed;
    options.retry.base = std::chrono::milliseconds(20);
    const Handle tried = ctx.schedule_activity("flaky", token, options);
    const Handle threaded = ctx.schedule_activity("slow", token);
    const Handle given_up = ctx.schedule_activity("slow", "never");
    ctx.cancel(given_up);
    PAWL_AWAIT(both, ctx.join(tried, threaded));
    if (both.cancelled()) state.is_cancelled = true;
    PAWL_AWAIT(of_tried, tried);
    PAWL_AWAIT(of_threaded, threaded);
    state.count(token, of_tried.ok() ? of_threaded : of_tried);
    if (state.is_cancelled) return end(ctx, state);
  }
  return again(ctx, state);
}

Poll outside(OrchestrationContext& ctx) {
  State state(ctx.input());
  for (int step = 0; step < kSteps; ++step) {
    PAWL_AWAIT(message, ctx.dequeue_event("in"));
    if (message.cancelled()) state.is_cancelled = true;
    const std::string token(message.value());
    if (state.is_cancelled || token == "end") return end(ctx, state);
    state.received += token + " ";
    PAWL_AWAIT(result, ctx.schedule_activity("leave", token));
    state.count(token, result);
    if (state.is_cancelled) return end(ctx, state);
  }
  return again(ctx, state);
}

// The counts are values, which the next execution has, too.
Poll thread(OrchestrationContext& ctx) {
  State state("");
  for (int step = 0; step < kSteps; ++step) {
    state.received = std::string(ctx.get_kv_value("received").value_or(""));
    state.worked = std::string(ctx.get_kv_value("worked").value_or(""));
    PAWL_AWAIT(message, ctx.try_dequeue_event("in"));
    if (!message.ok()) return end(ctx, state);
    const std::string token(message.value());
    if (token == "end") continue;
    state.received += token + " ";
    if (ctx.set_kv_value("received", state.received) != ErrorKind::kNone) return ctx.fail("set");
    PAWL_AWAIT(result, ctx.schedule_activity("one", token));
    state.count(token, result);
    if (ctx.set_kv_value("worked", state.worked) != ErrorKind::kNone) return ctx.fail("set");
  }
  return ctx.continue_as_new("");
}

// A call that the execution before left is in the input, behind '#': its number and its token.
Poll server(OrchestrationContext& ctx) {
  const std::string input(ctx.input());
  State state(std::string_view(input).substr(0, input.find('#')));
  if (const std::size_t at = input.find('#'); at != std::string::npos) {
    char* end = nullptr;
    const pawl::CallAddress left{std::strtoll(input.c_str() + at + 1, &end, 10)};
    if (ctx.reply(left, "r" + std::string(end + 1)) != ErrorKind::kNone) return ctx.fail("reply");
  }
  for (int step = 0; step < kSteps; ++step) {
    const Handle message = ctx.dequeue_event("in");
    PAWL_AWAIT(received, message);
    const std::string token(received.value());
    if (token == "end") return end(ctx, state);
    const std::optional<pawl::CallAddress> call = ctx.call_address(message);
    if (!call.has_value()) return ctx.fail(token + " is no call");
    state.received += token + " ";
    PAWL_AWAIT(result, ctx.schedule_activity("one", token));
    state.count(token, result);
    ++state.round;
    if (step + 1 == kSteps)
      return ctx.continue_as_new(state.text() + "#" + std::to_string(call->number) + " " + token);
    if (ctx.reply(*call, "r" + token) != ErrorKind::kNone) return ctx.fail("reply");
  }
  return again(ctx, state);
}

Poll forwarder(OrchestrationContext& ctx) {
  State state(ctx.input());
  const std::string to = thread_of(std::string(ctx.instance_id()));
  for (int step = 0; step < kSteps; ++step) {
    PAWL_AWAIT(message, ctx.dequeue_event("in"));
    const std::string token(message.value());
    if (token == "end") return end(ctx, state);
    state.received += token + " ";
    pawl::SendOptions how;
    how.start_if_ended = pawl::StartIfEnded{name_of(Kind::kThread), ""};
    for (bool is_sent = false; !is_sent;) {
      PAWL_AWAIT(sent, ctx.enqueue_event(to, "in", token, how));
      is_sent = sent.ok();
      if (!is_sent) PAWL_AWAIT_DONE(ctx.schedule_timer(pause_of(state, step)));
    }
    state.worked += token + " ";
  }
  return again(ctx, state);
}

}  // namespace

pawl::Status fill(pawl::Registry& registry, Witness& witness) {
  struct Entry {
    const char* name;
    pawl::Orchestration function;
  };
  const Entry entries[] = {
      {name_of(Kind::kReader), reader},
      {name_of(Kind::kDrainer), drainer},
      {name_of(Kind::kBranches), branches},
      {name_of(Kind::kValues), values},
      {name_of(Kind::kParent), parent},
      {name_of(Kind::kRaised), raised},
      {name_of(Kind::kSessions), sessions},
      {name_of(Kind::kRetrier), retrier},
      {name_of(Kind::kEmptier), emptier},
      {name_of(Kind::kOutside), outside},
      {name_of(Kind::kThread), thread},
      {name_of(Kind::kServer), server},
      {name_of(Kind::kForwarder), forwarder},
      {"value_reader", value_reader},
      {"child", child},
      {"sleeper", sleeper},
      {"detached", detached},
  };
  for (const Entry& entry : entries)
    PAWL_TRY(registry.add_orchestration(entry.name, entry.function));
  PAWL_TRY(registry.add_activity("one", one, pawl::ActivityMode::kInline, &witness));
  PAWL_TRY(registry.add_activity("is_sent", is_sent, pawl::ActivityMode::kInline, &witness));
  PAWL_TRY(registry.add_activity("flaky", flaky, pawl::ActivityMode::kInline, &witness));
  PAWL_TRY(registry.add_activity("leave", leave, pawl::ActivityMode::kInline, &witness));
  PAWL_TRY(registry.allow_complete_later("leave"));
  return registry.add_activity("slow", slow, pawl::ActivityMode::kThreaded, &witness);
}

pawl::Status ask(pawl::Client& client, const std::string& id, const std::string& token,
                 milliseconds timeout) {
  pawl::SendOptions how;
  how.key = token;
  pawl::CallAnswer answer;
  const pawl::Status status = client.call(id, "in", token, timeout, &answer, how);
  const bool is_right = answer.error == ErrorKind::kNone && answer.value == "r" + token;
  return status == pawl::Status::kOk && !is_right ? pawl::Status::kCorrupt : status;
}

std::string answer_from_outside(pawl::Client& client, const std::string& id) {
  std::vector<std::string> waiting;
  auto look = pawl::visit([&waiting](const pawl::ActivityInfo& activity) {
    if (activity.state == pawl::ActivityState::kOutside)
      waiting.emplace_back(activity.last_progress);
  });
  const pawl::Status listed = client.list_activities(id, look);
  if (listed != pawl::Status::kOk && listed != pawl::Status::kNotFound) return "";
  for (const std::string& progress : waiting) {
    const std::size_t space = progress.find(' ');
    if (space == std::string::npos) return id + ": no token in '" + progress + "'";
    const std::string token = progress.substr(0, space);
    const std::string result = progress.substr(space + 1);
    // Twice, as one does who was not answered. Cancelled meanwhile: nothing waits for it.
    for (int i = 0; i < 2; ++i) {
      const pawl::Status status = client.complete_activity(token, result);
      if (status == pawl::Status::kStale) return id + ": another answer came before " + result;
    }
  }
  return "";
}

const char* queue_of(Kind kind, Verb verb) {
  if (kind == Kind::kRaised) return "go";
  const bool is_apart = kind == Kind::kDrainer || kind == Kind::kEmptier;
  return is_apart && verb == Verb::kEnd ? "bell" : "in";
}

std::string status_of_wait(std::size_t received) { return "event " + std::to_string(received); }

bool is_waited_for(const Instance& instance, std::size_t action, std::string_view custom_status) {
  const auto before = static_cast<std::size_t>(
      std::count(instance.actions.begin(),
                 instance.actions.begin() + static_cast<std::ptrdiff_t>(action), Verb::kSend));
  constexpr std::string_view kBeginning = "event ";
  if (custom_status.substr(0, kBeginning.size()) != kBeginning) return false;
  return std::stoul(std::string(custom_status.substr(kBeginning.size()))) >= before;
}

void raise_to_the_plan(pawl::Options& options, bool is_first) {
  const auto at_least = [](auto& field, auto value) {
    field = std::max<std::decay_t<decltype(field)>>(field, value);
  };
  const auto at_most = [](auto& field, auto value) {
    field = std::min<std::decay_t<decltype(field)>>(field, value);
  };
  const pawl::Options usual;
  options.limits.payload_bytes_max = 4'096;
  options.limits.queue_messages_max = kQueueMessages;
  at_least(options.limits.requests_max, static_cast<std::uint32_t>(std::size(kDevices)));
  at_least(options.limits.devices_max, static_cast<std::uint32_t>(std::size(kDevices)));
  at_least(options.limits.history_events_max, usual.limits.history_events_max);
  at_least(options.limits.commands_a_turn_max, usual.limits.commands_a_turn_max);
  at_least(options.limits.kv_keys_max, usual.limits.kv_keys_max);
  at_least(options.limits.warm_bytes, std::size_t{512} * 1'024);
  at_least(options.limits.orchestrations_max, usual.limits.orchestrations_max);
  at_least(options.limits.activities_max, usual.limits.activities_max);
  // High limits, since a kill is charged to whatever runs then; poison has its own tests.
  options.limits.crashes_max = options.limits.strikes_max = 1'000;
  options.limits.reboots_max = 100'000;
  // Ended instances are kept, because the checker reads them.
  options.retention.age = std::chrono::milliseconds(0);
  options.retention.count = 0;
  at_least(options.retention.message_keys, usual.retention.message_keys);
  at_least(options.retention.message_key_age, usual.retention.message_key_age);
  options.space.quota_bytes = 0;
  at_least(options.space.log_bytes_max, usual.space.log_bytes_max);
  at_least(options.slots.inline_activities, 1U);
  at_least(options.slots.threads, 1U);
  at_least(options.slots.cooperative, 1U);
  at_least(options.slots.cooperative_scratch_bytes, usual.slots.cooperative_scratch_bytes);
  at_least(options.sessions.max_sessions_per_worker, 1U);
  at_least(options.sessions.max_sessions_per_orchestration, 10U);
  options.sessions.max_sessions_per_owner = 0;
  at_most(options.sessions.evict_idle, std::chrono::milliseconds(50));
  if (options.sessions.evict_idle.count() == 0)
    options.sessions.evict_idle = usual.leases.home_grace;
  at_most(options.leases.home_grace, usual.leases.home_grace);
  // Without fast_handoff the work of a dead worker waits for the end of its lease.
  pawl::LeaseOptions& leases = options.leases;
  at_most(leases.worker_lock_timeout, 2 * usual.leases.worker_lock_timeout);
  at_most(leases.worker_lock_renewal_buffer, leases.worker_lock_timeout - milliseconds(1));
  at_most(leases.session_lock_timeout, 2 * usual.leases.session_lock_timeout);
  at_most(leases.session_lock_renewal_buffer, leases.session_lock_timeout - milliseconds(1));
  at_most(options.timing.commit_window, std::chrono::milliseconds(30));
  at_least(options.timing.cancel_grace, usual.timing.cancel_grace);
  at_least(options.timing.activity_grace, usual.timing.activity_grace);
  if (!is_first) return;
  options.run_orchestrations = true;
  options.leases = usual.leases;
  at_least(options.sessions.session_idle_timeout, usual.sessions.session_idle_timeout);
}

Answer answer_of(Verb verb, pawl::Status status) {
  switch (status) {
    case pawl::Status::kOk: return Answer::kAccepted;
    case pawl::Status::kAlreadyExists:
      return verb == Verb::kStart ? Answer::kAccepted : Answer::kUnknown;
    case pawl::Status::kTimeout:  // a call that has no answer yet
      return verb == Verb::kSend ? Answer::kAccepted : Answer::kUnknown;
    case pawl::Status::kStale: return Answer::kEnded;
    case pawl::Status::kBusy:
    case pawl::Status::kFull:
    case pawl::Status::kQuota:
    case pawl::Status::kResourceExhausted: return Answer::kRefused;
    default: return Answer::kUnknown;
  }
}

}  // namespace soak
