// Second step: files. Third: the sign that a worker lives. Fourth: the bell.
#include "port/template/template_port.hpp"

namespace pawl::port_template {

// If SQLite has a VFS for this machine that locks properly between processes, return its name
// ("unix") and leave all functions up to shm_unmap() as they are. Else return null, as here, and
// write them.
const char* TemplateStorage::native_vfs() const { return nullptr; }

// ---- files, without a native VFS ----

// kNotFound: the file does not exist and is not to be created. Two opens of one path are two
// handles with locks of their own.
Result<port::FileHandle> TemplateStorage::open(const char*, OpenMode) {
  return Status::kUnsupported;
}

// Drop the locks of this handle and of no other, even if another handle of the process has the same
// file open.
Status TemplateStorage::close(port::FileHandle) { return Status::kUnsupported; }

// Short only at the end of the file; continue an interrupted read here.
Result<std::size_t> TemplateStorage::read(port::FileHandle, void*, std::size_t, std::int64_t) {
  return Status::kUnsupported;
}

// Write all bytes or return an error: kFull for no space, kReadOnly for a read-only handle, else
// kIo. A hole reads as zeros.
Status TemplateStorage::write(port::FileHandle, const void*, std::size_t, std::int64_t) {
  return Status::kUnsupported;
}

// Other handles see the new size at once.
Status TemplateStorage::truncate(port::FileHandle, std::int64_t) { return Status::kUnsupported; }

// Returns when the bytes survive a power cut. A sync that only hands them to a cache loses
// committed work.
Status TemplateStorage::sync(port::FileHandle) { return Status::kUnsupported; }

// The size that other handles see.
Result<std::int64_t> TemplateStorage::size(port::FileHandle) { return Status::kUnsupported; }

// kNotFound if the file does not exist. Open handles go on with the removed file.
Status TemplateStorage::remove(const char*) { return Status::kUnsupported; }

// False is an answer, not an error.
Result<bool> TemplateStorage::exists(const char*) { return Status::kUnsupported; }

// Many shared locks; one reserved lock beside them; pending keeps new readers out; exclusive is
// alone. Return kBusy at once, never wait. A refused exclusive lock leaves pending behind, so that
// the writer gets its turn.
Status TemplateStorage::lock(port::FileHandle, int) { return Status::kUnsupported; }

// Lower the lock to shared or none.
Status TemplateStorage::unlock(port::FileHandle, int) { return Status::kUnsupported; }

// Whether any handle of any process has reserved or more.
Result<bool> TemplateStorage::reserved(port::FileHandle) { return Status::kUnsupported; }

// Map memory that all processes with this file share, region by region; an address stays valid
// until shm_unmap(). If the region does not exist and is not to be made: kOk and null.
Status TemplateStorage::shm_map(port::FileHandle, int, std::size_t, bool, void volatile** out) {
  *out = nullptr;
  return Status::kUnsupported;
}

// Lock all slots or none. The locks end with the process, however it ends.
Status TemplateStorage::shm_lock(port::FileHandle, int, int, bool, bool) {
  return Status::kUnsupported;
}

// A full fence of processor and compiler: std::atomic_thread_fence(std::memory_order_seq_cst) on
// most machines.
void TemplateStorage::shm_barrier(port::FileHandle) {}

// The last user removes the memory if `remove` is set.
Status TemplateStorage::shm_unmap(port::FileHandle, bool) { return Status::kUnsupported; }

// ---- files that come with room ----

// Write the bytes under another name, flush them, and rename without replacing. If several
// processes do it at the same time, one must win; the others return kAlreadyExists. kUnsupported is
// a correct permanent answer: Pawl then makes the database in place, which takes some more flushes,
// once.
Status TemplateStorage::create_whole(const char*, const void*, std::size_t) {
  return Status::kUnsupported;
}

// Linux: fallocate(). The room must be real: bytes that are only promised are missing when the disk
// is full. kUnsupported is a correct permanent answer, too: Pawl then writes random bytes.
Status TemplateStorage::allocate(const char*, std::int64_t) { return Status::kUnsupported; }

// ---- checks before a database is opened ----

// Refuse here, with the path in the text, what SQLite would refuse later and less clearly. An empty
// path: kCannotOpen.
Status TemplateStorage::check_place(const char* database_path, Diagnostic& diagnostic) {
  diagnostic.format("%s: TemplateStorage::check_place() is not written", database_path);
  return Status::kUnsupported;
}

// kUnsupported is a correct permanent answer where the room cannot be known.
Result<std::int64_t> TemplateStorage::free_bytes(const char*) { return Status::kUnsupported; }

// ---- liveness locks and notes ----

// Take a lock that the kernel frees when the process is gone, and that can be tested without being
// taken (Linux: an open file description lock). It is on a file that others can still read
// afterwards and that is mapped shared here: the notes. kAlreadyExists if a process holds it.
Result<port::Storage::WorkerFile> TemplateStorage::worker_create(const char*, std::int64_t,
                                                                 std::size_t) {
  return Status::kUnsupported;
}

// Orderly end: leave nothing that others could take for the notes of a crash. Remove the file, then
// free the lock.
void TemplateStorage::worker_close(const char*, std::int64_t, WorkerFile) {}

// Do not take the lock, not even for a moment: two tests at the same time must both see the truth.
// kUntestable if the lock cannot be seen from here (another container); then the worker counts as
// alive until its lease ends.
port::Held TemplateStorage::worker_test(const char*, std::int64_t) {
  return port::Held::kUntestable;
}

// Read a worker's notes. A dead worker's notes say what it ran when it died, which finds the
// suspects of poison. A living worker's notes hold the reports of its activities for clients that
// watch: its stores must be visible here without any call of its own.
std::size_t TemplateStorage::worker_notes(const char*, std::int64_t, std::size_t, void*,
                                          std::size_t) {
  return 0;
}

// Called after the worker's notes were read. A missing file is no error.
void TemplateStorage::worker_remove(const char*, std::int64_t) {}

// ---- the bell ----

// Called after every commit that others should look at: must not block. Linux: one byte written to
// a file that the others watch. A lost ring costs time and never work, since workers also look at
// intervals by themselves.
void TemplateStorage::ring(const char*) {}

}  // namespace pawl::port_template
