// Crash notes: a list, in a mapped page of a worker process's own file, of the turns and activities
// it runs.
//
// Purpose: when the process dies, the worker that buries it charges the crash to the turns and
// activities that were running, and to nothing else. Writing a note is a store or two to mapped
// memory, with no system call and no flush. The note survives the process, but not the machine:
// this distinguishes a crash from a reboot.
// Ownership: the page belongs to the port's worker file. Thread rule: each entry has one writer.
// Source: docs/architecture/crashes.md#crashes.
#ifndef PAWL_RUNTIME_CRASH_NOTES_HPP
#define PAWL_RUNTIME_CRASH_NOTES_HPP

#include <cstddef>
#include <cstdint>

#include "core/ids.hpp"
#include "core/wide_words.hpp"
#include "pawl/port.hpp"
#include "store/store.hpp"

namespace pawl {

struct NoteEntry {
  WideNote<> instance;  // that runs a turn; or CrashNote::kNotStored
  WideNote<> item;      // whose activity runs
};

inline constexpr std::size_t kNoteEntries =
    1 + port::kThreadsMax;  // the loop, then the pool's threads

struct NotesPage {
  static constexpr std::uint64_t kMagic = 0x5041574c4e4f5431;  // "PAWLNOT1"
  std::uint64_t magic = 0;
  NoteEntry entries[kNoteEntries];
};

// Reads the notes of a dead process from raw bytes, and leaves out empty entries. Bytes that are no
// notes page (a torn or older file) give no notes.
std::size_t read_notes(const void* bytes, std::size_t size, CrashNote* out, std::size_t capacity);

}  // namespace pawl

#endif  // PAWL_RUNTIME_CRASH_NOTES_HPP
