// maintenance: copies the file of a database, checks whether it is sound, converts an earlier form,
// and moves a database to another place.
//
// Purpose: backups while runtimes use the database, a look at all of its pages, copies that become
// databases of their own, databases of an older Pawl, and the way to a server and back; for tools.
// Ownership: nothing is kept. Thread rule: one thread at a time.
#ifndef PAWL_MAINTENANCE_HPP
#define PAWL_MAINTENANCE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/name.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/server_database.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class CopyVisitor {
 public:
  // Called after each step. False: stop.
  virtual bool on_copied(std::int64_t pages, std::int64_t of_pages) noexcept = 0;

 protected:
  ~CopyVisitor() = default;
};

class FindingVisitor {
 public:
  // Called for each thing that is wrong, with a text for people.
  virtual void on_finding(std::string_view text) noexcept = 0;

 protected:
  ~FindingVisitor() = default;
};

struct DatabaseReport {
  std::int64_t format = 0;  // version of the stored form (docs/format.md)
  char id[33] = {};  // the database's; idempotency keys and the names of folders begin with it
  std::int64_t pages = 0;
  std::int64_t free_pages = 0;
  std::int64_t page_bytes = 0;
  bool clock_was_trusted = false;  // a trusted clock was seen at some time
  // Rows whose owner does not exist: children without their parent; activities, messages and values
  // without their instance.
  std::int64_t orphans = 0;
  std::int64_t unfinished = 0;  // instances that have not ended
  std::int64_t findings = 0;    // at most a hundred, each given to the visitor
};

// Has what upgrade_database() asks of its caller, in the order of the calls.
class UpgradeVisitor {
 public:
  // The database has an earlier form. Nothing is changed yet; the caller takes what keeps others
  // from making the same file.
  virtual Status on_older(std::int64_t format, Diagnostic& why) noexcept = 0;
  // No other process has the database open from here until upgrade_database() returns, and its log
  // is empty. The caller removes the files of the log, since they would be taken for the new
  // file's, and makes the new file, empty. `bytes`: how large that may become.
  virtual Status on_locked(std::int64_t bytes, Diagnostic& why) noexcept = 0;
  // Called each time that some rows more were copied. False: stop.
  virtual bool on_rows(std::int64_t rows) noexcept = 0;
  // The new file is whole, and was checked. The caller flushes it and gives it the name.
  virtual Status on_made(Diagnostic& why) noexcept = 0;

 protected:
  ~UpgradeVisitor() = default;
};

// The place of a database that is moved, or of one that it is moved to.
struct DatabasePlace {
  Path path;  // of the file; for a server, what files beside it begin with on this machine
  const ServerDatabase* database = nullptr;  // null: the file
};

// Hears how far a move has come.
class MoveVisitor {
 public:
  // Called after each page of rows with the count of all so far. False: stop.
  virtual bool on_rows(std::int64_t rows) noexcept = 0;

 protected:
  ~MoveVisitor() = default;
};

// The number of bytes that each of the functions below needs, but move_database().
[[nodiscard]] std::size_t maintenance_memory();

// Copies the database `from`, as of one moment, into the file `to`, which is empty or does not
// exist. Other processes go on reading and writing meanwhile; the log of `from` cannot begin anew
// until the copy is made. Then the copy is flushed and checked as check_database() does.
// Returns kOk; kCannotOpen, kForeignDatabase, kNewerDatabase, kOlderDatabase, kNetworkFilesystem,
// kBusy, kIo, kFull for either file; kAlreadyExists: `to` is not empty; kInvalidArgument: `to` has
// the name of a file beside `from`; kStopped: the visitor said so; kCorrupt: the copy is damaged,
// and then the database is, too. Unless kOk, the bytes in `to` are of no use.
// Requires: a started Process with two connections more (kInvalidArgument); `bytes` of at least
// maintenance_memory() (kResourceExhausted).
Status copy_database(Process& process, const Path& from, const Path& to, const port::Port& port,
                     void* memory, std::size_t bytes, CopyVisitor& visitor, Diagnostic& diagnostic);

// Reads all of a database: its pages, its indices unless `quick`, the rows that belong to others,
// and the links between the events of each history.
// Returns kOk: `report` has the answer, and the visitor got what is wrong, also if the file is so
// damaged that nothing of it can be read; else as copy_database(), but for kCorrupt.
// Requires: as copy_database().
Status check_database(Process& process, const Path& path, bool quick, const port::Port& port,
                      void* memory, std::size_t bytes, FindingVisitor& visitor,
                      DatabaseReport* report, Diagnostic& diagnostic);

// The number of bytes that check_rows() needs.
[[nodiscard]] std::size_t check_rows_memory(const DatabasePlace& at);

// Looks through the rows of a database that others may use meanwhile, in one view: those that
// belong to others, and the links between the events of each history. For a database on a server,
// whose pages are its own matter; `report` has neither pages nor a format.
// Returns kOk: `report` has the answer, and the visitor got what is wrong; kCannotOpen,
// kForeignDatabase, kNewerDatabase, kOlderDatabase, kBusy, kIo, kCorrupt.
// Requires: a started Process with one connection more (kInvalidArgument); `bytes` of at least
// check_rows_memory() (kResourceExhausted).
Status check_rows(Process& process, const DatabasePlace& at, const port::Port& port, void* memory,
                  std::size_t bytes, FindingVisitor& visitor, DatabaseReport* report,
                  Diagnostic& diagnostic);

// Makes a copy a database of its own, in one commit: it gets another id, so idempotency keys and
// names of session folders differ from those of the database that it was copied from, and a Runtime
// of the one never takes folders of the other for its own. The places of its sessions' folders are
// forgotten; the sessions get new ones.
// Returns kOk; the same as check_database(), but for kAlreadyExists; kCorrupt, kReadOnly.
// Requires: no other process has the file; as copy_database().
Status renew_identity(Process& process, const Path& path, const port::Port& port, void* memory,
                      std::size_t bytes, Diagnostic& diagnostic);

// Lets a copy go on in place of the database that it was copied from, in one commit: it skips a
// multiple of 2^30 numbers of instances, sessions, workers, messages and locks, which the other one
// may have given out since. So a new instance has no idempotency key of one that is forgotten, a
// new session no folder of one, and an epoch that fences a device is never lower than it was. The
// multiple is random (one of 2^18), for a backup that is restored more than once.
// Returns the same as renew_identity().
// Requires: as renew_identity().
Status skip_numbers(Process& process, const Path& path, const port::Port& port, void* memory,
                    std::size_t bytes, Diagnostic& diagnostic);

// Converts the database `path`, of format 1 or of an earlier form of format 2, into the file
// `made`, in the form that this Pawl reads. Events, messages, values and numbers stay; a row whose
// checksum is wrong stays wrong, and an event that is missing stays missing. The database itself
// gets nothing but the content of its log. Programs that only open databases do not contain this.
// Returns kOk; also, without a call of the visitor, if the database has today's form; the same as
// check_database(), but for kOlderDatabase; kCorrupt: it has a table or column that is not Pawl's,
// or is damaged; kReadOnly; kStopped: on_rows() said so; what the visitor returned. Unless kOk, the
// bytes in `made` are of no use.
// Requires: as copy_database().
Status upgrade_database(Process& process, const Path& path, const Path& made,
                        const port::Port& port, void* memory, std::size_t bytes,
                        UpgradeVisitor& visitor, Diagnostic& diagnostic);

// The number of bytes that move_database() needs.
[[nodiscard]] std::size_t move_memory(const DatabasePlace& from, const DatabasePlace& to);

// Moves all of a database to a place of its own, which may be a file or on a server: instances with
// their histories, messages, values, sessions and work in flight, which is given out again as after
// a reboot. The place is made, unless it is there and holds neither instances nor sessions. All
// rows are read again there and compared. Then the old database is marked, so that no Pawl opens
// it, and after that the new one is in use: at no time are both. A move that did not end leaves the
// old database as it is, or both closed; the same call again ends it. Time goes on from the old
// one's: off time is credited as after a boot, or a time without nodes.
// Returns kOk, also if it had ended before; for either database kCannotOpen, also if it was moved
// to another place, kForeignDatabase, kNewerDatabase, kOlderDatabase, kNetworkFilesystem,
// kReadOnly, kIo, kFull, kUnsupported; kBusy: it is in use; kAlreadyExists: the place is not free;
// kCorrupt: a row cannot be stored there, or was changed on the way, and the text names it;
// kStopped: the visitor said so. `rows`: how many rows were carried by this call.
// Requires: a started Process with two connections more (kInvalidArgument); `bytes` of at least
// move_memory() (kResourceExhausted); workers and clients of both are stopped.
Status move_database(Process& process, const DatabasePlace& from, const DatabasePlace& to,
                     const port::Port& port, void* memory, std::size_t bytes, MoveVisitor& visitor,
                     std::int64_t* rows, Diagnostic& diagnostic);

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_MAINTENANCE_HPP
