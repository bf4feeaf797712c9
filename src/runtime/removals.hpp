// Removals: removes what is due by itself (retention, sessions without work), what calls ask to
// remove, and the rows of deleted trees.
//
// A removal that needs more than one batch goes on in the next. Only committed rows say what is
// left.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_REMOVALS_HPP
#define PAWL_RUNTIME_REMOVALS_HPP

#include "runtime/loop_context.hpp"
#include "runtime/requests.hpp"
#include "runtime/session_folders.hpp"
#include "runtime/space.hpp"

namespace pawl {

class Removals {
 public:
  Removals(LoopContext& loop, Space& space, SessionFolders& folders)
      : loop_(loop), space_(space), folders_(folders) {}

  void registered();
  void begin();
  // In the batch: removes what is due by itself.
  Status write();
  // In the batch: each runs a call. `more`: it stays first, and goes on with the next batch.
  Status delete_instance(const Request& request, bool* more);
  Status prune_executions(const Request& request, bool* more);
  // Counts of the batch at hand; each caller that removes rows adds to them.
  [[nodiscard]] Removed* removed() { return &batch_.removed; }
  // The call that was not finished has begun.
  [[nodiscard]] bool has_begun_request() const { return batch_.request_begun; }
  void committed();
  void clean_up_committed();
  void rolled_back();
  // An instance ended here: plans when retention has to look again.
  void instance_ended();

 private:
  // Belongs to the batch at hand; meaningless after it is rolled back.
  struct OfBatch {
    Removed removed;
    bool retired = false;
    bool retire_more = false;
    bool swept = false;
    bool sweep_more = false;
    bool request_begun = false;  // true: the first request that was not taken has begun
    OptionalMs next_end;
  };
  [[nodiscard]] bool has_retention() const {
    return loop_.options.retention.age.count() > 0 || loop_.options.retention.count > 0;
  }
  Status clean_up();
  [[nodiscard]] Status find_instance(std::string_view id, InstanceKey* key);

  LoopContext& loop_;
  Space& space_;
  SessionFolders& folders_;
  EndedCursor ended_cursor_;
  LeakCursors leaks_;
  OfBatch batch_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_REMOVALS_HPP
