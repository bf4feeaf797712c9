// SessionOpenings: rows of sessions that begin, or begin anew, whatever causes it: work that names
// a shared session, or code that gives settings; and the limits that the settings set: its age, how
// many activities it has, and how fast they come.
// Rules: docs/rules, S1, S11, S18 and S51, and docs/rules/session-openings.md.
//
// Activities are counted when they are scheduled, in the session's row, which is written then
// anyway. Therefore a limit is the same for all workers, and survives them. Work that comes too
// early waits among the delayed work, where no fetch meets it before its time.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_SESSION_OPENINGS_HPP
#define PAWL_STORE_SESSION_OPENINGS_HPP

#include <string_view>

#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "pawl/session.hpp"
#include "store/context.hpp"
#include "store/rows.hpp"
#include "store/session/admission_rules.hpp"
#include "store/session/events.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"
#include "store/work/unregistered.hpp"

namespace pawl::store {

// How a row begins.
struct Beginning {
  InstanceKey scope = 0;  // 0: shared
  Lifecycle lifecycle = Lifecycle::kShared;
  InstanceKey asks = 0;        // the instance to notify, if the settings say so
  std::string_view refusal;    // why the session may not begin; empty: it may
  InstanceKey limited_by = 0;  // the instance that gave a shared session its settings; 0: none
  bool keeps_rate = false;     // the bucket of its rate limit is not refilled
};

// `limited_by`: as in the row of a shared session.
[[nodiscard]] constexpr rules::LimitOf limit_of(InstanceKey limited_by, InstanceKey instance) {
  return limited_by != 0 && limited_by == instance ? rules::LimitOf::kItself
                                                   : rules::LimitOf::kAnother;
}

// The session that work is scheduled on, or the reason why the work fails at once.
struct AdmittedWork {
  SessionKey session = 0;
  ErrorKind why = ErrorKind::kNone;
  FixedText<kErrorTextBytesMax> text;
  OptionalMs due;            // when the work may be handed over; none: at once
  bool begins_anew = false;  // another instance's limit is over: the session begins anew first
};

class SessionOpenings : private Table {
 public:
  SessionOpenings(StoreContext& context, Rows& rows, SessionOwners& owners)
      : Table(context), rows_(rows), owners_(owners) {}

  Status insert(const Beginning& how, std::string_view name, const SessionSettings& settings,
                bool device, SessionKey* session);
  // Begins a new generation of the row, with a new epoch unless an exclusive session stays open.
  // Cancelled work that still runs holds it back.
  Status begin_anew(SessionKey session, const Beginning& how, const SessionSettings& settings);
  // For work of an instance that did not set the limit that is over: a new opening, with the
  // settings that stay. `why`: the reason in the report of an open session's end.
  Status begin_anew_after_limit(SessionKey session, std::string_view why);
  // Changes the settings of an open row; its counts go on. Does nothing if it has these settings
  // already.
  Status change(SessionKey session, const Beginning& how, const SessionSettings& settings);
  // The settings of a row, the instance it notifies, and the instance whose limits they are.
  Status read_settings(SessionKey session, SessionSettings* out, Beginning* how);
  // Sets the tag of the workers that its work is for, and the summary for them; empty: none.
  Status set_session_tag(SessionKey session, std::string_view tag, std::string_view summary);
  // Writes the limits of the settings into the row of a session that was just opened.
  Status set_limits(SessionKey session, const SessionSettings& settings);
  // Counts work that is scheduled on an open session, or says why the work fails.
  Status admit_work(const Opened& row, rules::LimitOf limit, AdmittedWork* out);

 private:
  Status report(SessionKey session, const Beginning& how);
  Status note_whose(SessionKey session, InstanceKey instance);
  Rows& rows_;
  SessionOwners& owners_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SESSION_OPENINGS_HPP
