// RuntimeCore: the loop behind pawl::Runtime.
//
// Files: runtime_core.cpp (start, stop, waiting, worker life), tick.cpp (one tick), turns.cpp (the turns of
// a tick), starts.cpp (first turns of starts that ride on it), mail.cpp (what is raised and rides on it),
// requests.cpp (other calls that ride on it, and removals), work.cpp (activities in hand), devices.cpp (devices,
// and who owns what), notices.cpp (what a batch tells), folders.cpp (of sessions), space.cpp (quota and full
// disks). Everything lives in the block given to start(). Thread rule: the owner's thread, but for wake() and
// request_stop().
// One tick: (a) read the messages of at most `batch` instances; (b) run their turns, nothing locked;
// (c) one write transaction re-validates and writes it all; (d) only then effects leave.
#ifndef PAWL_RUNTIME_RUNTIME_CORE_HPP
#define PAWL_RUNTIME_RUNTIME_CORE_HPP

#include <atomic>

#include "activities.hpp"
#include "clock_watch.hpp"
#include "devices.hpp"
#include "engine.hpp"
#include "folders.hpp"
#include "hand_over.hpp"
#include "log_watch.hpp"
#include "loop_context.hpp"
#include "notices.hpp"
#include "owned_sessions.hpp"
#include "pace.hpp"
#include "pawl/runtime.hpp"
#include "pawl/session.hpp"
#include "recovery.hpp"
#include "registration.hpp"
#include "removals.hpp"
#include "requests.hpp"
#include "slots.hpp"
#include "space.hpp"
#include "sqlite_store.hpp"
#include "turn.hpp"
#include "warm.hpp"

namespace pawl {

// The engine's room for raised events and queue messages. Senders are refused beyond queue_messages_max, and
// what is given back in one turn has half of the room: so no turn ever meets more.
[[nodiscard]] constexpr std::uint32_t mail_max(std::uint32_t queue_messages_max) {
  return 2 * queue_messages_max;
}

[[nodiscard]] EngineLimits engine_limits(const Options& options);
// Messages of so many turns, decoded, and what the turns decide beside their events.
[[nodiscard]] std::size_t tick_bytes(const Options& options, std::size_t turns);
// Is it one that this library can use? Opens its clock.
Status check_port(const port::Port& port, Diagnostic& diagnostic);
using UnregisteredText = FixedText<2 * kNameBytesMax + 64>;
[[nodiscard]] UnregisteredText unregistered_text(std::string_view name, std::string_view version);

class RuntimeCore final {
 public:
  RuntimeCore(Process& process, const Registry& registry, const Options& options,
              const port::Port& port);
  ~RuntimeCore() {
    if (loop_.provider != nullptr) SqliteStore::destroy(loop_.provider);
  }

  [[nodiscard]] static std::size_t required_memory(const Options& options);
  // Takes everything it will ever use.
  Status lay_out(Arena& arena);

  Status start(Diagnostic& diagnostic);
  Result<bool> tick(std::int64_t limit_ms);
  [[nodiscard]] OptionalMs next_due() const;
  [[nodiscard]] int fd() const { return loop_.port.threads->fd(); }
  // Sleeps until next_due() or an event.
  void sleep_until_due(OptionalMs boot_ms_max);
  Status stop(std::int64_t grace_ms);

  void wake() { loop_.port.threads->wake(); }
  void request_stop() {
    stop_requested_.store(true, std::memory_order_relaxed);
    loop_.port.threads->wake();
  }
  [[nodiscard]] bool stop_requested() const {
    return stop_requested_.load(std::memory_order_relaxed);
  }

  Status ride(const Request& request);
  Status get_status(std::string_view id, OrchestrationStatus* out);

  [[nodiscard]] const RuntimeStats& stats();
  // Null: not registered.
  OrchestrationStats* orchestration_stats(std::string_view name, std::string_view version) {
    const Registry::OrchestrationEntry* const entry =
        loop_.registry.find_orchestration(name, version);
    return entry == nullptr ? nullptr : &loop_.names.of(*entry);
  }
  ActivityStats* activity_stats(std::string_view name) {
    const Registry::ActivityEntry* const entry = loop_.registry.find_activity(name);
    return entry == nullptr ? nullptr : &loop_.names.of(*entry);
  }
  [[nodiscard]] std::string_view worker_id() const { return registration_.worker_id(); }
  [[nodiscard]] std::string_view error_text() const { return loop_.diagnostic.text(); }
  [[nodiscard]] std::int64_t boot_ms() const { return loop_.boot_ms(); }
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] bool ready() const;
  [[nodiscard]] bool threads_stuck() const { return threads_stuck_; }

 private:
  // What lies in the arena.
  struct Parts {
    WarmCache warm;
    Slots slots;
    Requests requests;
    void* provider = nullptr;
    void* tick_block = nullptr;
    std::size_t tick_bytes = 0;
    Turn* turns = nullptr;
    InstanceKey* ready = nullptr;
    InstanceKey* left_over = nullptr;
    Runnable* runnable = nullptr;
    char* status_buffer = nullptr;
    Registration::Memory registration;
    OwnedSessions::Memory owned;
  };
  // Over an ArenaPlan it only counts, so that what is asked for and what is taken cannot drift apart.
  template <typename AnyArena>
  static Status lay_out(AnyArena& arena, const Options& options, Parts& parts);

  // ---- runtime_core.cpp ----
  Status open_database(Diagnostic& diagnostic);
  Status register_self(Diagnostic& diagnostic);
  Status try_to_register(Diagnostic& diagnostic);
  void registered();
  void unregister();
  void note_reasons(const port::WakeReasons& reasons);
  // The chain of looks after a wake-up; a signal can precede what it announces. `anew`: from 10 ms.
  void look_again(bool anew);
  void plan_next_due();
  void plan_stored_due();
  [[nodiscard]] Agenda::Holds holds(std::int64_t now_boot_ms) const;
  // What there is to do waits for company (Options::commit_window_ms).
  [[nodiscard]] bool waits_for_company(std::int64_t now_boot_ms) const;
  [[nodiscard]] bool is_due(Agenda::Which which, std::int64_t now_boot_ms) const;

  void list_runnable();

  // ---- tick.cpp ----
  void look(std::int64_t now_boot_ms);
  void note_others();
  void run_batch();
  Status commit_tick(Turn* turns, std::size_t count);
  Status write_batch(Turn* turns, std::size_t count);
  Status write_housekeeping();
  Status write_strangers();
  Status write_turns(Turn* turns, std::size_t count);
  void after_commit(Turn* turns, std::size_t count);
  void after_rollback(Status status, Turn* turns, std::size_t count);
  void settle_turn(Turn& turn);
  void count_turn(const Turn& turn);
  void log_abandoned(const Turn& turn);
  void abandon_alone(const Turn& turn, Status why);

  // ---- quarantine.cpp ----
  // How much was done so far: rises with each tick that was of use.
  [[nodiscard]] std::uint64_t work_done() const;
  void keep_pace(std::uint64_t done_before);
  // ---- requests.cpp ----
  Status write_requests(Turn* turns, std::size_t count);
  [[nodiscard]] static bool is_answer(Status status);
  Turn* turn_of(Turn* turns, std::size_t count, std::size_t request);
  Status write_request(Request& request, Turn* turn, bool* room, bool* more);
  void answer_requests();

  // ---- starts.cpp ----
  void collect_starts(Turn* turns, std::size_t capacity, std::size_t* count);
  bool prepare_start(const Request& request, Turn* turn);
  [[nodiscard]] bool is_unknown(std::string_view instance_id);
  Status write_start(const Request& request, Turn* turn);

  // ---- mail.cpp ----
  [[nodiscard]] NewMail new_mail(const Request& request) const;
  Status send_mail(const Request& request, bool* room);
  [[nodiscard]] std::size_t requests_at_hand() const;
  void look_for_mail();
  void collect_mail(Turn* turns, std::size_t* count);
  [[nodiscard]] bool is_behind_another(std::size_t index);
  Turn* turn_for_mail(const Request& request, Turn* turns, std::size_t* count);
  [[nodiscard]] bool takes_mail(const Turn& turn, const Request& request) const;
  [[nodiscard]] MessageId number_of(std::size_t index) const {
    return last_message_ + 1 + static_cast<MessageId>(index);
  }
  [[nodiscard]] Message message_of(std::size_t index);
  [[nodiscard]] bool rides(const Turn& turn, MessageId number, std::size_t* index);
  std::size_t gather_mail(const Turn& turn, Message* out);
  Status reserve_mail(Turn* turns, std::size_t count);
  Status write_mail(Request& request, MessageId number);
  Status store_mail(const Turn& turn);

  // ---- turns.cpp ----
  // Instances that one tick looks at: ready ones, and as many that it knows of without asking.
  [[nodiscard]] static std::size_t keys_max(const Options& options) {
    return 2 * std::size_t{options.batch};
  }
  Status collect_turns(Turn* turns, std::size_t capacity, std::size_t* count);
  ReadyQuery ready_query();
  [[nodiscard]] bool can_run(const OrchestrationItem& item) const;
  Status prepare_turn(InstanceKey key, bool first, Turn* turn);
  Status gather_messages(Turn& turn, Message** messages, std::size_t* count);
  Status load_warm(Turn& turn, bool first);
  void run_turns(Turn* turns, std::size_t count);
  void run_turn(Turn& turn);
  TurnResult run_engine(Turn& turn, const TurnInput& input, Diagnostic& why,
                        bool* is_short_of_memory);
  void give_way(Turn& turn);
  void wait_for_room(Turn& turn);
  static bool is_grace_over(const Turn& turn, const Message* messages, std::size_t count);
  void finish_turn(Turn& turn, const TurnResult& result);
  bool sort_mail(Turn& turn, const TurnResult& result);
  [[nodiscard]] bool has_too_much_mail(const OrchestrationItem& item) const;
  bool list_closed(Turn& turn);
  void terminate_turn(Turn& turn);
  bool list_starts(Turn& turn);
  [[nodiscard]] static bool ends_for_others(const Turn& turn);
  void fail_turn(Turn& turn, ErrorKind kind, std::string_view text);
  void abandon_turn(Turn& turn, std::int64_t delay_ms, ErrorKind kind, std::string_view text);
  TurnInput turn_input(const Turn& turn);
  std::string_view keep_text(std::string_view text);

  // Kinds that one registered orchestration stands for: without a version, with it and not begun, and
  // begun under each behaviour.
  static constexpr std::size_t kKindsEach =
      2 + static_cast<std::size_t>(Engine::kBehaviour - Engine::kBehaviourMin + 1);

  LoopContext loop_;
  Engine* engine_ = nullptr;
  Parts parts_;
  WarmCache& warm_ = parts_.warm;
  Slots& slots_ = parts_.slots;
  Requests& requests_ = parts_.requests;
  Notices notices_{loop_};
  ClockWatch clock_{loop_};
  Space space_{loop_};
  LogWatch log_watch_{loop_, space_};
  Folders folders_{loop_, slots_};
  Removals removals_{loop_, space_, folders_};
  Recovery recovery_{loop_, notices_};
  Activities activities_{loop_, slots_, warm_, folders_};
  HandOver hand_over_{loop_, slots_, activities_, folders_};
  Devices devices_{loop_};
  OwnedSessions owned_{loop_, parts_.owned};
  Registration registration_{loop_, parts_.registration, slots_, devices_, hand_over_, owned_};

  bool left_unrun_ = false;       // not all that were listed got their turn
  bool batch_was_full_ = false;   // the last tick left over what one tick cannot take
  bool slots_were_full_ = false;  // of results: it found no room for further work
  bool stopped_ = false;
  bool threads_stuck_ = false;
  bool executor_started_ = false;
  bool waiter_open_ = false;
  Pace pace_;
  bool runs_again_ = false;  // the last tick asked for the next one
  std::int64_t data_version_ = -1;
  OptionalMs planned_wake_;  // boot time
  int look_step_ = 0;
  std::size_t left_over_count_ = 0;  // did not fit the last tick beside others: first in the next
  std::size_t runnable_count_ = 0;
  Strangers strangers_;       // of the list at hand
  bool due_in_vain_ = false;  // the last tick met a due time and found nothing to do
  OptionalMs vain_due_;       // Pawl time: that one; it is looked at again at vain_until_
  OptionalMs vain_until_;     // boot time
  std::size_t requests_taken_ = 0;
  bool mail_rides_ = false;     // what is raised may ride on the batch at hand
  MessageId last_message_ = 0;  // then: when it was collected

  std::atomic<bool> stop_requested_{false};
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_RUNTIME_CORE_HPP
