// Leaves out each rule of sessions (docs/rules) once and expects the simulation to notice. This
// works only in this program: the linker wraps sqlite3_prepare_v3(), which then removes one
// condition from one of the storage's statements. rules::may_take() is wrapped too, so that it
// does not see what the statement no longer checks. The simulated workers leave out the rules of
// workers themselves. The product contains none of this.
//
// A removal whose statement is not found fails: the table must follow the code.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>

#include "session_simulation.hpp"
#include "store/work/eligibility_rules.hpp"

namespace {

// The text to remove from a statement, and its replacement.
struct Edit {
  const char* out = nullptr;
  const char* in = nullptr;
};

Edit g_edits[2];
int g_taken = 0;
// The part of a session's row that may_take() is not shown.
enum class Hidden { kNothing, kOwner, kDevice, kState };
Hidden g_hidden = Hidden::kNothing;
constexpr int kNoStatement = 3;  // exit code: without the text the statement does not compile

}  // namespace

// The symbols that the linker's --wrap makes of rules::may_take().
#define PAWL_MAY_TAKE \
  _ZN4pawl5rules8may_takeERKNS0_10QueuedWorkEPKNS0_10SessionRowERKNS0_12AskingWorkerE
#define PAWL_JOIN_(a, b) a##b
#define PAWL_JOIN(a, b) PAWL_JOIN_(a, b)
#define PAWL_REAL_MAY_TAKE PAWL_JOIN(__real_, PAWL_MAY_TAKE)
#define PAWL_WRAP_MAY_TAKE PAWL_JOIN(__wrap_, PAWL_MAY_TAKE)

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
int __real_sqlite3_prepare_v3(sqlite3* db, const char* sql, int bytes, unsigned flags,
                              sqlite3_stmt** out, const char** tail);
int __wrap_sqlite3_prepare_v3(sqlite3* db, const char* sql, int bytes, unsigned flags,
                              sqlite3_stmt** out, const char** tail);
int __wrap_sqlite3_prepare_v3(sqlite3* db, const char* sql, int bytes, unsigned flags,
                              sqlite3_stmt** out, const char** tail) {
  std::string changed(sql);
  for (char& c : changed)
    if (c == '\f' || c == '\r') c = ' ';  // these mark text that only SQLite has (sql/query.hpp)
  int taken = 0;
  for (const Edit& edit : g_edits) {
    if (edit.out == nullptr || changed.find(edit.out) == std::string::npos) continue;
    changed.replace(changed.find(edit.out), std::strlen(edit.out), edit.in);
    ++taken;
  }
  g_taken += taken;
  if (taken > 0) {
    const int result = __real_sqlite3_prepare_v3(db, changed.c_str(), -1, flags, out, tail);
    if (result == SQLITE_OK) return result;
    std::fprintf(stdout, "%s: %s\n", sqlite3_errmsg(db), changed.c_str());
    std::fflush(stdout);
    _exit(kNoStatement);
  }
  return __real_sqlite3_prepare_v3(db, sql, bytes, flags, out, tail);
}

pawl::rules::Take PAWL_REAL_MAY_TAKE(const pawl::rules::QueuedWork& work,
                                     const pawl::rules::SessionRow* session,
                                     const pawl::rules::AskingWorker& worker);
pawl::rules::Take PAWL_WRAP_MAY_TAKE(const pawl::rules::QueuedWork& work,
                                     const pawl::rules::SessionRow* session,
                                     const pawl::rules::AskingWorker& worker);
pawl::rules::Take PAWL_WRAP_MAY_TAKE(const pawl::rules::QueuedWork& work,
                                     const pawl::rules::SessionRow* session,
                                     const pawl::rules::AskingWorker& worker) {
  if (session == nullptr) return PAWL_REAL_MAY_TAKE(work, session, worker);
  pawl::rules::SessionRow shown = *session;
  if (g_hidden == Hidden::kOwner && shown.owner != worker.me) shown.owner.reset();
  if (g_hidden == Hidden::kDevice) shown.device = false;
  if (g_hidden == Hidden::kState) shown.state = pawl::rules::State::kOpen;
  return PAWL_REAL_MAY_TAKE(work, &shown, worker);
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace pawl::test {
namespace {

struct Removal {
  const char* name;
  const char* rule;  // id of the rule in docs/rules, and what it says
  Edit edit;
  WorkerRule worker = WorkerRule::kNone;
  std::uint64_t seed = 1;  // the first seed to try: one that soon showed the violation
  Edit second = {};
  Hidden hidden = Hidden::kNothing;
  bool crowded = false;  // less room than sessions
};
// GoogleTest prints this in a failure and in ctest's list of tests, instead of the bytes of the
// struct.
void PrintTo(const Removal& removal, std::ostream* out) { *out << removal.rule; }

constexpr Removal kRemovals[] = {
    {"capacity",
     "S2: who has `max_sessions_per_worker` claims none",
     {"WHERE owner=?1 AND hard=0 LIMIT", "WHERE owner=-1 AND hard=0 LIMIT"}},
    {"full_serves_its_own",
     "S2: and goes on serving those it has",
     {"WHERE owner=?1 AND head_id IS NOT NULL AND state=0 AND head_id>?4",
      "WHERE ?2 AND owner=?1 AND head_id IS NOT NULL AND state=0 AND head_id>?4"},
     WorkerRule::kNone,
     14},
    {"owned_is_not_claimable",
     "S2: claimed are sessions without an owner",
     {"INDEXED BY s_claim  WHERE ?2<>0 AND head_id IS NOT NULL AND owner IS NULL AND hard=0",
      "WHERE ?2<>0 AND head_id IS NOT NULL AND hard=0"},
     WorkerRule::kNone,
     1,
     {},
     Hidden::kOwner},
    {"head_follows",
     "S2: what is handed over follows what is queued",
     {"UPDATE sessions SET head_id=CASE",
      "UPDATE sessions SET head_id=CASE WHEN ?1%2=0 THEN head_id"}},
    {"next_epoch",
     "S3: every change takes the next epoch",
     {"epoch=coalesce(?4,epoch)", "epoch=max(epoch,min(coalesce(?4,0),1))"}},
    {"ends_hand_overs",
     "S3: every change ends all hand-overs",
     {"WHERE sid=?1 AND state=1 ORDER BY id LIMIT 1",
      "WHERE sid=?1 AND state=1 ORDER BY id LIMIT 0"}},
    {"counters_rise",
     "S3: epochs and tokens come from counters that only rise",
     {"UPDATE meta SET next_epoch=?,next_token=?",
      "UPDATE meta SET next_epoch=?*0+1,next_token=?*0+1"}},
    {"token",
     "S4: a result is accepted with the token of the last hand-over",
     {},
     WorkerRule::kToken},
    {"renew", "S5: leases are renewed before they end", {}, WorkerRule::kRenew},
    {"renew_sessions",
     "S5: one row renews the leases on all sessions of a worker",
     {"SET sessions_until=max(sessions_until,?2)", "SET sessions_until=max(sessions_until,?2*0)"}},
    {"not_twice_in_process",
     "S5: what runs here is not handed over here again",
     {},
     WorkerRule::kRunsItem},
    {"idle_without_work",
     "S6: idle is who has no activity in the queue",
     {"EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid"
      " AND (q.state<>4 OR s.fail<>0)) AS has_work FROM sessions s INDEXED BY s_owner",
      "0 AS has_work FROM sessions s INDEXED BY s_owner"}},
    {"stop_waits",
     "S7: an orderly stop waits for activities in hand",
     {},
     WorkerRule::kKeepUntilEnd},
    {"burial_frees_sessions",
     "S8: the sessions of the dead lose their owner",
     {" AND (?2<>0 OR (hard=0 AND excl=0)) ORDER BY hard,sid LIMIT 1",
      " AND (?2<>0 OR (hard=0 AND excl=0)) ORDER BY hard,sid LIMIT 0"}},
    {"burial_frees_locks",
     "S8: the activities of the dead are ready again",
     {" AND s.owner=?1) ORDER BY locked_until,id LIMIT 1",
      " AND s.owner=?1) ORDER BY locked_until,id LIMIT 0"},
     WorkerRule::kNone,
     1,
     {" AND inc=?1 AND state=1 ORDER BY id LIMIT 1",
      " AND inc=?1 AND state=1 ORDER BY id LIMIT 0"}},
    {"buried_writes_no_more",
     "S8: who was buried and lives is refused",
     {"SELECT buried,draining FROM workers WHERE inc=?",
      "SELECT 0,draining FROM workers WHERE inc=?"},
     WorkerRule::kNone,
     1,
     {"SET locked_until=max(locked_until,?2) WHERE inc=?1 AND buried=0",
      "SET locked_until=max(locked_until,?2) WHERE inc=?1"}},
    {"no_handler_lets_go",
     "S9: an owner without the handler lets the session go",
     {"SELECT EXISTS(SELECT 1 FROM handlers h JOIN",
      "SELECT 0 AND EXISTS(SELECT 1 FROM handlers h JOIN"}},
    {"sweep_without_work",
     "S10: swept are rows without work",
     {"INDEXED BY s_orphan WHERE owner IS NULL AND head_id IS NULL", "WHERE owner IS NULL"},
     WorkerRule::kNone,
     1,
     {"SELECT EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1) AS has_work",
      "SELECT 0*?1"}},
    {"device_is_not_claimed",
     "S12: fetching never claims a device",
     {"INDEXED BY s_claim  WHERE ?2<>0 AND head_id IS NOT NULL AND owner IS NULL AND hard=0",
      "WHERE ?2<>0 AND head_id IS NOT NULL AND owner IS NULL"},
     WorkerRule::kNone,
     1,
     {},
     Hidden::kDevice},
    {"one_holder",
     "S12: while a living worker holds it, a second one is refused",
     {"WHERE d.sid=?1 AND d.role<>1 LIMIT 1", "WHERE d.sid=?1 AND d.role<>1 LIMIT 0"}},
    {"inherits_no_device",
     "S13: who registers anew owns no device before it has declared it",
     {"SELECT sid,hard FROM sessions INDEXED BY s_owner WHERE owner=?1 AND (?2<>0",
      "SELECT sid,0 FROM sessions INDEXED BY s_owner WHERE owner=?1 AND (?2<>0"},
     WorkerRule::kNone,
     10},
    {"exclusive_running",
     "S15: exclusive: only if nothing of the session runs",
     {" WHEN EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=1)",
      " WHEN EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=-1)"}},
    {"exclusive_cancelled",
     "S15: what was cancelled while it runs holds the others back",
     {"  OR EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=3)  "
      "THEN NULL",
      "  THEN NULL"}},
    {"exclusive_delayed",
     "S15: what backs off holds the others back",
     {"WHERE sid=?1 AND state=2 ORDER BY id LIMIT 1)<(",
      "WHERE sid=?1 AND state=-2 ORDER BY id LIMIT 1)<("}},
    {"cancelled_is_kept",
     "S15: what was cancelled is kept until it has ended",
     {"q.state,coalesce(s.excl,0) AS excl FROM worker_queue q",
      "q.state,0 AS excl FROM worker_queue q"},
     WorkerRule::kNone,
     41},
    {"exclusive_in_process",
     "S15: within one process that is true across epochs",
     {},
     WorkerRule::kRunsSession,
     31},
    {"stop_hands_nothing_over",
     "S16: of a session that stops nothing more is handed over",
     {"INDEXED BY s_owned  WHERE owner=?1 AND head_id IS NOT NULL AND state=0",
      "WHERE owner=?1 AND head_id IS NOT NULL"},
     WorkerRule::kNone,
     1,
     {},
     Hidden::kState},
    {"stop_ends",
     "S16: any worker ends a stop",
     {"ORDER BY stop_due,sid LIMIT 1", "ORDER BY stop_due,sid LIMIT 0"}},
    {"stop_waits_for_work",
     "S16: it ends when nothing of the session runs",
     {"SELECT EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=1),"
      "EXISTS(SELECT 1 FROM worker_queue INDEXED BY wq_session WHERE sid=?1 AND state=3)",
      "SELECT 0*?1,0"}},
    {"drain", "S17: who drains claims nothing", {}, WorkerRule::kDrain},
    {"closing_ends_work",
     "S19, S21: closing and losing end all work of the session",
     {" AND instance=coalesce(?2,instance) ORDER BY state,id LIMIT 1",
      " AND instance=coalesce(?2,instance) ORDER BY state,id LIMIT 0"}},
    {"end_closes",
     "S20: the end of an instance closes its sessions",
     {"SELECT sid FROM sessions WHERE scope=?1 AND state<>3 ORDER BY name LIMIT 1",
      "SELECT sid FROM sessions WHERE scope=?1 AND state<>3 ORDER BY name LIMIT 0"}},
    {"fails_on_loss",
     "S21: a session with `fail_on_loss` never gets another owner",
     {"SELECT state,hard,excl,fail,owner", "SELECT state,hard,excl,0,owner"}},
    {"expires",
     "S27: at its maximum age a session expires",
     {"SELECT sid,state,expires_at,ended,", "SELECT sid,state,NULL,ended,"},
     WorkerRule::kNone,
     5},
    {"closes_idle",
     "S53: idle for `idle_close` a session is closed",
     {"last_activity_at,hold_until,limits,", "last_activity_at,hold_until,NULL,"}},
    {"idle_has_no_work",
     "S53: and not while it has work",
     {"EXISTS(SELECT 1 FROM worker_queue q INDEXED BY wq_session WHERE q.sid=s.sid)"
      " AS has_work FROM sessions s INDEXED BY s_look",
      "0 AS has_work FROM sessions s INDEXED BY s_look"}},
    {"outlives_age",
     "S1: the work of others goes on after another's age",
     {"q.instance<>coalesce(s.limited_by,0)", "q.instance<>q.instance"}},
    {"outlives_end",
     "S1: and what is scheduled later begins the session anew",
     {"SELECT sid,hard,excl,state,limits", "SELECT sid,hard,excl,iif(state=5,2,state),limits"}},
    {"activities_are_counted",
     "S28: the activities of a session are counted",
     {"SET given=?2,", "SET given=?2*0,"},
     WorkerRule::kNone,
     4},
    {"too_early_waits",
     "S29: what is too early waits",
     {",rate_at=?3 WHERE", ",rate_at=?3*0 WHERE"},
     WorkerRule::kNone,
     4},
    {"makes_room",
     "S34: an idle session makes room for one that waits",
     {"FROM sessions s INDEXED BY s_owner WHERE owner=?1 AND hard=0 AND sid>?2",
      "FROM sessions s INDEXED BY s_owner WHERE owner=?1*0 AND hard=0 AND sid>?2"},
     WorkerRule::kNone,
     1,
     {},
     Hidden::kNothing,
     true},
    {"observe",
     "S47.4, S47.5: suspicion takes one interval of observation",
     {},
     WorkerRule::kObserve},
    {"oversleep", "S47.6: an observer that overslept starts anew", {}, WorkerRule::kOversleep},
};

struct Found {
  int steps = 0;
  std::string what;
};

// Tries one seed after the other and returns the first violation.
Found look(const Removal& removal, std::uint64_t seeds) {
  g_edits[0] = removal.edit;
  g_edits[1] = removal.second;
  g_hidden = removal.hidden;
  g_taken = 0;
  const char* const only = std::getenv("PAWL_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : removal.seed;
  if (only != nullptr) seeds = 1;
  Found found;
  for (std::uint64_t seed = first; seed < first + seeds && found.what.empty(); ++seed) {
    Simulation simulation(seed, removal.worker, removal.crowded);
    simulation.run(400);
    simulation.settle();
    found.steps += simulation.steps();
    found.what = simulation.violation();
    if (removal.edit.out != nullptr && g_taken == 0) break;  // the statement no longer exists
  }
  return found;
}

// Looks in a process of its own, because a check in the storage may end it. Such an end also counts
// as noticed.
Found look_apart(const Removal& removal, std::uint64_t seeds) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    const Found found = look(removal, seeds);
    const std::string text = std::to_string(found.steps) + " " + found.what;
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(ends[0]);
  int state = 0;
  EXPECT_EQ(waitpid(child, &state, 0), child);
  Found found;
  EXPECT_FALSE(WIFEXITED(state) && WEXITSTATUS(state) == kNoStatement);
  if (WIFSIGNALED(state)) {
    found.what = "a check of the storage ended the program";
    return found;
  }
  const std::size_t space = text.find(' ');
  found.steps = std::atoi(text.c_str());
  if (space != std::string::npos) found.what = text.substr(space + 1);
  return found;
}

class RuleRemoved : public ::testing::TestWithParam<Removal> {};

TEST_P(RuleRemoved, is_noticed) {
  const Removal& removal = GetParam();
  const bool soak = std::getenv("PAWL_SOAK") != nullptr;
  const Found found = look_apart(removal, soak ? 400 : 40);
  EXPECT_NE(found.what, "") << "nothing was noticed, or the statement has changed";
  // Prints a row of the table in docs/sessions/left-out.md.
  std::printf("| %s | %s | %d |\n", removal.rule,
              found.what.substr(0, found.what.find(':')).c_str(), found.steps);
}

INSTANTIATE_TEST_SUITE_P(Sessions, RuleRemoved, ::testing::ValuesIn(kRemovals),
                         [](const auto& one) { return std::string(one.param.name); });

// With all rules in place nothing is violated, in this program too.
TEST(NoRuleRemoved, nothing_is_noticed) { EXPECT_EQ(look({"none", "", {}}, 2).what, ""); }

}  // namespace
}  // namespace pawl::test
