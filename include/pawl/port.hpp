// The port: everything Pawl needs from a machine, in three small interfaces, and a fourth that may
// be left out.
//
// Purpose: nothing under src/ includes an operating system's header; it reaches the machine through
// Clock, Storage and Threads only, and through Folders if sessions are to have folders. A port
// consists of these classes and passes test/port (the conformance suite).
// Ownership: a port's objects belong to the caller, and outlive every Process, Runtime and Client
// given them. One set is one process: two simulated processes are two sets on one machine.
// Thread rule: Clock is callable from any thread. A Storage may be used by several connections,
// each on its own thread. Threads::wake() is callable from any thread and from a signal handler;
// the rest of Threads, and Folders, belong to the thread that owns the Runtime or Client.
// Units: times are milliseconds in std::int64_t, sizes are bytes.
// Source of the clock's rules: docs/architecture/time.md.
#ifndef PAWL_PORT_HPP
#define PAWL_PORT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl::port {

// Rises whenever an interface below changes. A Runtime checks it when it starts, a Client when it
// opens.
inline constexpr std::uint32_t kPortVersion = 5;

struct BootId {
  std::uint8_t bytes[16] = {};
  bool known = false;  // false: only an invented id was available (a container)
};

class Clock {
 public:
  [[nodiscard]] virtual std::uint32_t version() const { return kPortVersion; }
  // Reads everything that must be read once (boot id, time namespace). kUnsupported with a
  // diagnostic: the machine's boot time is not available; then nothing else may be called.
  virtual Status open(Diagnostic& diagnostic) = 0;
  // The time since the kernel started, suspend included. It is monotone, and the same number in
  // every process of the machine, whatever its time namespace.
  [[nodiscard]] virtual std::int64_t boot_ms() = 0;
  // The wall clock, since 1970 UTC; it may be wrong in any way.
  [[nodiscard]] virtual std::int64_t wall_ms() = 0;
  // Whether the wall clock is trusted now. An unknown answer is no.
  [[nodiscard]] virtual bool synced() = 0;
  [[nodiscard]] virtual BootId boot_id() = 0;
  // Fills `out` with random bytes, for ids and for completion tokens: bytes that nothing outside of
  // the process can guess.
  virtual void random(void* out, std::size_t size) = 0;

 protected:
  ~Clock() = default;
};

// A lock that a process may hold for long: a view that it reads, or its turn to write.
enum class LogLock : std::uint8_t { kRead, kWrite };

enum class Held : std::uint8_t { kFree, kHeld, kUntestable };

// The endings of files that SQLite, Pawl and its endpoint have beside a database. The folder of the
// workers and the endpoint's socket stand there, too.
inline constexpr const char* kFilesBeside[] = {"-journal", "-wal", "-shm",      "-bell",
                                               "-reserve", "-new", "-http.lock"};
inline constexpr char kSocketBeside[] = "-http";
inline constexpr char kWorkersBeside[] = "-workers";

// The handle of one open file or worker file; the port gives it its meaning.
using FileHandle = std::int32_t;
inline constexpr FileHandle kNoFile = -1;

class Storage {
 public:
  [[nodiscard]] virtual std::uint32_t version() const { return kPortVersion; }

  // ---- the database's files ----
  // The name of an SQLite VFS that already serves this storage ("unix"), or null: then Pawl
  // registers a VFS of its own over the calls below.
  [[nodiscard]] virtual const char* native_vfs() const = 0;

  // These are the calls that SQLite's os_*.c really makes, in its own terms
  // (sqlite.org/c3ref/io_methods.html). A port with a native VFS answers kUnsupported to all of
  // them.
  struct OpenMode {
    bool create = false;
    bool read_only = false;
    bool delete_on_close = false;
  };
  virtual Result<FileHandle> open(const char* path, OpenMode mode) = 0;
  virtual Status close(FileHandle file) = 0;
  // Answers the bytes read; fewer than `size` only at the end of the file.
  virtual Result<std::size_t> read(FileHandle file, void* out, std::size_t size,
                                   std::int64_t offset) = 0;
  virtual Status write(FileHandle file, const void* data, std::size_t size,
                       std::int64_t offset) = 0;
  virtual Status truncate(FileHandle file, std::int64_t size) = 0;
  virtual Status sync(FileHandle file) = 0;
  virtual Result<std::int64_t> size(FileHandle file) = 0;
  virtual Status remove(const char* path) = 0;
  virtual Result<bool> exists(const char* path) = 0;
  // The levels are SQLite's: 0 none, 1 shared, 2 reserved, 3 pending, 4 exclusive. kBusy if
  // refused.
  virtual Status lock(FileHandle file, int level) = 0;
  virtual Status unlock(FileHandle file, int level) = 0;
  virtual Result<bool> reserved(FileHandle file) = 0;
  // Maps shared memory of the log's index: region `index` of `size` bytes, zeroed when new.
  virtual Status shm_map(FileHandle file, int index, std::size_t size, bool extend,
                         void volatile** out) = 0;
  // Takes or drops `count` of the 8 slots from `first`; kBusy if refused.
  virtual Status shm_lock(FileHandle file, int first, int count, bool take, bool exclusive) = 0;
  virtual void shm_barrier(FileHandle file) = 0;
  virtual Status shm_unmap(FileHandle file, bool remove) = 0;

  // ---- files that come with room, for every port ----
  // Makes the database's file, whole or not at all: its bytes are flushed before it gets its name,
  // so that neither a crash nor a power cut leaves a part of one. Its name is safe from a power cut
  // at the latest when the log beside it was flushed for the first time. kAlreadyExists: the file
  // exists, or another process was first; kBusy: another process is making it; kUnsupported: it
  // does not work here, and Pawl then makes the file in place, with more flushes. After any other
  // status nothing is there.
  virtual Status create_whole(const char* path, const void* data, std::size_t size) = 0;
  // Gives the file, which is made if it does not exist, exactly `size` bytes that are its own on
  // the device, without writing them. kFull; kUnsupported: it does not work here, and Pawl then
  // writes them. After a failure the file may be there.
  virtual Status allocate(const char* path, std::int64_t size) = 0;

  // ---- checks before a database is opened ----
  // Checks the place of the database. kCannotOpen: the folder is missing, or something else is in
  // the place of a file; kReadOnly: file or folder cannot be written; kNetworkFilesystem: locks
  // there cannot be trusted. The diagnostic names the path.
  virtual Status check_place(const char* database_path, Diagnostic& diagnostic) = 0;
  // True: other users of the machine may put their own files in the place of those beside the
  // database. Then a Runtime logs it. A port without users answers false.
  [[nodiscard]] virtual bool others_may_write(const char* /*database_path*/) { return false; }
  // The bytes that can still be written on the database's device, or kUnsupported.
  virtual Result<std::int64_t> free_bytes(const char* database_path) = 0;

  // Answers, for people, the process that holds such a lock of the database, preferably another one
  // than this. kNotFound: no process does; kUnsupported: the port does not know.
  virtual Result<std::int64_t> lock_holder(const char* /*database_path*/, LogLock /*lock*/) {
    return Status::kUnsupported;
  }

  // ---- liveness: a lock that dies with its process ----
  // The file `<database>-workers/<incarnation>` is created, locked, and mapped writable for
  // `notes_bytes` (zeroed). The lock must end with the process, however it ends, must not survive
  // in children, and must be testable by another Runtime of the same process.
  struct WorkerFile {
    FileHandle handle = kNoFile;
    void* notes = nullptr;
  };
  virtual Result<WorkerFile> worker_create(const char* database_path, std::int64_t incarnation,
                                           std::size_t notes_bytes) = 0;
  // Frees the lock and the mapping; removes the file.
  virtual void worker_close(const char* database_path, std::int64_t incarnation,
                            WorkerFile file) = 0;
  // Whether the lock of this incarnation is held. A missing file is kFree.
  [[nodiscard]] virtual Held worker_test(const char* database_path, std::int64_t incarnation) = 0;
  // Copies notes of an incarnation, dead or living, from `offset` on. Answers the bytes copied:
  // fewer than `size` only at the end, 0 if the file is gone. Notes that a living one writes
  // meanwhile may be copied in part.
  virtual std::size_t worker_notes(const char* database_path, std::int64_t incarnation,
                                   std::size_t offset, void* out, std::size_t size) = 0;
  virtual void worker_remove(const char* database_path, std::int64_t incarnation) = 0;

  // ---- the bell ----
  // Wakes the sleepers of other connections after a commit: `<database>-bell`.
  virtual void ring(const char* database_path) = 0;

  // ---- turns at writing ----
  // A lock that a connection takes before it asks for the database's write lock, and gives when it
  // has got that. So a connection that has just written does not write again before those that
  // wait. One handle a connection; two connections of one process exclude each other, too. The lock
  // ends with its process, however that ends. kUnsupported: the port has none, for example because
  // no connection can wait; then the first to come writes.
  virtual Result<FileHandle> turn_open(const char* /*database_path*/) {
    return Status::kUnsupported;
  }
  // Takes the lock without waiting; kBusy: another connection has it.
  virtual Status turn_take(FileHandle /*turn*/) { return Status::kUnsupported; }
  virtual void turn_give(FileHandle /*turn*/) {}
  virtual void turn_close(FileHandle /*turn*/) {}

 protected:
  ~Storage() = default;
};

// The most threads that an executor may be asked for. The worker's file notes what each of them
// runs.
inline constexpr unsigned kThreadsMax = 128;

// The reasons why a wait ended; several may be set.
struct WakeReasons {
  bool due = false;         // the due time came
  bool woken = false;       // wake() was called, or an executor job ended
  bool bell = false;        // another connection rang the bell
  bool log = false;         // the database's log was written (precedes visibility)
  bool process = false;     // a watched process died
  bool descriptor = false;  // a descriptor added with add_descriptor is ready
  bool clock = false;       // the wall clock was set
};

class Threads {
 public:
  [[nodiscard]] virtual std::uint32_t version() const { return kPortVersion; }

  // ---- waiting ----
  // Watches the bell and the log of a database; null path: none. One Threads object has one
  // database.
  virtual Status open(const char* database_path, Diagnostic& diagnostic) = 0;
  virtual void close() = 0;
  // Waits until `due_boot_ms` (Clock::boot_ms, absolute, also counted during suspend; none: until
  // an event) or an earlier reason. If the due time has passed, the call only polls; one before
  // this boot is negative. It drains the reasons that it reports.
  virtual WakeReasons wait(OptionalMs due_boot_ms) = 0;
  // Throws away the events that our own commits caused on the watched files, without waiting.
  virtual WakeReasons drain() = 0;
  // A descriptor that is readable when wait() would return, for a host's own loop; -1: none. It
  // covers the due time set last with arm().
  [[nodiscard]] virtual int fd() const = 0;
  virtual void arm(OptionalMs due_boot_ms) = 0;
  virtual void wake() = 0;
  // False: there is no file notification here; the port polls with a stated interval and reports
  // `bell`.
  [[nodiscard]] virtual bool watches_files() const = 0;
  // Reports when this process dies; kUnsupported if the kernel cannot do that. At most 64
  // processes.
  virtual Status watch_process(std::int64_t pid, std::int64_t start_time) = 0;
  virtual void unwatch_process(std::int64_t pid) = 0;
  // Ends the sleep while `fd` is readable. kInvalidArgument: it is no descriptor; kUnsupported: the
  // port cannot wait for this kind, or for any.
  virtual Status add_descriptor(int fd) = 0;
  virtual void remove_descriptor(int fd) = 0;
  // Whether `fd` is readable now, or has hung up. Does not wait.
  [[nodiscard]] virtual bool descriptor_ready(int fd) = 0;

  // ---- identity ----
  [[nodiscard]] virtual std::int64_t process_id() = 0;
  // The kernel's start time of a process (clock ticks since boot), 0 if unknown or gone. It
  // separates a process from a later one with the same id.
  [[nodiscard]] virtual std::int64_t process_start_time(std::int64_t pid) = 0;
  // True on the thread that called open().
  [[nodiscard]] virtual bool on_owner_thread() = 0;

  // ---- the executor: a bounded pool for blocking activities ----
  // Creates `count` threads with stacks of `stack_bytes`, before the arenas are sealed, called
  // "pawl-work-<slot>" where threads have names. 0 is allowed; kInvalidArgument: more than
  // kThreadsMax.
  virtual Status executor_start(unsigned count, std::size_t stack_bytes) = 0;
  // Runs job(argument) on thread `slot`, which must be idle. When the job has returned, the waiter
  // wakes.
  virtual void executor_submit(unsigned slot, void (*job)(void*), void* argument) = 0;
  // True when the job given last to `slot` has returned; everything it wrote is visible then.
  [[nodiscard]] virtual bool executor_idle(unsigned slot) = 0;
  // Ends the threads, and waits at most `wait_ms` for running jobs; false if some still run.
  virtual bool executor_stop(std::int64_t wait_ms) = 0;

 protected:
  ~Threads() = default;
};

// Folders for files of the application: `root/name`, each with the files that were put into it.
// `root` is a path of the machine, of at most kRootBytesMax; `name` is one name, without
// separators, of at most kNameBytesMax. Below the root no call follows a link, whatever lies there;
// none waits for others, and each does a bounded piece of work. An error's diagnostic names the
// path.
class Folders {
 public:
  static constexpr std::size_t kRootBytesMax = 400;
  static constexpr std::size_t kNameBytesMax = 95;

  [[nodiscard]] virtual std::uint32_t version() const { return kPortVersion; }
  // Checks whether folders can be made here. kInvalidArgument: it is no absolute path, or too long;
  // kCannotOpen: there is no such folder; kReadOnly: it cannot be written.
  virtual Status check_root(const char* root, Diagnostic& diagnostic) = 0;
  // Makes the folder, for this user only; one that exists stays as it is. kAlreadyExists: something
  // else is in its place, or another user's folder; kFull, kReadOnly, kCannotOpen, kIo.
  virtual Status make(const char* root, const char* name, Diagnostic& diagnostic) = 0;
  // Removes the folder with everything below it, or at most `steps_max` entries of that: then *more
  // is set, and it is called again. An entry of its name that is no folder is removed, too. If
  // there is nothing, the answer is kOk. After an error the rest stays until the next call. Files
  // that others use are removed, too; a file system that others mounted there is not.
  virtual Status remove_some(const char* root, const char* name, std::size_t steps_max, bool* more,
                             Diagnostic& diagnostic) = 0;
  // Begins a list, one at a time. It has the names in any order, each once; names that come or go
  // meanwhile may be missing.
  virtual Status begin_list(const char* root, Diagnostic& diagnostic) = 0;
  // The next name, valid until the next call; empty: there are no more. Only between begin_list()
  // and end_list().
  virtual Result<std::string_view> next_name() = 0;
  virtual void end_list() = 0;

 protected:
  ~Folders() = default;
};

// The interfaces that a process of Pawl gets.
struct Port {
  Clock* clock = nullptr;
  Storage* storage = nullptr;
  Threads* threads = nullptr;
  Folders* folders = nullptr;  // null: SessionOptions::work_root is refused
};

}  // namespace pawl::port
#pragma GCC visibility pop

#endif  // PAWL_PORT_HPP
