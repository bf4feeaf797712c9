// replay_check: checks whether this code would go on with everything that is under way in a
// database.
//
// Purpose: before an update, run the new program's orchestrations against the recorded history of
// every instance that has not ended, and get go or no-go for each, with both sides of the mismatch.
// A program links its own code, so it checks itself: by replay_check_main(), or by replay_check()
// inside of something larger. The check only reads. Activities are not run, no turn is taken and no
// message is delivered; runtimes may go on using the database meanwhile, and are not held up.
// Neither the database nor the contents of its log ("-wal") change. As any reader of SQLite the
// check enters itself in the log's index ("-shm"); if no process has the database open, it makes
// these two files (the log empty) and leaves them. Go: the code re-issues everything that the
// current execution has recorded, whatever it would do after that. So go is said about the past;
// tests find an error in what comes next (testing.hpp).
// Ownership: nothing is kept; views handed to the visitor end with its call. Thread rule: one
// thread at a time; on a Runtime's own thread between two ticks.
#ifndef PAWL_REPLAY_CHECK_HPP
#define PAWL_REPLAY_CHECK_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/error.hpp"
#include "pawl/management.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/registry.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The answer about one instance that has not ended: it runs, or is stopped or suspended.
struct ReplayAnswer {
  std::string_view id;
  std::string_view name;     // the orchestration's
  std::string_view version;  // the pinned one; empty: the current execution has not begun
  OrchestrationState state = OrchestrationState::kRunning;
  std::int64_t execution_id = 0;
  std::int64_t events = 0;  // of that execution that were replayed
  bool go = false;
  // The reason for a no-go. kUnregistered: the name or version is not in the registry, or a newer
  // engine recorded the history; kNondeterminism, kAwaitSteppedOver, kException: the code is at
  // fault; kCorrupt: a stored row is damaged; kLimit: it needs more than the options allow.
  ErrorKind why = ErrorKind::kNone;
  std::string_view text;  // names the event and both sides
};

// Gets a report of each instance that is replayed.
class ReplayVisitor {
 public:
  // Called before the code runs: the last report before a crash of the code names the instance.
  virtual void on_begin(std::string_view /*id*/) noexcept {}
  // Called after its replay, with the answer.
  virtual void on_answer(const ReplayAnswer& answer) noexcept = 0;

 protected:
  ~ReplayVisitor() = default;
};

// The number of instances that can go on, and of those that cannot.
struct ReplayTotals {
  std::int64_t go = 0;
  std::int64_t no_go = 0;
};

// The number of bytes that replay_check() needs; 0: the options are not valid.
[[nodiscard]] std::size_t replay_check_memory(const Options& options);

// Replays every instance that has not ended, and calls the visitor for each. `options` are those of
// the Runtime that will run the code. database_path and the limits count: a history larger than
// warm_bytes is no-go, as it would be there. Instances come in the order of creation, each group of
// them in one consistent view; one that is started meanwhile may or may not be among them.
// Returns kOk: all were replayed, and `totals` has the result. After any other answer the check
// could not be done, `diagnostic` says why, and not all was reported. The answers are those of
// Client::open() with `create` false; kBusy: the database is locked; kIo; kCorrupt: the table of
// instances itself.
// Requires: valid options (kInvalidOptions); `bytes` of at least replay_check_memory()
// (kResourceExhausted).
Status replay_check(Process& process, const Registry& registry, const Options& options,
                    const port::Port& port, void* memory, std::size_t bytes, ReplayVisitor& visitor,
                    ReplayTotals* totals, Diagnostic& diagnostic);

// Does all of it as the main() of a program on a POSIX system: `PROGRAM DATABASE` prints a line for
// each no-go and the totals to the standard output; `--all` in front of the path prints one for
// each instance. `options`: as above, but for database_path. Exit code: 0 go for all, 1 a no-go, 2
// the check could not be done.
int replay_check_main(const Registry& registry, const Options& options, int argc,
                      const char* const* argv);

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_REPLAY_CHECK_HPP
