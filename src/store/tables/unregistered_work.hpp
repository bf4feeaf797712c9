// UnregisteredWork: activities that no living worker can run: where they wait, and when they go on.
// Rules: docs/rules/session.md.
//
// Such an item is written once, out of all that a fetch looks at and into an index of names; the
// next write is made for the worker that registers with the name. So any number of them costs
// nothing and delays no other work. Rejected: to put it back for some time, longer each time. Each
// look is a write then, and many items leave no room for other work. Ownership and thread rule: as
// context.hpp.
#ifndef PAWL_STORE_TABLES_UNREGISTERED_WORK_HPP
#define PAWL_STORE_TABLES_UNREGISTERED_WORK_HPP

#include <cstddef>
#include <string_view>

#include "context.hpp"
#include "session_table.hpp"
#include "text.hpp"
#include "turn_commit.hpp"
#include "work_row.hpp"
#include "work_table.hpp"
#include "worker_table.hpp"

namespace pawl::store {

inline constexpr int kParkedMax = 64;  // a batch

class UnregisteredWork : private Table {
 public:
  UnregisteredWork(StoreContext& context, WorkerTable& workers, SessionTable& sessions,
                   WorkTable& items)
      : Table(context), workers_(workers), sessions_(sessions), items_(items) {}

  // ---- calls of the contract ----
  Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken, bool* more);

  // ---- for the other tables ----
  Status must_wait(InstanceKey instance, const NewWork& work, SessionKey session, bool* waits);
  // Until a worker registers that has the name.
  Status park_work(const WorkRow& row, std::string_view name);
  // Others may be able to run them now: it has another tag, or as a device another owner. All of
  // the session, as of one that is closed.
  Status wake_waiting_of(SessionKey session);
  void begin_batch() { parked_ = 0; }
  // The next call begins with the first name: a worker registered, or a batch was rolled back.
  void start_over() { waiting_ = Waiting(); }
  // This batch has marked as unregistered as many as it may.
  [[nodiscard]] bool is_full() const { return parked_ >= kParkedMax; }

 private:
  // Where wake_unregistered() has got to.
  struct Waiting {
    FixedText<kNameBytesMax> name;
    bool in_name = false;  // items of it may be left
    WorkItemId item = 0;
  };
  Status next_waiting_name(Incarnation me);
  Status wake_next_waiting(Incarnation me, std::size_t* woken);
  Status wake_waiting_item(WorkItemId item, SessionKey session);

  WorkerTable& workers_;
  SessionTable& sessions_;
  WorkTable& items_;
  int parked_ = 0;  // items that this batch has marked as unregistered
  Waiting waiting_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_UNREGISTERED_WORK_HPP
