// SessionEvents: reports changes of sessions to people and to orchestrations.
//
// Purpose: an event has the session's names, epoch and age as its row has them; an end is counted
// once for all workers. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_EVENTS_HPP
#define PAWL_STORE_SESSION_EVENTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "pawl/session.hpp"
#include "store/change_sink.hpp"
#include "store/context.hpp"
#include "store/instance/rows.hpp"
#include "store/work/crash_limits.hpp"

namespace pawl::store {

// Values of session_totals.what.
inline constexpr int kLasted = 1;
inline constexpr int kActivities = 2;

struct Opened;

// The texts and numbers that every report of a session contains.
struct SessionTexts {
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> instance;
  FixedText<kNameBytesMax> node;  // the owner's, or the last owner's
  FixedText<kSessionLabelBytesMax> owner_label;
  FixedText<kSessionLabelBytesMax> kind;
  SessionKey key = 0;
  Epoch epoch = 0;
  std::int64_t age_ms = 0;
  std::int64_t quiet_ms = 0;  // since the last activity
  std::int64_t activities = 0;
  // For a session that expires.
  std::int64_t max_age_ms = 0;
  std::int64_t expires_in_ms = 0;
  // The views live as long as this object.
  [[nodiscard]] SessionChange change(SessionChange::Kind of) const;
  [[nodiscard]] SessionChange swept() const;
};

// One change of the owner: the owner, the next epoch, the locks of its items cleared, the head
// recomputed, one event reported.
struct OwnerChange {
  SessionKey session = 0;
  Incarnation to = 0;       // 0: unowned
  std::string_view reason;  // for a release
  SessionChange::Eviction eviction = SessionChange::Eviction::kNone;
  std::int64_t lease_ms = 0;
  bool strike = false;  // suspicion, not proof, ends the locks
  CrashLimits limits;
};

class SessionEvents : private Table {
 public:
  SessionEvents(StoreContext& context, InstanceRows& instances)
      : Table(context), instances_(instances) {}

  Status describe(SessionKey session, SessionTexts* out);
  // Reports a change to the sink only; no end is counted and no instance is notified.
  Status report_session(SessionKey session, SessionChange::Kind kind, std::string_view reason);
  Status report_closed(SessionKey session, std::string_view reason);
  // Reports that the owner gets the first work of an opened session.
  Status report_use(SessionKey session);
  // Ends the session: counts it for all workers, and reports it.
  Status report_end(SessionChange end);
  Status report_change(const OwnerChange& change, const SessionChange& reported);
  // Notifies the instance that opened the session, if it asked for that.
  Status notify_change(SessionKey session, const SessionChange& reported);
  // The text of kSessionLost: a SessionLoss.
  Status describe_loss(SessionKey session, Epoch epoch, std::string_view reason,
                       FixedText<kErrorTextBytesMax>* text);
  // Why work cannot be scheduled on a session that an instance opened, or failed to open; kNone: it
  // can.
  Status describe_refusal(const Opened& row, bool is_there, ErrorKind* why,
                          FixedText<kErrorTextBytesMax>* text);
  Status report_near_limit(SessionKey session, const SessionSettings& settings);

 private:
  Status count_value(int what, std::size_t bucket, std::int64_t value);

  InstanceRows& instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_EVENTS_HPP
