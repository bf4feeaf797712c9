// Deliveries: what reaches an instance: its start, for clients, parents and detached starts;
// messages from outside, with their limits and numbers; and the messages between an instance and
// those it starts.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_DELIVERIES_HPP
#define PAWL_STORE_INSTANCE_DELIVERIES_HPP

#include <cstddef>
#include <string_view>

#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/rows.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/rows.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

struct ParentLink {
  InstanceKey instance = 0;  // 0: none
  ExecutionId execution = 0;
  EventId event = 0;
};

class TreeRemoval;

class Deliveries : private Table {
 public:
  Deliveries(StoreContext& context, Rows& rows) : Table(context), rows_(rows) {}

  // Looks at no time limit. kAlreadyExists; kInvalidArgument; kQuota: no room
  // (set_quota_and_reserve()). *in_removal = true
  // with kOk: a deleted instance has the id, nothing was written, and the call may be made again
  // when its rows are swept; null: that is kAlreadyExists.
  Status start_orchestration(const NewInstance& instance, InstanceKey* key,
                             bool* in_removal = nullptr);
  // The same for an id that may be in use, and with a time limit. A program that has no such start
  // does not link it.
  // kChildInstance: what ended is a child.
  Status start_orchestration(const NewInstance& instance, const IdInUse& in_use, InstanceKey* key,
                             bool* in_removal);
  // kNotFound; kStale if it has ended; kInvalidArgument: the name. *room = false with kOk: it was
  // refused for its limits, nothing was written, and the diagnostic has the numbers. kQuota: as
  // above. With start_if_ended also what start_orchestration() answers; the start and the message
  // are both written, or none is. With a key that the instance knows nothing is written: kOk, or
  // kKeyReused. *number: that of the message, also if the key was known.
  Status send_message(const NewMessage& posted, bool* room, bool* in_removal = nullptr,
                      MessageId* number = nullptr);
  // The same for a message of kind kOffer.
  Status offer_event(const NewMessage& posted, bool* room, SentOffer* out);
  // Callable anywhere. *waits: no turn has taken it yet. History shows what the turn made of it: a
  // delivery with its number, or none.
  Status is_offer_waiting(const SentOffer& offer, bool* waits);
  // In a batch: takes the offer back. *withdrawn is false if a turn has taken it.
  Status withdraw_offer(const SentOffer& offer, bool* withdrawn);
  // kNotFound; kStale if it has ended.
  Status cancel_instance(std::string_view id, std::string_view reason);
  // The same by key, for the instances of a list. *asked = false with kOk: it is gone, has ended,
  // or a cancel request waits for it already.
  Status cancel_instance(InstanceKey key, std::string_view reason, bool* asked);
  // Callable anywhere: says that start_orchestration() follows.
  void read_start_ahead(std::string_view id);
  // For messages that a turn takes and that are never stored. Callable anywhere. find_instance()
  // gives the receiver (kNotFound; kStale if it has ended) and the living worker that ran it last
  // (0: none); last_message() gives the highest number of a message so far and the limits in force.
  Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home);
  Status last_message(MessageId* number, MailboxLimits* limits);
  // Callable anywhere: whether the message was sent before, by its key, and its number. kKeyReused.
  Status find_message(const NewMessage& posted, MessageId* number, bool* known);
  // For a message with a key that a turn takes: whether the instance knows it (callable anywhere;
  // kKeyReused), and to remember it when the turn is written.
  Status find_key(InstanceKey instance, const NewMessage& posted, bool* known);
  Status remember_key(InstanceKey instance, const NewMessage& posted);
  // Reserves the `count` numbers behind `last`: if this batch writes something, no other connection
  // gets them. kStale: others took numbers since last_message(), or other limits are in force;
  // kQuota: as above.
  Status reserve_messages(MessageId last, std::size_t count);

  // ---- for the other classes of the storage ----
  // On kAlreadyExists and kInvalidArgument nothing was written.
  Status insert_instance(const NewInstance& instance, const ParentLink& parent, InstanceKey* key);
  // Starts the instance that a kChild or kDetached event of the turn asks for. If there cannot be
  // one, the parent gets the answer of a failed child; a refused detached start is reported to the
  // sink.
  Status start_instance(const TurnCommit& turn, EventId command);
  // Sends the message that a command of the turn asks for (sends.cpp); see TurnSends.
  Status send_from_turn(TreeRemoval& removal, const TurnCommit& turn, EventId command);
  // Answers the call that a command of the turn names.
  Status reply_from_turn(const TurnCommit& turn, EventId command);
  // Sends cancel requests to the open children of these events of an execution.
  Status cancel_children(InstanceKey parent, ExecutionId execution, EventId first, EventId last,
                         std::string_view reason);
  // Called once by any code that ends an instance, in the same batch: notifies its parent, if that
  // execution of the parent still runs.
  Status notify_parent(InstanceKey child, ErrorKind error, std::string_view output);

 private:
  // The instance that has an id: it runs, has ended, or is deleted and not removed yet.
  struct Holder {
    InstanceKey key = 0;  // 0: there is none
    InstanceState state = InstanceState::kRunning;
    ExecutionId execution = 0;
    bool is_child = false;
    [[nodiscard]] bool is_deleted() const { return key != 0 && state == InstanceState::kDeleted; }
    [[nodiscard]] bool is_alive() const {
      return key != 0 && (state == InstanceState::kRunning || state == InstanceState::kStopped ||
                          state == InstanceState::kSuspended);
    }
  };
  Status check_new(const NewInstance& instance);
  Status check_root(const NewInstance& instance);
  Status find_holder(std::string_view id, Holder* out);
  Status refuse_used(const NewInstance& instance);
  Status check_next(const NewInstance& instance, IfEnded if_ended, const Holder& holder);
  Status insert_checked(const NewInstance& instance, const ParentLink& parent, InstanceKey* key);
  Status begin(const NewInstance& instance, const Holder& holder, InstanceKey* key);
  Status check_id(const NewInstance& instance, bool* in_removal, Holder* holder);
  Status check_name(const NewMessage& posted);
  Status insert(InstanceKey key, const NewMessage& posted, MessageKeys::Ring* keys,
                MessageId* number);
  Status try_to_send(TreeRemoval& removal, const TurnCommit& turn, const NewMessage& posted,
                     bool* room);
  Status has_room(InstanceKey key, const NewMessage& posted, bool* room);
  Status count_mailbox(InstanceKey key, std::int64_t* count, std::int64_t* bytes);

  MailboxLimits seen_;  // as last_message() saw them
  Rows& rows_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_DELIVERIES_HPP
