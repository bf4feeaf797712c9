// InstanceFacet: one instance, its turns and what it waits for.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_INSTANCE_FACET_HPP
#define PAWL_STORE_FACETS_INSTANCE_FACET_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "instance_store.hpp"
#include "tables/due_index.hpp"
#include "tables/history_table.hpp"
#include "tables/instance_messages.hpp"
#include "tables/instance_reader.hpp"
#include "tables/new_instances.hpp"
#include "tables/parked_instances.hpp"
#include "tables/ready_instances.hpp"
#include "tables/row_quarantine.hpp"
#include "tables/turn_reader.hpp"
#include "tables/turn_writer.hpp"
#include "tables/value_table.hpp"

namespace pawl::store {

class InstanceFacet final : public InstanceStore {
 public:
  InstanceFacet(DueIndex& due, RowQuarantine& quarantine, HistoryTable& history, ValueTable& values,
                NewInstances& new_instances, InstanceMessages& mailbox, InstanceReader& reader,
                ParkedInstances& parked_instances, ReadyInstances& ready, TurnReader& turn_reader,
                TurnWriter& turn_writer)
      : due_(due),
        quarantine_(quarantine),
        history_(history),
        values_(values),
        new_instances_(new_instances),
        mailbox_(mailbox),
        reader_(reader),
        parked_instances_(parked_instances),
        ready_(ready),
        turn_reader_(turn_reader),
        turn_writer_(turn_writer) {}
  InstanceFacet(const InstanceFacet&) = delete;
  InstanceFacet& operator=(const InstanceFacet&) = delete;

  Status create_instance(const NewInstance& instance, InstanceKey* key) override {
    return new_instances_.create_instance(instance, key);
  }
  Status cancel_instance(std::string_view id, std::string_view reason) override {
    return mailbox_.cancel_instance(id, reason);
  }
  Status cancel_instance(InstanceKey key, std::string_view reason, bool* asked) override {
    return mailbox_.cancel_instance(key, reason, asked);
  }
  Status send_message(const NewMessage& posted, bool* room) override {
    return mailbox_.send_message(posted, room);
  }
  Status send_offer(const NewMessage& posted, bool* room, SentOffer* out) override {
    return mailbox_.send_offer(posted, room, out);
  }
  Status is_offer_waiting(const SentOffer& offer, bool* waits) override {
    return mailbox_.is_offer_waiting(offer, waits);
  }
  Status withdraw_offer(const SentOffer& offer, bool* withdrawn) override {
    return mailbox_.withdraw_offer(offer, withdrawn);
  }
  Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home) override {
    return mailbox_.find_instance(id, key, home);
  }
  Status last_message(MessageId* number, MailboxLimits* limits) override {
    return mailbox_.last_message(number, limits);
  }
  Status reserve_messages(MessageId last, std::size_t count) override {
    return mailbox_.reserve_messages(last, count);
  }
  Status read_status(std::string_view id, InstanceStatus* out, char* buffer,
                     std::size_t capacity) override {
    return reader_.read_status(id, out, buffer, capacity);
  }
  Status read_id(InstanceKey key, FixedText<kNameBytesMax>* id, bool* unregistered) override {
    return reader_.read_id(key, id, unregistered);
  }
  Status read_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                    char* buffer, std::size_t capacity) override {
    return values_.read_value(id, key, out, found, buffer, capacity);
  }
  Status list_values(std::string_view id, KvPage* page, KvVisitor& visitor) override {
    return values_.list_values(id, page, visitor);
  }
  Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                    std::size_t* count) override {
    return ready_.list_ready(query, out, capacity, count);
  }
  Status mark_unregistered(InstanceKey key, const ReadyQuery& query) override {
    return ready_.mark_unregistered(key, query);
  }
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, const MessageLimits& limits,
                                  Arena& arena, OrchestrationItem* out) override {
    return turn_reader_.fetch_orchestration_item(key, now, limits, arena, out);
  }
  Status load_history(InstanceKey key, ExecutionId execution, EventId after,
                      EventSink& sink) override {
    return history_.load_history(key, execution, after, sink);
  }
  Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink) override {
    return values_.load_state(key, execution, sink);
  }
  Status ack_orchestration_item(const TurnCommit& turn) override {
    return turn_writer_.ack_orchestration_item(turn);
  }
  Status abandon_orchestration_item(InstanceKey key, std::int64_t revision, const Parking& parking,
                                    bool strike, ErrorKind why, std::string_view text) override {
    return parked_instances_.abandon_orchestration_item(key, revision, parking, strike, why, text);
  }
  Status stop_broken(InstanceKey key, std::string_view text) override {
    return quarantine_.stop_broken(key, text);
  }
  Status retry_stopped(std::size_t limit, std::size_t* retried) override {
    return parked_instances_.retry_stopped(limit, retried);
  }
  Status next_due(Incarnation me, bool turns, NextDue* out) override {
    return due_.next_due(me, turns, out);
  }

 private:
  DueIndex& due_;
  RowQuarantine& quarantine_;
  HistoryTable& history_;
  ValueTable& values_;
  NewInstances& new_instances_;
  InstanceMessages& mailbox_;
  InstanceReader& reader_;
  ParkedInstances& parked_instances_;
  ReadyInstances& ready_;
  TurnReader& turn_reader_;
  TurnWriter& turn_writer_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_INSTANCE_FACET_HPP
