// TurnRunner: runs the turn of one instance, and lists the writes that its new events need. Nothing
// is locked, and no effect leaves from here. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TURN_RUNNER_HPP
#define PAWL_RUNTIME_TURN_RUNNER_HPP

#include "replay/engine.hpp"
#include "runtime/inbox.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/removals.hpp"
#include "runtime/slots.hpp"
#include "runtime/this_worker.hpp"
#include "runtime/turn.hpp"
#include "runtime/warm.hpp"

namespace pawl {

class TurnRunner {
 public:
  TurnRunner(LoopContext& loop, WarmCache& warm, Slots& slots, Inbox& inbox,
             ThisWorker& this_worker, Removals& removals)
      : loop_(loop),
        warm_(warm),
        slots_(slots),
        inbox_(inbox),
        this_worker_(this_worker),
        removals_(removals) {}

  // Called once, at the start.
  void set_engine(Engine* engine) { engine_ = engine; }
  // Sets the turn's verdict. kWait: there is no memory for the turn beside the others of this tick.
  void run(Turn& turn);

 private:
  // Builds the turn's input: stored messages, piggybacked messages, due timers, piggybacked
  // results, in this order.
  Status gather_messages(Turn& turn, Message** messages, std::size_t* count);
  [[nodiscard]] static bool is_piggybacked_result(const internal::Slot& slot, const Turn& turn);
  void gather_results(Turn& turn, Message* out, WorkDone* done);
  TurnInput turn_input(const Turn& turn);
  void run_code(Turn& turn, const Message* messages, std::size_t count);
  TurnResult run_engine(Turn& turn, const TurnInput& input, Diagnostic& why,
                        bool* is_short_of_memory);
  bool ends_for_limits(Turn& turn, const Message* messages, std::size_t count);
  static bool is_grace_over(const Turn& turn, const Message* messages, std::size_t count);
  [[nodiscard]] bool is_begun_under_more_events(const Turn& turn) const;
  // Undoes the turn as if it had not run: messages and results stay where they are.
  void wait_for_room(Turn& turn);
  // Lists what the storage writes beside the new events.
  void finish(Turn& turn, const TurnResult& result);
  bool list_events(Turn& turn);
  [[nodiscard]] bool begins_grace(const Event& request) const;
  [[nodiscard]] NewTimer grace_of(const History& history, const Event& request) const;
  static void list_end(Turn& turn, const Event& event);
  bool sort_mailbox(Turn& turn, const TurnResult& result);
  bool list_closed(Turn& turn);
  bool keep_traces(Turn& turn, const TurnResult& result);
  [[nodiscard]] static bool ends_for_others(const Turn& turn);
  // Ends the instance as its operator asked: one event after the stored ones.
  void terminate(Turn& turn);
  // Ends the instance for a reason outside its code.
  void fail(Turn& turn, const Message* messages, std::size_t count, ErrorKind kind,
            std::string_view text);
  static void wait_for_messages(Turn& turn, const Message* messages, std::size_t count);
  [[nodiscard]] static bool has_received_news(const Turn& turn);

  LoopContext& loop_;
  WarmCache& warm_;
  Slots& slots_;
  Inbox& inbox_;
  ThisWorker& this_worker_;
  Removals& removals_;
  Engine* engine_ = nullptr;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TURN_RUNNER_HPP
