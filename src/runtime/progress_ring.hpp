// ProgressRing: the last heartbeats of a worker's activities, in the mapped page of its own file.
//
// Purpose: clients on the machine see the heartbeats without a commit. The ring is bounded and
// never waits: a watcher that is too slow misses some heartbeats, and their numbers show it.
// Processes share no lock that a crash could leave taken: a reader copies an entry, and accepts it
// if its checksum is right.
// Ownership: the page belongs to the port's worker file. Thread rule: put() from any thread of the
// worker; a ProgressReader belongs to its Client's thread.
#ifndef PAWL_RUNTIME_PROGRESS_RING_HPP
#define PAWL_RUNTIME_PROGRESS_RING_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/ids.hpp"
#include "pawl/port.hpp"
#include "pawl/progress.hpp"
#include "runtime/crash_notes.hpp"

namespace pawl {

// One heartbeat, in the form that readers copy.
struct ProgressEntry {
  // Counts 1, 2, 3 .. per worker; 0: the entry is empty, or is being written. After the last of 32
  // bits it begins anew, and a watcher misses the entries that it has not read by then.
  std::uint32_t ticket = 0;
  std::uint32_t unused = 0;
  std::int64_t instance = 0;
  std::int64_t execution = 0;
  std::int64_t event = 0;
  std::int32_t attempt = 0;
  std::uint32_t number = 0;
  std::uint32_t size = 0;
  std::uint32_t check = 0;  // checksum of all bytes, with 0 in this field
  char text[kProgressBytesMax] = {};

  [[nodiscard]] std::uint32_t checksum() const;
};

class ProgressRing {
 public:
  static constexpr std::size_t kProgressKept = 64;

  // Sets the ticket and the checksum of `entry` itself.
  void put(ProgressEntry entry);

 private:
  friend class ProgressReader;
  static constexpr std::size_t kWords = sizeof(ProgressEntry) / sizeof(std::uint32_t) - 1;
  struct Cell {
    std::atomic<std::uint32_t> ticket{0};
    std::atomic<std::uint32_t> words[kWords] = {};
  };
  static_assert(sizeof(Cell) == sizeof(ProgressEntry), "a cell is read as an entry");

  std::atomic<std::uint32_t> last_{0};         // ticket that was given last
  [[maybe_unused]] std::uint32_t unused_ = 0;  // cells begin at eight bytes
  Cell cells_[kProgressKept];
};

// Content of a worker's file.
struct WorkerPage {
  NotesPage notes;
  ProgressRing progress;
};

// Reads the rings of workers, in this process and in others, for one watch.
class ProgressReader {
 public:
  ProgressReader(port::Storage& storage, const char* database_path)
      : storage_(storage), database_path_(database_path) {}

  // From now on the watch reads heartbeats of this instance; a watch that had another one begins
  // anew.
  static void follow(InstanceKey instance, ProgressWatch& watch);
  // Sets the living workers. Places of other workers are given up.
  static void set_workers(const Incarnation* workers, std::size_t count, ProgressWatch& watch);
  // True: `watch` has the next heartbeat. The workers are read in turn.
  bool next(ProgressWatch& watch);

 private:
  bool next_of(ProgressWatch::Place& place, ProgressWatch& watch);
  // The ticket given last; 0: none was given, or the file is gone.
  std::uint32_t last_ticket(Incarnation worker);
  bool read_entry(Incarnation worker, std::uint32_t ticket, ProgressEntry* entry);

  port::Storage& storage_;
  const char* database_path_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_PROGRESS_RING_HPP
