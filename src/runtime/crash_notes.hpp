// Crash notes: what a worker process runs, in a mapped page of its own file.
//
// Purpose: when the process dies, the worker that buries it charges the crash to what was running, and to
// nothing else. Writing a note is one store to mapped memory: no system call, no flush; it survives
// the process, not the machine, which is what distinguishes a crash from a reboot.
// Ownership: the page belongs to the port's worker file. Thread rule: each entry has one writer.
// Source: DESIGN decision 3, docs/architecture.md "crashes".
#ifndef PAWL_RUNTIME_CRASH_NOTES_HPP
#define PAWL_RUNTIME_CRASH_NOTES_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ids.hpp"
#include "pawl/port.hpp"
#include "store.hpp"

namespace pawl {

struct NoteEntry {
  std::atomic<std::int64_t> instance{0};  // a turn; CrashNote::kNotStored
  std::atomic<std::int64_t> item{0};      // an activity
};

inline constexpr std::size_t kNoteEntries =
    1 + port::kThreadsMax;  // the loop, then the pool's threads

struct NotesPage {
  static constexpr std::uint64_t kMagic = 0x5041574c4e4f5431;  // "PAWLNOT1"
  std::uint64_t magic = 0;
  NoteEntry entries[kNoteEntries];
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free || sizeof(void*) == 4,
              "a note must be one store");

// Reads the notes of a dead process from raw bytes; entries that hold nothing are left out. Bytes
// that are no notes page (a torn or older file) hold nothing.
std::size_t read_notes(const void* bytes, std::size_t size, CrashNote* out, std::size_t capacity);

}  // namespace pawl

#endif  // PAWL_RUNTIME_CRASH_NOTES_HPP
