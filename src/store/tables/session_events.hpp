// SessionEvents: what people and orchestrations hear of a session.
//
// Purpose: an event has the session's names, its epoch and its age as the row has them; an end is
// counted for all workers, once. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_EVENTS_HPP
#define PAWL_STORE_TABLES_SESSION_EVENTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "change_sink.hpp"
#include "context.hpp"
#include "crash_limits.hpp"
#include "message_table.hpp"
#include "pawl/session.hpp"
#include "text.hpp"

namespace pawl::store {

// session_totals.what
inline constexpr int kLasted = 1;
inline constexpr int kActivities = 2;

struct Opened;

// What every report of a session contains.
struct SessionTexts {
  FixedText<kNameBytesMax> name;
  FixedText<kNameBytesMax> instance;
  FixedText<kNameBytesMax> node;  // of the owner, or of the last one
  FixedText<kSessionLabelBytesMax> owner_label;
  FixedText<kSessionLabelBytesMax> kind;
  SessionKey key = 0;
  Epoch epoch = 0;
  std::int64_t age_ms = 0;
  std::int64_t quiet_ms = 0;  // since its last activity
  std::int64_t activities = 0;
  // Of one that expires.
  std::int64_t max_age_ms = 0;
  std::int64_t expires_in_ms = 0;
  // Views that live as long as this.
  [[nodiscard]] SessionChange change(SessionChange::Kind of) const;
  [[nodiscard]] SessionChange swept() const;
};

// THE change: owner, next epoch, locks of its items cleared, head recomputed, one event reported.
struct OwnerChange {
  SessionKey session = 0;
  Incarnation to = 0;       // 0: unowned
  std::string_view reason;  // released
  SessionChange::Eviction eviction = SessionChange::Eviction::kNone;
  std::int64_t lease_ms = 0;
  bool strike = false;  // locks are taken over by suspicion
  CrashLimits limits;
};

class SessionEvents : private Table {
 public:
  SessionEvents(StoreContext& context, MessageTable& messages)
      : Table(context), messages_(messages) {}

  Status describe(SessionKey session, SessionTexts* out);
  // One that was opened is not open any more, or never was.
  Status report_session(SessionKey session, SessionChange::Kind kind, std::string_view reason);
  Status report_closed(SessionKey session, std::string_view reason);
  // One that was opened has the first work of its owner handed over.
  Status report_use(SessionKey session);
  // It ends by this: counted for all workers, and reported.
  Status report_end(SessionChange end);
  Status report_change(const OwnerChange& change, const SessionChange& reported);
  // The instance that opened it is notified if it asked for that.
  Status notify_change(SessionKey session, const SessionChange& reported);
  // The text of kSessionLost: a SessionLoss.
  Status describe_loss(SessionKey session, Epoch epoch, std::string_view reason,
                       FixedText<kErrorTextBytesMax>* text);
  // Why work cannot be scheduled on a session that an instance opened, or did not; kNone: it can.
  Status describe_refusal(const Opened& row, bool is_there, ErrorKind* why,
                          FixedText<kErrorTextBytesMax>* text);
  Status report_near_limit(SessionKey session, const SessionSettings& settings);

 private:
  Status count_value(int what, std::size_t bucket, std::int64_t value);

  MessageTable& messages_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_EVENTS_HPP
