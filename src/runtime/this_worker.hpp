// ThisWorker: this worker's row, its lock and its file, and the burial of dead workers.
// Rules: docs/rules/session.md, docs/architecture/crashes.md#crashes. Thread rule: the
// loop's thread.
#ifndef PAWL_RUNTIME_THIS_WORKER_HPP
#define PAWL_RUNTIME_THIS_WORKER_HPP

#include "core/text.hpp"
#include "core/vector.hpp"
#include "runtime/crash_notes.hpp"
#include "runtime/devices.hpp"
#include "runtime/hand_over.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/session_watch.hpp"
#include "runtime/slots.hpp"

namespace pawl {

class ThisWorker {
 public:
  static constexpr std::size_t kWorkersMax = 64;

  struct Memory {
    WorkerRow* workers = nullptr;
    std::size_t workers_max = 0;
    template <typename AnyArena>
    void allocate(AnyArena& arena, const Options& options) {
      workers_max = options.limits.workers_max;
      workers = arena.template array<WorkerRow>(workers_max);
    }
  };

  ThisWorker(LoopContext& loop, Memory& memory, Slots& slots, Devices& devices,
             const HandOver& hand_over, SessionWatch& session_watch)
      : loop_(loop),
        memory_(memory),
        slots_(slots),
        devices_(devices),
        hand_over_(hand_over),
        session_watch_(session_watch) {}

  // Called once, in the first registration.
  void start_slots();
  void begin() { buried_.clear(); }
  // In the first batch of a worker, and after other workers buried it: registers, and buries dead
  // workers.
  Status write();
  void committed();
  void rolled_back();
  // In the batch: buries workers whose kernel lock proves them dead, and suspected ones two leases
  // after their lease ended.
  Status bury_the_dead();
  [[nodiscard]] bool has_buried() const { return !buried_.empty(); }
  // After the commit: asks the kernel, where it can, to report deaths of workers at once; removes
  // the files of buried workers.
  void watch_workers();
  // Another worker declared this one dead.
  void was_buried();
  Status unregister() { return loop_.worker().unregister_worker(loop_.me); }
  void close_files();
  // Shows activities when an orderly stop will end.
  void announce_stop(std::int64_t end_boot_ms) { shared_.stop.announce(end_boot_ms); }

  [[nodiscard]] std::string_view worker_id() const { return worker_id_.view(); }
  // The entry in which the loop notes the turn that it runs.
  [[nodiscard]] NoteEntry& note() { return notes_->entries[0]; }

 private:
  struct HeldFile {
    Incarnation incarnation = 0;
    port::Storage::WorkerFile file;
  };

  Status bury(Incarnation dead, std::int64_t boot_seq, Incarnation heir);
  void close(HeldFile& held);
  void close_retired_files();
  void set_worker_id();

  LoopContext& loop_;
  Memory& memory_;
  Slots& slots_;
  Devices& devices_;
  const HandOver& hand_over_;
  SessionWatch& session_watch_;
  HeldFile file_;      // the current registration's
  HeldFile new_file_;  // its registration is not committed yet
  FixedVector<HeldFile, 16> retired_files_;
  NotesPage* notes_ = nullptr;
  FixedText<kNameBytesMax> worker_id_;
  internal::SlotShared shared_;
  FixedVector<Incarnation, kWorkersMax> buried_;  // in the batch at hand
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_THIS_WORKER_HPP
