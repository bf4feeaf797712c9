#include "store/session/directory.hpp"

#include <cstddef>

#include "core/clock_rules.hpp"
#include "store/session/events.hpp"
#include "store/session/folder.hpp"
#include "store/session/rows.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
namespace {

#define PAWL_SESSION_COLUMNS                                                                   \
  "s.sid,s.name,i.id,s.owner_label,s.kind,s.state,w.node,s.epoch,s.created_stamp,"             \
  "s.created_at,s.last_activity_at,s.activities,s.owner," PAWL_SESSION_LEASE                   \
  " AS lease,s.hard,s.excl,"                                                                   \
  "EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid)"             \
  " AS has_work,"                                                                              \
  "EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid AND "         \
  "q.token IS NOT NULL) AS is_busy,s.expires_at,s.head_id IS NOT NULL AND s.owner IS NULL AS " \
  "waits,h.time,s.folder_root,s.gen"
#define PAWL_SESSION_JOINS                                                             \
  "LEFT JOIN workers AS w ON w.inc=s.owner LEFT JOIN instances AS i ON i.key=s.scope " \
  "LEFT JOIN worker_queue AS n ON n.id=s.head_id" PAWL_EVENT_OF("n") " "

constexpr auto kSessionColumns = sql::Columns(PAWL_SESSION_COLUMNS);

// For a session that is not open.
std::int64_t stored_state(SessionState state) {
  switch (state) {
    case SessionState::kLost: return stored(rules::State::kLost);
    case SessionState::kRefused: return stored(rules::State::kRefused);
    case SessionState::kExpired: return stored(rules::State::kExpired);
    case SessionState::kIdle:
    case SessionState::kActive:
    case SessionState::kClosed: break;
  }
  return stored(rules::State::kClosed);
}

SessionState state_of(std::int64_t stored, bool has_work) {
  switch (stored) {
    case 2: return SessionState::kLost;
    case 3: return SessionState::kClosed;
    case 4: return SessionState::kRefused;
    case 5: return SessionState::kExpired;
    default: return has_work ? SessionState::kActive : SessionState::kIdle;
  }
}

using FolderPath = FixedText<kFolderPathBytesMax>;

// The path of the folder, if one was made and is to stay. It is also empty for a root that no
// worker can have written.
void put_folder(std::string_view root, std::string_view database_id, const SessionInfo& info,
                std::int64_t generation, FolderPath* out) {
  out->clear();
  const bool is_open = info.state == SessionState::kIdle || info.state == SessionState::kActive;
  if (root.empty() || !is_open) return;
  const bool fits =
      root.size() <= port::Folders::kRootBytesMax && out->append(root) == Status::kOk &&
      out->append('/') == Status::kOk &&
      out->append(folder_name(database_id, info.key, generation).view()) == Status::kOk;
  if (!fits) out->clear();
}

SessionInfo info_of(const Statement& row, const BatchInfo& batch) {
  const std::int64_t now = batch.now;
  SessionInfo info;
  info.key = row.integer(PAWL_COLUMN(kSessionColumns, s.sid));
  info.name = row.bytes(PAWL_COLUMN(kSessionColumns, s.name));
  info.instance_id = row.bytes(PAWL_COLUMN(kSessionColumns, i.id));
  info.owner_label = row.bytes(PAWL_COLUMN(kSessionColumns, s.owner_label));
  info.kind = row.bytes(PAWL_COLUMN(kSessionColumns, s.kind));
  info.state = state_of(row.integer(PAWL_COLUMN(kSessionColumns, s.state)),
                        row.integer(PAWL_COLUMN(kSessionColumns, has_work)) != 0);
  info.stopping = row.integer(PAWL_COLUMN(kSessionColumns, s.state)) == 1;
  info.node = row.bytes(PAWL_COLUMN(kSessionColumns, w.node));
  info.epoch = row.integer(PAWL_COLUMN(kSessionColumns, s.epoch));
  info.created_ms = row.integer(PAWL_COLUMN(kSessionColumns, s.created_stamp));
  info.age_ms = subtract_saturating(now, row.integer(PAWL_COLUMN(kSessionColumns, s.created_at)));
  if (row.integer(PAWL_COLUMN(kSessionColumns, is_busy)) == 0)
    info.quiet_for_ms =
        subtract_saturating(now, row.integer(PAWL_COLUMN(kSessionColumns, s.last_activity_at)));
  info.activities = row.integer(PAWL_COLUMN(kSessionColumns, s.activities));
  if (!row.is_null(PAWL_COLUMN(kSessionColumns, s.owner)))
    info.lease_ends_in_ms =
        subtract_saturating(row.integer(PAWL_COLUMN(kSessionColumns, lease)), now);
  info.device = row.integer(PAWL_COLUMN(kSessionColumns, s.hard)) != 0;
  info.exclusive = row.integer(PAWL_COLUMN(kSessionColumns, s.excl)) != 0;
  if (!row.is_null(PAWL_COLUMN(kSessionColumns, s.expires_at))) {
    const std::int64_t left =
        subtract_saturating(row.integer(PAWL_COLUMN(kSessionColumns, s.expires_at)), now);
    info.expires_in_ms = left > 0 ? left : 0;
  }
  if (row.integer(PAWL_COLUMN(kSessionColumns, waits)) != 0 &&
      rules::state_of(row.integer(PAWL_COLUMN(kSessionColumns, s.state))) == rules::State::kOpen)
    info.waits_for_ms = rules::waited_ms(
        info.quiet_for_ms,
        subtract_saturating(batch.stamp_ms, row.integer(PAWL_COLUMN(kSessionColumns, h.time))));
  return info;
}

bool is_leak(const SessionInfo& info, const SessionFilter& filter) {
  rules::LeakRow row;
  const bool is_open = info.state == SessionState::kIdle || info.state == SessionState::kActive;
  row.state = is_open                             ? rules::State::kOpen
              : info.state == SessionState::kLost ? rules::State::kLost
                                                  : rules::State::kClosed;
  row.is_opened = !info.instance_id.empty();
  row.age_ms = info.age_ms;
  row.activities = info.activities;
  return rules::is_leak(row, {filter.open_for_ms, filter.unused_for_ms});
}

bool passes(const SessionInfo& info, const SessionFilter& filter) {
  if ((filter.open_for_ms > 0 || filter.unused_for_ms > 0) && !is_leak(info, filter)) return false;
  return (filter.node.empty() || info.node == filter.node) &&
         (filter.instance_id.empty() || info.instance_id == filter.instance_id) &&
         (filter.owner_label.empty() || info.owner_label == filter.owner_label) &&
         (filter.kind.empty() || info.kind == filter.kind) &&
         (filter.any_state || info.state == filter.state);
}

}  // namespace

constexpr auto kListSessions =
    PAWL_QUERY("SELECT " PAWL_SESSION_COLUMNS " FROM sessions AS s " PAWL_SESSION_JOINS
               "WHERE s.sid>?1 ORDER BY s.sid");
// These use an index that has the sessions of one value in the order of their keys.
constexpr auto kListOfLabel = PAWL_QUERY(
    "SELECT " PAWL_SESSION_COLUMNS " FROM sessions AS s\fINDEXED BY s_whose\r" PAWL_SESSION_JOINS
    "WHERE s.owner_label=?2 AND s.sid>?1 ORDER BY s.sid");
constexpr auto kListOfKind = PAWL_QUERY(
    "SELECT " PAWL_SESSION_COLUMNS " FROM sessions AS s\fINDEXED BY s_kind\r" PAWL_SESSION_JOINS
    "WHERE s.kind=?2 AND s.sid>?1 ORDER BY s.sid");
constexpr auto kListEnded = PAWL_QUERY(
    "SELECT " PAWL_SESSION_COLUMNS " FROM sessions AS s\fINDEXED BY s_ended\r" PAWL_SESSION_JOINS
    "WHERE s.state=?2 AND s.state>",
    sql::number<rules::State::kStopping>, " AND s.sid>?1 ORDER BY s.sid");
// These use an index in another order. An instance or a worker has few sessions, so only their keys
// are sorted, up to those of one page.
constexpr auto kListOfInstance = PAWL_QUERY(
    "SELECT " PAWL_SESSION_COLUMNS
    " FROM (SELECT sid FROM sessions WHERE scope=?2 AND sid>?1 ORDER BY sid LIMIT ?3) AS o"
    "\fCROSS\rJOIN sessions AS s ON s.sid=o.sid " PAWL_SESSION_JOINS);
constexpr auto kListOfWorker =
    PAWL_QUERY("SELECT " PAWL_SESSION_COLUMNS
               " FROM (SELECT sid FROM sessions\fINDEXED BY s_owner\r"
               "WHERE owner=?2 AND sid>?1 ORDER BY sid LIMIT ?3) AS o"
               "\fCROSS\rJOIN sessions AS s ON s.sid=o.sid " PAWL_SESSION_JOINS);
// Each step seeks the next session that has work, however many items that is.
constexpr auto kListActive = PAWL_QUERY(
    "WITH RECURSIVE busy(sid) AS (SELECT (SELECT q.sid FROM worker_queue AS q"
    "\fINDEXED BY wq_session\rWHERE q.sid>?1 ORDER BY q.sid LIMIT 1) UNION ALL SELECT"
    " (SELECT q.sid FROM worker_queue AS q\fINDEXED BY wq_session\rWHERE q.sid>busy.sid"
    " ORDER BY q.sid LIMIT 1) FROM busy WHERE busy.sid IS NOT NULL) "
    "SELECT " PAWL_SESSION_COLUMNS
    " FROM busy\fCROSS\rJOIN sessions AS s ON s.sid=busy.sid " PAWL_SESSION_JOINS "WHERE s.state<",
    sql::number<rules::State::kLost>);

Status SessionDirectory::list_sessions(const SessionFilter& filter, Page* page,
                                       SessionVisitor& visitor) {
  require_batch();
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no sessions");
    return Status::kInvalidArgument;
  }
  bool is_any = true;
  List list = {kListSessions, false, 0, {}};
  PAWL_TRY(choose_list(filter, &list, &is_any));
  page->more = is_any;
  return is_any ? list_by(list, filter, page, visitor) : Status::kOk;
}

// Takes the narrowest index; the rest of the filter is compared row by row.
Status SessionDirectory::choose_list(const SessionFilter& filter, List* out, bool* is_any) {
  const bool is_open_state =
      filter.state == SessionState::kIdle || filter.state == SessionState::kActive;
  Status found = Status::kOk;
  if (!filter.instance_id.empty()) {
    *out = {kListOfInstance, true, 0, {}};
    found = rows_.instances.find_key(filter.instance_id, &out->number);
  } else if (!filter.node.empty()) {
    *out = {kListOfWorker, true, 0, {}};
    found = rows_.workers.living_worker(filter.node, &out->number);
  } else if (!filter.owner_label.empty()) {
    *out = {kListOfLabel, false, 0, filter.owner_label};
  } else if (!filter.kind.empty()) {
    *out = {kListOfKind, false, 0, filter.kind};
  } else if (!filter.any_state && !is_open_state) {
    *out = {kListEnded, false, stored_state(filter.state), {}};
  } else if (!filter.any_state && filter.state == SessionState::kActive) {
    *out = {kListActive, false, 0, {}};
  }
  *is_any = found == Status::kOk;
  return found == Status::kNotFound ? Status::kOk : found;
}

Status SessionDirectory::list_by(const List& list, const SessionFilter& filter, Page* page,
                                 SessionVisitor& visitor) {
  Statement row = connection_.use(list.query);
  row.bind(page->after);
  if (!list.text.empty()) row.bind_text(list.text);
  if (list.number != 0) row.bind(list.number);
  if (list.is_sorted_apart) row.bind(static_cast<std::int64_t>(kListLooksMax));
  std::size_t reported = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && reported < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    SessionInfo info = info_of(row, batch_);
    if (info.key <= page->after) return no_progress("sessions");
    page->after = info.key;
    if (!passes(info, filter)) continue;
    report(row, &info, visitor);
    ++reported;
  }
  return fail(row.status(), "list sessions");
}

constexpr auto kReadSession =
    PAWL_QUERY("SELECT " PAWL_SESSION_COLUMNS " FROM sessions AS s " PAWL_SESSION_JOINS
               "WHERE s.scope=?1 AND s.name=?2");

Status SessionDirectory::get_session(std::string_view instance, std::string_view session,
                                     SessionVisitor& visitor) {
  require_batch();
  InstanceKey scope = 0;
  if (!instance.empty()) PAWL_TRY(rows_.instances.find_key(instance, &scope));
  Statement row = connection_.use(kReadSession);
  row.bind(scope).bind_text(session);
  if (!row.row()) return no_row(row, Status::kNotFound, "read a session");
  SessionInfo info = info_of(row, batch_);
  report(row, &info, visitor);
  return Status::kOk;
}

void SessionDirectory::report(const Statement& row, SessionInfo* info, SessionVisitor& visitor) {
  FolderPath folder;
  put_folder(row.bytes(PAWL_COLUMN(kSessionColumns, s.folder_root)), context_.file.database_id(),
             *info, row.integer(PAWL_COLUMN(kSessionColumns, s.gen)), &folder);
  info->folder = folder.view();
  visitor.on_session(*info);
}

constexpr auto kReadTotals =
    PAWL_QUERY("SELECT what,bucket,sessions,total,most FROM session_totals WHERE what>0");

Status SessionDirectory::read_session_totals(SessionEnds* out) {
  Statement row = connection_.use(kReadTotals);
  while (row.row()) {
    const std::int64_t what = row.integer(PAWL_COLUMN(kReadTotals, what));
    const std::int64_t bucket = row.integer(PAWL_COLUMN(kReadTotals, bucket));
    if (what > kActivities || bucket < 0 ||
        bucket > static_cast<std::int64_t>(SessionEnds::kBounds)) {
      context_.diagnostic.format("session_totals has a row %lld, %lld",
                                 static_cast<long long>(what), static_cast<long long>(bucket));
      return Status::kCorrupt;
    }
    SessionEnds::Histogram& histogram = what == kLasted ? out->lasted_ms : out->activities;
    const auto sessions =
        static_cast<std::uint64_t>(row.integer(PAWL_COLUMN(kReadTotals, sessions)));
    histogram.counts[bucket] = sessions;
    if (what == kLasted) out->ended += sessions;
    histogram.total = add_saturating(histogram.total, row.integer(PAWL_COLUMN(kReadTotals, total)));
    if (row.integer(PAWL_COLUMN(kReadTotals, most)) > histogram.most)
      histogram.most = row.integer(PAWL_COLUMN(kReadTotals, most));
  }
  return fail(row.status(), "read the totals of sessions");
}

// Waiting devices have no index of their own, so they are counted with the rest.
constexpr auto kCountStates = PAWL_QUERY(
    "SELECT s.state,EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid)"
    " AS has_work,s.hard<>0 AND s.owner IS NULL AND s.head_id>0 AND s.state=",
    sql::number<rules::State::kOpen>,
    " AS waits,s.look_at IS NOT NULL AS has_look FROM sessions AS s WHERE s.sid>0 LIMIT ?1");

Status SessionDirectory::count_states(std::int64_t rows_max, Metrics* out) {
  Statement row = connection_.use(kCountStates);
  row.bind(rows_max + 1);
  std::int64_t rows = 0;
  for (; row.row() && rows < rows_max; ++rows) {
    out->sessions_waiting += row.integer(PAWL_COLUMN(kCountStates, waits));
    const rules::State state = rules::state_of(row.integer(PAWL_COLUMN(kCountStates, s.state)));
    // A session that a client closed counts as ended once its closing is logged.
    const bool has_not_ended =
        rules::is_open(state) ||
        rules::is_closing_unlogged(state, row.integer(PAWL_COLUMN(kCountStates, has_look)) != 0);
    out->sessions_created += has_not_ended ? 1 : 0;
    switch (state_of(row.integer(PAWL_COLUMN(kCountStates, s.state)),
                     row.integer(PAWL_COLUMN(kCountStates, has_work)) != 0)) {
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
