// The internals of the simulated machine: its files, locks, processes and clocks.
//
// Ownership: MachineImpl holds the files; NodeImpl holds what one process has open. A file lives
// while it has a name or is open, as on Unix. Thread rule: one thread, except Threads::wake().
#ifndef PAWL_PORT_SIM_SIM_MACHINE_HPP
#define PAWL_PORT_SIM_SIM_MACHINE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pawl/port.hpp"
#include "pawl/port_sim.hpp"

namespace pawl::sim {

struct OpenFile;

// A write or truncation that no sync has followed yet.
struct Unsynced {
  std::int64_t offset = 0;
  std::vector<std::uint8_t> bytes;
  bool truncates = false;  // to `offset`
};

struct File {
  ~File();
  std::vector<std::uint8_t> data;
  std::vector<std::uint8_t>
      durable;  // as of the last sync; kept only while `unsynced` is not empty
  std::vector<Unsynced> unsynced;
  std::vector<OpenFile*> opened;
  struct Region {
    int fd = -1;
    std::size_t size = 0;
  };
  std::vector<Region> regions;
  unsigned shm_users = 0;
};

// One open(). SQLite's locks conflict between OpenFiles, whichever process they belong to.
struct OpenFile {
  struct View {
    void* memory = nullptr;
    std::size_t size = 0;
  };
  std::shared_ptr<File> file;
  std::string path;
  std::int64_t pid = 0;
  bool read_only = false;
  int level = 0;
  bool uses_shm = false;
  unsigned shared_slots = 0;  // bit masks of the 8 slots
  unsigned exclusive_slots = 0;
  std::vector<View> views;
};

void drop_shm(OpenFile& open);
// For a file that was closed or whose process is dead. Frees its locks. Dead objects may still
// write to shared memory while they are destroyed (SQLite clears hash tables when it rolls back):
// that reaches no other process.
void release(OpenFile& open);
void unmap_views(OpenFile& open);

struct Worker {
  NodeImpl* holder = nullptr;
  std::uint8_t* live_notes = nullptr;  // in the holder
  std::vector<std::uint8_t> notes;     // as of the holder's death
};

struct MachineImpl {
  std::int64_t boot_ms = 60'000;
  std::int64_t wall_ahead_ms = 2'208'988'800'000;  // 2040-01-01: beyond 31 bits of seconds
  bool synced = true;
  bool boot_id_known = true;
  port::BootId boot_id;
  std::uint64_t random_state = 0;
  std::int64_t next_pid = 1000;

  std::map<std::string, std::shared_ptr<File>> files;
  std::map<std::string, Worker> workers;
  std::vector<NodeImpl*> nodes;

  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t fails_in = 0;  // 0: never
  bool fails_for_ever = false;
  Status failure = Status::kOk;
  bool power_cut_losses = false;
  std::int64_t sync_ms = 0;             // duration of a sync
  std::int64_t disk_bytes = 0;          // 0: without limit
  std::map<std::string, bool> entries;  // folders' contents by path: is it a folder?
  Status folders_failure = Status::kOk;

  [[nodiscard]] std::uint64_t next_random();
  void new_boot_id();
  // Counts down to the failure the test asked for.
  Status fault();
  // Truncation and removal do not count as writes, but a disk that is gone refuses them, too.
  [[nodiscard]] bool disk_is_gone() const { return fails_for_ever && fails_in == 1; }
  // Sum over all files.
  [[nodiscard]] std::int64_t stored_bytes() const;
  void remember_unsynced(File& file, Unsynced what) const;
  void lose_unsynced(File& file);
  // Reports what inotify would report to the processes that watch this name.
  void file_changed(const std::string& path);
  void clock_changed();
};

class NodeClock final : public port::Clock {
 public:
  explicit NodeClock(NodeImpl& node) : node_(node) {}
  Status open(Diagnostic&) override { return Status::kOk; }
  [[nodiscard]] std::int64_t boot_ms() override;
  [[nodiscard]] std::int64_t wall_ms() override;
  [[nodiscard]] bool synced() override;
  [[nodiscard]] port::BootId boot_id() override;
  void random(void* out, std::size_t size) override;

 private:
  NodeImpl& node_;
};

class NodeStorage final : public port::Storage {
 public:
  explicit NodeStorage(NodeImpl& node) : node_(node) {}
  ~NodeStorage();
  NodeStorage(const NodeStorage&) = delete;
  NodeStorage& operator=(const NodeStorage&) = delete;

  [[nodiscard]] const char* native_vfs() const override { return nullptr; }
  Result<port::FileHandle> open(const char* path, OpenMode mode) override;
  Status close(port::FileHandle file) override;
  Result<std::size_t> read(port::FileHandle file, void* out, std::size_t size,
                           std::int64_t offset) override;
  Status write(port::FileHandle file, const void* data, std::size_t size,
               std::int64_t offset) override;
  Status truncate(port::FileHandle file, std::int64_t size) override;
  Status sync(port::FileHandle file) override;
  Result<std::int64_t> size(port::FileHandle file) override;
  Status remove(const char* path) override;
  Result<bool> exists(const char* path) override;
  Status lock(port::FileHandle file, int level) override;
  Status unlock(port::FileHandle file, int level) override;
  Result<bool> reserved(port::FileHandle file) override;
  Status shm_map(port::FileHandle file, int index, std::size_t size, bool extend,
                 void volatile** out) override;
  Status shm_lock(port::FileHandle file, int first, int count, bool take, bool exclusive) override;
  void shm_barrier(port::FileHandle file) override;
  Status shm_unmap(port::FileHandle file, bool remove) override;

  Status create_whole(const char* path, const void* data, std::size_t size) override;
  // Behaves as a file system that can only write bytes.
  Status allocate(const char*, std::int64_t) override { return Status::kUnsupported; }
  Result<std::int64_t> lock_holder(const char* database_path, port::LogLock lock) override;
  Status check_place(const char* database_path, Diagnostic& diagnostic) override;
  Result<std::int64_t> free_bytes(const char* database_path) override;
  Result<WorkerFile> worker_create(const char* database_path, std::int64_t incarnation,
                                   std::size_t notes_bytes) override;
  void worker_close(const char* database_path, std::int64_t incarnation, WorkerFile file) override;
  [[nodiscard]] port::Held worker_test(const char* database_path,
                                       std::int64_t incarnation) override;
  std::size_t worker_notes(const char* database_path, std::int64_t incarnation, std::size_t offset,
                           void* out, std::size_t size) override;
  void worker_remove(const char* database_path, std::int64_t incarnation) override;
  void ring(const char* database_path) override;

  void release_all();

 private:
  // Null for a handle that is not open, and for every handle of a dead process.
  OpenFile* find(port::FileHandle file);
  Status write_piece(OpenFile& open, const std::uint8_t* bytes, std::size_t size, std::size_t at);

  NodeImpl& node_;
  std::vector<std::unique_ptr<OpenFile>> files_;
  std::map<port::FileHandle, std::vector<std::uint64_t>>
      notes_;  // whole words: aligned for any use
  port::FileHandle next_notes_ = 0;
};

class NodeThreads final : public port::Threads {
 public:
  explicit NodeThreads(NodeImpl& node) : node_(node) {}

  Status open(const char* database_path, Diagnostic& diagnostic) override;
  void close() override;
  port::WakeReasons wait(OptionalMs due_boot_ms) override;
  port::WakeReasons drain() override;
  [[nodiscard]] int fd() const override { return -1; }
  void arm(OptionalMs) override {}
  void wake() override { woken_.store(1); }
  [[nodiscard]] bool watches_files() const override { return !database_.empty(); }
  Status watch_process(std::int64_t pid, std::int64_t start_time) override;
  void unwatch_process(std::int64_t pid) override;
  Status add_descriptor(int fd) override;
  void remove_descriptor(int fd) override { descriptors_.erase(fd); }
  [[nodiscard]] bool descriptor_ready(int fd) override { return readable_.count(fd) != 0; }
  [[nodiscard]] std::int64_t process_id() override;
  [[nodiscard]] std::int64_t process_start_time(std::int64_t pid) override;
  [[nodiscard]] bool on_owner_thread() override { return opened_; }
  Status executor_start(unsigned count, std::size_t stack_bytes) override;
  void executor_submit(unsigned slot, void (*job)(void*), void* argument) override;
  [[nodiscard]] bool executor_idle(unsigned slot) override;
  bool executor_stop(std::int64_t wait_ms) override;

  void file_changed(const std::string& path);
  void clock_changed() { pending_.clock = opened_; }
  void process_died(std::int64_t pid);
  void set_readable(int fd, bool is_readable);
  unsigned run_jobs();

 private:
  static constexpr std::size_t kProcessesMax = 64;
  struct Job {
    unsigned slot = 0;
    void (*run)(void*) = nullptr;
    void* argument = nullptr;
  };
  port::WakeReasons take_pending();

  NodeImpl& node_;
  bool opened_ = false;
  std::string database_;
  port::WakeReasons pending_;
  std::atomic<unsigned> woken_{0};  // a word: RISC-V has no exchange of a smaller type
  std::vector<std::int64_t> watched_;
  std::set<int> descriptors_;
  std::set<int> readable_;
  std::vector<bool> busy_;
  std::deque<Job> jobs_;
};

class NodeFolders final : public port::Folders {
 public:
  explicit NodeFolders(NodeImpl& node) : node_(node) {}
  Status check_root(const char* root, Diagnostic& diagnostic) override;
  Status make(const char* root, const char* name, Diagnostic& diagnostic) override;
  Status remove_some(const char* root, const char* name, std::size_t steps_max, bool* more,
                     Diagnostic& diagnostic) override;
  Status begin_list(const char* root, Diagnostic& diagnostic) override;
  Result<std::string_view> next_name() override;
  void end_list() override { listed_.clear(); }

 private:
  [[nodiscard]] Status failure(const std::string& path, Diagnostic& diagnostic) const;

  NodeImpl& node_;
  std::string listed_;  // the root, with a separator
  std::string last_;    // reported last
};

struct NodeImpl {
  explicit NodeImpl(MachineImpl& on);
  void kill();

  MachineImpl& machine;
  std::int64_t pid;
  std::int64_t start_time;
  bool killed = false;
  bool jobs_held = false;
  bool locks_testable = true;
  std::uint64_t sleeps = 0;
  NodeClock clock{*this};
  NodeStorage storage{*this};
  NodeThreads threads{*this};
  NodeFolders folders{*this};
};

}  // namespace pawl::sim

#endif  // PAWL_PORT_SIM_SIM_MACHINE_HPP
