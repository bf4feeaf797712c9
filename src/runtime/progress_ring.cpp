#include "runtime/progress_ring.hpp"

#include <cstring>

#include "core/crc32c.hpp"

namespace pawl {

std::uint32_t ProgressEntry::checksum() const {
  ProgressEntry copy = *this;
  copy.check = 0;
  return crc32c(&copy, sizeof copy);
}

void ProgressRing::put(ProgressEntry entry) {
  entry.ticket = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  entry.check = entry.checksum();
  Cell& cell = cells_[(entry.ticket - 1) % kProgressKept];
  cell.ticket.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  const unsigned char* from = reinterpret_cast<const unsigned char*>(&entry) + sizeof entry.ticket;
  for (std::atomic<std::uint32_t>& word : cell.words) {
    std::uint32_t value = 0;
    std::memcpy(&value, from, sizeof value);
    word.store(value, std::memory_order_relaxed);
    from += sizeof value;
  }
  cell.ticket.store(entry.ticket, std::memory_order_release);
}

void ProgressReader::follow(InstanceKey instance, ProgressWatch& watch) {
  if (watch.instance_ == instance) return;
  watch = ProgressWatch();
  watch.instance_ = instance;
}

void ProgressReader::set_workers(const Incarnation* workers, std::size_t count,
                                 ProgressWatch& watch) {
  const auto begin = watch.places_;
  const auto end = watch.places_ + ProgressWatch::kPlaces;
  for (auto place = begin; place != end; ++place) {
    bool lives = false;
    for (std::size_t i = 0; i < count; ++i)
      lives = lives || workers[i] == place->worker;
    if (!lives) *place = ProgressWatch::Place();
  }
  for (std::size_t i = 0; i < count; ++i) {
    ProgressWatch::Place* room = nullptr;
    bool known = false;
    for (auto place = begin; place != end; ++place) {
      known = known || place->worker == workers[i];
      if (place->worker == 0 && room == nullptr) room = place;
    }
    if (!known && room != nullptr) room->worker = workers[i];
  }
}

bool ProgressReader::next(ProgressWatch& watch) {
  for (std::size_t looked = 0; looked < ProgressWatch::kPlaces; ++looked) {
    ProgressWatch::Place& place = watch.places_[watch.next_];
    watch.next_ = (watch.next_ + 1) % ProgressWatch::kPlaces;
    if (place.worker != 0 && next_of(place, watch)) return true;
  }
  return false;
}

bool ProgressReader::next_of(ProgressWatch::Place& place, ProgressWatch& watch) {
  constexpr std::uint32_t kKept = ProgressRing::kProgressKept;
  const std::uint32_t last = last_ticket(place.worker);
  if (last < place.read) place.read = 0;  // the file was replaced by another one
  if (last - place.read > kKept) place.read = last - kKept;
  while (place.read < last) {
    ProgressEntry entry;
    if (!read_entry(place.worker, place.read + 1, &entry)) {
      // The entry is still being written, and will be there soon; or a newer one has overwritten
      // it.
      if (last_ticket(place.worker) - place.read <= kKept) return false;
      ++place.read;
      continue;
    }
    ++place.read;
    if (entry.instance != watch.instance_) continue;
    ProgressUpdate& out = watch.update_;
    out.execution_id = entry.execution;
    out.activity_id = entry.event;
    out.attempt = entry.attempt;
    out.number = entry.number;
    out.size_ = entry.size;
    std::memcpy(out.text_, entry.text, sizeof out.text_);
    return true;
  }
  return false;
}

std::uint32_t ProgressReader::last_ticket(Incarnation worker) {
  std::uint32_t last = 0;
  const std::size_t at = offsetof(WorkerPage, progress) + offsetof(ProgressRing, last_);
  const std::size_t read = storage_.worker_notes(database_path_, worker, at, &last, sizeof last);
  return read == sizeof last ? last : 0;
}

bool ProgressReader::read_entry(Incarnation worker, std::uint32_t ticket, ProgressEntry* entry) {
  const std::size_t cell = (ticket - 1) % ProgressRing::kProgressKept;
  const std::size_t at = offsetof(WorkerPage, progress) + offsetof(ProgressRing, cells_) +
                         cell * sizeof(ProgressEntry);
  const std::size_t read = storage_.worker_notes(database_path_, worker, at, entry, sizeof *entry);
  return read == sizeof *entry && entry->ticket == ticket && entry->size <= sizeof entry->text &&
         entry->check == entry->checksum();
}

}  // namespace pawl
