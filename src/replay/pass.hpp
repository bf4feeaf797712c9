// Pass: one run of an orchestration function from its top.
//
// Purpose: behind OrchestrationContext and Handle. Compares the commands of the code with history,
// answers its awaits, and stages what is new; finish() makes that part of history, or nothing of it.
// Ownership: borrows all it is given; lives for one run. Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_PASS_HPP
#define PAWL_REPLAY_PASS_HPP

#include <cstdint>
#include <string_view>

#include "engine.hpp"
#include "history.hpp"
#include "pawl/orchestration.hpp"

namespace pawl {

// Traces of the last pass, with their texts.
struct TraceLog {
  static constexpr std::size_t kTextBytesMax = 512;   // of one; longer ones are cut
  static constexpr std::size_t kTextBytesMean = 128;  // room for all of them, a trace
  Trace* traces = nullptr;
  char* texts = nullptr;
  std::size_t capacity = 0;
  std::size_t text_capacity = 0;
  std::size_t count = 0;
  std::size_t text_size = 0;
  std::uint32_t lost = 0;

  void clear();
  void add(LogLevel level, std::string_view text);
};

namespace internal {

class Pass {
 public:
  struct Setup {
    History* history = nullptr;
    const TurnInput* input = nullptr;
    const EngineLimits* limits = nullptr;
    Diagnostic* diagnostic = nullptr;
    TraceLog* traces = nullptr;
    EventId seen = 0;  // code that has come to this event, and no further, ran in an earlier turn
    std::uint32_t run = 0;  // unlike that of every other pass of this engine
    bool second = false;    // over what the first has appended: must add nothing
  };
  explicit Pass(const Setup& setup);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // Runs the function and appends what it decided. Unless kOk nothing was appended and the diagnostic
  // tells why.
  Status run();
  [[nodiscard]] bool ended() const { return end_calls_ != 0; }
  [[nodiscard]] EventId position() const { return root_.position; }
  [[nodiscard]] std::uint64_t path_hash() const { return root_.path_hash; }

  // --- behind the public interface ---
  [[nodiscard]] const TurnInput& input() const { return *input_; }
  [[nodiscard]] std::string_view start_payload() const;
  [[nodiscard]] bool is_replaying() const { return root_.position <= seen_; }
  [[nodiscard]] bool is_suspended() const { return root_.suspended; }
  [[nodiscard]] std::int64_t now_ms() const;
  Handle schedule_activity(std::string_view name, std::string_view input, std::string_view session,
                           bool on_session);
  Handle schedule_timer(TimerBase base, std::int64_t number);
  Guid new_guid();
  std::int64_t utc_now_ms();
  Poll end(EndKind kind, ErrorKind error, std::string_view payload);
  void trace(LogLevel level, std::string_view text);
  Outcome await(const Handle& handle);

 private:
  using Record = History::Record;
  enum class Refusal : std::uint32_t { kNone, kName, kSession, kPayload, kForeign };

  struct BranchRun {
    BranchId number = 0;
    Record* cursor = nullptr;  // the next command history expects
    Ordinal ordinal = 0;       // of the next call
    EventId position = 1;
    std::uint64_t path_hash = 0;  // since the last command; 0: nothing was awaited
    bool suspended = false;
  };

  bool is_active(const char* call);
  Record* issue(Event& event);
  Record* issue_recorded(Event& event);
  Record* issue_new(Event& event);
  bool may_issue_new(const Event& event);
  bool has_room(const Event& event);
  Handle handle_of(Record* command) { return {this, run_, command, 0}; }
  Handle refuse(Refusal refusal) {
    return {this, run_, nullptr, static_cast<std::uint32_t>(refusal)};
  }
  static Outcome refused(std::uint32_t refusal);

  Outcome suspend(const Record* awaited);
  Outcome receive(EventId completion);
  [[nodiscard]] bool is_cancelled_before(EventId position) const;
  void add_to_path(const Event& command);

  void fail(Status status);
  void fail_mismatch(const Event& recorded, const Event& issued, const char* what);
  void check_recorded_end(const Event& end);
  void check_ending(bool pending);
  void check_complete();
  [[nodiscard]] EventId begin_of_last_commands() const;
  Status finish();

  History& history_;
  const TurnInput* input_;
  const EngineLimits& limits_;
  Diagnostic& diagnostic_;
  TraceLog& traces_;
  EventId seen_;
  EventId commands_begin_;  // every event before it was known to the last pass that recorded
  std::uint32_t run_;
  bool second_;

  Status status_ = Status::kOk;
  BranchRun root_;
  Record* first_staged_ = nullptr;  // linked by their `next`
  Record* last_staged_ = nullptr;
  std::uint32_t staged_count_ = 0;
  std::uint32_t reissued_ = 0;
  Record* end_ = nullptr;  // staged
  std::uint32_t end_calls_ = 0;
  const Record* awaited_ = nullptr;  // what the root is suspended at
};

}  // namespace internal
}  // namespace pawl

#endif  // PAWL_REPLAY_PASS_HPP
