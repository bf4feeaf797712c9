#include <algorithm>
#include <cstring>
#include <limits>

#include "port/sim/sim_machine.hpp"

namespace pawl::sim {
namespace {

enum Level : int { kNone, kShared, kReserved, kPending, kExclusive };

std::string worker_name(const char* database_path, std::int64_t incarnation) {
  return std::string(database_path) + "-workers/" + std::to_string(incarnation);
}

bool fits(std::int64_t offset, std::size_t size) {
  constexpr std::int64_t kFileBytesMax = std::int64_t{1} << 30;  // more is a slip, not a test
  return offset >= 0 && offset <= kFileBytesMax &&
         size <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
}

constexpr std::size_t kSectorBytes = 512;

bool is_log(const std::string& path) {
  constexpr std::size_t kEndingBytes = 4;
  return path.size() > kEndingBytes &&
         path.compare(path.size() - kEndingBytes, kEndingBytes, "-wal") == 0;
}

// The distance from `at` to the next frame of a log, or if a header lies there and `of_header`, to
// the end of that. The head of the log says how large a page is (sqlite.org/walformat.html).
std::size_t rest_of_frame(const std::vector<std::uint8_t>& log, std::size_t at, bool of_header) {
  constexpr std::size_t kHeadBytes = 32;
  constexpr std::size_t kHeaderBytes = 24;
  constexpr std::size_t kPageBytesAt = 8;
  if (log.size() < kHeadBytes || at < kHeadBytes) return std::numeric_limits<std::size_t>::max();
  std::size_t frame = kHeaderBytes;
  for (std::size_t i = 0, shift = 24; i < 4; ++i, shift -= 8)
    frame += std::size_t{log[kPageBytesAt + i]} << shift;
  const std::size_t in_frame = (at - kHeadBytes) % frame;
  return of_header && in_frame < kHeaderBytes ? kHeaderBytes - in_frame : frame - in_frame;
}

// How much of `size` bytes at `at` is on the disk before the next place where a crash tears them. A
// large write to a log has many frames at once: it is torn at each sector and between any two
// frames, so at least as often as SQLite's own writes ended, two for each frame. A small one is a
// part of a frame, and is torn where they ended.
std::size_t until_torn(const OpenFile& open, std::size_t at, std::size_t size, bool is_large) {
  if (!is_log(open.path)) return size;
  if (is_large) size = std::min(size, kSectorBytes - at % kSectorBytes);
  return std::min(size, rest_of_frame(open.file->data, at, !is_large));
}

int highest_of_others(const OpenFile& open) {
  int level = kNone;
  for (const OpenFile* other : open.file->opened) {
    if (other != &open) level = std::max(level, other->level);
  }
  return level;
}

}  // namespace

NodeStorage::~NodeStorage() {
  for (const auto& open : files_) {
    if (open != nullptr) unmap_views(*open);
  }
}

OpenFile* NodeStorage::find(port::FileHandle file) {
  if (node_.killed || file < 0 || static_cast<std::size_t>(file) >= files_.size()) return nullptr;
  return files_[static_cast<std::size_t>(file)].get();
}

Result<port::FileHandle> NodeStorage::open(const char* path, OpenMode mode) {
  if (node_.killed) return Status::kIo;
  auto open = std::make_unique<OpenFile>();
  open->read_only = mode.read_only;
  open->pid = node_.pid;
  if (path == nullptr) {  // SQLite's temporary files have no name
    open->file = std::make_shared<File>();
  } else {
    open->path = path;
    std::shared_ptr<File>& named = node_.machine.files[open->path];
    const bool made = named == nullptr;
    if (made && !mode.create) {
      node_.machine.files.erase(open->path);
      return Status::kCannotOpen;
    }
    if (made) named = std::make_shared<File>();
    open->file = named;
    if (mode.delete_on_close) node_.machine.files.erase(open->path);
    if (made) node_.machine.file_changed(open->path);
  }
  open->file->opened.push_back(open.get());
  const auto place = std::find(files_.begin(), files_.end(), nullptr);
  const auto handle = static_cast<port::FileHandle>(place - files_.begin());
  if (place == files_.end()) {
    files_.push_back(std::move(open));
  } else {
    *place = std::move(open);
  }
  return handle;
}

Status NodeStorage::close(port::FileHandle file) {
  const auto index = static_cast<std::size_t>(file);
  if (file < 0 || index >= files_.size() || files_[index] == nullptr) {
    return Status::kInvalidArgument;
  }
  unmap_views(*files_[index]);
  if (!node_.killed) release(*files_[index]);
  files_[index] = nullptr;
  return Status::kOk;
}

Result<std::size_t> NodeStorage::read(port::FileHandle file, void* out, std::size_t size,
                                      std::int64_t offset) {
  const OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (!fits(offset, size)) return Status::kInvalidArgument;
  const std::vector<std::uint8_t>& data = open->file->data;
  const auto at = static_cast<std::size_t>(offset);
  if (at >= data.size()) return std::size_t{0};
  const std::size_t got = std::min(size, data.size() - at);
  std::memcpy(out, data.data() + at, got);
  return got;
}

// Each piece counts as a write of its own, so a test that crashes at each write finds the places
// where a large one is torn.
Status NodeStorage::write(port::FileHandle file, const void* data, std::size_t size,
                          std::int64_t offset) {
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (!fits(offset, size)) return Status::kInvalidArgument;
  if (open->read_only) return Status::kReadOnly;
  const bool is_large = size > kSectorBytes;
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  auto at = static_cast<std::size_t>(offset);
  const std::size_t end = at + size;
  do {
    const std::size_t piece = until_torn(*open, at, end - at, is_large);
    PAWL_TRY(write_piece(*open, bytes, piece, at));
    bytes += piece;
    at += piece;
  } while (at < end);
  return Status::kOk;
}

Status NodeStorage::write_piece(OpenFile& open, const std::uint8_t* bytes, std::size_t size,
                                std::size_t at) {
  ++node_.machine.writes;
  PAWL_TRY(node_.machine.fault());
  if (size == 0) return Status::kOk;
  std::vector<std::uint8_t>& stored = open.file->data;
  const std::size_t had = stored.size();
  if (node_.machine.disk_bytes > 0 && at + size > had) {
    const auto growth = static_cast<std::int64_t>(at + size - had);
    if (node_.machine.stored_bytes() + growth > node_.machine.disk_bytes) return Status::kFull;
  }
  if (node_.machine.power_cut_losses) {
    node_.machine.remember_unsynced(*open.file,
                                    {static_cast<std::int64_t>(at), {bytes, bytes + size}, false});
  }
  if (stored.size() < at + size) stored.resize(at + size);
  std::memcpy(stored.data() + at, bytes, size);
  node_.machine.file_changed(open.path);
  return Status::kOk;
}

Status NodeStorage::truncate(port::FileHandle file, std::int64_t size) {
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (!fits(size, 0)) return Status::kInvalidArgument;
  if (open->read_only) return Status::kReadOnly;
  if (node_.machine.disk_is_gone()) return node_.machine.failure;
  node_.machine.remember_unsynced(*open->file, {size, {}, true});
  open->file->data.resize(static_cast<std::size_t>(size));
  node_.machine.file_changed(open->path);
  return Status::kOk;
}

Status NodeStorage::sync(port::FileHandle file) {
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  ++node_.machine.syncs;
  node_.machine.boot_ms += node_.machine.sync_ms;
  PAWL_TRY(node_.machine.fault());
  open->file->unsynced.clear();
  open->file->durable.clear();
  return Status::kOk;
}

Result<std::int64_t> NodeStorage::size(port::FileHandle file) {
  const OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  return static_cast<std::int64_t>(open->file->data.size());
}

Status NodeStorage::remove(const char* path) {
  if (node_.killed) return Status::kIo;
  if (node_.machine.disk_is_gone()) return node_.machine.failure;
  if (node_.machine.files.erase(path) == 0) return Status::kNotFound;
  node_.machine.file_changed(path);
  return Status::kOk;
}

Result<bool> NodeStorage::exists(const char* path) {
  if (node_.killed) return Status::kIo;
  return node_.machine.files.count(path) != 0;
}

Status NodeStorage::lock(port::FileHandle file, int level) {
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (level < kShared || level > kExclusive) return Status::kInvalidArgument;
  if (open->level >= level) return Status::kOk;
  const int others = highest_of_others(*open);
  if (level == kShared) {
    if (others >= kPending) return Status::kBusy;
  } else {
    if (open->level < kShared) return Status::kInvalidArgument;
    if (others >= kReserved) return Status::kBusy;
    if (level == kExclusive && others == kShared) {
      open->level = kPending;  // lets the readers out and no new ones in
      return Status::kBusy;
    }
  }
  open->level = level;
  return Status::kOk;
}

Status NodeStorage::unlock(port::FileHandle file, int level) {
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (level != kNone && level != kShared) return Status::kInvalidArgument;
  open->level = std::min(open->level, level);
  return Status::kOk;
}

Result<bool> NodeStorage::reserved(port::FileHandle file) {
  const OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  return open->level >= kReserved || highest_of_others(*open) >= kReserved;
}

// Written in pieces, each of which may fail. Until the file has its name no process sees it.
Status NodeStorage::create_whole(const char* path, const void* data, std::size_t size) {
  constexpr std::size_t kPieceBytes = 4096;
  if (node_.killed) return Status::kIo;
  MachineImpl& machine = node_.machine;
  if (machine.files.count(path) != 0) return Status::kAlreadyExists;
  const auto* const bytes = static_cast<const std::uint8_t*>(data);
  auto made = std::make_shared<File>();
  while (made->data.size() < size) {
    const std::size_t had = made->data.size();
    const std::size_t piece = std::min(kPieceBytes, size - had);
    ++machine.writes;
    PAWL_TRY(machine.fault());
    if (machine.disk_bytes > 0 &&
        machine.stored_bytes() + static_cast<std::int64_t>(had + piece) > machine.disk_bytes)
      return Status::kFull;
    made->data.insert(made->data.end(), bytes + had, bytes + had + piece);
  }
  ++machine.syncs;
  PAWL_TRY(machine.fault());
  machine.files[path] = std::move(made);
  machine.file_changed(path);
  return Status::kOk;
}

Status NodeStorage::check_place(const char* database_path, Diagnostic& diagnostic) {
  if (database_path != nullptr && *database_path != 0) return Status::kOk;
  diagnostic.format("the database path is empty");
  return Status::kCannotOpen;
}

Result<std::int64_t> NodeStorage::free_bytes(const char*) {
  constexpr std::int64_t kPlenty = std::int64_t{1} << 40;
  if (node_.machine.disk_bytes == 0) return kPlenty;
  return std::max<std::int64_t>(node_.machine.disk_bytes - node_.machine.stored_bytes(), 0);
}

Result<port::Storage::WorkerFile> NodeStorage::worker_create(const char* database_path,
                                                             std::int64_t incarnation,
                                                             std::size_t notes_bytes) {
  if (node_.killed) return Status::kIo;
  Worker& worker = node_.machine.workers[worker_name(database_path, incarnation)];
  if (worker.holder != nullptr) return Status::kAlreadyExists;
  WorkerFile file;
  file.handle = next_notes_++;
  std::vector<std::uint64_t>& memory = notes_[file.handle];
  memory.assign((notes_bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  if (notes_bytes > 0) file.notes = memory.data();
  worker.holder = &node_;
  worker.live_notes = static_cast<std::uint8_t*>(file.notes);
  worker.notes.assign(notes_bytes, 0);
  return file;
}

void NodeStorage::worker_close(const char* database_path, std::int64_t incarnation,
                               WorkerFile file) {
  const auto found = node_.machine.workers.find(worker_name(database_path, incarnation));
  if (found != node_.machine.workers.end() && found->second.holder == &node_) {
    node_.machine.workers.erase(found);
  }
  notes_.erase(file.handle);
}

port::Held NodeStorage::worker_test(const char* database_path, std::int64_t incarnation) {
  if (!node_.locks_testable) return port::Held::kUntestable;
  const auto found = node_.machine.workers.find(worker_name(database_path, incarnation));
  const bool held = found != node_.machine.workers.end() && found->second.holder != nullptr;
  return held ? port::Held::kHeld : port::Held::kFree;
}

std::size_t NodeStorage::worker_notes(const char* database_path, std::int64_t incarnation,
                                      std::size_t offset, void* out, std::size_t size) {
  const auto found = node_.machine.workers.find(worker_name(database_path, incarnation));
  if (found == node_.machine.workers.end()) return 0;
  const Worker& worker = found->second;
  const std::size_t there = worker.notes.size();
  const std::size_t got = std::min(size, there - std::min(offset, there));
  const std::uint8_t* from = worker.holder == nullptr ? worker.notes.data() : worker.live_notes;
  if (got > 0) std::memcpy(out, from + offset, got);
  return got;
}

void NodeStorage::worker_remove(const char* database_path, std::int64_t incarnation) {
  if (!node_.killed) node_.machine.workers.erase(worker_name(database_path, incarnation));
}

void NodeStorage::ring(const char* database_path) {
  if (!node_.killed) node_.machine.file_changed(std::string(database_path) + "-bell");
}

// The notes are kept as they were at the moment of death. The dead process's objects may still
// write to theirs while they are destroyed; that does not count.
void NodeStorage::release_all() {
  for (const auto& open : files_) {
    if (open != nullptr) release(*open);
  }
  for (auto& [name, worker] : node_.machine.workers) {
    if (worker.holder != &node_) continue;
    if (!worker.notes.empty()) {
      std::memcpy(worker.notes.data(), worker.live_notes, worker.notes.size());
    }
    worker.holder = nullptr;
    worker.live_notes = nullptr;
  }
}

}  // namespace pawl::sim
