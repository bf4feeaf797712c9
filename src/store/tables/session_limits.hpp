// SessionLimits: the limits that an opened session's settings set: its age, how many activities it
// has, and how fast they come.
// Rules: docs/rules/session-openings.md.
//
// Activities are counted when they are scheduled, in the session's row, which is written then
// anyway. Therefore a limit is the same for all workers, and survives them. Work that comes too
// early waits among the delayed work, where no fetch meets it before its time. Ownership and thread
// rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_SESSION_LIMITS_HPP
#define PAWL_STORE_TABLES_SESSION_LIMITS_HPP

#include "admission.hpp"
#include "clock_rules.hpp"
#include "context.hpp"
#include "pawl/session.hpp"
#include "session_events.hpp"
#include "session_table.hpp"
#include "text.hpp"

namespace pawl::store {

// `limited_by`: as in the row of a shared session.
[[nodiscard]] constexpr session::LimitOf limit_of(InstanceKey limited_by, InstanceKey instance) {
  return limited_by != 0 && limited_by == instance ? session::LimitOf::kItself
                                                   : session::LimitOf::kAnother;
}

// The session that work is scheduled on, or the reason why the work fails at once.
struct Admission {
  SessionKey session = 0;
  ErrorKind why = ErrorKind::kNone;
  FixedText<kErrorTextBytesMax> text;
  OptionalMs due;            // when the work may be handed over; none: at once
  bool begins_anew = false;  // another instance's limit is over: the session begins anew first
};

class SessionLimits : private Table {
 public:
  SessionLimits(StoreContext& context, SessionEvents& events) : Table(context), events_(events) {}

  // Writes the limits of the settings into the row of a session that was just opened.
  Status set_limits(SessionKey session, const SessionSettings& settings);
  // Counts work that is scheduled on an open session, or says why the work fails.
  Status admit_work(const Opened& row, session::LimitOf limit, Admission* out);

 private:
  SessionEvents& events_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_LIMITS_HPP
