// SessionLimits: what the settings of an opened session limit: its age, how many activities it has,
// how fast they come. Rules: docs/rules/session-openings.md.
//
// Counted when work is scheduled, in the session's row, which is written then in any case; so a
// limit is the same for all workers, and survives them. What is too early lies among the delayed
// work: no look for work meets it before its time. Ownership and thread rule: as context.hpp.
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

// The session that work is scheduled on, or why the work fails at once.
struct Admission {
  SessionKey session = 0;
  ErrorKind why = ErrorKind::kNone;
  FixedText<kErrorTextBytesMax> text;
  OptionalMs due;            // when it may be handed over; none: at once
  bool begins_anew = false;  // the session first: its limit is over, which was another instance's
};

class SessionLimits : private Table {
 public:
  SessionLimits(StoreContext& context, SessionEvents& events) : Table(context), events_(events) {}

  // What its settings limit; of one that was just opened.
  Status set_limits(SessionKey session, const SessionSettings& settings);
  // Counts work that is scheduled on an open session, or says why it fails.
  Status admit_work(const Opened& row, session::LimitOf limit, Admission* out);

 private:
  SessionEvents& events_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_SESSION_LIMITS_HPP
