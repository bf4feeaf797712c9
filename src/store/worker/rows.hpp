// WorkerRows: the rows of workers, handlers and worker_tags, as other tables ask for them.
//
// Purpose: says whether a worker is there, gone or draining, and which workers can run an activity.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_WORKER_ROWS_HPP
#define PAWL_STORE_WORKER_ROWS_HPP

#include <optional>
#include <string_view>

#include "core/text.hpp"
#include "store/context.hpp"
#include "store/instance/arguments.hpp"

namespace pawl::store {

class WorkerRows : private Table {
 public:
  explicit WorkerRows(StoreContext& context) : Table(context) {}

  // The node of a registration, living or buried; empty if the row is gone.
  Status node_of(Incarnation worker, FixedText<kNameBytesMax>* node);
  // Whether another worker that is not buried (and, to claim a session, not draining) has the
  // handler and serves the tag.
  Status handler_elsewhere(std::string_view activity, std::string_view tag, Incarnation me,
                           bool to_claim, bool* found);
  // The same for a worker that also has room for one more session.
  Status room_elsewhere(std::string_view activity, std::string_view tag, Incarnation me,
                        bool* found);
  Status living_worker(std::string_view node, Incarnation* worker);
  // Also true if there is no row.
  Status is_buried(Incarnation worker, bool* buried);
  Status check_worker(Incarnation me);
  // The limits in force for senders (NewWorker::mailbox); 0: no runtime ever ran turns.
  Status mailbox_limits(MailboxLimits* out);
  // Forgets what is known of rows without reading them: others have committed, or what was written
  // was rolled back.
  void forget_known() {
    known_worker_ = 0;
    known_limits_.reset();
  }

 private:
  Incarnation known_worker_ = 0;  // has a row, is not buried
  bool known_draining_ = false;   // known_worker_ is draining
  std::optional<MailboxLimits> known_limits_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORKER_ROWS_HPP
