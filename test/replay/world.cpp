#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>

namespace pawl::test {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{2} << 20U;
constexpr std::size_t kArenaBytes = 1024 * 1024;

std::unique_ptr<OwnedEvent> copy_of(const Event& event) {
  auto copy = std::make_unique<OwnedEvent>();
  copy->event = event;
  std::string_view* const views[] = {&copy->event.name,    &copy->event.session,
                                     &copy->event.tag,     &copy->event.policy,
                                     &copy->event.version, &copy->event.payload};
  for (const std::string_view* view : views)
    copy->texts += *view;
  const char* at = copy->texts.data();
  for (std::string_view* view : views) {
    *view = {at, view->size()};
    at += view->size();
  }
  return copy;
}

bool same(const Event& a, const Event& b) {
  return a.id == b.id && a.kind == b.kind && a.error == b.error && a.end == b.end &&
         a.base == b.base && a.branch == b.branch && a.ordinal == b.ordinal && a.ref == b.ref &&
         a.time_ms == b.time_ms && a.number == b.number && a.horizon == b.horizon &&
         a.argument_hash == b.argument_hash && a.path_hash == b.path_hash && a.name == b.name &&
         a.session == b.session && a.tag == b.tag && a.policy == b.policy &&
         a.version == b.version && a.payload == b.payload;
}

std::string text_of(const Event& event) {
  std::string text = std::to_string(event.id) + " " + event_kind_name(event.kind);
  if (is_command(event.kind))
    text += " " + std::to_string(event.branch) + "." + std::to_string(event.ordinal);
  if (event.ref != 0) text += " ->" + std::to_string(event.ref);
  if (event.kind == EventKind::kClose)
    text += " of " + std::to_string(event.number) + " at " + std::to_string(event.horizon);
  if (event.end != EndKind::kNone) text += std::string(" ") + end_kind_name(event.end);
  if (event.error != ErrorKind::kNone) text += std::string(" ") + error_kind_name(event.error);
  if (!event.name.empty()) text += " " + std::string(event.name);
  if (!event.payload.empty()) text += " = " + std::string(event.payload);
  return text + "\n";
}

// Memory, and engines that cut a turn after one, two or a hundred passes.
class Lab {
 public:
  static Lab& get() {
    static Lab lab;
    return lab;
  }
  Engine& engine(std::uint32_t passes) { return *engines_[passes == 1 ? 0 : passes == 2 ? 1 : 2]; }
  BuddyPool& pool() { return pool_; }

 private:
  Lab()
      : pool_block_(new unsigned char[kPoolBytes]),
        arena_block_(new unsigned char[kArenaBytes]),
        pool_(pool_block_.get(), kPoolBytes),
        arena_(arena_block_.get(), kArenaBytes) {
    std::size_t at = 0;
    for (const std::uint32_t passes : {1U, 2U, 100U}) {
      EngineLimits limits;
      limits.passes_max = passes;
      engines_[at++] = std::make_unique<Engine>(arena_, limits);
    }
  }
  std::unique_ptr<unsigned char[]> pool_block_;
  std::unique_ptr<unsigned char[]> arena_block_;
  BuddyPool pool_;
  Arena arena_;
  std::unique_ptr<Engine> engines_[3];
};

std::unique_ptr<OwnedMessage> owned(const Message& message) {
  auto copy = std::make_unique<OwnedMessage>();
  copy->name = message.name;
  copy->payload = message.payload;
  copy->message = message;
  copy->message.name = copy->name;
  copy->message.payload = copy->payload;
  return copy;
}

TurnInput input_of(std::int64_t stamp_ms, ExecutionId execution,
                   const std::vector<Message>& messages, std::size_t waiting_count,
                   bool more_messages = false) {
  TurnInput input;
  input.code = run_program;
  input.instance_id = "instance-1";
  input.orchestration_name = "flow";
  input.version = "1.0.0";
  input.execution = execution;
  input.stamp_ms = stamp_ms;
  std::memcpy(input.random, &stamp_ms, sizeof stamp_ms);
  input.verify = true;
  input.messages = messages.data();
  input.message_count = messages.size();
  input.waiting_count = waiting_count;
  input.more_messages = more_messages;
  return input;
}

bool is_message(MessageKind kind) {
  return kind == MessageKind::kEvent || kind == MessageKind::kQueue || kind == MessageKind::kOffer;
}

// The decisions of a turn, as they would be stored.
struct Decision {
  Status status = Status::kOk;
  TurnState state = TurnState::kSuspended;
  std::uint32_t passes = 0;
  std::uint32_t withdrawn = 0;
  std::uint32_t dropped = 0;
  std::vector<std::unique_ptr<OwnedEvent>> events;
  std::vector<MessageId> kept;
  std::vector<std::unique_ptr<OwnedMessage>> given_back;
  std::vector<std::string> traces;
  std::vector<Trail> trails;
  std::vector<std::int64_t> received;
  std::vector<std::string> traced;
  std::vector<Answer> answers;
  std::vector<unsigned> issued;
  std::string text;
};

Decision run_turn(std::uint32_t passes_max, History& history, const TurnInput& input) {
  Decision made;
  Diagnostic diagnostic;
  const TurnResult result = Lab::get().engine(passes_max).run_turn(history, input, diagnostic);
  made.status = result.status;
  made.text = diagnostic.text();
  made.state = result.state;
  made.passes = result.passes;
  made.withdrawn = result.withdrawn;
  made.dropped = result.dropped;
  if (result.status != Status::kOk) return made;
  for (EventId id = result.first_new; id <= history.last_id(); ++id)
    made.events.push_back(copy_of(history.event(id)));
  made.kept.assign(result.kept, result.kept + result.kept_count);
  for (std::size_t i = 0; i < result.given_back_count; ++i)
    made.given_back.push_back(owned(result.given_back[i]));
  for (std::size_t i = 0; i < result.trace_count; ++i)
    made.traces.emplace_back(result.traces[i].text);
  for (const Trail& trail : trails())
    if (!trail.seen.empty()) made.trails.push_back(trail);
  made.received = received();
  made.traced = traced();
  made.answers = answers();
  made.issued = issued();
  return made;
}

// Empty: they are the same. `whole`: compares all that is stored, else only the events.
std::string difference(const Decision& a, const Decision& b) {
  if (a.status != b.status)
    return std::string(status_name(a.status)) + " and " + status_name(b.status) + " " + b.text;
  for (std::size_t i = 0; i < std::max(a.events.size(), b.events.size()); ++i) {
    if (i < a.events.size() && i < b.events.size() && same(a.events[i]->event, b.events[i]->event))
      continue;
    return "event\n  " + (i < a.events.size() ? text_of(a.events[i]->event) : "none\n") + "  " +
           (i < b.events.size() ? text_of(b.events[i]->event) : "none\n");
  }
  if (a.state != b.state) return "the state";
  if (a.kept != b.kept) return "the messages that wait on";
  if (a.given_back.size() != b.given_back.size()) return "the messages given back";
  for (std::size_t i = 0; i < a.given_back.size(); ++i)
    if (a.given_back[i]->message.id != b.given_back[i]->message.id ||
        a.given_back[i]->payload != b.given_back[i]->payload)
      return "a message given back";
  if (a.traces != b.traces) return "the traces";
  if (a.trails.size() != b.trails.size()) return "how many branches saw anything";
  for (std::size_t i = 0; i < a.trails.size(); ++i)
    if (a.trails[i].branch != b.trails[i].branch || a.trails[i].seen != b.trails[i].seen)
      return "what a branch saw";
  return {};
}

bool is_prefix(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// ---- the world ----

class World {
 public:
  World(const Program& program, std::uint64_t seed, Wrong wrong)
      : program_(program),
        random_(seed * 0x2545f4914f6cdd1dU + 1),
        wrong_(wrong),
        warm_(Lab::get().pool()) {
    Message start;
    start.kind = MessageKind::kStart;
    store(start, "start", {});
    cancel_odds_ = random_.chance(3) ? 20 : 0;
    is_slow_ = random_.chance(2);
  }

  Life live() {
    for (life_.executions = 1; failure_.empty() && !over_; ++life_.turns) {
      if (life_.turns > 600) {
        fail("it waits for nothing that can come");
        break;
      }
      turn();
    }
    warm_.clear();
    if (failure_.empty() && Lab::get().pool().used() != 0) fail("memory was not given back");
    life_.failure = failure_;
    return life_;
  }

  // Runs one turn without disturbances, for recording.
  void plain_turn(Recording* recording) {
    arrive();
    const std::vector<Message> messages = read_batch();
    if (messages.size() == waiting_count_ && !more_) return;
    if (is_grace_over(messages)) return fail("ended from outside");
    RecordedTurn turn;
    for (const Message& message : messages)
      turn.batch.push_back(owned(message));
    turn.waiting_count = waiting_count_;
    turn.more_messages = has_unread_;
    turn.stamp_ms = ++stamp_ms_;
    const Decision made = run_turn(
        100, warm_, input_of(stamp_ms_, execution_, messages, waiting_count_, has_unread_));
    if (made.status != Status::kOk) return fail(made.text);
    commit(messages, made);
    for (std::size_t i = recording->events.size(); i < stored_.size(); ++i)
      recording->events.push_back(copy_of(stored_[i]->event));
    turn.last_id = warm_.last_id();
    recording->turns.push_back(std::move(turn));
  }
  void cancel_early() { cancel_odds_ = 3; }
  [[nodiscard]] bool has_ended() const { return over_ || execution_ != 1 || !failure_.empty(); }

 private:
  struct Row {
    std::unique_ptr<OwnedMessage> owned;
    bool waiting = false;
    bool timer = false;  // has a due time
    bool due = false;
  };
  // A queue message or a raised event, known since it was sent.
  struct Sent {
    MessageKind kind;
    std::string name;
    std::string payload;
    bool used = false;  // received, or taken by an execution that was ended from outside
  };

  void fail(const std::string& what) {
    if (!failure_.empty()) return;
    failure_ = what + "\nturn " + std::to_string(life_.turns) + " of execution " +
               std::to_string(execution_) + ", stored:\n";
    for (const auto& one : stored_)
      failure_ += text_of(one->event);
  }

  // ---- rows ----

  MessageId store(Message message, std::string payload, const std::string& name,
                  bool timer = false) {
    message.id = ++last_message_;
    message.payload = payload;
    message.name = name;
    Row& row = rows_[message.id];
    row.owned = owned(message);
    row.timer = timer;
    return message.id;
  }

  MessageId send(MessageKind kind, const std::string& name) {
    Message message;
    message.kind = kind;
    const std::string payload =
        (kind == MessageKind::kQueue ? "m" : "e") + std::to_string(last_message_ + 1);
    const MessageId id = store(message, payload, name);
    sent_[id] = {kind, name, payload};
    return id;
  }

  static std::string result_text(ExecutionId execution, EventId ref) {
    return "r" + std::to_string(execution) + "." + std::to_string(ref);
  }
  // The same result at every call; some results are failures.
  static ErrorKind result_error(ExecutionId execution, EventId ref) {
    const auto number = static_cast<std::uint64_t>(execution) * 31 + ref * 17;
    if (number % 5 != 0) return ErrorKind::kNone;
    return number % 2 == 0 ? ErrorKind::kApplication : ErrorKind::kTimeout;
  }

  Message result(MessageKind kind, ExecutionId execution, EventId ref) const {
    Message message;
    message.kind = kind;
    message.execution = execution;
    message.ref = ref;
    if (kind != MessageKind::kTimerFired) message.error = result_error(execution, ref);
    return message;
  }

  // ---- events between turns ----

  void arrive() {
    piggybacked_calls_.clear();
    if (cancel_odds_ != 0 && random_.chance(cancel_odds_)) {
      Message cancel;
      cancel.kind = MessageKind::kCancel;
      store(cancel, "stop", {});
    }
    if (random_.chance(6)) send_any();
    if (random_.chance(8)) arrive_wrongly();
    if (!is_ready()) complete_one();
    while (!is_slow_ && random_.chance(2) && complete_one()) {
    }
  }

  void send_any() {
    const bool queue = random_.chance(2);
    const bool second = random_.chance(4);
    if (queue) {
      send(MessageKind::kQueue, second ? "q2" : "q");
    } else {
      send(random_.chance(3) ? MessageKind::kOffer : MessageKind::kEvent, second ? "e2" : "e");
    }
  }

  // A message that comes late, twice, or for nothing that exists.
  void arrive_wrongly() {
    if (stored_.empty()) return;
    const EventId ref = 1 + random_.below(stored_.size());
    const bool old = random_.chance(2) && execution_ > 1;
    const ExecutionId execution = old ? execution_ - 1 : execution_;
    if (!old && is_open(ref)) return;
    Message late = result(random_.chance(2) ? MessageKind::kActivityDone : MessageKind::kChildDone,
                          execution, ref);
    store(late, "late", {});
  }

  [[nodiscard]] bool is_ready() const {
    if (more_) return true;
    for (const auto& row : rows_)
      if (!row.second.waiting && (!row.second.timer || row.second.due)) return true;
    return false;
  }

  // Completes something that the instance waits for. False: there is nothing.
  bool complete_one() {
    std::vector<EventId> refs(work_.begin(), work_.end());
    refs.insert(refs.end(), children_.begin(), children_.end());
    for (EventId id = 1; id <= stored_.size(); ++id)
      if (is_wait_event(id) && is_open(id)) refs.push_back(id);
    std::vector<MessageId> timers;
    for (const auto& row : rows_)
      if (row.second.timer && !row.second.due) timers.push_back(row.first);
    const std::size_t count = refs.size() + timers.size();
    if (count == 0) return false;
    const std::size_t at = random_.below(count);
    if (at >= refs.size()) {
      rows_[timers[at - refs.size()]].due = true;
    } else {
      complete(refs[at]);
    }
    return true;
  }

  void complete(EventId ref) {
    const Event& command = stored_[ref - 1]->event;
    switch (command.kind) {
      case EventKind::kWait: send(MessageKind::kEvent, std::string(command.name)); return;
      case EventKind::kDequeue: send(MessageKind::kQueue, std::string(command.name)); return;
      case EventKind::kChild:
        children_.erase(ref);
        store(result(MessageKind::kChildDone, execution_, ref), result_text(execution_, ref), {});
        return;
      default: break;
    }
    if (random_.chance(2)) {
      for (const auto& one : piggybacked_calls_)
        if (one->message.ref == ref) return;
      Message message = result(MessageKind::kActivityDone, execution_, ref);
      const std::string payload = result_text(execution_, ref);
      message.payload = payload;
      piggybacked_calls_.push_back(owned(message));
      return;
    }
    for (const auto& one : piggybacked_calls_)
      if (one->message.ref == ref) return;
    work_.erase(ref);
    if (wrong_ == Wrong::kCompletionLost && random_.chance(4)) return;
    const MessageId id = store(result(MessageKind::kActivityDone, execution_, ref),
                               result_text(execution_, ref), {});
    // The result is given again: its row exists once, but the giver may have died before it knew.
    if (random_.chance(10)) {
      const Message again = rows_[id].owned->message;
      store(again, result_text(execution_, ref), {});
    }
  }

  // ---- a turn ----

  // The start, waiting messages, those that are ready, those that are due; and piggybacked results.
  std::vector<Message> read_batch() {
    static constexpr std::size_t kBatches[] = {1, 2, 3, 64, 64, 64};
    std::size_t room = kBatches[random_.below(6)];
    std::vector<Message> batch;
    MessageId first = 0;
    if (stored_.empty()) {
      for (const auto& row : rows_) {
        const MessageKind kind = row.second.owned->message.kind;
        if (kind != MessageKind::kStart && kind != MessageKind::kContinue) continue;
        first = row.first;
        batch.push_back(row.second.owned->message);
        --room;
        break;
      }
    }
    // A cancel request that was handed on comes right behind the start, however little is read.
    MessageId request = 0;
    for (const auto& row : rows_) {
      const Message& message = row.second.owned->message;
      if (first == 0 || message.kind != MessageKind::kCancel || message.execution == 0) continue;
      request = row.first;
      batch.push_back(message);
    }
    waiting_count_ = 0;
    has_unread_ = false;
    for (const auto& row : rows_) {
      if (!row.second.waiting) continue;
      batch.push_back(row.second.owned->message);
      ++waiting_count_;
    }
    for (const bool timers : {false, true}) {
      for (const auto& row : rows_) {
        if (row.second.waiting || row.second.timer != timers || row.first == first ||
            row.first == request)
          continue;
        if (timers && !row.second.due) continue;
        const bool is_read_anyway = !asked_.empty() && wrong_ != Wrong::kEndReadsInPart &&
                                    is_message(row.second.owned->message.kind);
        if (!is_read_anyway) {
          has_unread_ = has_unread_ || room == 0;
          if (room == 0) continue;
          --room;
        }
        batch.push_back(row.second.owned->message);
      }
    }
    for (const auto& one : piggybacked_calls_)
      batch.push_back(one->message);
    return batch;
  }

  void turn() {
    arrive();
    const std::vector<Message> batch = read_batch();
    if (batch.size() == waiting_count_ && !more_) return;
    ++stamp_ms_;
    if (is_grace_over(batch)) return end_from_outside(batch);
    static constexpr std::uint32_t kPasses[] = {100, 100, 100, 1, 2};
    const std::uint32_t passes_max = kPasses[random_.below(5)];
    const TurnInput input = input_of(stamp_ms_, execution_, batch, waiting_count_, has_unread_);
    const History::Mark before = warm_.mark();
    Decision live = run_turn(passes_max, warm_, input);
    if (live.status != Status::kOk) return fail("a turn: " + live.text);
    if (random_.chance(3)) {
      warm_.rewind(before);
      const std::string differs = difference(live, run_turn(passes_max, warm_, input));
      if (!differs.empty()) return fail("after a rewind differs: " + differs);
    }
    {
      History cold(Lab::get().pool());
      if (!load(&cold)) return;
      const std::string differs = difference(live, run_turn(passes_max, cold, input));
      if (!differs.empty()) return fail("cold differs: " + differs);
    }
    const bool is_put_off = passes_max == 100 && live.state == TurnState::kMore;
    life_.put_off += is_put_off ? 1U : 0U;
    if (passes_max == 100 && live.passes > 1 && !is_put_off) run_cut(batch, live);
    if (!failure_.empty()) return;
    // In the turn after a cut the engine cannot distinguish code that has run from code that has
    // not.
    may_lose_traces_ = may_lose_traces_ || more_;
    if (ends_by_itself(live) && is_put_off_by_news(batch, live)) return warm_.rewind(before);
    asked_.clear();
    commit(batch, live);
    check(live);
    if (!failure_.empty() || over_) return;
    if (random_.chance(4)) {
      warm_.clear();
      if (!load(&warm_)) return;
    }
  }

  // Loads the stored events.
  bool load(History* history) {
    Diagnostic diagnostic;
    EventId left = static_cast<EventId>(stored_.size());
    if (wrong_ == Wrong::kLastEventLost && left > 1 && random_.chance(4)) --left;
    spoil();
    for (EventId id = 1; id <= left; ++id) {
      const auto spoiled = spoiled_.find(id);
      const Event& event = spoiled == spoiled_.end() ? stored_[id - 1]->event : spoiled->second;
      if (history->append(event, diagnostic) == Status::kOk) continue;
      fail("a stored event is refused: " + std::string(diagnostic.text()));
      return false;
    }
    return true;
  }

  // The same turn, committed after each pass and continued after a crash.
  void run_cut(const std::vector<Message>& batch, const Decision& whole) {
    ++life_.cuts;
    Decision cut;
    std::vector<std::unique_ptr<OwnedMessage>> waiting;
    std::vector<Message> messages = batch;
    std::size_t waiting_count = waiting_count_;
    do {
      History history(Lab::get().pool());
      if (!load(&history)) return;
      Diagnostic diagnostic;
      for (const auto& one : cut.events)
        if (history.append(one->event, diagnostic) != Status::kOk)
          return fail("cut: " + std::string(diagnostic.text()));
      Decision step = run_turn(
          1, history, input_of(stamp_ms_, execution_, messages, waiting_count, has_unread_));
      if (step.status != Status::kOk) return fail("cut behind each pass: " + step.text);
      std::vector<std::unique_ptr<OwnedMessage>> next = std::move(step.given_back);
      for (const Message& message : messages)
        if (std::binary_search(step.kept.begin(), step.kept.end(), message.id) && message.id != 0)
          next.push_back(owned(message));
      std::sort(next.begin(), next.end(),
                [](const auto& a, const auto& b) { return a->message.id < b->message.id; });
      waiting = std::move(next);
      messages.clear();
      for (const auto& one : waiting)
        messages.push_back(one->message);
      waiting_count = messages.size();
      for (auto& one : step.events)
        cut.events.push_back(std::move(one));
      cut.state = step.state;
    } while (cut.state == TurnState::kMore);
    compare_cut(whole, cut, messages);
  }

  void compare_cut(const Decision& whole, const Decision& cut,
                   const std::vector<Message>& waiting) {
    for (std::size_t i = 0; i < std::max(whole.events.size(), cut.events.size()); ++i) {
      if (i < whole.events.size() && i < cut.events.size() &&
          same(whole.events[i]->event, cut.events[i]->event))
        continue;
      return fail("cut behind each pass differs: event\n  " +
                  (i < whole.events.size() ? text_of(whole.events[i]->event) : "none\n") + "  " +
                  (i < cut.events.size() ? text_of(cut.events[i]->event) : "none\n"));
    }
    std::set<MessageId> left(whole.kept.begin(), whole.kept.end());
    for (const auto& one : whole.given_back)
      left.insert(one->message.id);
    std::set<MessageId> cut_left;
    for (const Message& message : waiting)
      cut_left.insert(message.id);
    if (left != cut_left || whole.state != cut.state)
      fail("cut behind each pass differs: what waits on");
  }

  // A try that was answered "none" has that answer for all messages that came before its turn.
  void check_none_is_unread(const std::vector<Message>& batch, std::string_view queue) {
    for (const auto& row : rows_) {
      const Message& stored = row.second.owned->message;
      if (stored.kind != MessageKind::kQueue || stored.name != queue) continue;
      const bool is_read = std::any_of(batch.begin(), batch.end(), [&](const Message& message) {
        return message.id == row.first;
      });
      if (!is_read && came_meanwhile_.count(row.first) == 0)
        fail("a try was told that there is none, and one was not read");
    }
  }

  // ---- an end waits for messages (R7.7) ----

  static bool ends_by_itself(const Decision& made) {
    return std::any_of(made.events.begin(), made.events.end(), [](const auto& one) {
      return one->event.kind == EventKind::kEnded && one->event.end != EndKind::kContinuedAsNew;
    });
  }

  // Messages that are stored, and neither read by this turn nor waiting since an earlier one.
  [[nodiscard]] std::set<MessageId> news_behind(const std::vector<Message>& batch) const {
    std::set<MessageId> news;
    for (const auto& row : rows_) {
      const MessageKind kind = row.second.owned->message.kind;
      if (!row.second.waiting && (kind == MessageKind::kEvent || kind == MessageKind::kQueue))
        news.insert(row.first);
    }
    for (const Message& message : batch)
      news.erase(message.id);
    return news;
  }

  // While the turn runs, others send messages.
  bool is_put_off_by_news(const std::vector<Message>& batch, const Decision& made) {
    const MessageId before = last_message_;
    for (unsigned more = random_.below(3); more > 0; --more)
      send_any();
    const std::set<MessageId> news = news_behind(batch);
    const bool received_some = std::any_of(made.received.begin(), made.received.end(),
                                           [this](MessageId id) { return asked_.count(id) != 0; });
    bool waits = !news.empty() && (asked_.empty() || received_some);
    if (wrong_ == Wrong::kEndHearsNothing) waits = false;
    if (wrong_ == Wrong::kEndIsAskedOnce) waits = !news.empty() && asked_.empty();
    if (wrong_ == Wrong::kEndIsAskedForEver) waits = !news.empty();
    if (waits && !asked_.empty() && !received_some)
      fail("its end was put off by messages, and it received none");
    if (!waits && !news.empty() && (asked_.empty() || received_some))
      fail("it ended, and messages came");
    if (!waits && !news.empty() && *news.begin() <= before)
      fail("it ended, and had not read " + std::to_string(*news.begin()));
    life_.ends_put_off += waits ? 1U : 0U;
    life_.ends_deaf += !waits && !news.empty() ? 1U : 0U;
    came_meanwhile_ = news;
    if (waits) asked_ = news;
    return waits;
  }

  // ---- its commit ----

  void commit(const std::vector<Message>& batch, const Decision& made) {
    for (const Message& message : batch) {
      if (message.id == 0) {
        work_.erase(message.ref);
      } else if (std::binary_search(made.kept.begin(), made.kept.end(), message.id)) {
        rows_[message.id].waiting = true;
        if (wrong_ == Wrong::kKeptDropped && random_.chance(4)) rows_.erase(message.id);
      } else if (wrong_ != Wrong::kDeliveredTwice || message.kind != MessageKind::kQueue ||
                 !random_.chance(4)) {
        rows_.erase(message.id);
      }
    }
    more_ = made.state == TurnState::kMore;
    life_.withdrawn += made.withdrawn;
    life_.dropped += made.dropped;
    life_.kept += static_cast<unsigned>(made.kept.size());
    const std::size_t first = stored_.size();
    EndKind end = EndKind::kNone;
    std::string next_input;
    for (const auto& one : made.events) {
      stored_.push_back(copy_of(one->event));
      ++life_.events[static_cast<std::size_t>(one->event.kind)];
      if (one->event.kind == EventKind::kDelivery && one->event.number == 0) {
        ++life_.not_found;
        check_none_is_unread(batch, stored_[one->event.ref - 1]->event.name);
      }
      if (one->event.kind != EventKind::kEnded) continue;
      end = one->event.end;
      if (wrong_ == Wrong::kTwoEnds) {
        stored_.push_back(copy_of(one->event));
        ++stored_.back()->event.id;
      }
      next_input = std::string(one->event.payload);
    }
    for (std::size_t at = first; at < stored_.size(); ++at)
      carry_out(stored_[at]->event, end);
    for (const auto& one : made.given_back)
      give_back(*one);
    for (const std::string& trace : made.traces)
      if (!emitted_.insert(trace).second) fail("traced twice: " + trace);
    if (end == EndKind::kNone) return close_what_is_over();
    end_execution(made, end, next_input);
  }

  void carry_out(const Event& event, EndKind end) {
    if (event.kind == EventKind::kDetached) {
      if (wrong_ == Wrong::kDetachedLostAtEnd && end != EndKind::kNone) return;
      detached_.insert(event.id);
    }
    if (event.kind == EventKind::kCancelRequested) {
      request_ = std::string(event.payload);
      // The grace belongs to no execution, so it stays.
      if (!has_grace_ || wrong_ == Wrong::kGraceOfTheNext)
        store(result(MessageKind::kTimerFired, 0, 0), {}, {}, true);
      has_grace_ = true;
    }
    if (end != EndKind::kNone) return;
    if (event.kind == EventKind::kActivity) work_.insert(event.id);
    if (event.kind == EventKind::kTimer) {
      if (wrong_ == Wrong::kTimerForgotten && random_.chance(4)) return;
      store(result(MessageKind::kTimerFired, execution_, event.id), {}, {}, true);
    }
    if (event.kind != EventKind::kChild) return;
    if (warm_.awaits_completion(event.id) || wrong_ == Wrong::kUnwantedChildStarted)
      children_.insert(event.id);
  }

  void give_back(const OwnedMessage& message) {
    if (wrong_ == Wrong::kReturnedDropped) return;
    const MessageId id = message.message.id;
    if (wrong_ == Wrong::kReturnedRenumbered) {
      const MessageId other = store(message.message, message.payload, message.name);
      rows_[other].waiting = true;
      return;
    }
    if (rows_.count(id) != 0) return fail("given back, but it is there: " + std::to_string(id));
    // A wait had taken it, so it is not an offer any more, which may be dropped.
    if (message.message.kind == MessageKind::kEvent) sent_[id].kind = MessageKind::kEvent;
    Row& row = rows_[id];
    row.owned = owned(message.message);
    row.waiting = true;
  }

  // Removes what cannot complete any more, as TurnRunner::list_closed() does.
  void close_what_is_over() {
    if (wrong_ == Wrong::kClosedWorkKept) return;
    for (EventId id = 1; id <= stored_.size(); ++id) {
      const EventKind kind = stored_[id - 1]->event.kind;
      if (kind != EventKind::kActivity && kind != EventKind::kTimer && kind != EventKind::kChild)
        continue;
      if (warm_.awaits_completion(id)) continue;
      if (wrong_ != Wrong::kUnwantedChildStarted) children_.erase(id);
      work_.erase(id);
      for (auto row = rows_.begin(); row != rows_.end();) {
        const bool is_its = row->second.timer && row->second.owned->message.ref == id;
        row = is_its ? rows_.erase(row) : std::next(row);
      }
    }
  }

  void end_execution(const Decision& made, EndKind end, const std::string& next_input) {
    check_at_end(made);
    work_.clear();
    children_.clear();
    if (end != EndKind::kContinuedAsNew) {
      over_ = true;
      for (const auto& row : rows_)
        if (is_message(row.second.owned->message.kind)) left_.insert(row.first);
      rows_.clear();
      return;
    }
    for (auto row = rows_.begin(); row != rows_.end();) {
      const MessageKind kind = row->second.owned->message.kind;
      const bool is_completion =
          kind == MessageKind::kActivityDone ||
          (kind == MessageKind::kTimerFired &&
           (row->second.owned->message.execution != 0 || wrong_ == Wrong::kGraceNotCarried)) ||
          kind == MessageKind::kChildDone;
      const bool forgets = wrong_ == Wrong::kNotCarried && is_message(kind);
      row = is_completion || forgets ? rows_.erase(row) : std::next(row);
    }
    for (const MessageId id : made.received)
      sent_[id].used = true;
    const bool is_requested = reading_.cancels != 0;
    stored_.clear();
    detached_.clear();
    trails_.clear();
    emitted_.clear();
    may_lose_traces_ = false;
    more_ = false;
    ++execution_;
    ++life_.executions;
    Message next;
    next.kind = MessageKind::kContinue;
    next.execution = execution_;
    store(next, next_input, {});
    if (is_requested) hand_on_request();
    if (wrong_ == Wrong::kOldResultTaken)
      for (EventId id = 1; id <= 12; ++id)
        store(result(MessageKind::kActivityDone, execution_, id), result_text(execution_ - 1, id),
              {});
    warm_.clear();
  }

  void hand_on_request() {
    ++handed_on_;
    ++life_.handed_on;
    if (wrong_ == Wrong::kRequestNotCarried) return;
    Message request;
    request.kind = MessageKind::kCancel;
    request.execution = execution_;
    request.ref = handed_on_;
    store(request, request_, {});
  }

  static bool is_grace_over(const std::vector<Message>& batch) {
    return std::any_of(batch.begin(), batch.end(), [](const Message& message) {
      return message.kind == MessageKind::kTimerFired && message.execution == 0;
    });
  }

  void end_from_outside(const std::vector<Message>& batch) {
    const TurnInput input = input_of(stamp_ms_, execution_, batch, waiting_count_);
    const Status status =
        Lab::get().engine(100).append_failure(warm_, input, ErrorKind::kCancelled, "grace").status;
    if (status != Status::kOk || !warm_.ended()) return fail("the grace timer ended nothing");
    ++life_.ended_outside;
    over_ = true;
  }

  // ---- invariants, from an independent reading of the stored events ----

  // The fate of each command, read from the stored events.
  struct Fate {
    EventId completion = 0;  // the completion or the valid delivery
    bool closed = false;
  };
  struct Reading {
    std::map<EventId, Fate> fates;
    std::map<BranchId, EventId> openings;
    std::map<EventId, EventId> delivery_of;  // valid delivery -> wait
    EventId end = 0;
    unsigned cancels = 0;
  };

  void read_stored() {
    reading_ = Reading();
    std::map<std::pair<BranchId, Ordinal>, EventId> commands;
    for (const auto& one : stored_) {
      const Event& event = one->event;
      if (is_command(event.kind)) {
        commands[{event.branch, event.ordinal}] = event.id;
        reading_.fates[event.id];
      }
      if (event.kind == EventKind::kBranchOpened)
        reading_.openings[static_cast<BranchId>(event.number)] = event.id;
      if (event.kind == EventKind::kClose)
        reading_.fates[commands[{event.branch, static_cast<Ordinal>(event.number)}]].closed = true;
      if (is_completion(event.kind)) {
        Fate& fate = reading_.fates[event.ref];
        if (fate.completion != 0) fail("a command completed twice: " + text_of(event));
        fate.completion = event.id;
      }
      // A delivery without a number is the answer of a try that found no message.
      if (event.kind == EventKind::kDelivery && event.number != 0)
        reading_.delivery_of[event.id] = event.ref;
      if (event.kind == EventKind::kReturn) {
        reading_.fates[stored_[event.ref - 1]->event.ref].completion = 0;
        reading_.delivery_of.erase(event.ref);
      }
      if (event.kind == EventKind::kCancelRequested) ++reading_.cancels;
      if (event.kind == EventKind::kEnded) {
        if (reading_.end != 0) fail("two ends");
        reading_.end = event.id;
      } else if (reading_.end != 0 && event.kind != EventKind::kReturn) {
        fail("behind the end: " + text_of(event));
      }
    }
    read_to_ = stored_.size();
  }

  [[nodiscard]] bool is_retired(BranchId branch) const {
    while (branch != 0) {
      const auto opening = reading_.openings.find(branch);
      if (opening == reading_.openings.end()) return false;
      if (reading_.fates.at(opening->second).closed) return true;
      branch = stored_[opening->second - 1]->event.branch;
    }
    return false;
  }

  // True if this command can still complete.
  [[nodiscard]] bool is_open(EventId id) {
    if (read_to_ != stored_.size()) read_stored();
    if (id == 0 || id > stored_.size() || reading_.end != 0) return false;
    const Event& event = stored_[id - 1]->event;
    if (!can_complete(event.kind)) return false;
    const Fate& fate = reading_.fates[id];
    return fate.completion == 0 && !fate.closed && !is_retired(event.branch);
  }
  [[nodiscard]] bool is_wait_event(EventId id) const {
    const EventKind kind = stored_[id - 1]->event.kind;
    return kind == EventKind::kWait || kind == EventKind::kDequeue;
  }

  // Checks everything after a commit.
  void check(const Decision& made) {
    if (!failure_.empty()) return;
    read_stored();
    check_events();
    check_owned();
    check_message();
    check_request();
    if (stored_.empty()) return;  // continued as new
    if (made.state != TurnState::kMore) check_answers(made);
    if (made.state != TurnState::kMore) check_trails(made);
  }

  void check_events() {
    if (reading_.cancels > 1) fail("two cancel requests");
    for (EventId id = 1; id <= stored_.size(); ++id) {
      const Event& event = stored_[id - 1]->event;
      if (event.id != id) return fail("ids have a gap");
      if (event.kind == EventKind::kDetached && detached_.count(id) == 0)
        return fail("a detached start was lost");
      if (event.kind != EventKind::kActivityDone && event.kind != EventKind::kChildDone) continue;
      if (event.payload != result_text(execution_, event.ref) ||
          event.error != result_error(execution_, event.ref))
        return fail("the result of another command: " + text_of(event));
    }
  }

  // There is one grace from the first request to the end, and the request is in each later
  // execution.
  void check_request() {
    if (over_) return;
    const auto is_grace = [](const auto& row) {
      return row.second.timer && row.second.owned->message.execution == 0;
    };
    if (std::count_if(rows_.begin(), rows_.end(), is_grace) != (has_grace_ ? 1 : 0))
      return fail("a request has one grace, and nothing else has");
    if (stored_.empty() || handed_on_ == 0) return;
    const Event* const request = stored_.size() < 2 ? nullptr : &stored_[1]->event;
    if (request == nullptr || request->kind != EventKind::kCancelRequested ||
        request->payload != request_ || request->number != handed_on_)
      fail("the request was not handed on");
  }

  // ---- cancellation (R8.3, R8.4), from what is stored and what the code saw ----

  [[nodiscard]] EventId request_id() const {
    for (const auto& one : stored_)
      if (one->event.kind == EventKind::kCancelRequested) return one->event.id;
    return 0;
  }

  // The event that brought this value; 0: the value does not identify one, as with the "no message"
  // of a try.
  [[nodiscard]] EventId bringer_of(const std::string& value) const {
    for (const auto& one : stored_) {
      const Event& event = one->event;
      if ((event.kind == EventKind::kActivityDone || event.kind == EventKind::kChildDone ||
           (event.kind == EventKind::kDelivery && event.error == ErrorKind::kNone)) &&
          event.payload == value && !value.empty())
        return event.id;
    }
    return 0;
  }

  void check_answers(const Decision& made) {
    const EventId request = request_id();
    std::map<std::size_t, unsigned> refused;  // handles answered "cancelled", unshielded
    for (const Answer& answer : made.answers) {
      const std::string& name = program_.names[answer.handle];
      if (answer.is_cancelled && request == 0) return fail("cancelled without a request: " + name);
      if (!answer.is_issued && !answer.is_cancelled)
        return fail("a result of what was not to be issued: " + name);
      if (answer.is_shielded && answer.is_issued && answer.is_cancelled)
        return fail("cancelled in a clean-up scope: " + name);
      if (request != 0 && answer.is_shielded && answer.is_issued) ++life_.shielded;
      if (answer.is_cancelled) {
        if (!answer.is_shielded) ++refused[answer.handle];
        continue;
      }
      const EventId bringer = bringer_of(answer.value);
      if (request == 0 || bringer == 0) continue;
      if (!answer.is_shielded && bringer > request)
        return fail("received behind the request: " + name);
      if (answer.is_shielded && bringer < request && refused.count(answer.handle) != 0 &&
          is_once(answer.handle))
        return fail("cancelled, and the result came before: " + name);
    }
    check_issued(made);
  }

  // True if only one command issued the handle.
  [[nodiscard]] bool is_once(std::size_t handle) const { return commands_of(handle) <= 1; }

  // Number of commands that may belong to the handle; commands with explicit names do not count.
  [[nodiscard]] unsigned commands_of(std::size_t handle) const {
    unsigned count = 0;
    for (const auto& one : stored_) {
      const EventKind kind = one->event.kind;
      if ((kind == EventKind::kActivity || kind == EventKind::kChild) &&
          one->event.name == program_.names[handle])
        ++count;
    }
    return count;
  }

  // After a request nothing is recorded that could complete, except what R8.4 allows.
  void check_issued(const Decision& made) {
    for (std::size_t handle = 0; handle < made.issued.size(); ++handle)
      if (commands_of(handle) > made.issued[handle])
        return fail("issued behind the request: " + program_.names[handle]);
  }

  // Every started activity, timer and child is completed, cancelled or still owned by a branch.
  void check_owned() {
    if (over_) return;
    std::map<EventId, unsigned> results;
    std::set<EventId> timers;
    for (const auto& row : rows_) {
      const Message& message = row.second.owned->message;
      if (message.execution != execution_ || message.ref == 0) continue;
      if (row.second.timer) {
        timers.insert(message.ref);
      } else {
        ++results[message.ref];
      }
    }
    for (EventId id = 1; id <= stored_.size(); ++id) {
      const EventKind kind = stored_[id - 1]->event.kind;
      bool is_owned = false;
      bool is_answered = results.count(id) != 0;
      if (kind == EventKind::kActivity) is_owned = work_.count(id) != 0;
      if (kind == EventKind::kTimer) is_owned = timers.count(id) != 0;
      if (kind == EventKind::kChild) is_owned = children_.count(id) != 0;
      if (kind != EventKind::kActivity && kind != EventKind::kTimer && kind != EventKind::kChild)
        continue;
      if (is_open(id) && !is_owned && !is_answered)
        return fail("nobody owns " + text_of(stored_[id - 1]->event));
      if (!is_open(id) && is_owned)
        return fail("over, and still owned: " + text_of(stored_[id - 1]->event));
    }
  }

  // Every queue message waits, or is in one valid delivery, or was received by an earlier
  // execution.
  void check_message() {
    std::map<MessageId, unsigned> found;
    for (const auto& row : rows_)
      if (is_message(row.second.owned->message.kind)) ++found[row.first];
    for (const MessageId id : left_)
      ++found[id];
    for (const auto& valid : reading_.delivery_of) {
      const Event& delivery = stored_[valid.first - 1]->event;
      const Event& wait = stored_[valid.second - 1]->event;
      const auto sent = sent_.find(delivery.number);
      if (sent == sent_.end()) return fail("nobody sent " + text_of(delivery));
      if (sent->second.payload != delivery.payload || sent->second.name != wait.name)
        return fail("another message than was sent: " + text_of(delivery));
      ++found[delivery.number];
    }
    for (const auto& one : sent_) {
      const unsigned times = found[one.first] + (one.second.used ? 1U : 0U);
      // An offer that found no wait is gone.
      const bool may_be_gone = one.second.kind == MessageKind::kOffer;
      if (times > 1 || (times == 0 && !may_be_gone))
        return fail("message " + std::to_string(one.first) + " is in " + std::to_string(times) +
                    " places");
    }
    for (const auto& one : found)
      if (one.second != 0 && sent_.count(one.first) == 0)
        return fail("nobody sent message " + std::to_string(one.first));
  }

  // The observations of a branch never change; the root's may grow.
  void check_trails(const Decision& made) {
    for (const Trail& now : made.trails) {
      for (const Trail& before : trails_) {
        if (before.branch != now.branch) continue;
        const bool holds =
            is_prefix(before.seen, now.seen) ||
            (before.branch != made.trails[0].branch && is_prefix(now.seen, before.seen));
        if (!holds) return fail("a branch saw something else than before");
      }
    }
    trails_ = made.trails;
  }

  // The code has ended: the valid deliveries hold exactly what it received.
  void check_at_end(const Decision& made) {
    read_stored();
    std::set<MessageId> delivered;
    for (const auto& valid : reading_.delivery_of)
      delivered.insert(stored_[valid.first - 1]->event.number);
    const std::set<MessageId> taken(made.received.begin(), made.received.end());
    if (delivered != taken) fail("received is not what was delivered");
    const std::set<std::string> said(made.traced.begin(), made.traced.end());
    if (!may_lose_traces_ && said != emitted_)
      fail("traced " + std::to_string(said.size()) + ", left " + std::to_string(emitted_.size()));
    check_events();
    check_message_moved(taken);
  }

  void check_message_moved(const std::set<MessageId>& taken) {
    for (const MessageId id : taken) {
      if (sent_[id].used) fail("received in two executions: " + std::to_string(id));
      if (rows_.count(id) != 0) fail("received, and it waits: " + std::to_string(id));
    }
  }

  // ---- damage to stored events in a wrong world ----

  void spoil() {
    spoiled_.clear();
    if (stored_.size() < 3) return;
    const auto of_kind = [this](EventKind kind) {
      std::vector<EventId> ids;
      for (const auto& one : stored_)
        if (one->event.kind == kind) ids.push_back(one->event.id);
      return ids;
    };
    const auto exchange = [this](EventKind kind, const std::vector<EventId>& ids) {
      if (ids.size() < 2) return;
      Event a = stored_[ids[0] - 1]->event;
      Event b = stored_[ids[1] - 1]->event;
      std::swap(a.payload, b.payload);
      std::swap(a.error, b.error);
      if (kind == EventKind::kDelivery) std::swap(a.number, b.number);
      spoiled_[a.id] = a;
      spoiled_[b.id] = b;
    };
    switch (wrong_) {
      case Wrong::kDeliveriesSwapped:
        exchange(EventKind::kDelivery, of_kind(EventKind::kDelivery));
        return;
      case Wrong::kResultsSwapped:
        exchange(EventKind::kActivityDone, of_kind(EventKind::kActivityDone));
        return;
      case Wrong::kHorizonOneHigher:
      case Wrong::kHorizonOneLower:
      case Wrong::kHorizonForgotten: spoil_horizons(of_kind(EventKind::kClose)); return;
      case Wrong::kCommandsReordered: {
        const auto ids = of_kind(EventKind::kActivity);
        if (ids.size() < 2) return;
        Event a = stored_[ids[0] - 1]->event;
        Event b = stored_[ids[1] - 1]->event;
        std::swap(a.name, b.name);
        std::swap(a.argument_hash, b.argument_hash);
        spoiled_[a.id] = a;
        spoiled_[b.id] = b;
        return;
      }
      case Wrong::kRecordedGuidLost:
        for (const EventId id : of_kind(EventKind::kGuid)) {
          spoiled_[id] = stored_[id - 1]->event;
          spoiled_[id].payload = "00000000-0000-4000-8000-000000000000";
        }
        return;
      default: return;
    }
  }

  void spoil_horizons(const std::vector<EventId>& ids) {
    for (const EventId id : ids) {
      Event event = stored_[id - 1]->event;
      if (wrong_ == Wrong::kHorizonForgotten) event.horizon = id - 1;
      if (wrong_ == Wrong::kHorizonOneHigher && event.horizon + 1 < id) ++event.horizon;
      if (wrong_ == Wrong::kHorizonOneLower && event.horizon > 1) --event.horizon;
      spoiled_[id] = event;
    }
  }

  const Program& program_;
  Random random_;
  Wrong wrong_;
  History warm_;
  std::vector<std::unique_ptr<OwnedEvent>> stored_;
  std::map<EventId, Event> spoiled_;
  std::map<MessageId, Row> rows_;
  std::map<MessageId, Sent> sent_;
  std::set<MessageId> left_;
  std::set<MessageId> asked_;           // messages that put off the last end
  std::set<MessageId> came_meanwhile_;  // messages that came while the last end ran
  std::vector<std::unique_ptr<OwnedMessage>> piggybacked_calls_;
  std::set<EventId> work_;
  std::set<EventId> children_;
  std::set<EventId> detached_;
  std::set<std::string> emitted_;
  std::vector<Trail> trails_;
  Reading reading_;
  std::size_t read_to_ = 0;
  std::size_t waiting_count_ = 0;
  bool has_unread_ = false;  // messages exist beyond the last batch
  std::int64_t stamp_ms_ = 1000;
  ExecutionId execution_ = 1;
  MessageId last_message_ = 0;
  unsigned cancel_odds_ = 0;  // a request comes in one of so many turns; 0: never
  bool has_grace_ = false;    // a request was taken
  unsigned handed_on_ = 0;    // how often the request was handed on
  std::string request_;       // reason of the request
  bool is_slow_ = false;      // at most one thing happens in a turn
  bool more_ = false;
  bool over_ = false;
  bool may_lose_traces_ = false;
  std::string failure_;
  Life life_;
};

std::vector<Message> messages_of(const RecordedTurn& turn) {
  std::vector<Message> messages;
  for (const auto& one : turn.batch)
    messages.push_back(one->message);
  return messages;
}

}  // namespace

const char* wrong_name(Wrong wrong) {
  static const char* const kNames[] = {"nothing",
                                       "a returned message is dropped",
                                       "a returned message is renumbered",
                                       "a waiting message is dropped",
                                       "a taken message stays",
                                       "messages are not carried",
                                       "recorded deliveries are swapped",
                                       "recorded results are swapped",
                                       "a horizon is one higher",
                                       "a horizon is one lower",
                                       "a horizon is forgotten",
                                       "recorded commands are reordered",
                                       "the last event is lost",
                                       "a completion is lost",
                                       "closed work is kept",
                                       "a timer is forgotten",
                                       "an unwanted child is started",
                                       "a detached start is lost at the end",
                                       "a request is not carried",
                                       "a grace is not carried",
                                       "a request has a second grace",
                                       "a result of an old execution is taken",
                                       "there are two ends",
                                       "a recorded guid is lost",
                                       "an end hears nothing",
                                       "an end is asked once",
                                       "an end is asked for ever",
                                       "an end reads in part"};
  return kNames[static_cast<std::size_t>(wrong)];
}

void Life::add(const Life& other) {
  turns += other.turns;
  executions += other.executions;
  cuts += other.cuts;
  withdrawn += other.withdrawn;
  dropped += other.dropped;
  kept += other.kept;
  ended_outside += other.ended_outside;
  not_found += other.not_found;
  put_off += other.put_off;
  ends_put_off += other.ends_put_off;
  ends_deaf += other.ends_deaf;
  handed_on += other.handed_on;
  shielded += other.shielded;
  for (std::size_t kind = 0; kind < std::size(events); ++kind)
    events[kind] += other.events[kind];
}

Life live(const Program& program, std::uint64_t seed, Wrong wrong) {
  set_program(&program, false);
  return World(program, seed, wrong).live();
}

Recording record(const Program& program, std::uint64_t seed, bool is_cancelled) {
  set_program(&program, false);
  Recording recording;
  World world(program, seed, Wrong::kNothing);
  if (is_cancelled) world.cancel_early();
  for (int turn = 0; turn < 200 && !world.has_ended(); ++turn)
    world.plain_turn(&recording);
  return recording;
}

bool lives_the_same(const Program& program, const Recording& recording, std::size_t turns) {
  set_program(&program, false);
  History history(Lab::get().pool());
  Diagnostic diagnostic;
  for (std::size_t at = 0; at < turns; ++at) {
    const RecordedTurn& turn = recording.turns[at];
    const std::vector<Message> messages = messages_of(turn);
    const TurnInput input =
        input_of(turn.stamp_ms, 1, messages, turn.waiting_count, turn.more_messages);
    const TurnResult result = Lab::get().engine(100).run_turn(history, input, diagnostic);
    if (result.status != Status::kOk || history.last_id() != turn.last_id) return false;
    for (EventId id = result.first_new; id <= turn.last_id; ++id)
      if (!same(history.event(id), recording.events[id - 1]->event)) return false;
  }
  return true;
}

Status replay_of(const Program& program, const Recording& recording, std::size_t turns,
                 std::string* text) {
  set_program(&program, false);
  History history(Lab::get().pool());
  Diagnostic diagnostic;
  for (EventId id = 1; id <= recording.turns[turns - 1].last_id; ++id)
    if (history.append(recording.events[id - 1]->event, diagnostic) != Status::kOk)
      return Status::kCorrupt;
  const RecordedTurn& next = recording.turns[turns];
  const std::vector<Message> messages = messages_of(next);
  const TurnInput input =
      input_of(next.stamp_ms, 1, messages, next.waiting_count, next.more_messages);
  const Status status = Lab::get().engine(100).run_turn(history, input, diagnostic).status;
  *text = diagnostic.text();
  return status;
}

}  // namespace pawl::test
