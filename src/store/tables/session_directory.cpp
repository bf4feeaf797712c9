#include "session_directory.hpp"

#include <cstddef>

#include "clock_rules.hpp"
#include "leases.hpp"
#include "session_events.hpp"
#include "session_table.hpp"

namespace pawl::store {
namespace {

constexpr std::size_t kListLooksMax = 1024;  // rows of one page

#define PAWL_SESSION_COLUMNS                                                                     \
  "s.sid,s.name,i.id,s.owner_label,s.kind,s.state,w.node,s.epoch,s.created_stamp,"               \
  "s.created_at,s.last_activity_at,s.activities,s.owner,s.locked_until,s.hard,s.excl,"           \
  "EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid),s.expires_at," \
  "s.head_id IS NOT NULL AND s.owner IS NULL,h.time"                                             \
  " FROM sessions AS s LEFT JOIN workers AS w ON w.inc=s.owner LEFT JOIN instances AS i ON "     \
  "i.key=s.scope LEFT JOIN worker_queue AS n ON n.id=s.head_id LEFT JOIN history AS h ON "       \
  "h.instance=n.instance AND h.execution=n.execution AND h.id=n.event "

SessionState state_of(std::int64_t stored, bool has_work) {
  switch (stored) {
    case 2: return SessionState::kLost;
    case 3: return SessionState::kClosed;
    case 4: return SessionState::kRefused;
    case 5: return SessionState::kExpired;
    default: return has_work ? SessionState::kActive : SessionState::kIdle;
  }
}

SessionInfo info_of(const Statement& row, const BatchInfo& batch) {
  const std::int64_t now = batch.now;
  SessionInfo info;
  info.key = row.integer(0);
  info.name = row.bytes(1);
  info.instance_id = row.bytes(2);
  info.owner_label = row.bytes(3);
  info.kind = row.bytes(4);
  info.state = state_of(row.integer(5), row.integer(16) != 0);
  info.stopping = row.integer(5) == 1;
  info.node = row.bytes(6);
  info.epoch = row.integer(7);
  info.created_ms = row.integer(8);
  info.age_ms = subtract_saturating(now, row.integer(9));
  info.quiet_for_ms = subtract_saturating(now, row.integer(10));
  info.activities = row.integer(11);
  if (!row.is_null(12)) info.lease_ends_in_ms = subtract_saturating(row.integer(13), now);
  info.device = row.integer(14) != 0;
  info.exclusive = row.integer(15) != 0;
  if (!row.is_null(17)) {
    const std::int64_t left = subtract_saturating(row.integer(17), now);
    info.expires_in_ms = left > 0 ? left : 0;
  }
  if (row.integer(18) != 0 && session::state_of(row.integer(5)) == session::State::kOpen)
    info.waits_for_ms =
        session::waited_ms(info.quiet_for_ms, subtract_saturating(batch.stamp_ms, row.integer(19)));
  return info;
}

bool is_leak(const SessionInfo& info, const SessionFilter& filter) {
  session::LeakRow row;
  const bool is_open = info.state == SessionState::kIdle || info.state == SessionState::kActive;
  row.state = is_open                             ? session::State::kOpen
              : info.state == SessionState::kLost ? session::State::kLost
                                                  : session::State::kClosed;
  row.is_opened = !info.instance_id.empty();
  row.age_ms = info.age_ms;
  row.activities = info.activities;
  return session::is_leak(row, {filter.open_for_ms, filter.unused_for_ms});
}

bool passes(const SessionInfo& info, const SessionFilter& filter) {
  if ((filter.open_for_ms > 0 || filter.unused_for_ms > 0) && !is_leak(info, filter)) return false;
  return (filter.owner_label.empty() || info.owner_label == filter.owner_label) &&
         (filter.kind.empty() || info.kind == filter.kind) &&
         (filter.any_state || info.state == filter.state);
}

}  // namespace

constexpr sql::Query kListSessions{"SELECT " PAWL_SESSION_COLUMNS "WHERE s.sid>?1 ORDER BY s.sid"};

Status SessionDirectory::list_sessions(const SessionFilter& filter, Page* page,
                                       SessionVisitor& visitor) {
  require_batch();
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no sessions");
    return Status::kInvalidArgument;
  }
  Statement row = connection_.use(kListSessions);
  row.bind(page->after);
  page->more = true;
  std::size_t reported = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && reported < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    const SessionInfo info = info_of(row, batch_);
    if (info.key <= page->after) return no_progress("sessions");
    page->after = info.key;
    if (!passes(info, filter)) continue;
    visitor.on_session(info);
    ++reported;
  }
  return fail(row.status(), "list sessions");
}

constexpr sql::Query kReadSession{"SELECT " PAWL_SESSION_COLUMNS "WHERE s.scope=?1 AND s.name=?2"};

Status SessionDirectory::read_session(std::string_view instance, std::string_view session,
                                      SessionVisitor& visitor) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(instances_.find_key(instance, &scope));
  Statement row = connection_.use(kReadSession);
  row.bind(scope).bind_text(session);
  if (!row.row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "read a session");
  visitor.on_session(info_of(row, batch_));
  return Status::kOk;
}

constexpr sql::Query kReadTotals{
    "SELECT what,bucket,sessions,total,most FROM session_totals WHERE what>0"};

Status SessionDirectory::read_session_totals(SessionEnds* out) {
  Statement row = connection_.use(kReadTotals);
  while (row.row()) {
    const std::int64_t what = row.integer(0);
    const std::int64_t bucket = row.integer(1);
    if (what > kActivities || bucket < 0 ||
        bucket > static_cast<std::int64_t>(SessionEnds::kBounds)) {
      context_.diagnostic.format("session_totals has a row %lld, %lld",
                                 static_cast<long long>(what), static_cast<long long>(bucket));
      return Status::kCorrupt;
    }
    SessionEnds::Histogram& histogram = what == kLasted ? out->lasted_ms : out->activities;
    const auto sessions = static_cast<std::uint64_t>(row.integer(2));
    histogram.counts[bucket] = sessions;
    if (what == kLasted) out->ended += sessions;
    histogram.total = add_saturating(histogram.total, row.integer(3));
    if (row.integer(4) > histogram.most) histogram.most = row.integer(4);
  }
  return fail(row.status(), "read the totals of sessions");
}

// Devices that wait have no index of their own: they are counted with the rest.
constexpr auto kCountStatesText = sql::join(
    "SELECT s.state,EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid),"
    "s.hard<>0 AND s.owner IS NULL AND s.head_id>0 AND s.state=",
    sql::number<session::State::kOpen>, " FROM sessions AS s WHERE s.sid>0 LIMIT ?1");
constexpr sql::Query kCountStates{kCountStatesText};

Status SessionDirectory::count_states(std::int64_t rows_max, Metrics* out) {
  Statement row = connection_.use(kCountStates);
  row.bind(rows_max + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < rows_max; ++rows) {
    out->sessions_waiting += row.integer(2);
    switch (state_of(row.integer(0), row.integer(1) != 0)) {
      case SessionState::kActive: ++out->sessions_active; break;
      case SessionState::kIdle: ++out->sessions_idle; break;
      case SessionState::kLost: ++out->sessions_lost; break;
      case SessionState::kClosed:
      case SessionState::kRefused:
      case SessionState::kExpired: break;
    }
  }
  if (rows == rows_max) out->complete = false;
  return fail(row.status(), "count sessions");
}

}  // namespace pawl::store
