// InstanceMessages: messages from outside, with their limits and numbers.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_INSTANCE_MESSAGES_HPP
#define PAWL_STORE_TABLES_INSTANCE_MESSAGES_HPP

#include <cstddef>
#include <string_view>

#include "context.hpp"
#include "instance_store.hpp"
#include "instance_table.hpp"
#include "message_table.hpp"
#include "store_space.hpp"
#include "worker_table.hpp"

namespace pawl::store {

class InstanceMessages : private Table {
 public:
  InstanceMessages(StoreContext& context, WorkerTable& workers, InstanceTable& instances,
                   MessageTable& messages, StoreSpace& space)
      : Table(context),
        workers_(workers),
        instances_(instances),
        messages_(messages),
        space_(space) {}

  // ---- calls of the contract ----
  Status send_message(const NewMessage& posted, bool* room);
  Status send_offer(const NewMessage& posted, bool* room, SentOffer* out);
  Status is_offer_waiting(const SentOffer& offer, bool* waits);
  Status withdraw_offer(const SentOffer& offer, bool* withdrawn);
  Status cancel_instance(std::string_view id, std::string_view reason);
  Status cancel_instance(InstanceKey key, std::string_view reason, bool* asked);
  Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home);
  Status last_message(MessageId* number, MailboxLimits* limits);
  Status reserve_messages(MessageId last, std::size_t count);

 private:
  Status has_room(InstanceKey key, const NewMessage& posted, bool* room);

  WorkerTable& workers_;
  InstanceTable& instances_;
  MessageTable& messages_;
  StoreSpace& space_;
  MailboxLimits seen_;  // as last_message() saw them
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_MESSAGES_HPP
