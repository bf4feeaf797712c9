#include "sensor_cache.hpp"

#include <algorithm>

namespace gateway {

void MedianWindow::add(std::int64_t value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kSize;
  count_ = std::min(count_ + 1, kSize);
}

std::int64_t MedianWindow::median() const {
  std::int64_t sorted[kSize] = {};
  for (int i = 0; i < count_; ++i) {
    int at = i;
    for (; at > 0 && sorted[at - 1] > values_[i]; --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = values_[i];
  }
  return count_ == 0 ? 0 : sorted[(count_ - 1) / 2];
}

SensorCache::Lease::~Lease() {
  if (entry_ == nullptr) return;
  entry_->mutex.unlock();
  const std::lock_guard<std::mutex> guard(cache_->mutex_);
  --entry_->users;
}

SensorCache::Lease SensorCache::take(std::string_view session, std::int64_t epoch) {
  Lease::Entry* entry = nullptr;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    // Takes the session's own entry, otherwise the entry that was used longest ago. There are more
    // entries than threads, so one is always free.
    for (Lease::Entry& candidate : entries_) {
      if (candidate.session == session) {
        entry = &candidate;
        break;
      }
      if (candidate.users == 0 && (entry == nullptr || candidate.used < entry->used)) {
        entry = &candidate;
      }
    }
    ++entry->users;
    entry->used = ++uses_;
    if (entry->session != session) {
      entry->session = session;
      entry->epoch = 0;
    }
  }
  entry->mutex.lock();
  if (entry->epoch != epoch) {
    entry->epoch = epoch;
    entry->sensor.channel.close();
    entry->sensor.window.clear();
    entry->sensor.last_sample = 0;
  }
  return {this, entry};
}

}  // namespace gateway
