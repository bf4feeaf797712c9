// UnregisteredWork: activities that no living worker can run: where they wait, and when they go on.
// Rules: docs/rules/session.md.
//
// Such an item is written once: out of everything that a fetch looks at, and into an index of
// names. The next write is made for the worker that registers with the name. Therefore any number
// of such items costs nothing and delays no other work.
// Rejected: to put the item back for a time that grows. Each look is a write then, and many items
// leave no room for other work.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_WORK_UNREGISTERED_HPP
#define PAWL_STORE_WORK_UNREGISTERED_HPP

#include <cstddef>
#include <string_view>

#include "core/text.hpp"
#include "store/context.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/session/rows.hpp"
#include "store/work/rows.hpp"
#include "store/work/work_row.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

inline constexpr int kParkedMax = 64;  // items in one batch

class UnregisteredWork : private Table {
 public:
  UnregisteredWork(StoreContext& context, WorkerRows& workers, SessionRows& sessions,
                   WorkRows& work)
      : Table(context), workers_(workers), sessions_(sessions), work_(work) {}

  // Makes ready, at most `limit`, the items that waited for a worker with a handler for their name
  // that serves their tag, if `me` is such a worker by its registration; a device's items only if
  // `me` has the device. Continues where the last call ended, and starts again after a registration
  // or a rollback. *more = false: no such item is left, and none will come, since items that a
  // living worker can run do not wait. The calls look at a bounded number of rows.
  Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken, bool* more);

  // ---- for the other classes of the storage ----
  Status must_wait(InstanceKey instance, const NewWork& work, SessionKey session, bool* waits);
  // Parks the item until a worker registers that has the name.
  Status park_work(const WorkRow& row, std::string_view name);
  // Wakes all waiting items of the session, because other workers may be able to run them now: the
  // session has another tag, as a device another owner, or begins anew.
  Status wake_waiting_of(SessionKey session);
  // Makes the next call begin with the first name: a worker has registered, or a batch was rolled
  // back.
  void start_over() { waiting_ = Waiting(); }
  // True if this batch has marked as many items as unregistered as it may.
  [[nodiscard]] bool is_full() { return parked_.in(context_) >= kParkedMax; }

 private:
  // The place that wake_unregistered() has reached.
  struct Waiting {
    FixedText<kNameBytesMax> name;
    bool in_name = false;  // items that wait for this name may be left
    WorkItemId item = 0;
  };
  Status next_waiting_name(Incarnation me);
  Status wake_next_waiting(Incarnation me, std::size_t* woken);
  Status wake_waiting_item(WorkItemId item, SessionKey session);

  OfBatch<int> parked_;  // items that this batch has marked as unregistered
  Waiting waiting_;

  WorkerRows& workers_;
  SessionRows& sessions_;
  WorkRows& work_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_UNREGISTERED_HPP
