// Removals: what goes by itself (retention, sessions without work), what calls remove, and the rows
// of deleted trees.
//
// What takes more than one batch goes on with the next: only a commit decides what is left.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_REMOVALS_HPP
#define PAWL_RUNTIME_REMOVALS_HPP

#include "folders.hpp"
#include "loop_context.hpp"
#include "requests.hpp"
#include "space.hpp"

namespace pawl {

class Removals {
 public:
  Removals(LoopContext& loop, Space& space, Folders& folders)
      : loop_(loop), space_(space), folders_(folders) {}

  void registered();
  void begin();
  // In the batch: what is due by itself.
  Status write();
  // In the batch: a call. `more`: it stays the first, and goes on with the next batch.
  Status write(Request& request, bool* more);
  // Of the batch at hand; who removes adds to it.
  [[nodiscard]] Removed* removed() { return &batch_.removed; }
  // The call that was not finished has begun.
  [[nodiscard]] bool has_begun_request() const { return batch_.request_begun; }
  void committed();
  void clean_up_committed();
  void rolled_back();
  // An instance has ended here: what is to go now, and when will it?
  void instance_ended();

 private:
  // Of the batch at hand; without meaning once it is rolled back.
  struct OfBatch {
    Removed removed;
    bool retired = false;
    bool retire_more = false;
    bool swept = false;
    bool sweep_more = false;
    bool request_begun = false;  // of the first request that was not taken
    OptionalMs next_end;
  };
  [[nodiscard]] bool has_retention() const {
    return loop_.options.retention.age.count() > 0 || loop_.options.retention.count > 0;
  }
  Status clean_up();

  LoopContext& loop_;
  Space& space_;
  Folders& folders_;
  EndedCursor ended_cursor_;
  LeakCursors leaks_;
  OfBatch batch_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_REMOVALS_HPP
