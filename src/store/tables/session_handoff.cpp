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
  bool handed_off = false;
  return hand_off(session, event.tag, event.payload, &handed_off);
}

Status SessionHandoff::hand_off(SessionKey session, std::string_view tag, std::string_view summary,
                                bool* handed_off) {
  Moving row;
  PAWL_TRY(sessions_.read_moving(session, &row));
  *handed_off = session::may_hand_off(row.row);
  if (!*handed_off) return Status::kOk;
  PAWL_TRY(openings_.set_session_tag(session, tag, summary));
  return moves_.move_or_stop(row, {{}, session::kMoveStopMs, false, session::MoveReason::kHandoff});
}

}  // namespace pawl::store
