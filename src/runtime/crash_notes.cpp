#include "runtime/crash_notes.hpp"

#include <cstring>

namespace pawl {

std::size_t read_notes(const void* bytes, std::size_t size, CrashNote* out, std::size_t capacity) {
  if (size < sizeof(NotesPage)) return 0;
  // The dead process may have left any bytes: they are copied as plain integers.
  struct PlainEntry {
    std::int64_t instance;
    std::int64_t item;
  };
  static_assert(sizeof(PlainEntry) == sizeof(NoteEntry));
  std::uint64_t magic = 0;
  std::memcpy(&magic, bytes, sizeof magic);
  if (magic != NotesPage::kMagic) return 0;
  std::size_t count = 0;
  const unsigned char* at = static_cast<const unsigned char*>(bytes) + offsetof(NotesPage, entries);
  for (std::size_t i = 0; i < kNoteEntries && count < capacity; ++i, at += sizeof(PlainEntry)) {
    PlainEntry entry;
    std::memcpy(&entry, at, sizeof entry);
    const bool is_turn = entry.instance > 0 || entry.instance == CrashNote::kNotStored;
    if (!is_turn && entry.item <= 0) continue;
    out[count].instance = is_turn ? entry.instance : 0;
    out[count].item = entry.item > 0 ? entry.item : 0;
    ++count;
  }
  return count;
}

}  // namespace pawl
