// Second: files. Third: what says that a worker lives. Fourth: the bell.
#include "template_port.hpp"

namespace pawl::port_template {

// If SQLite has a VFS for this machine that locks properly between processes, answer its name
// ("unix") and leave all up to shm_unmap() as it is. Else answer null, as here, and write them.
const char* TemplateStorage::native_vfs() const { return nullptr; }

// --- files, without a native VFS ------------------------------------------------------------------------

// Not there and not to be created: kNotFound. Two opens of one path are two handles with locks of
// their own.
Result<port::FileHandle> TemplateStorage::open(const char*, OpenMode) {
  return Status::kUnsupported;
}

// Drops the locks of this handle and of no other, also where another handle of the process has the
// same file.
Status TemplateStorage::close(port::FileHandle) { return Status::kUnsupported; }

// Short only at the end of the file; an interrupted read goes on here.
Result<std::size_t> TemplateStorage::read(port::FileHandle, void*, std::size_t, std::int64_t) {
  return Status::kUnsupported;
}

// All or an error: kFull for no space, kReadOnly for a handle opened so, else kIo. A hole reads as
// zeros.
Status TemplateStorage::write(port::FileHandle, const void*, std::size_t, std::int64_t) {
  return Status::kUnsupported;
}

// Other handles see the new size at once.
Status TemplateStorage::truncate(port::FileHandle, std::int64_t) { return Status::kUnsupported; }

// Returns when the bytes survive a power cut. A sync that only hands them to a cache loses
// committed work.
Status TemplateStorage::sync(port::FileHandle) { return Status::kUnsupported; }

// As other handles see it.
Result<std::int64_t> TemplateStorage::size(port::FileHandle) { return Status::kUnsupported; }

// kNotFound if there is none. Open handles go on with the file that had the name.
Status TemplateStorage::remove(const char*) { return Status::kUnsupported; }

// False is an answer, not an error.
Result<bool> TemplateStorage::exists(const char*) { return Status::kUnsupported; }

// Many shared, one reserved beside them; pending keeps new readers out; exclusive alone. kBusy at
// once, never waiting. A refused exclusive lock leaves pending behind, so that the writer gets its
// turn.
Status TemplateStorage::lock(port::FileHandle, int) { return Status::kUnsupported; }

// Down to shared or none.
Status TemplateStorage::unlock(port::FileHandle, int) { return Status::kUnsupported; }

// Has any handle of any process reserved or more?
Result<bool> TemplateStorage::reserved(port::FileHandle) { return Status::kUnsupported; }

// Memory that all processes with this file share. Region by region; an address stays valid until
// shm_unmap(). Not there and not to be extended: kOk and null.
Status TemplateStorage::shm_map(port::FileHandle, int, std::size_t, bool, void volatile** out) {
  *out = nullptr;
  return Status::kUnsupported;
}

// All the slots or none. They end with the process, however it ends.
Status TemplateStorage::shm_lock(port::FileHandle, int, int, bool, bool) {
  return Status::kUnsupported;
}

// A full fence of processor and compiler: std::atomic_thread_fence(std::memory_order_seq_cst) on
// most machines.
void TemplateStorage::shm_barrier(port::FileHandle) {}

// The last user takes the memory along when `remove` is set.
Status TemplateStorage::shm_unmap(port::FileHandle, bool) { return Status::kUnsupported; }

// --- files that come with room ---------------------------------------------------------------------------

// Write the bytes under another name, flush them, and rename without replacing: of several
// processes that do it at the same time one must win, the others answer kAlreadyExists.
// kUnsupported is a right answer for ever: Pawl then makes the database in place, which takes some
// more flushes, once.
Status TemplateStorage::create_whole(const char*, const void*, std::size_t) {
  return Status::kUnsupported;
}

// Linux: fallocate(). It must be true: bytes that are only promised are not there when the disk is
// full. kUnsupported is a right answer for ever, too: then random bytes are written.
Status TemplateStorage::allocate(const char*, std::int64_t) { return Status::kUnsupported; }

// --- checks before a database is opened -----------------------------------------------------------------

// Refuse with the path in the text what SQLite would fail at later and less clearly. An empty path:
// kCannotOpen.
Status TemplateStorage::check_place(const char* database_path, Diagnostic& diagnostic) {
  diagnostic.format("%s: TemplateStorage::check_place() is not written", database_path);
  return Status::kUnsupported;
}

// Without a way to know, kUnsupported is the right answer for ever.
Result<std::int64_t> TemplateStorage::free_bytes(const char*) { return Status::kUnsupported; }

// --- liveness locks and notes ---------------------------------------------------------------------------

// A lock the kernel frees when the process is gone and that can be asked without being taken
// (Linux: an open file description lock), in a file that others can still read afterwards and that
// is mapped shared here: the notes. kAlreadyExists if a process has it.
Result<port::Storage::WorkerFile> TemplateStorage::worker_create(const char*, std::int64_t,
                                                                 std::size_t) {
  return Status::kUnsupported;
}

// Orderly end: wipe nothing that others could take for the notes of a crash; remove the file, then
// free the lock.
void TemplateStorage::worker_close(const char*, std::int64_t, WorkerFile) {}

// Must not take the lock, not even for a moment: two that test at the same time must both see the
// truth. kUntestable where the lock cannot be seen from here (another container); then the worker
// counts as alive until its lease ends.
port::Held TemplateStorage::worker_test(const char*, std::int64_t) {
  return port::Held::kUntestable;
}

// What a dead worker ran when it died: the culprits of poison are found by it. And what activities of
// a living one report, for clients that watch: what it stored is seen here without its doing.
std::size_t TemplateStorage::worker_notes(const char*, std::int64_t, std::size_t, void*,
                                          std::size_t) {
  return 0;
}

// After its notes were read. A file that is gone is no error.
void TemplateStorage::worker_remove(const char*, std::int64_t) {}

// --- the bell -------------------------------------------------------------------------------------------

// Called after every commit that others should look at: it must not block. Linux: one byte written
// to a file that the others watch. Losing one costs time and never work, since workers look by
// themselves now and then.
void TemplateStorage::ring(const char*) {}

}  // namespace pawl::port_template
