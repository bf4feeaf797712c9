// Session: a session that code opens, uses or adopts.
//
// Purpose: affinity with a lifetime and settings that the code states. There are two ways to get a
// session, and one set of rules. One that an instance opens (open_session()) belongs to it: it is
// not the one that another instance opened with the same id, survives continue_as_new(), and ends
// with close_session() or the instance; others may adopt it. A shared one has a name that all
// instances know; use_session() gives it settings. Ownership: plain values; views of a Session live
// until the orchestration function returns. Thread rule: as the context.
#ifndef PAWL_SESSION_HPP
#define PAWL_SESSION_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/json.hpp"
#include "pawl/name.hpp"
#pragma GCC visibility push(default)

namespace pawl {

inline constexpr std::size_t kSessionLabelBytesMax = 128;
inline constexpr std::int64_t kSessionActivitiesMax = 1'000'000'000;

namespace internal {
class [[gnu::visibility("hidden")]] SessionCalls;
}

inline constexpr std::size_t kSessionSummaryBytesMax = 4'096;  // for handoff_session()

// The text of an error of kind kSessionLost, for from_json().
struct SessionLoss {
  JsonText<256> session;   // its id
  std::int64_t epoch = 0;  // the epoch that began with the loss
  JsonText<256> from;      // node of the owner it was lost with
  // "buried", "shutdown", "taken over", "aborted", "hung", "handoff", "transferred",
  // "drained"; "not opened again": it was lost before the activity was scheduled.
  JsonText<128> reason;
};
PAWL_JSON(SessionLoss, session, epoch, from, reason)

// A message of OrchestrationContext::session_events(), for from_json().
struct SessionEvent {
  // "claimed", "migrated", "released", "lost": its owner changed. "ending": its owner is about to
  // stop in order. "closed": it was closed from outside or, with the reason "idle", by idle_close;
  // "closing" comes before that. "expiring", "expired": by SessionSettings::max_age. "near_limit":
  // by activity_warning.
  JsonText<16> change;
  std::int64_t epoch = 0;
  JsonText<256> from;  // nodes of owners; empty: none
  JsonText<256> to;
  JsonText<512> reason;
};
PAWL_JSON(SessionEvent, change, epoch, from, to, reason)

// The behaviour of a session, for open_session() and change_session().
struct SessionSettings {
  // A label of the session's owner, for example "alice". The directory shows it
  // (Client::list_sessions()), SessionOptions::max_sessions_per_owner counts by it, and its owner
  // may close the session (Client::close_session()). 1 to kSessionLabelBytesMax bytes without
  // control characters; empty: no owner label.
  Name owner_label;
  Name kind;               // a kind, as "agent", for the directory; limited as owner_label
  bool exclusive = false;  // one activity at a time, in the order of scheduling
  // When its owner is gone, for whatever reason, the session is lost instead of moving: queued and
  // running work of it fails with kSessionLost, and so does work that is scheduled on it until it
  // is opened again.
  bool fail_on_loss = false;
  // Each change of the owner is a message for the instance: OrchestrationContext::session_events().
  // For a shared session the instance that asked last gets it.
  bool notify = false;
  // The session is released after this long without work; 0: never. 0..kDurationMax; 0 if
  // fail_on_loss is set.
  std::chrono::milliseconds idle_timeout{0};
  // The session ends when it had no work for this long, queued, delayed or running, whether a
  // worker owns it or none: it is closed, as by close_session(). The time counts from its opening,
  // from the end of its last work, and from a change of its settings; hold_session() puts it off. A
  // device ignores it. 0: never. 1 s..kDurationMax.
  std::chrono::milliseconds idle_close{0};
  // With `notify`, the instance gets the message "closing" this long before that; 0: none. At most
  // half of idle_close.
  std::chrono::milliseconds idle_close_notice{0};
  // The session expires this long after its opening, busy or not, in time that truly passed: it is
  // closed, its work fails with kSessionClosed, and so does work that is scheduled on it until it
  // is opened again. For instances that did not give it these settings a shared session begins
  // anew: without the settings, but for `exclusive` and the rate, and their work goes on there. 0:
  // never. 0..kDurationMax.
  std::chrono::milliseconds max_age{0};
  // With `notify`, the instance gets the message "expiring" this long before that; 0: none. Less
  // than max_age.
  std::chrono::milliseconds expiry_notice{0};
  // The number of activities that may be scheduled on the session, retries not counted. One more
  // fails with kLimit, until the session is closed and opened again; one of another instance than
  // gave these settings begins a shared session anew, as with max_age. 0: no limit.
  // 0..kSessionActivitiesMax.
  std::int64_t max_activities = 0;
  // The activity of this number is reported in the log and, with `notify`, as the message
  // "near_limit". 0: none; at most max_activities.
  std::int64_t activity_warning = 0;
  // The rate of activities: rate_burst at once, and one more every rate_interval (0..kDurationMax;
  // 0: no rate). An activity that is too early waits in the queue for its time, if that is no
  // longer than rate_wait (0..kDurationMax); else it fails with kRateLimited. Work of instances
  // that did not give a shared session these settings always waits. rate_burst and rate_wait need a
  // rate_interval.
  std::chrono::milliseconds rate_interval{0};
  std::int64_t rate_burst = 1;  // 1..1000000
  std::chrono::milliseconds rate_wait{0};
};

// The changes of Client::change_session() to the settings of an open session; an absent one stays
// as it is. Each is as in SessionSettings.
struct SessionUpdate {
  std::optional<Name> owner_label;
  std::optional<Name> kind;
  std::optional<std::chrono::milliseconds> idle_timeout;
  std::optional<std::chrono::milliseconds> idle_close;
  std::optional<std::chrono::milliseconds> idle_close_notice;
  std::optional<std::chrono::milliseconds> max_age;
  std::optional<std::chrono::milliseconds> expiry_notice;
  std::optional<std::int64_t> max_activities;
  std::optional<std::int64_t> activity_warning;
  std::optional<std::chrono::milliseconds> rate_interval;
  std::optional<std::int64_t> rate_burst;
  std::optional<std::chrono::milliseconds> rate_wait;
};

// A session that this code opened, uses or adopted.
class [[nodiscard]] Session {
 public:
  Session() = default;
  // The session's id. Empty: the settings or the id were refused, and activities scheduled on the
  // session fail with kInvalidArgument at the await. It lives until the function returns, as the
  // history that it is part of.
  [[nodiscard]] std::string_view id() const { return id_; }

 private:
  friend class internal::SessionCalls;
  friend class Target;
  enum class Kind : std::uint8_t { kOpened, kShared, kAdopted };
  Session(Kind kind, std::string_view id, std::string_view opener = {})
      : kind_(kind), id_(id), opener_(opener) {}
  Kind kind_ = Kind::kOpened;
  std::string_view id_;
  std::string_view opener_;  // kAdopted: the id of the instance that opened it
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SESSION_HPP
