// The port to a machine without an operating system: no threads, no processes, no files.
//
// Purpose: a Runtime and the Clients of one program share a Machine: the flash with its files, the
// locks, the index of the log. Each of them has a BareMetalPort of its own on it. A Board and a
// driver of the flash (NorFlash) hold all that differs between boards.
// Ownership: everything belongs to the application and is best static. Board, flash and memory
// outlive the Machine, the Machine its ports, a port its Runtime or Client.
// Thread rule: one thread; an interrupt, too, may call BareMetalThreads::wake().
#ifndef PAWL_PORT_BARE_METAL_BARE_METAL_PORT_HPP
#define PAWL_PORT_BARE_METAL_BARE_METAL_PORT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pawl/port.hpp"
#include "port/bare_metal/flash_files.hpp"
#include "port/bare_metal/nor_flash.hpp"

namespace pawl::bare_metal {

class Board {
 public:
  // Time since the machine was switched on or reset, sleep included; never goes back.
  [[nodiscard]] virtual std::int64_t boot_ms() = 0;
  // Time since 1970 UTC. A board without a clock of its own returns any value here, and false from
  // is_wall_trusted().
  [[nodiscard]] virtual std::int64_t wall_ms() = 0;
  [[nodiscard]] virtual bool is_wall_trusted() = 0;
  // Fills `out`. Two boots must not draw the same bytes: use a random number generator, or the
  // board's entropy combined with a counter that survives a reset. Completion tokens need bytes
  // that cannot be guessed, so a board that gives them to others needs the generator.
  virtual void random(void* out, std::size_t size) = 0;
  // Sleeps until an interrupt, at most until this time (none: no limit). May return early.
  virtual void sleep(OptionalMs until_boot_ms) = 0;

 protected:
  ~Board() = default;
};

// How the flash is used. Must be the same at each start, or the database is not found again.
struct Layout {
  const char* database_path = "pawl.db";  // Options::database_path must be the same
  // Size of the log's range. A transaction that does not fit fails with kFull, so take at least
  // twice SpaceOptions::checkpoint_pages plus what one tick writes. With 250 the log's index is one
  // piece of 4 KiB.
  std::uint32_t log_sectors = 250;
  // Bytes that SQLite asks for at a time for the index of the log, at 8 bytes a page. A SQLite
  // other than that of toolchains/compact_sqlite.cmake asks for 32 KiB.
  std::size_t index_piece_bytes = std::size_t{4} * 1024;
  // true: start() formats a flash that holds nothing of Pawl's; false: refuses it.
  bool may_format = true;
};

// Sizes that count into Machine::required_memory(), in bytes.
struct MachineMemory {
  // The notes of one worker; a Runtime has one worker. It asks for 21,536 bytes: 64 heartbeats, and
  // a note for each thread that a port may have.
  static constexpr std::size_t kNotesBytes = std::size_t{43} * 512;
};

class Machine {
 public:
  static constexpr std::size_t kPortsMax = 4;
  static constexpr std::size_t kHandlesMax = 12;
  static constexpr std::size_t kWorkersMax = 4;

  Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Bytes that start() needs for `workers` workers (one a Runtime): the tables of the flash, the
  // index of the log, and the workers' notes. One worker more is needed only where a Runtime may
  // find itself buried and registers again, which takes another Runtime that considers it dead.
  [[nodiscard]] static std::size_t required_memory(const NorFlash::Geometry& geometry,
                                                   const Layout& layout, std::size_t workers = 1);
  // Mounts the flash. Call it once. Errors of FlashSectors::mount() and FlashFiles::mount(), and
  // kInvalidArgument: Layout::index_piece_bytes is no power of two from 4 KiB to 32 KiB.
  Status start(Board& board, NorFlash& flash, const Layout& layout, void* memory, std::size_t bytes,
               Diagnostic& diagnostic);

  [[nodiscard]] const FlashSectors& sectors() const { return sectors_; }

 private:
  friend class BareMetalClock;
  friend class BareMetalStorage;
  friend class BareMetalThreads;
  struct Handle {
    FilePlace place = FilePlace::kNone;  // kNone: free
    bool read_only = false;
    bool delete_on_close = false;
    bool uses_index = false;
    int level = 0;
    unsigned shared_slots = 0;
    unsigned exclusive_slots = 0;
  };
  struct Worker {
    std::int64_t incarnation = 0;  // 0: free
    std::size_t notes_bytes = 0;
  };
  [[nodiscard]] Handle* handle(port::FileHandle file);
  [[nodiscard]] bool is_open(FilePlace place) const;
  [[nodiscard]] int highest_of_others(const Handle& handle) const;
  void leave_index(Handle& handle);
  void note_log() { ++log_writes_; }
  [[nodiscard]] Worker* worker(std::int64_t incarnation);
  [[nodiscard]] unsigned char* notes_of(const Worker& worker);

  Board* board_ = nullptr;
  FlashSectors sectors_;
  FlashFiles files_;
  port::BootId boot_id_;
  Handle handles_[kHandlesMax];
  bool removed_while_open_[3] = {};
  Worker workers_[kWorkersMax];
  unsigned char* notes_ = nullptr;
  std::size_t workers_max_ = 0;
  unsigned char* index_ = nullptr;
  std::size_t index_piece_bytes_ = 0;
  std::size_t index_pieces_max_ = 0;
  std::size_t index_pieces_ = 0;  // as many as the log's users have asked for
  std::uint32_t log_writes_ = 0;
  std::uint32_t bells_ = 0;
  std::int64_t ports_ = 0;  // made so far
};

class BareMetalClock final : public port::Clock {
 public:
  explicit BareMetalClock(Machine& machine) : machine_(machine) {}
  Status open(Diagnostic& diagnostic) override;
  [[nodiscard]] std::int64_t boot_ms() override;
  [[nodiscard]] std::int64_t wall_ms() override;
  [[nodiscard]] bool synced() override;
  [[nodiscard]] port::BootId boot_id() override;
  void random(void* out, std::size_t size) override;

 private:
  Machine& machine_;
};

class BareMetalStorage final : public port::Storage {
 public:
  explicit BareMetalStorage(Machine& machine) : machine_(machine) {}
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
  Status allocate(const char* path, std::int64_t size) override;
  Status check_place(const char* database_path, Diagnostic& diagnostic) override;
  Result<std::int64_t> free_bytes(const char* database_path) override;
  Result<WorkerFile> worker_create(const char* database_path, std::int64_t incarnation,
                                   std::size_t notes_bytes) override;
  void worker_close(const char* database_path, std::int64_t incarnation, WorkerFile file) override;
  port::Held worker_test(const char* database_path, std::int64_t incarnation) override;
  std::size_t worker_notes(const char* database_path, std::int64_t incarnation, std::size_t offset,
                           void* out, std::size_t size) override;
  void worker_remove(const char* database_path, std::int64_t incarnation) override;
  void ring(const char* database_path) override;

 private:
  Machine& machine_;
};

class BareMetalThreads final : public port::Threads {
 public:
  explicit BareMetalThreads(Machine& machine) : machine_(machine), id_(++machine.ports_) {}
  Status open(const char* database_path, Diagnostic& diagnostic) override;
  void close() override;
  port::WakeReasons wait(OptionalMs due_boot_ms) override;
  port::WakeReasons drain() override;
  [[nodiscard]] int fd() const override { return -1; }
  void arm(OptionalMs) override {}
  void wake() override { woken_.store(1, std::memory_order_release); }
  [[nodiscard]] bool watches_files() const override { return true; }
  Status watch_process(std::int64_t, std::int64_t) override { return Status::kUnsupported; }
  void unwatch_process(std::int64_t) override {}
  Status add_descriptor(int) override { return Status::kUnsupported; }
  void remove_descriptor(int) override {}
  [[nodiscard]] bool descriptor_ready(int) override { return false; }
  [[nodiscard]] std::int64_t process_id() override { return id_; }
  [[nodiscard]] std::int64_t process_start_time(std::int64_t pid) override;
  [[nodiscard]] bool on_owner_thread() override { return is_open_; }
  Status executor_start(unsigned count, std::size_t stack_bytes) override;
  void executor_submit(unsigned, void (*)(void*), void*) override {}
  [[nodiscard]] bool executor_idle(unsigned) override { return true; }
  bool executor_stop(std::int64_t) override { return true; }

 private:
  [[nodiscard]] port::WakeReasons take_pending();
  Machine& machine_;
  std::int64_t id_;
  std::int64_t start_time_ = 1;
  bool is_open_ = false;
  bool watches_ = false;
  std::uint32_t bells_seen_ = 0;
  std::uint32_t log_seen_ = 0;
  std::atomic<std::uint32_t> woken_{0};
};

// The port of one Runtime or Client.
class BareMetalPort {
 public:
  explicit BareMetalPort(Machine& machine)
      : clock_(machine), storage_(machine), threads_(machine) {}
  [[nodiscard]] port::Port port() { return {&clock_, &storage_, &threads_, nullptr}; }

 private:
  BareMetalClock clock_;
  BareMetalStorage storage_;
  BareMetalThreads threads_;
};

}  // namespace pawl::bare_metal

#endif  // PAWL_PORT_BARE_METAL_BARE_METAL_PORT_HPP
