// Files, locks and the workers' notes. All belong to one program; a reset keeps only the files.
#include <cstring>

#include "port/bare_metal/bare_metal_port.hpp"

namespace pawl::bare_metal {
namespace {

enum Level : int { kUnlocked, kShared, kReserved, kPending, kExclusive };
constexpr int kIndexSlots = 8;

std::size_t rounded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

bool is_piece(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{32} * 1024;
  return bytes >= kMost / 8 && bytes <= kMost && (bytes & (bytes - 1)) == 0;
}

// SQLite's index has 8 bytes for each page of the log, after a head of the size of 34 entries.
std::size_t index_pieces(const Layout& layout) {
  constexpr std::size_t kLogPageBytes = 24 + 512;
  const std::size_t entries = layout.log_sectors * kSectorBytes / kLogPageBytes + 34;
  const std::size_t entries_a_piece = layout.index_piece_bytes / 8;
  if (entries_a_piece == 0) return 0;  // start() refuses it
  return (entries + entries_a_piece - 1) / entries_a_piece;
}

}  // namespace

// ---- the machine ----

std::size_t Machine::required_memory(const NorFlash::Geometry& geometry, const Layout& layout,
                                     std::size_t workers) {
  return rounded(FlashSectors::required_memory(geometry)) +
         index_pieces(layout) * layout.index_piece_bytes + workers * MachineMemory::kNotesBytes;
}

Status Machine::start(Board& board, NorFlash& flash, const Layout& layout, void* memory,
                      std::size_t bytes, Diagnostic& diagnostic) {
  if (!is_piece(layout.index_piece_bytes)) {
    diagnostic.format("index_piece_bytes = %zu is no power of two of 4096..32768",
                      layout.index_piece_bytes);
    return Status::kInvalidArgument;
  }
  const std::size_t for_sectors = rounded(FlashSectors::required_memory(flash.geometry()));
  const std::size_t needed = required_memory(flash.geometry(), layout, 1);
  if (memory == nullptr || bytes < needed) {
    diagnostic.format("Machine::start() was given %zu bytes and needs %zu", bytes, needed);
    return Status::kResourceExhausted;
  }
  auto* const begin = static_cast<unsigned char*>(memory);
  PAWL_TRY(sectors_.mount(flash, begin, for_sectors, layout.may_format, diagnostic));
  PAWL_TRY(files_.mount(sectors_, layout.database_path, layout.log_sectors, diagnostic));
  index_ = begin + for_sectors;
  index_piece_bytes_ = layout.index_piece_bytes;
  index_pieces_max_ = index_pieces(layout);
  const std::size_t for_index = index_pieces_max_ * index_piece_bytes_;
  notes_ = index_ + for_index;
  workers_max_ = (bytes - for_sectors - for_index) / MachineMemory::kNotesBytes;
  if (workers_max_ > kWorkersMax) workers_max_ = kWorkersMax;
  board_ = &board;
  board.random(boot_id_.bytes, sizeof(boot_id_.bytes));
  boot_id_.known = true;
  return Status::kOk;
}

Machine::Handle* Machine::handle(port::FileHandle file) {
  if (file < 0 || static_cast<std::size_t>(file) >= kHandlesMax) return nullptr;
  Handle& found = handles_[static_cast<std::size_t>(file)];
  return found.place == FilePlace::kNone ? nullptr : &found;
}

bool Machine::is_open(FilePlace place) const {
  for (const Handle& handle : handles_)
    if (handle.place == place) return true;
  return false;
}

int Machine::highest_of_others(const Handle& handle) const {
  int highest = kUnlocked;
  for (const Handle& other : handles_) {
    if (&other != &handle && other.place == handle.place && other.level > highest)
      highest = other.level;
  }
  return highest;
}

// The last user drops the index: the next one finds none, and SQLite builds it anew.
void Machine::leave_index(Handle& handle) {
  handle.shared_slots = 0;
  handle.exclusive_slots = 0;
  handle.uses_index = false;
  for (const Handle& other : handles_)
    if (other.uses_index) return;
  index_pieces_ = 0;
}

Machine::Worker* Machine::worker(std::int64_t incarnation) {
  for (std::size_t i = 0; i < workers_max_; ++i)
    if (workers_[i].incarnation == incarnation) return &workers_[i];
  return nullptr;
}

unsigned char* Machine::notes_of(const Worker& worker) {
  return notes_ + static_cast<std::size_t>(&worker - workers_) * MachineMemory::kNotesBytes;
}

// ---- files ----

Result<port::FileHandle> BareMetalStorage::open(const char* path, OpenMode mode) {
  const FilePlace place = machine_.files_.find(path);
  if (place == FilePlace::kNone) return Status::kCannotOpen;
  const bool is_removed = machine_.removed_while_open_[static_cast<std::size_t>(place)];
  if (is_removed) return Status::kBusy;  // until the removed file's last handle closes
  if (!machine_.files_.exists(place) && !mode.create) return Status::kCannotOpen;
  for (std::size_t i = 0; i < Machine::kHandlesMax; ++i) {
    Machine::Handle& handle = machine_.handles_[i];
    if (handle.place != FilePlace::kNone) continue;
    handle = Machine::Handle();
    handle.place = place;
    handle.read_only = mode.read_only;
    handle.delete_on_close = mode.delete_on_close;
    machine_.files_.create(place, path);
    return static_cast<port::FileHandle>(i);
  }
  return Status::kResourceExhausted;
}

Status BareMetalStorage::close(port::FileHandle file) {
  Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kInvalidArgument;
  const FilePlace place = handle->place;
  bool& is_removed = machine_.removed_while_open_[static_cast<std::size_t>(place)];
  is_removed = is_removed || handle->delete_on_close;
  machine_.leave_index(*handle);
  *handle = Machine::Handle();
  if (machine_.is_open(place) || !is_removed) return Status::kOk;
  is_removed = false;
  return machine_.files_.remove(place);
}

Result<std::size_t> BareMetalStorage::read(port::FileHandle file, void* out, std::size_t size,
                                           std::int64_t offset) {
  const Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  return machine_.files_.read(handle->place, out, size, offset);
}

Status BareMetalStorage::write(port::FileHandle file, const void* data, std::size_t size,
                               std::int64_t offset) {
  const Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  if (handle->read_only) return Status::kReadOnly;
  if (handle->place == FilePlace::kLog) machine_.note_log();
  return machine_.files_.write(handle->place, data, size, offset);
}

Status BareMetalStorage::truncate(port::FileHandle file, std::int64_t size) {
  const Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  if (handle->read_only) return Status::kReadOnly;
  return machine_.files_.truncate(handle->place, size);
}

Status BareMetalStorage::sync(port::FileHandle file) {
  return machine_.handle(file) == nullptr ? Status::kIo : machine_.files_.sync();
}

Result<std::int64_t> BareMetalStorage::size(port::FileHandle file) {
  const Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  return machine_.files_.size(handle->place);
}

// Open handles go on with the removed file, so its sectors stay until the last handle is closed.
// After a power cut before that, the file exists again, as on a file system after an unlink that
// was not synced. Harmless: SQLite removes no file that is open.
Status BareMetalStorage::remove(const char* path) {
  const FilePlace place = machine_.files_.find(path);
  if (place == FilePlace::kNone) return Status::kNotFound;
  bool& is_removed = machine_.removed_while_open_[static_cast<std::size_t>(place)];
  if (is_removed || !machine_.files_.exists(place)) return Status::kNotFound;
  if (!machine_.is_open(place)) return machine_.files_.remove(place);
  is_removed = true;
  return Status::kOk;
}

Result<bool> BareMetalStorage::exists(const char* path) {
  const FilePlace place = machine_.files_.find(path);
  return place != FilePlace::kNone && machine_.files_.exists(place) &&
         !machine_.removed_while_open_[static_cast<std::size_t>(place)];
}

// ---- locks ----

Status BareMetalStorage::lock(port::FileHandle file, int level) {
  Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  if (level < kShared || level > kExclusive) return Status::kInvalidArgument;
  if (handle->level >= level) return Status::kOk;
  const int others = machine_.highest_of_others(*handle);
  if (level == kShared) {
    if (others >= kPending) return Status::kBusy;
  } else {
    if (handle->level < kShared) return Status::kInvalidArgument;
    if (others >= kReserved) return Status::kBusy;
    if (level == kExclusive && others == kShared) {
      handle->level = kPending;
      return Status::kBusy;
    }
  }
  handle->level = level;
  return Status::kOk;
}

Status BareMetalStorage::unlock(port::FileHandle file, int level) {
  Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  if (level != kUnlocked && level != kShared) return Status::kInvalidArgument;
  if (handle->level > level) handle->level = level;
  return Status::kOk;
}

Result<bool> BareMetalStorage::reserved(port::FileHandle file) {
  const Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  return handle->level >= kReserved || machine_.highest_of_others(*handle) >= kReserved;
}

// ---- the index of the log ----

Status BareMetalStorage::shm_map(port::FileHandle file, int index, std::size_t size, bool extend,
                                 void volatile** out) {
  *out = nullptr;
  Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  if (index < 0 || size != machine_.index_piece_bytes_) return Status::kInvalidArgument;
  const auto wanted = static_cast<std::size_t>(index) + 1;
  handle->uses_index = true;
  if (wanted > machine_.index_pieces_ && !extend) return Status::kOk;
  // More index than the log's range of the flash can fill.
  if (wanted > machine_.index_pieces_max_) return Status::kResourceExhausted;
  for (; machine_.index_pieces_ < wanted; ++machine_.index_pieces_)
    std::memset(machine_.index_ + machine_.index_pieces_ * size, 0, size);
  *out = machine_.index_ + static_cast<std::size_t>(index) * size;
  return Status::kOk;
}

Status BareMetalStorage::shm_lock(port::FileHandle file, int first, int count, bool take,
                                  bool exclusive) {
  Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  if (first < 0 || count < 1 || first + count > kIndexSlots || (!exclusive && count != 1))
    return Status::kInvalidArgument;
  const unsigned mask = ((1U << static_cast<unsigned>(count)) - 1U) << static_cast<unsigned>(first);
  if (!take) {
    handle->shared_slots &= ~mask;
    handle->exclusive_slots &= ~mask;
    return Status::kOk;
  }
  for (const Machine::Handle& other : machine_.handles_) {
    if (&other == handle || other.place != handle->place) continue;
    const unsigned in_the_way = other.exclusive_slots | (exclusive ? other.shared_slots : 0U);
    if ((in_the_way & mask) != 0) return Status::kBusy;
  }
  (exclusive ? handle->exclusive_slots : handle->shared_slots) |= mask;
  return Status::kOk;
}

void BareMetalStorage::shm_barrier(port::FileHandle) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

Status BareMetalStorage::shm_unmap(port::FileHandle file, bool) {
  Machine::Handle* const handle = machine_.handle(file);
  if (handle == nullptr) return Status::kIo;
  machine_.leave_index(*handle);
  return Status::kOk;
}

// ---- places ----

Status BareMetalStorage::create_whole(const char* path, const void* data, std::size_t size) {
  const FilePlace place = machine_.files_.find(path);
  if (place == FilePlace::kNone) return Status::kCannotOpen;
  return machine_.files_.create_whole(place, data, size);
}

// Unsupported, since each file has a flash range of its own that no other file can fill.
Status BareMetalStorage::allocate(const char*, std::int64_t) { return Status::kUnsupported; }

Status BareMetalStorage::check_place(const char* database_path, Diagnostic& diagnostic) {
  if (machine_.board_ != nullptr && *database_path != '\0' &&
      machine_.files_.find(database_path) == FilePlace::kDatabase)
    return Status::kOk;
  diagnostic.format("\"%s\": not the database_path of the Layout that the Machine was started with",
                    database_path);
  return Status::kCannotOpen;
}

Result<std::int64_t> BareMetalStorage::free_bytes(const char*) {
  return machine_.files_.free_bytes();
}

// ---- workers ----

// The lock and the notes are in memory: a reset ends every worker of this machine, and its lock
// with it. After a reset it is not known what a worker ran.
Result<port::Storage::WorkerFile> BareMetalStorage::worker_create(const char*,
                                                                  std::int64_t incarnation,
                                                                  std::size_t notes_bytes) {
  if (incarnation == 0 || notes_bytes > MachineMemory::kNotesBytes) return Status::kInvalidArgument;
  if (machine_.worker(incarnation) != nullptr) return Status::kAlreadyExists;
  Machine::Worker* const free = machine_.worker(0);
  if (free == nullptr) return Status::kResourceExhausted;
  free->incarnation = incarnation;
  free->notes_bytes = notes_bytes;
  WorkerFile file;
  file.handle = static_cast<port::FileHandle>(free - machine_.workers_);
  file.notes = machine_.notes_of(*free);
  std::memset(file.notes, 0, notes_bytes);
  return file;
}

void BareMetalStorage::worker_close(const char* path, std::int64_t incarnation, WorkerFile) {
  worker_remove(path, incarnation);
}

port::Held BareMetalStorage::worker_test(const char*, std::int64_t incarnation) {
  const bool is_held = incarnation != 0 && machine_.worker(incarnation) != nullptr;
  return is_held ? port::Held::kHeld : port::Held::kFree;
}

std::size_t BareMetalStorage::worker_notes(const char*, std::int64_t incarnation,
                                           std::size_t offset, void* out, std::size_t size) {
  const Machine::Worker* const worker = machine_.worker(incarnation);
  if (incarnation == 0 || worker == nullptr || offset >= worker->notes_bytes) return 0;
  const std::size_t there = worker->notes_bytes - offset;
  const std::size_t got = size < there ? size : there;
  std::memcpy(out, machine_.notes_of(*worker) + offset, got);
  return got;
}

void BareMetalStorage::worker_remove(const char*, std::int64_t incarnation) {
  Machine::Worker* const worker = incarnation == 0 ? nullptr : machine_.worker(incarnation);
  if (worker != nullptr) *worker = Machine::Worker();
}

void BareMetalStorage::ring(const char* database_path) {
  if (machine_.files_.find(database_path) == FilePlace::kDatabase) ++machine_.bells_;
}

}  // namespace pawl::bare_metal
