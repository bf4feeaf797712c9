// ProgressWatch: what running activities of an instance report, for a Client that watches.
//
// Purpose: a heartbeat with a text (ActivityContext::heartbeat()) reaches a watcher on the same
// machine while the activity runs, without a commit: the worker keeps its last texts in memory that
// other processes can read, and Client::watch_progress() reads them in their order. An activity that
// sends its answer in pieces is followed in this way. What is durable is the last heartbeat, as
// ActivityInfo::last_progress shows it.
// Ownership: the application's, and plain data; one object for one instance at a time. Thread rule:
// that of the Client which it is given to.
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
  std::int64_t activity_id = 0;  // the event that asked, as in ActivityInfo
  std::int64_t attempt = 0;      // hand-overs so far; the next attempt begins anew
  // 1, 2, 3 .. of this attempt, of heartbeats with a text. A gap shows what came too fast for the
  // watcher, or from a worker whose process is gone.
  std::int64_t number = 0;
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }

 private:
  friend class ProgressReader;
  char text_[kProgressBytesMax] = {};
  std::size_t size_ = 0;
};

class ProgressWatch {
 public:
  // What watch_progress() found last; its text lives until the next call with this watch.
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
