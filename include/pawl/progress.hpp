// ProgressWatch: the reports of an instance's running activities, for a Client that watches.
//
// Purpose: a heartbeat with a text (ActivityContext::heartbeat()) reaches a watcher on the same
// machine while the activity runs, without a commit: the worker keeps its last texts in memory that
// other processes can read, and Client::watch_progress() reads them in their order. In this way a
// Client follows an activity that sends its answer in pieces. Only the last heartbeat is durable,
// as ActivityInfo::last_progress shows it.
// Ownership: the application's, and plain data; one object for one instance at a time. Thread rule:
// that of the Client that gets it.
#ifndef PAWL_PROGRESS_HPP
#define PAWL_PROGRESS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/activity.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class [[gnu::visibility("hidden")]] ProgressReader;

// One heartbeat.
class ProgressUpdate {
 public:
  std::int64_t execution_id = 0;
  std::int64_t activity_id = 0;  // the event that scheduled it, as in ActivityInfo
  std::int64_t attempt = 0;      // hand-overs so far; the next attempt begins anew
  // 1, 2, 3 .. for the heartbeats of this attempt that have a text. A gap shows that some came too
  // fast for the watcher, or from a worker whose process is gone.
  std::int64_t number = 0;
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }

 private:
  friend class ProgressReader;
  char text_[kProgressBytesMax] = {};
  std::size_t size_ = 0;
};

class ProgressWatch {
 public:
  // The update that watch_progress() found last; its text lives until the next call with this
  // watch.
  [[nodiscard]] const ProgressUpdate& update() const { return update_; }

 private:
  friend class ProgressReader;
  // How far the heartbeats of one worker were read.
  struct Place {
    std::int64_t worker = 0;  // 0: none
    std::uint32_t read = 0;
  };
  static constexpr std::size_t kPlaces = 64;  // workers that a Client knows at a time

  ProgressUpdate update_;
  std::int64_t instance_ = 0;
  Place places_[kPlaces];
  std::size_t next_ = 0;  // the place that is looked at first
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_PROGRESS_HPP
