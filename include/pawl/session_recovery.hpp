// Work on a session whose state can be made anew, for orchestrations.
//
// Purpose: a session that fails on loss answers kSessionLost when its owner is gone. These
// functions handle that, a given number of times: they open it again, run the activity that
// rebuilds the state on the new owner, and repeat the work. If several branches work on the
// session, each rebuilds for itself, but one at a time, and nothing else of the session runs
// meanwhile; the activity may find the state made already. They are written with the commands of
// OrchestrationContext alone: all of it is recorded, compared on replay, and goes on after a crash.
// Call them with PAWL_CALL.
// Ownership: names are copied; the outcome's texts live as any Outcome's. Thread rule: as the
// context.
#ifndef PAWL_SESSION_RECOVERY_HPP
#define PAWL_SESSION_RECOVERY_HPP

#include <string_view>

#include "pawl/orchestration.hpp"
#pragma GCC visibility push(default)

namespace pawl {

struct SessionRecovery {
  Name session;                // its id: OrchestrationContext::open_session()
  SessionSettings settings;    // fail_on_loss is set in any case
  Name rebuild;                // the activity that makes the state, at first and after a loss
  BorrowedText rebuild_input;  // must live until the call returns
  // Limits and retries of activities on the session, of rebuilding ones too; these functions set
  // the target.
  ActivityOptions activity;
  // The number of rebuildings after a loss, in one call; then the session is left as it is.
  int tries = 3;
};

namespace internal {

inline ActivityOptions on_recovered(const SessionRecovery& how) {
  ActivityOptions on = how.activity;
  on.target = Target::own(how.session);
  return on;
}

inline bool is_loss(const Outcome& outcome) {
  return outcome.error().kind == ErrorKind::kSessionLost;
}

// Opens and rebuilds the session once.
inline Poll rebuild_session(OrchestrationContext& ctx, const SessionRecovery& how, Outcome* out) {
  SessionSettings settings = how.settings;
  settings.fail_on_loss = true;
  if (ctx.open_session(how.session, settings).id().empty()) {
    *out = Outcome::failure(ErrorKind::kInvalidArgument, "a session's id or settings");
    return Poll::done();
  }
  ActivityOptions alone = on_recovered(how);
  alone.target = Target::own(how.session).barrier();
  PAWL_AWAIT(built, ctx.schedule_activity(how.rebuild, how.rebuild_input, alone));
  *out = built;
  return Poll::done();
}

}  // namespace internal

// Opens the session and runs `rebuild` on it. If it is lost meanwhile, it is opened again, at most
// `tries` times.
// Returns what PAWL_CALL takes; *out is the outcome of `rebuild`.
// Requires: a session's id and settings that open_session() takes (kInvalidArgument in *out).
inline Poll open_rebuilt_session(OrchestrationContext& ctx, const SessionRecovery& how,
                                 Outcome* out) {
  int left = how.tries;
  do {
    PAWL_CALL(internal::rebuild_session(ctx, how, out));
  } while (internal::is_loss(*out) && left-- > 0);
  return Poll::done();
}

// Runs an activity on the session. Whenever that is lost, opens it again, runs `rebuild`, and then
// the activity anew.
// Returns what PAWL_CALL takes; *out is the outcome of the activity, or of a `rebuild` that failed;
// kSessionLost: there were more losses than `tries`.
// Requires: as open_rebuilt_session().
inline Poll run_on_session(OrchestrationContext& ctx, const SessionRecovery& how,
                           std::string_view name, std::string_view input, Outcome* out) {
  for (int left = how.tries;;) {
    PAWL_AWAIT(done, ctx.schedule_activity(name, input, internal::on_recovered(how)));
    *out = done;
    if (!internal::is_loss(*out)) return Poll::done();
    do {
      if (left-- <= 0) return Poll::done();
      PAWL_CALL(internal::rebuild_session(ctx, how, out));
    } while (internal::is_loss(*out));
    if (!out->ok()) return Poll::done();
  }
}

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SESSION_RECOVERY_HPP
