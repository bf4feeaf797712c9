// A bench for the replay engine: one history, turns whose messages are short texts, and the history
// as a text to compare with. Every turn runs with verify on; after each turn, a history rebuilt
// from the events must equal the warm one.
#ifndef PAWL_TEST_REPLAY_BENCH_HPP
#define PAWL_TEST_REPLAY_BENCH_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "event_text.hpp"
#include "replay/engine.hpp"

namespace pawl::test {

class Bench {
 public:
  explicit Bench(EngineLimits limits = {}, std::size_t pool_bytes = std::size_t{1} << 20U)
      : pool_block_(new unsigned char[pool_bytes]),
        arena_block_(new unsigned char[kArenaBytes]),
        pool_(pool_block_.get(), pool_bytes),
        arena_(arena_block_.get(), kArenaBytes),
        engine_(arena_, limits),
        history_(std::make_unique<History>(pool_)) {}

  // Runs a turn. The caller checks the status; `added()` has the turn's events.
  // Waiting messages are handed in again, as the storage does.
  Status turn(Orchestration function, std::vector<Message> messages = {}) {
    TurnInput input = input_of(function);
    messages.insert(messages.begin(), posted_.begin(), posted_.end());
    input.messages = messages.data();
    input.message_count = messages.size();
    const TurnResult result = engine_.run_turn(*history_, input, diagnostic_);
    first_new_ = result.first_new;
    state_ = result.state;
    dropped_ = result.dropped;
    passes_ = result.passes;
    ignores_cancel_ = result.ignores_cancel;
    withdrawn_ = result.withdrawn;
    if (result.status == Status::kOk) sort_mailbox(messages, result);
    traces_.clear();
    traces_lost_ = result.traces_lost;
    for (std::size_t i = 0; i < result.trace_count; ++i)
      traces_.emplace_back(result.traces[i].text);
    return result.status;
  }

  // Runs a turn that must succeed.
  Bench& go(Orchestration function, std::vector<Message> messages = {}) {
    EXPECT_EQ(turn(function, std::move(messages)), Status::kOk) << diagnostic_.text();
    return *this;
  }

  // Runs a first turn and rewrites it as an engine of that behaviour recorded it. It must be a turn
  // without a cancel request, in which all engines agree.
  void begin_under(std::int64_t behaviour, Orchestration function, std::vector<Message> messages) {
    go(function, std::move(messages));
    rewrite([behaviour](Event& event) {
      if (event.id == 1) event.number = behaviour;
      if (event.id == 1 && behaviour == 1) event.horizon = 0;
    });
  }
  // Changes the events, so that the history is as another engine recorded it.
  template <typename Change>
  void rewrite(Change change) {
    auto begun = std::make_unique<History>(pool_);
    for (EventId id = 1; id <= history_->last_id(); ++id) {
      Event event = history_->event(id);
      change(event);
      EXPECT_EQ(begun->append(event, diagnostic_), Status::kOk) << diagnostic_.text();
    }
    history_ = std::move(begun);
  }

  // Loads the events of `other` up to `count` through append().
  void load(const Bench& other, EventId count) {
    history_ = std::make_unique<History>(pool_);
    for (EventId id = 1; id <= count; ++id)
      EXPECT_EQ(history_->append(other.history().event(id), diagnostic_), Status::kOk)
          << diagnostic_.text();
  }

  // Raised events and queue messages that wait for the next turn.
  [[nodiscard]] const std::vector<Message>& posted() const { return posted_; }
  void set_posted(const std::vector<Message>& posted) { posted_ = posted; }

  [[nodiscard]] TurnInput input_of(Orchestration function) const {
    TurnInput input;
    input.code = function;
    input.instance_id = "instance-1";
    input.orchestration_name = "flow";
    input.version = "1.0";
    input.stamp_ms = stamp_ms;
    input.random[0] = random;
    input.verify = verify;
    input.more_messages = more_messages;
    return input;
  }
  [[nodiscard]] std::string added() const { return lines(*history_, first_new_); }
  [[nodiscard]] std::string all() const { return lines(*history_); }
  [[nodiscard]] History& history() { return *history_; }
  [[nodiscard]] const History& history() const { return *history_; }
  [[nodiscard]] std::string text() const { return std::string(diagnostic_.text()); }
  [[nodiscard]] Diagnostic& diagnostic() { return diagnostic_; }
  [[nodiscard]] TurnState state() const { return state_; }
  [[nodiscard]] std::uint32_t dropped() const { return dropped_; }
  [[nodiscard]] std::uint32_t passes() const { return passes_; }
  [[nodiscard]] bool ignores_cancel() const { return ignores_cancel_; }
  [[nodiscard]] std::uint32_t withdrawn() const { return withdrawn_; }
  [[nodiscard]] const std::vector<std::string>& traces() const { return traces_; }
  [[nodiscard]] std::uint32_t traces_lost() const { return traces_lost_; }
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] BuddyPool& pool() { return pool_; }

  bool verify = true;
  bool more_messages = false;  // further messages exist that this turn does not get
  std::int64_t stamp_ms = 1000;
  std::uint8_t random = 7;

 private:
  void sort_mailbox(const std::vector<Message>& messages, const TurnResult& result) {
    std::vector<Message> kept;
    for (std::size_t i = 0; i < result.given_back_count; ++i) {
      kept.push_back(result.given_back[i]);
      kept.back().name = keep(kept.back().name);
      kept.back().payload = keep(kept.back().payload);
    }
    for (const Message& message : messages)
      for (std::size_t i = 0; i < result.kept_count; ++i)
        if (message.id == result.kept[i]) kept.push_back(message);
    std::sort(kept.begin(), kept.end(),
              [](const Message& a, const Message& b) { return a.id < b.id; });
    posted_ = kept;
  }
  static std::string_view keep(std::string_view text) {
    static std::set<std::string> texts;
    return *texts.emplace(text).first;
  }

  static constexpr std::size_t kArenaBytes = 256 * 1024;
  std::vector<Message> posted_;
  std::unique_ptr<unsigned char[]> pool_block_;
  std::unique_ptr<unsigned char[]> arena_block_;
  BuddyPool pool_;
  Arena arena_;
  Engine engine_;
  std::unique_ptr<History> history_;
  Diagnostic diagnostic_;
  EventId first_new_ = 1;
  TurnState state_ = TurnState::kSuspended;
  std::uint32_t dropped_ = 0;
  std::uint32_t passes_ = 0;
  bool ignores_cancel_ = false;
  std::uint32_t withdrawn_ = 0;
  std::vector<std::string> traces_;
  std::uint32_t traces_lost_ = 0;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_REPLAY_BENCH_HPP
