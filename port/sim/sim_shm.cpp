// Shared memory of the simulated machine.
//
// Real shared mappings, not one buffer: a killed process's objects may be destroyed later, and
// SQLite then writes to memory that living processes still use. Each open file has a view of its
// own, and the views of dead processes become private copies at the same address.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "port/sim/sim_machine.hpp"

namespace pawl::sim {
namespace {

// A region has a file of its own, so its offset is 0 whatever the target's page size.
Status add_region(File& file, std::size_t size) {
  const int fd = ::memfd_create("pawl-sim-shm", MFD_CLOEXEC);
  if (fd < 0) return Status::kIo;
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) {
    ::close(fd);
    return Status::kIo;
  }
  file.regions.push_back({fd, size});
  return Status::kOk;
}

Status add_view(OpenFile& open) {
  const File::Region& region = open.file->regions[open.views.size()];
  void* memory = ::mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
  if (memory == MAP_FAILED) return Status::kIo;
  open.views.push_back({memory, region.size});
  return Status::kOk;
}

constexpr int kSlots = 8;

}  // namespace

void unmap_views(OpenFile& open) {
  for (const OpenFile::View& view : open.views)
    ::munmap(view.memory, view.size);
  open.views.clear();
}

// The contents go with the last user: the next one finds zeros and recovers, as on Unix, where the
// first user truncates what it finds.
void drop_shm(OpenFile& open) {
  open.shared_slots = 0;
  open.exclusive_slots = 0;
  if (!open.uses_shm) return;
  open.uses_shm = false;
  if (--open.file->shm_users > 0) return;
  for (const File::Region& region : open.file->regions)
    ::close(region.fd);
  open.file->regions.clear();
}

void release(OpenFile& open) {
  for (const OpenFile::View& view : open.views) {
    const auto* bytes = static_cast<const std::uint8_t*>(view.memory);
    const std::vector<std::uint8_t> copy(bytes, bytes + view.size);
    void* again = ::mmap(view.memory, view.size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (again == view.memory)
      std::copy(copy.begin(), copy.end(), static_cast<std::uint8_t*>(again));
  }
  drop_shm(open);
  open.level = 0;
  auto& opened = open.file->opened;
  opened.erase(std::remove(opened.begin(), opened.end(), &open), opened.end());
  open.file.reset();
}

Status NodeStorage::shm_map(port::FileHandle file, int index, std::size_t size, bool extend,
                            void volatile** out) {
  *out = nullptr;
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (index < 0 || size == 0) return Status::kInvalidArgument;
  if (!open->uses_shm) {
    open->uses_shm = true;
    ++open->file->shm_users;
  }
  const auto wanted = static_cast<std::size_t>(index) + 1;
  while (open->file->regions.size() < wanted) {
    if (!extend) return Status::kOk;
    PAWL_TRY(add_region(*open->file, size));
  }
  while (open->views.size() < wanted)
    PAWL_TRY(add_view(*open));
  *out = open->views[wanted - 1].memory;
  return Status::kOk;
}

Status NodeStorage::shm_lock(port::FileHandle file, int first, int count, bool take,
                             bool exclusive) {
  OpenFile* open = find(file);
  if (open == nullptr) return Status::kIo;
  if (first < 0 || count < 1 || first + count > kSlots || (!exclusive && count != 1)) {
    return Status::kInvalidArgument;
  }
  const unsigned mask = ((1U << static_cast<unsigned>(count)) - 1U) << static_cast<unsigned>(first);
  if (!take) {
    open->shared_slots &= ~mask;
    open->exclusive_slots &= ~mask;
    return Status::kOk;
  }
  for (const OpenFile* other : open->file->opened) {
    if (other == open) continue;
    const unsigned in_the_way = other->exclusive_slots | (exclusive ? other->shared_slots : 0U);
    if ((in_the_way & mask) != 0) return Status::kBusy;
  }
  if (exclusive) {
    open->exclusive_slots |= mask;
  } else {
    open->shared_slots |= mask;
  }
  return Status::kOk;
}

Result<std::int64_t> NodeStorage::lock_holder(const char* database_path, port::LogLock lock) {
  // SQLite's slots: 0 is the turn to write, those from 3 on are readers (walformat.html).
  constexpr unsigned kWriteSlot = 1U;
  constexpr unsigned kReadSlots = 0xf8U;
  const auto file = node_.machine.files.find(database_path);
  if (file == node_.machine.files.end()) return Status::kNotFound;
  std::int64_t found = 0;
  for (const OpenFile* open : file->second->opened) {
    const bool holds = lock == port::LogLock::kWrite ? (open->exclusive_slots & kWriteSlot) != 0
                                                     : (open->shared_slots & kReadSlots) != 0;
    if (holds && (found == 0 || open->pid != node_.pid)) found = open->pid;
  }
  if (found == 0) return Status::kNotFound;
  return found;
}

void NodeStorage::shm_barrier(port::FileHandle) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

Status NodeStorage::shm_unmap(port::FileHandle file, bool) {
  const auto index = static_cast<std::size_t>(file);
  if (file < 0 || index >= files_.size() || files_[index] == nullptr) return Status::kIo;
  OpenFile& open = *files_[index];
  unmap_views(open);
  if (open.file != nullptr) drop_shm(open);
  return Status::kOk;
}

}  // namespace pawl::sim
