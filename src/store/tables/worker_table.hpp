// WorkerTable: rows of workers, handlers and worker_tags, as other tables ask for them.
//
// Purpose: is a worker there, gone or draining, and who can run an activity.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORKER_TABLE_HPP
#define PAWL_STORE_TABLES_WORKER_TABLE_HPP

#include <optional>
#include <string_view>

#include "context.hpp"
#include "instance_store.hpp"
#include "text.hpp"

namespace pawl::store {

class WorkerTable : private Table {
 public:
  explicit WorkerTable(StoreContext& context) : Table(context) {}

  // Node of a registration, living or buried; empty if the row is gone.
  Status node_of(Incarnation worker, FixedText<kNameBytesMax>* node);
  // Does another worker that is not buried (and, to claim a session, not draining) have the handler
  // and serve the tag?
  Status handler_elsewhere(std::string_view activity, std::string_view tag, Incarnation me,
                           bool to_claim, bool* found);
  // Likewise one that has room for a session more.
  Status room_elsewhere(std::string_view activity, std::string_view tag, Incarnation me,
                        bool* found);
  Status living_worker(std::string_view node, Incarnation* worker);
  Status is_gone(Incarnation home, bool* gone);
  Status check_worker(Incarnation me);
  // Those in force for senders (NewWorker::mailbox); 0: no runtime ever ran turns.
  Status mailbox_limits(MailboxLimits* out);
  // What is known of rows without reading them is not: others committed, or what was written was
  // rolled back.
  void forget_known() {
    known_worker_ = 0;
    known_limits_.reset();
  }

 private:
  Incarnation known_worker_ = 0;  // has a row, is not buried
  bool known_draining_ = false;   // it
  std::optional<MailboxLimits> known_limits_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORKER_TABLE_HPP
