#include "session_handoff.hpp"

#include <cstdint>

#include "lifetime.hpp"
#include "moving.hpp"
#include "policy.hpp"

namespace pawl::store {

Status SessionHandoff::handoff_session(InstanceKey instance, const Event& event) {
  ActivityPolicy use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a handoff");
  SessionKey session = 0;
  Status found = sessions_.find_session(use.own_session ? instance : 0, event.name, &session);
  if (found == Status::kNotFound && !use.own_session)
    found = sessions_.find_session(instance, event.name, &session);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  if (!session::may_hand_off(row.row)) return Status::kOk;
  PAWL_TRY(set_session_tag(session, event.tag, event.payload));
  return moves_.move_or_stop(row, {{}, session::kMoveStopMs, false, "handoff"});
}

constexpr sql::Query kSetTag{"UPDATE sessions SET tag=?2 WHERE sid=?1"};

Status SessionHandoff::set_session_tag(SessionKey session, std::string_view tag,
                                       std::string_view summary) {
  {
    Statement set = connection_.use(kSetTag);
    set.bind(session).bind_text_or_null(tag);
    PAWL_TRY(fail(set.run(), "hand a session over"));
  }
  ++context_.made_ready;
  PAWL_TRY(unregistered_.wake_waiting_of(session));
  if (summary.empty()) return summaries_.drop_summary(session);
  return summaries_.put_summary(session, summary);
}

}  // namespace pawl::store
