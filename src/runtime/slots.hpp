// Slots: the activities this process has in hand, from hand-over to the commit of the result.
//
// Purpose: a bounded number of inline, threaded and cooperative executions with their input and
// result bytes. A result stays in its slot until it is committed; a thread that never returns keeps
// its slot.
// Ownership: memory from the runtime's arena; texts of all slots from one shared pool, so that 64
// slots do not cost 64 times the largest payload. Thread rule: the loop's thread; a pool thread
// uses only its own slot, from start to finish.
#ifndef PAWL_RUNTIME_SLOTS_HPP
#define PAWL_RUNTIME_SLOTS_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/arena.hpp"
#include "core/buddy.hpp"
#include "core/index_map.hpp"
#include "core/text.hpp"
#include "pawl/latest.hpp"
#include "pawl/log.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "pawl/registry.hpp"
#include "runtime/crash_notes.hpp"
#include "runtime/progress_ring.hpp"
#include "store/session/folder.hpp"
#include "store/store.hpp"

namespace pawl {
namespace internal {

// The notice that a runtime stops; the loop writes it.
class StopNotice {
 public:
  void announce(std::int64_t end_boot_ms) {
    end_boot_ms_.store(end_boot_ms);
    announced_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_announced() const { return announced_.load(std::memory_order_acquire); }
  // Boot time when the grace of running activities is over. Requires: is_announced().
  [[nodiscard]] std::int64_t end_boot_ms() const { return end_boot_ms_.load(); }

 private:
  std::atomic<bool> announced_{false};
  Latest<std::int64_t> end_boot_ms_;
};

// Values that all slots of a runtime share with the activities' contexts.
struct SlotShared {
  StopNotice stop;
  // In the worker's file; null: it is not registered. A former ring outlives its activities.
  std::atomic<ProgressRing*> progress{nullptr};

  port::Clock* clock = nullptr;
  port::Threads* threads = nullptr;
  LogSink* log = nullptr;
  std::int64_t heartbeat_interval_ms = 0;
  std::string_view worker_id;
  std::size_t payload_bytes_max = 0;
};

// The last report of an activity about itself. The thread that runs it writes, the loop reads, and
// neither waits for the other: a reader that meets a writer tries again later.
class Progress {
 public:
  // An empty text notes only the time. True: there was no unwritten report before. Requires: at
  // most kProgressBytesMax bytes.
  bool report(std::string_view text, std::int64_t boot_ms);
  [[nodiscard]] bool has_update() const { return has_update_.load(std::memory_order_acquire) != 0; }
  void set_update(bool update) { has_update_.store(update ? 1 : 0, std::memory_order_release); }
  // False: a report is being written.
  bool read(char* text, std::size_t* size, std::int64_t* boot_ms) const;
  // Number of the next heartbeat with a text: 1, 2, 3 .. since clear(). Called on the activity's
  // thread.
  std::uint32_t next_number() { return ++numbers_; }
  void clear();

 private:
  using Word = std::atomic<std::uint32_t>;
  static constexpr std::size_t kWords = kProgressBytesMax / sizeof(std::uint32_t);
  Word version_{0};  // odd: being written
  Word size_{0};
  Word boot_ms_[2] = {};  // the low word first
  Word words_[kWords] = {};
  Word has_update_{0};  // a whole word: RISC-V exchanges nothing smaller
  std::uint32_t numbers_ = 0;
};

struct Slot {
  enum class State : std::uint8_t {
    kFree,
    kTaken,  // handed over by the batch at hand: if that does not commit, another may have the item
    kReady,
    kRunning,
    kWaiting,  // a cooperative activity, between two steps
    kFinished,
  };
  // The slot's part in the batch at hand.
  struct InBatch {
    bool fetched = false;          // its item is handed over
    bool was_finished = false;     // when the batch wrote results; others finished since
    bool stored = false;           // its result becomes a stored message
    bool leaving = false;          // its result is written, with a turn or as a stored message
    bool writes_progress = false;  // its progress of progress_boot_ms is written
    bool evicted = false;          // its session goes to another worker
    std::int64_t progress_boot_ms = 0;
  };
  // A cooperative activity's next step is due when the time comes or the descriptor is readable.
  struct Steps {
    void* scratch = nullptr;
    int wait_fd = -1;
    bool is_readable = false;
    bool has_state = false;      // `scratch` holds the activity's state
    bool had_last_step = false;  // the activity knows that it is lost
    std::int64_t due_boot_ms = 0;
  };
  // An activity whose result is not wanted any more.
  struct Loss {
    OptionalMs since_boot_ms;
    bool abandoned = false;  // lost for longer than the grace, and still running
    bool evicts = false;     // abandoned: its session is to go to another worker
  };
  // Shared with the activity's thread: the reason that its context answers, and whether the
  // activity has learned of the stop.
  struct Asked {
    enum class KnowsStop : std::uint32_t { kNo, kByFlag, kByReason };
    std::atomic<CancelReason> reason{CancelReason::kNone};  // never kShutdown
    std::atomic<KnowsStop> knows_stop{KnowsStop::kNo};
  };
  struct Result {
    char* bytes = nullptr;  // with room for payload_bytes_max while the activity runs
    std::size_t size = 0;
    void* block = nullptr;  // from the pool; an inline or cooperative result after the run
    ErrorKind error = ErrorKind::kNone;
    bool answered = false;
    bool permanent = false;               // fail_permanently()
    std::optional<WhileOutside> outside;  // complete_later()
    store::OutsideWork::Secret secret;    // of its completion token, if it may have one
  };

  State state = State::kFree;
  ActivityMode mode = ActivityMode::kInline;  // the slot's mode, not an item's
  bool refused = false;   // the item is not this worker's any more; the result goes nowhere
  unsigned thread = 0;    // executor slot of a threaded activity, while it is in hand
  WorkItem item;          // views into `texts`
  void* texts = nullptr;  // from the pool
  const Registry::ActivityEntry* entry = nullptr;
  const SlotShared* shared = nullptr;
  NoteEntry* note = nullptr;
  FixedText<96> idempotency_key;
  OptionalMs deadline_boot_ms;  // item.deadline
  OptionalMs silent_boot_ms;    // end of the silence allowed; none: it may be silent
  std::int64_t took_ms = 0;
  bool commit_immediately = false;  // commit_now()
  bool lacks_folder = false;        // the folder of its session could not be made: it never ran
  bool aborts_session = false;      // abort_session()
  bool hands_back = false;          // hand_back(), or it gave up for the stop
  Asked asked;
  Progress progress;
  Latest<std::int64_t> session_lease_boot_ms;
  std::int64_t written_boot_ms = 0;  // boot time of the last written progress, or of the hand-over
  Loss loss;
  InBatch in_batch;
  Steps steps;
  Result result;

  // Shows the text to clients that watch. Called on the thread that runs the activity.
  void show_progress(std::string_view text);
  // The result is not wanted any more: the activity learns of it, and its answer goes nowhere.
  void lose(CancelReason why);
  // F14: the worker may not count on the lease of the session any more.
  [[nodiscard]] bool lease_is_over() const;
  // F14: false if the lease of its session is over by now. Requires: kTaken, and a commit.
  bool become_ready();
  // Takes the result as a hand-back, if the activity gave up because the worker stops.
  void take_as_hand_back();
  // Runs the activity's body; on the loop or on a pool thread.
  void run();
  // Runs one step of a cooperative activity. True: the activity ended.
  bool step();
  void drop_state();
  // The progress was not committed: it has to be written again.
  void forget_written_progress() {
    if (in_batch.writes_progress) progress.set_update(true);
    in_batch.writes_progress = false;
  }
  // Boot time when the reported progress must be written; none: there is none to write.
  [[nodiscard]] OptionalMs progress_due() const;
  [[nodiscard]] bool step_is_due(std::int64_t now_boot_ms) const {
    return state == State::kReady ||
           (state == State::kWaiting && (steps.is_readable || now_boot_ms >= steps.due_boot_ms ||
                                         (refused && !steps.had_last_step)));
  }
  // True: no step comes before this time.
  [[nodiscard]] bool sleeps_beyond(std::int64_t boot_ms) const {
    return state == State::kWaiting && !refused && !steps.is_readable && steps.wait_fd < 0 &&
           steps.due_boot_ms > boot_ms;
  }
  void answer(ErrorKind kind, std::string_view text);
  [[nodiscard]] bool is_under_way() const {
    return state == State::kRunning || state == State::kWaiting;
  }
  // True: the storage will not take a failure as the outcome, but put the item back.
  [[nodiscard]] bool is_repeated() const {
    return puts_back() || (result.error == ErrorKind::kApplication && !result.permanent &&
                           !aborts_session && item.may_retry);
  }
  // True: the storage takes the result as the outcome.
  [[nodiscard]] bool has_outcome() const { return !is_repeated() && !result.outside.has_value(); }
  // True: the item goes back without an outcome, whatever its policy says.
  [[nodiscard]] bool puts_back() const { return lacks_folder || hands_back; }
  [[nodiscard]] WorkDone done() const {
    return {item.id, item.token, item.epoch, item.session, aborts_session};
  }
  // Calls the activity with a context of this slot; only friends of ActivityContext can make one.
  static void call(Slot& slot);
};

}  // namespace internal

class Slots {
 public:
  using Slot = internal::Slot;

  template <typename AnyArena>
  Status allocate(AnyArena& arena, const Options& options);
  // `shared` must outlive the slots.
  void start(const internal::SlotShared& shared);
  // Sets the page in which slots note what they run. A running slot keeps its page until it is
  // released.
  void set_notes(NotesPage* notes);

  // May another item be handed over now? Its texts must have room too. A leaving slot takes no
  // room: the item in its place comes with the same commit, or neither does.
  [[nodiscard]] bool room(ActivityMode mode) const { return rooms(mode) > 0; }
  // How many, if the texts of each have room.
  [[nodiscard]] std::size_t rooms(ActivityMode mode) const;
  [[nodiscard]] std::size_t rooms() const {
    return rooms(ActivityMode::kInline) + rooms(ActivityMode::kThreaded) +
           rooms(ActivityMode::kCooperative);
  }
  // A buffer of buffer_bytes() for the views of fetch_work_item(). take() copies them, so the
  // buffer is free between two calls, and a status is read into it, too.
  [[nodiscard]] char* buffer() { return buffer_; }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_bytes_; }

  // Takes a handed-over item, and copies its texts. Requires: room for its mode.
  Slot& take(const WorkItem& item, const Registry::ActivityEntry& entry,
             std::string_view database_id);
  // The sessions of this worker are its own until then, at least: since its registration, and with
  // each renewal. What runs since an earlier registration, or has lost its lock, hears of no later
  // end.
  void begin_session_leases(std::int64_t until_boot_ms) { session_lease_boot_ms_ = until_boot_ms; }
  [[nodiscard]] std::int64_t session_lease_end() const { return session_lease_boot_ms_; }
  void renew_session_leases(std::int64_t until_boot_ms);
  // Frees the slot: its result was committed or refused, or its hand-over rolled back.
  void release(Slot& slot);

  // The oldest inline slot that can run; null: there is none, or no place for its result before a
  // commit.
  [[nodiscard]] Slot* next_inline();
  void run_inline(Slot& slot);
  // Starts every threaded slot that is kReady; returns how many.
  std::size_t start_threaded(port::Threads& threads);
  // Makes threaded slots kFinished whose thread came back.
  void collect(port::Threads& threads);

  // Is there a place for a result of an inline or cooperative activity before a commit?
  [[nodiscard]] bool can_keep_result() const { return !inline_result_held_; }
  // Makes cooperative activities due whose descriptor is readable now.
  void find_readable(port::Threads& threads);
  // Runs one step. Requires: step_is_due(), can_keep_result().
  void step(Slot& slot, port::Threads& threads);
  // Ends a lost cooperative activity without a further step.
  void end_by_force(Slot& slot, port::Threads& threads);

  [[nodiscard]] Slot* find(WorkItemId id);
  [[nodiscard]] bool holds_session(InstanceKey scope, std::string_view name) const;
  // Visits the slots in hand. A visit may release its own slot, and takes none.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (const ActivityMode mode : kModes)
      for_each_of(mode, visit);
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const ActivityMode mode : kModes)
      for_each_of(mode, visit);
  }
  [[nodiscard]] std::size_t in_hand() const { return in_hand_; }
  [[nodiscard]] std::size_t finished() const;
  // The batch at hand writes the slot's result.
  void leave(Slot& slot) { slot.in_batch.leaving = true; }
  // True: all slots of a kind hold results, so none of that kind runs before a commit.
  [[nodiscard]] bool full_of_results() const;
  [[nodiscard]] std::size_t running_threads() const;
  // How many may be in hand.
  [[nodiscard]] std::size_t slots_of(ActivityMode mode) const {
    return (range_of(mode).end - range_of(mode).begin) / 2;
  }
  // Crashes of unfinished items in hand: how many items have any, and the highest count.
  void crashed_in_hand(std::size_t* count, std::int32_t* highest) const;

 private:
  static constexpr ActivityMode kModes[] = {ActivityMode::kInline, ActivityMode::kThreaded,
                                            ActivityMode::kCooperative};
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] Range range_of(ActivityMode mode) const { return ranges_[static_cast<int>(mode)]; }
  // Visits no slot after the last one in hand; free slots are taken from the front.
  template <typename Visit>
  void for_each_of(ActivityMode mode, Visit&& visit) {
    std::size_t left = in_hand_of_[static_cast<int>(mode)];
    for (std::size_t i = range_of(mode).begin; left > 0 && i < range_of(mode).end; ++i) {
      if (slots_[i].state == Slot::State::kFree) continue;
      --left;
      visit(slots_[i]);
    }
  }
  template <typename Visit>
  void for_each_of(ActivityMode mode, Visit&& visit) const {
    const_cast<Slots*>(this)->for_each_of(
        mode, [&](Slot& slot) { visit(static_cast<const Slot&>(slot)); });
  }
  NoteEntry* note_of(const Slot& slot);
  [[nodiscard]] unsigned free_thread() const;
  [[nodiscard]] bool is_full_of_results(ActivityMode mode) const;
  void keep_result(Slot& slot);
  void forget_descriptor(Slot& slot, port::Threads& threads);

  Slot* slots_ = nullptr;  // grouped by mode; twice as many as may be in hand
  std::size_t count_ = 0;
  Range ranges_[3];
  std::size_t in_hand_ = 0;
  std::size_t in_hand_of_[3] = {};  // indexed by mode
  std::uint64_t sequence_ = 0;
  std::uint64_t* taken_ = nullptr;  // order of hand-over, one a slot
  void* pool_block_ = nullptr;
  std::size_t pool_bytes_ = 0;
  BuddyPool pool_;
  char* buffer_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  char* inline_result_ = nullptr;  // for one result of payload_bytes_max
  std::int64_t session_lease_boot_ms_ = 0;
  bool inline_result_held_ = false;
  // One result a thread: an item in the place of a leaving one runs only when that one is gone.
  char* thread_results_ = nullptr;
  std::size_t payload_bytes_max_ = 0;
  std::size_t scratch_bytes_ = 0;  // for one slot
  unsigned char* scratches_ = nullptr;
  const internal::SlotShared* shared_ = nullptr;
  NotesPage* notes_ = nullptr;
};

template <typename AnyArena>
Status Slots::allocate(AnyArena& arena, const Options& options) {
  const std::size_t threads_begin = 2 * std::size_t{options.slots.inline_activities};
  const std::size_t steps_begin = threads_begin + 2 * std::size_t{options.slots.threads};
  count_ = steps_begin + 2 * std::size_t{options.slots.cooperative};
  ranges_[static_cast<int>(ActivityMode::kInline)] = {0, threads_begin};
  ranges_[static_cast<int>(ActivityMode::kThreaded)] = {threads_begin, steps_begin};
  ranges_[static_cast<int>(ActivityMode::kCooperative)] = {steps_begin, count_};
  payload_bytes_max_ = options.limits.payload_bytes_max;
  slots_ = static_cast<Slot*>(arena.allocate(sizeof(Slot) * count_, alignof(Slot)));
  taken_ = arena.template array<std::uint64_t>(count_);
  // Beside the input, the buffer holds names of five kinds and a version.
  buffer_bytes_ = payload_bytes_max_ + 6 * kNameBytesMax + kMetaBytesMax + kProgressBytesMax +
                  kSessionSummaryBytesMax;
  if (options.sessions.work_root.has_value()) buffer_bytes_ += kFolderPathBytesMax;
  static_assert(kErrorTextBytesMax + kCustomStatusBytesMax <=
                6 * kNameBytesMax + kMetaBytesMax + kSessionSummaryBytesMax);  // a status fits
  buffer_ = arena.buffer(buffer_bytes_);
  // Room for at least one of the largest texts, which the pool rounds up, and for the pool's own
  // byte a block. Two of them are enough for most workers: others wait in the database.
  const std::size_t largest =
      std::max(BuddyPool::block_bytes_for(buffer_bytes_), count_ > 2 ? 2 * buffer_bytes_ : 0);
  constexpr std::size_t kTextBytesMean = 512;  // of one item
  pool_bytes_ = largest + largest / BuddyPool::kBlockBytesMin + count_ * kTextBytesMean;
  pool_block_ = arena.allocate(pool_bytes_, kArenaAlign);
  inline_result_ = arena.buffer(payload_bytes_max_);
  constexpr std::size_t kStateAlign = alignof(std::max_align_t);
  scratch_bytes_ =
      (options.slots.cooperative_scratch_bytes + kStateAlign - 1) / kStateAlign * kStateAlign;
  scratches_ = static_cast<unsigned char*>(
      arena.allocate(scratch_bytes_ * (count_ - steps_begin) + 1, kStateAlign));
  thread_results_ = arena.buffer(payload_bytes_max_ * options.slots.threads + 1);
  return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
}

}  // namespace pawl

#endif  // PAWL_RUNTIME_SLOTS_HPP
