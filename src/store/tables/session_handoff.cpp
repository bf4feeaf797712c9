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
  PAWL_TRY(openings_.set_session_tag(session, event.tag, event.payload));
  return moves_.move_or_stop(row, {{}, session::kMoveStopMs, false, "handoff"});
}

}  // namespace pawl::store
