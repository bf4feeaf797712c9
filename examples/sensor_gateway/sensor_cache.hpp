// SensorCache: the sensors that this process has open, and what it remembers of each.
//
// The cache is bounded: the sensor that was used longest ago makes room. Its content is warm state,
// which saves time but is never needed. An entry of an older epoch is made anew, because the
// session was elsewhere in between.
#ifndef GATEWAY_SENSOR_CACHE_HPP
#define GATEWAY_SENSOR_CACHE_HPP

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "channels.hpp"

namespace gateway {

// The median of the last values: one wild reading does not move it.
class MedianWindow {
 public:
  void clear() { count_ = next_ = 0; }
  void add(std::int64_t value);
  [[nodiscard]] std::int64_t median() const;
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  static constexpr int kSize = 5;
  std::int64_t values_[kSize] = {};
  int count_ = 0;
  int next_ = 0;
};

struct Sensor {
  OpenChannel channel;
  MedianWindow window;
  std::int64_t last_sample = 0;  // number of the newest value in the window
};

class SensorCache {
 public:
  // While a Lease lives, its sensor stays in the cache, and only this thread may use it.
  class Lease {
   public:
    Lease(Lease&& other) noexcept : cache_(other.cache_), entry_(other.entry_) {
      other.entry_ = nullptr;
    }
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    [[nodiscard]] Sensor& sensor() const { return entry_->sensor; }

   private:
    friend class SensorCache;
    struct Entry {
      std::string session;
      std::int64_t epoch = 0;
      std::uint64_t used = 0;
      int users = 0;
      std::mutex mutex;
      Sensor sensor;
    };
    Lease(SensorCache* cache, Entry* entry) : cache_(cache), entry_(entry) {}
    SensorCache* cache_;
    Entry* entry_;
  };

  static constexpr std::size_t kSensorsMax = 64;
  Lease take(std::string_view session, std::int64_t epoch);

 private:
  Lease::Entry entries_[kSensorsMax];
  std::mutex mutex_;
  std::uint64_t uses_ = 0;
};

}  // namespace gateway

#endif  // GATEWAY_SENSOR_CACHE_HPP
