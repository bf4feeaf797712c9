// Pass: one run of an orchestration function from its top.
//
// Purpose: behind OrchestrationContext and Handle. Compares the commands of the code with history,
// answers its awaits, and stages what is new; at the end that becomes part of history, but for what
// branches did beyond their horizon.
// Ownership: borrows all it is given; lives for one run, as do handles. Thread rule: the Runtime's.
#ifndef PAWL_REPLAY_PASS_HPP
#define PAWL_REPLAY_PASS_HPP

#include <cstdint>
#include <string_view>

#include "check.hpp"
#include "engine.hpp"
#include "history.hpp"
#include "mailbox.hpp"
#include "pawl/orchestration.hpp"
#include "policy.hpp"

namespace pawl {

namespace internal {

inline constexpr EventId kNoHorizon = UINT32_MAX;
// Branches in branches: each is a call on the stack of whoever runs the turn.
inline constexpr std::uint32_t kBranchDepthMax = 32;

// Arguments of a call that starts another instance.
struct NewInstanceCall {
  std::string_view name;
  std::string_view input;
  bool has_id = false;
  std::string_view id;
  bool has_version = false;
  std::string_view version;
};

// A branch in one pass; the root is one.
struct BranchRun {
  BranchId number = 0;
  BranchRun* parent = nullptr;  // null: the root
  std::uint32_t depth = 0;      // of the root 0
  BranchRun* next = nullptr;    // in order of opening
  History::Record* opening = nullptr;
  History::Record* cursor = nullptr;  // the next command history expects
  History::Record* first_own = nullptr;
  History::Record* last_own = nullptr;  // what it could wait for, in order of issue
  Ordinal ordinal = 0;                  // of the next call
  EventId position = 1;
  EventId horizon = kNoHorizon;    // recorded: it sees nothing above
  EventId effective = kNoHorizon;  // with the closes of this pass
  std::uint64_t path_hash = 0;     // since the last command; 0: nothing was awaited
  std::uint32_t end_calls = 0;
  std::uint32_t writer = 0;  // number among the branches that write state; 0: it does not
  std::uint32_t writes = 0;
  // How many writes of each writer it knows by cause: those of its ancestors before its opening,
  // and of the branches it received.
  std::uint32_t* known = nullptr;
  std::uint32_t known_count = 0;
  bool suspended = false;
  bool returned = false;
  ErrorKind error = ErrorKind::kNone;
  std::string_view result;
  const History::Record* awaited = nullptr;  // suspended at: the first of what it waits for
};

}  // namespace internal

// Traces of the last pass, with their texts.
struct TraceLog {
  static constexpr std::size_t kTextBytesMax = 512;   // of one; longer ones are cut
  static constexpr std::size_t kTextBytesMean = 128;  // room for all of them, a trace
  struct Origin {
    const internal::BranchRun* branch = nullptr;
    EventId position = 0;
  };
  Trace* traces = nullptr;
  Origin* origins = nullptr;
  char* texts = nullptr;
  std::size_t capacity = 0;
  std::size_t text_capacity = 0;
  std::size_t count = 0;
  std::size_t text_size = 0;
  std::uint32_t lost = 0;

  void clear();
  void add(LogLevel level, std::string_view text, Origin origin);
  // Forgets what branches said beyond their horizon.
  void withdraw();
};

namespace internal {

struct PassSetup {
  History* history = nullptr;
  const TurnInput* input = nullptr;
  const EngineLimits* limits = nullptr;
  Diagnostic* diagnostic = nullptr;
  TraceLog* traces = nullptr;
  Mailbox* mailbox = nullptr;
  EventId seen = 0;  // code that has come to this event, and no further, ran in an earlier turn
  EventId ran = 0;   // code at this event or before it did so, to a pending await
  std::uint32_t run = 0;  // unlike that of every other pass of this engine
  std::uint32_t commands_left = 0;
  // A second run over what the first has appended: it must add nothing and come to the same.
  bool second = false;
  EventId position = 0;
  std::uint64_t path_hash = 0;
};

class Pass {
 public:
  explicit Pass(const PassSetup& setup);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  // Runs the function and appends what it decided. Unless kOk the history must be rewound, and the
  // diagnostic says why.
  Status run();
  // Did it append what another pass has to see?
  [[nodiscard]] bool has_ended() const { return root_.returned; }
  [[nodiscard]] bool is_another_needed() const { return is_another_needed_; }
  [[nodiscard]] std::uint32_t appended() const { return appended_; }
  [[nodiscard]] std::uint32_t withdrawn() const { return staged_count_ - appended_; }
  [[nodiscard]] EventId position() const { return root_.position; }
  [[nodiscard]] std::uint64_t path_hash() const { return root_.path_hash; }

  // --- behind the public interface ---
  [[nodiscard]] const TurnInput& input() const { return *input_; }
  [[nodiscard]] std::string_view start_payload() const;
  [[nodiscard]] std::string_view start_version() const;
  [[nodiscard]] bool is_replaying(const BranchRun& branch) const {
    return branch.position <= seen_;
  }
  [[nodiscard]] bool is_suspended(const BranchRun& branch) const {
    return branch.suspended || status_ != Status::kOk;
  }
  [[nodiscard]] std::int64_t now_ms(const BranchRun& branch) const;
  // Without options; most of a long history is re-run through here.
  Handle schedule_activity(BranchRun& branch, std::string_view name, std::string_view input);
  Handle schedule_activity(BranchRun& branch, std::string_view name, std::string_view input,
                           const ActivityOptions& given);
  // Without `has_id` it gets one of its own.
  Session open_session(BranchRun& branch, std::string_view id, bool has_id,
                       const SessionSettings& settings);
  ErrorKind close_session(BranchRun& branch, std::string_view id);
  ErrorKind handoff_session(BranchRun& branch, std::string_view id, bool is_own,
                            std::string_view tag, std::string_view summary);
  ErrorKind hold_session(BranchRun& branch, std::string_view id, bool is_own, std::int64_t hold_ms);
  Handle session_events(BranchRun& branch, std::string_view id);
  Handle schedule_timer(BranchRun& branch, TimerBase base, std::int64_t number);
  // `kind`: kWait or kDequeue.
  Handle schedule_wait(BranchRun& branch, EventKind kind, std::string_view name, bool only_try);
  Handle read_elsewhere(BranchRun& branch, std::string_view instance, std::string_view key);
  Handle schedule_child(BranchRun& branch, const NewInstanceCall& call);
  ErrorKind start_detached(BranchRun& branch, const NewInstanceCall& call);
  // A read sees what executions before left, the branch's own writes, those it knows by cause, and
  // of all others those at or before its position.
  ErrorKind write_state(BranchRun& branch, std::string_view key, std::string_view value,
                        bool clear);
  bool read_state(BranchRun& branch, std::string_view key, KvEntry* out);
  bool next_state(BranchRun& branch, KvEntry* entry);
  std::size_t state_length(BranchRun& branch);
  // Clears what was written before this time; how many keys.
  std::size_t clear_state(BranchRun& branch, std::int64_t updated_before_ms);
  ErrorKind set_custom_status(BranchRun& branch, std::string_view text);
  std::string_view custom_status(BranchRun& branch);
  Guid new_guid(BranchRun& branch);
  std::int64_t utc_now_ms(BranchRun& branch);
  Handle open_branch(BranchRun& branch, Poll (*call)(void*, OrchestrationContext&), void* callable);
  Handle join(BranchRun& branch, const Handle* handles, std::size_t count);
  Selection select(BranchRun& branch, const Handle* handles, std::size_t count);
  void cancel(BranchRun& branch, const Handle& handle);
  Poll end(BranchRun& branch, EndKind kind, ErrorKind error, std::string_view payload,
           std::string_view version = {});
  Poll continue_as_new(BranchRun& branch, std::string_view version, std::string_view input);
  void trace(BranchRun& branch, LogLevel level, std::string_view text);
  // An exception has left the code of the branch; `what`: its text, null if it has none.
  Poll stop_with_exception(const BranchRun& branch, const char* what);
  Outcome await(const Handle& handle);
  Outcome await_first(const Selection& selection);

 private:
  using Record = History::Record;
  // What a handle is, or why it is nothing.
  enum class Form : std::uint32_t {
    kNone,
    kCommand,
    kJoin,
    kBadName,
    kBadSession,
    kBadTag,
    kBadId,
    kBadVersion,
    kBadPayload,
    kBadOptions,
    kTooDeep,
    kInvalid
  };

  struct Join {
    std::size_t count;
    Record** leaves;
  };
  struct Leaves {
    Record* single = nullptr;
    Record* const* list = nullptr;
    std::size_t count = 0;
    [[nodiscard]] Record& operator[](std::size_t at) const {
      Record* const leaf = list == nullptr ? single : list[at];
      PAWL_CHECK("replay-60", leaf != nullptr);
      return *leaf;
    }
  };
  enum class How : std::uint8_t { kNot, kCompleted, kReturned, kClosed, kRefused };
  struct Resolution {
    How how = How::kNot;
    EventId position = 0;
  };
  // A branch that waits for what another one owns.
  struct WaitOfOtherBranch {
    const BranchRun* waiter;
    const Record* leaf;
    WaitOfOtherBranch* next;
  };

  [[nodiscard]] static ActivityPolicy policy_of(const ActivityOptions& options);
  ErrorKind issue_write(BranchRun& branch, Event& event);
  [[nodiscard]] bool stored_value(const History::StateKey& key, std::string_view* value) const;
  [[nodiscard]] bool has_room_for(std::string_view key, std::string_view value) const;
  bool look_up(const BranchRun& branch, const History::StateKey& key, KvEntry* out) const;
  bool find_next(const BranchRun& branch, KvEntry* entry) const;
  [[nodiscard]] bool knows(const BranchRun& branch, const Record& write) const;
  void learn(BranchRun& branch, const BranchRun& from);
  bool is_active(const BranchRun& branch, const char* call);
  [[nodiscard]] Form form_of_call(const NewInstanceCall& call) const;
  Record* issue_start(EventKind kind, const NewInstanceCall& call);
  Record* issue(Event& event);
  Record* issue_recorded(Event& event);
  Record* take_recorded(Record* record);
  Record* issue_new(Event& event);
  bool may_issue_new(const Event& event);
  bool has_room(const Event& event);
  void adopt(Record* record);
  Handle handle_of(Record* command);
  Handle handle_of(Form form, void* target = nullptr) {
    return {this, run_, static_cast<std::uint32_t>(form), target};
  }
  // Memory for this pass; null: it has failed.
  void* note_bytes(std::size_t size);
  template <typename T>
  T* note(std::size_t count) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): a join is a list of pointers
    constexpr std::size_t kElement = sizeof(T);
    return static_cast<T*>(note_bytes(count > SIZE_MAX / kElement ? SIZE_MAX : count * kElement));
  }
  BranchRun* begin_branch(Record* opening);
  void end_branch(BranchRun& branch, bool pending);
  void keep_result(BranchRun& branch, const Event& end);

  // --- awaits ---
  [[nodiscard]] Form form_of(const Handle& handle) const;
  [[nodiscard]] Leaves leaves_of(const Handle& handle) const;
  [[nodiscard]] bool may_await(const Record& leaf) const;
  [[nodiscard]] Resolution resolve(const Record& leaf) const;
  [[nodiscard]] Resolution resolve(const Handle& handle) const;
  [[nodiscard]] bool is_cancelled(const Resolution& resolution) const;
  Outcome cancelled();
  Outcome suspend(const Handle* handles, std::size_t count);
  void wait_for(const Record& leaf);
  void note_receipt(Record& leaf);
  Outcome receive(const Handle& handle, const Resolution& resolution);
  [[nodiscard]] bool is_plain(const Record& leaf) const;
  Outcome receive_plain(Record& leaf);
  [[nodiscard]] Outcome result_of(const Record& leaf, const Resolution& resolution) const;
  static Outcome refused(Form form);
  void close(Record* leaf);
  void close_all(const Handle& handle);
  void close_own(const BranchRun& branch);
  void add_to_path(std::uint64_t number);
  void add_to_path(const Handle& handle);
  void add_to_path(std::string_view key);

  // --- the end of the pass ---
  void fail(Status status) { status_ = status; }
  void fail_mismatch(const Event& recorded, const Event& issued, const char* what);
  void check_recorded_end(const Event& end);
  void check_ending(const BranchRun& branch, bool pending);
  void check_complete();
  void find_horizons();
  Status append_commands();
  Status append_returns();
  [[nodiscard]] Record* next_to_return(std::int64_t after) const;
  [[nodiscard]] bool is_void(const Record& wait) const;
  Status finish();
  [[nodiscard]] bool wakes_another(const Record& close) const;

  History& history_;
  const TurnInput* input_;
  const EngineLimits& limits_;
  Diagnostic& diagnostic_;
  TraceLog& traces_;
  Mailbox& mailbox_;
  EventId seen_;
  EventId ran_;  // every event up to it was known to an earlier pass
  std::uint32_t run_;
  std::uint32_t commands_left_;
  bool second_;

  Status status_ = Status::kOk;
  ChunkList notes_;  // joins, branches, results of branches
  BranchRun root_;
  BranchRun* current_ = &root_;
  BranchRun* last_branch_ = &root_;
  BranchId last_number_ = 0;
  Record* first_staged_ = nullptr;
  Record* last_staged_ = nullptr;
  std::uint32_t staged_count_ = 0;
  std::uint32_t reissued_ = 0;
  Record* end_ = nullptr;  // staged
  std::uint32_t writer_count_ = 0;
  WaitOfOtherBranch* waits_of_other_branches_ = nullptr;
  std::uint32_t appended_ = 0;
  bool has_closed_ = false;
  bool is_another_needed_ = false;
};

}  // namespace internal
}  // namespace pawl

#endif  // PAWL_REPLAY_PASS_HPP
