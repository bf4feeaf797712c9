// Inbox: calls of the application's own thread. They are piggybacked on a tick, else stored.
//
// A start, an event and a queue message go into the commit with the turn that takes them; nothing
// is stored before it. The caller is answered after that commit, so a crash in the turn leaves
// neither message nor answer. A message gets the number that a stored one would have. If it has to
// wait longer, it is stored under that number with the turn; if the turn cannot be written, it is
// stored instead of the turn. It is piggybacked only where it overtakes nothing
// (docs/performance/commits.md). A crash in the first turn of a piggybacked start cannot be charged
// to a row, because no row exists yet. The crash note of it makes all workers persist starts first
// for an hour, and a start that crashes again is charged.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_INBOX_HPP
#define PAWL_RUNTIME_INBOX_HPP

#include <cstddef>
#include <optional>

#include "runtime/devices.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/removals.hpp"
#include "runtime/requests.hpp"
#include "runtime/turn.hpp"
#include "runtime/turn_loader.hpp"
#include "runtime/warm.hpp"

namespace pawl {

class Inbox {
 public:
  Inbox(LoopContext& loop, Requests& requests, TurnLoader& loader, WarmCache& warm,
        Devices& devices, Removals& removals)
      : loop_(loop),
        requests_(requests),
        loader_(loader),
        warm_(warm),
        parts_{loop, *this, devices, removals} {}

  void start() { requests_.start(); }
  // The request's texts are copied.
  Status piggyback(const Request& request);

  // ---- the steps of messages ----
  void look_for_messages();
  void collect_each_message(TurnList& turns);
  Status reserve_numbers(TurnList& turns);
  Status settle_messages(const Turn& turn);

  // ---- in the batch: what each call writes ----
  Status write_start(Request& request, Turn* turn, Request::Outcome* outcome);
  Status write_start_of_used(Request& request, Request::Outcome* outcome);
  Status write_message(Request& request, Request::Outcome* outcome);
  Status write_offer(Request& request, Turn* turn);

  // ---- before the batch ----
  // Called before the tick reads anything: then a message that another process stores later is
  // noticed when the numbers are reserved.
  void look();
  // Runs the first turns of as many starts as fit into memory. The others are stored as messages.
  void collect_starts(TurnList& turns);
  // Events and queue messages join a turn of this tick, or one that is loaded for them.
  void collect_messages(TurnList& turns);
  // Writes the messages of the turn to `out`, in order, and returns how many; `out` has room for
  // turn.posted.count.
  std::size_t messages_of(const Turn& turn, Message* out);
  [[nodiscard]] Message message_of(std::size_t index);
  // Is the message of this number piggybacked on the turn? Then `index` is its call.
  [[nodiscard]] bool is_piggybacked(const Turn& turn, MessageId number, std::size_t* index);

  // Called before the batch begins.
  void read_ahead();

  // ---- in the batch ----
  Status write(TurnList& turns);
  // After the turn: if it could not be written, its messages are stored.
  Status settle(const Turn& turn);

  // ---- after the batch ----
  void committed();
  void answer();
  void rolled_back() { taken_ = 0; }

 private:
  // The calls that the current batch takes.
  [[nodiscard]] std::size_t at_hand() const;
  [[nodiscard]] MessageId number_of(std::size_t index) const {
    return last_message_ + 1 + static_cast<MessageId>(index);
  }
  [[nodiscard]] bool may_begin_now(const Request& request) const;
  bool prepare_start(const Request& request, Turn* turn);
  [[nodiscard]] bool is_unknown(std::string_view instance_id);
  [[nodiscard]] bool is_known(InstanceKey key, const Request& request);
  [[nodiscard]] bool repeats_key(std::size_t index);
  [[nodiscard]] bool is_behind_another(std::size_t index);
  Turn* turn_for_message(const Request& request, TurnList& turns);
  [[nodiscard]] bool takes_message(const Turn& turn, const Request& request) const;
  [[nodiscard]] NewMessage message_of(const Request& request) const;
  [[nodiscard]] static bool is_answer(Status status);
  Turn* turn_of(TurnList& turns, std::size_t request);
  [[nodiscard]] bool has_message_behind(const Request& request);
  [[nodiscard]] std::size_t index_of(const Request& request);
  Status send_message(const Request& request, MessageId number, Request::Outcome* outcome);
  Status store_message(Request& request, MessageId number);

  LoopContext& loop_;
  Requests& requests_;
  TurnLoader& loader_;
  WarmCache& warm_;
  const Request::Parts parts_;
  const MessageSteps* steps_ = nullptr;             // null: no call has sent a message yet
  std::size_t taken_ = 0;                           // calls taken by the batch at hand
  bool may_piggyback_messages_ = false;             // on the batch at hand
  MessageId last_message_ = 0;                      // then: the highest one stored
  MailboxLimits limits_;                            // then: the limits in force
  std::optional<std::size_t> before_repeated_key_;  // the batch at hand ends before this call
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_INBOX_HPP
