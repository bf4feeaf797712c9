#include "store/worker/workers.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "core/clock_rules.hpp"
#include "pawl/port.hpp"
#include "store/sql/shared_clock.hpp"
#include "store/walk.hpp"
#include "store/work/work_sql.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
namespace {

// The number of buried rows that are kept. They name the nodes that sessions came from, and let a
// frozen process find out that it was buried.
constexpr std::int64_t kBuriedKept = 64;

}  // namespace

Status Workers::register_worker(const NewWorker& worker, Evidence& evidence,
                                const CrashLimits& limits, Incarnation* out) {
  context_.limits = limits;
  PAWL_TRY(batches_.check_keys());
  const bool is_shared = context_.file.other_machines() != nullptr;
  if (!is_shared) PAWL_TRY(refuse_earlier_boot());
  if (!worker.node.empty()) PAWL_TRY(check_node(worker, evidence));
  PAWL_TRY(insert_worker(worker, out));
  if (!is_shared) PAWL_TRY(bury_earlier_boots(*out, worker.node, limits));
  return inherit(worker, *out, limits);
}

constexpr auto kRenewWorker =
    PAWL_QUERY("UPDATE workers SET locked_until=max(locked_until,?2) WHERE inc=?1 AND buried=0");

Status Workers::renew_worker(Incarnation me, std::int64_t lease_ms) {
  Statement renew = connection_.use(kRenewWorker);
  renew.bind(me).bind(add_saturating(batch_.now, lease_ms));
  std::int64_t renewed = 0;
  PAWL_TRY(fail(renew.run(&renewed), "renew a worker"));
  return renewed == 0 ? Status::kBuried : Status::kOk;
}

constexpr auto kReadWorker = PAWL_QUERY("SELECT boot_seq FROM workers WHERE inc=?1 AND buried=0");

Status Workers::bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                            std::size_t note_count, const CrashLimits& limits) {
  {
    Statement read = connection_.use(kReadWorker);
    read.bind(incarnation);
    if (!read.row()) return fail(read.status(), "read a worker");  // it was buried before
    if (!rules::is_charged(read.integer(0), batch_.boot_seq)) note_count = 0;
  }
  PAWL_TRY(bury_row(incarnation));
  // Crashes are counted before the locks go, so that an item at its limit is never handed over once
  // more.
  for (std::size_t i = 0; i < note_count; ++i) {
    if (notes[i].item != 0) PAWL_TRY(rows_.work.count_crash(notes[i].item, limits));
    if (notes[i].instance == CrashNote::kNotStored) {
      PAWL_TRY(rows_.place.require_persisted_starts());
    } else if (notes[i].instance != 0) {
      PAWL_TRY(count_turn_crash(notes[i].instance));
    }
  }
  PAWL_TRY(hand_sessions_over(Of::kAll, incarnation, heir, "buried", limits));
  return free_locks_of(incarnation, limits);
}

Status Workers::unregister_worker(Incarnation me) {
  PAWL_TRY(bury_row(me));
  PAWL_TRY(hand_sessions_over(Of::kAll, me, 0, "shutdown", context_.limits));
  return free_locks_of(me, context_.limits);
}

constexpr auto kListWorkers = PAWL_QUERY(
    "SELECT inc,node,pid,start_time,boot_seq,lock_visible,locked_until,sessions_until,draining"
    " FROM workers\fINDEXED BY w_living\rWHERE buried=0 ORDER BY inc");

Status Workers::list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) {
  *count = 0;
  Statement list = connection_.use(kListWorkers);
  while (*count < capacity && list.row()) {
    WorkerRow& row = out[*count];
    row.incarnation = list.integer(PAWL_COLUMN(kListWorkers, inc));
    row.node.assign_cut(list.bytes(PAWL_COLUMN(kListWorkers, node)));
    row.pid = list.integer(PAWL_COLUMN(kListWorkers, pid));
    row.start_time = list.integer(PAWL_COLUMN(kListWorkers, start_time));
    row.boot_seq = list.integer(PAWL_COLUMN(kListWorkers, boot_seq));
    row.lock_visible = list.integer(PAWL_COLUMN(kListWorkers, lock_visible)) != 0;
    row.locked_until = list.integer(PAWL_COLUMN(kListWorkers, locked_until));
    row.sessions_until = list.integer(PAWL_COLUMN(kListWorkers, sessions_until));
    row.draining = list.integer(PAWL_COLUMN(kListWorkers, draining)) != 0;
    ++*count;
  }
  return fail(list.status(), "list workers");
}

constexpr auto kDescribeWorker = PAWL_QUERY(
    "SELECT w.sessions_max,w.any_tag,"
    "(SELECT count(*) FROM sessions s\fINDEXED BY s_owner\rWHERE s.owner=w.inc AND s.hard=0)"
    " AS sessions,"
    "(SELECT count(*) FROM sessions s\fINDEXED BY s_owner\rWHERE s.owner=w.inc AND s.hard=1)"
    " AS devices,"
    "(SELECT count(*) FROM sessions s\fINDEXED BY s_owner\rWHERE s.owner=w.inc AND EXISTS("
    "SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid)) AS sessions_busy"
    " FROM workers w WHERE w.inc=?1");
constexpr auto kTagsOf = PAWL_QUERY("SELECT tag FROM worker_tags WHERE inc=?1 ORDER BY tag");
constexpr auto kHandlersOf = PAWL_QUERY("SELECT name FROM handlers WHERE inc=?1 ORDER BY name");

Status Workers::describe_worker(Incarnation worker, char* buffer, std::size_t capacity,
                                WorkerInfo* out) {
  {
    Statement row = connection_.use(kDescribeWorker);
    row.bind(worker);
    if (!row.row()) return fail(row.status(), "describe a worker");
    out->sessions_max = row.integer(PAWL_COLUMN(kDescribeWorker, w.sessions_max));
    out->any_tag = row.integer(PAWL_COLUMN(kDescribeWorker, w.any_tag)) != 0;
    out->sessions = row.integer(PAWL_COLUMN(kDescribeWorker, sessions));
    out->devices = row.integer(PAWL_COLUMN(kDescribeWorker, devices));
    out->sessions_busy = row.integer(PAWL_COLUMN(kDescribeWorker, sessions_busy));
  }
  out->takes_untagged = out->any_tag;
  std::size_t used = 0;
  const auto put = [&](std::string_view line, std::size_t from) {
    if (line.size() + 1 > capacity - used) return;
    if (used > from) buffer[used++] = '\n';
    std::memcpy(buffer + used, line.data(), line.size());
    used += line.size();
  };
  {
    Statement tag = connection_.use(kTagsOf);
    tag.bind(worker);
    while (tag.row()) {
      out->takes_untagged = out->takes_untagged || tag.bytes(0).empty();
      if (!tag.bytes(0).empty()) put(tag.bytes(0), 0);
    }
    PAWL_TRY(fail(tag.status(), "list a worker's tags"));
  }
  out->tags = {buffer, used};
  const std::size_t begin = used;
  Statement handler = connection_.use(kHandlersOf);
  handler.bind(worker);
  while (handler.row())
    put(handler.bytes(0), begin);
  out->handlers = {buffer + begin, used - begin};
  PAWL_TRY(fail(handler.status(), "list a worker's handlers"));
  OtherMachines* const others = context_.file.other_machines();
  if (others == nullptr) return Status::kOk;
  OtherMachines::Connected connected;
  PAWL_TRY(fail(others->find_connection(worker, &connected), "find a worker's connection"));
  out->disconnected = !connected.is_connected;
  const std::size_t address = used;
  put(connected.address.view(), address);
  out->address = {buffer + address, used - address};
  return Status::kOk;
}

// Two kernels would use one file, each with its own boot time: nothing could say what is due.
Status Workers::refuse_earlier_boot() {
  Predecessor row;
  while (true) {
    PAWL_TRY(next_earlier(&row));
    if (row.worker == 0) return Status::kOk;
    if (!row.lock_visible) continue;
    if (context_.file.port().storage->worker_test(context_.file.options().path, row.worker) !=
        port::Held::kHeld)
      continue;
    context_.diagnostic.format("worker %" PRId64 " (process %" PRId64
                               ") of an earlier boot still holds its lock on this database",
                               row.worker, row.pid);
    return Status::kForeignBoot;
  }
}

#define PAWL_PREDECESSOR_COLUMNS "inc,node,pid,lock_visible,locked_until,sessions_until,boot_seq"
constexpr auto kPredecessorColumns = sql::Columns(PAWL_PREDECESSOR_COLUMNS);

constexpr auto kNextEarlier =
    PAWL_QUERY("SELECT " PAWL_PREDECESSOR_COLUMNS
               " FROM workers\fINDEXED BY w_living\r"
               "WHERE buried=0 AND boot_seq<?1 AND inc>?2 ORDER BY inc LIMIT 1");

// The next living registration of an earlier boot after *row; worker 0: none.
Status Workers::next_earlier(Predecessor* row) {
  Statement next = connection_.use(kNextEarlier);
  next.bind(batch_.boot_seq).bind(row->worker);
  return read_predecessor(next, row);
}

constexpr auto kNextOfNode =
    PAWL_QUERY("SELECT " PAWL_PREDECESSOR_COLUMNS
               " FROM workers\fINDEXED BY w_living\r"
               "WHERE buried=0 AND boot_seq>=?1 AND node=?2 AND inc>?3 ORDER BY inc LIMIT 1");

// The next living registration of this boot and node after *row, of any boot if machines share the
// store; worker 0: none.
Status Workers::next_of_node(std::string_view node, Predecessor* row) {
  Statement next = connection_.use(kNextOfNode);
  const bool is_shared = context_.file.other_machines() != nullptr;
  next.bind(is_shared ? kBeforeAll : batch_.boot_seq).bind_text(node).bind(row->worker);
  return read_predecessor(next, row);
}

Status Workers::read_predecessor(Statement& next, Predecessor* row) {
  if (!next.row()) {
    row->worker = 0;
    return fail(next.status(), "read workers");
  }
  const Incarnation worker = next.integer(PAWL_COLUMN(kPredecessorColumns, inc));
  if (worker <= row->worker) return no_progress("workers");
  row->worker = worker;
  row->node.assign_cut(next.bytes(PAWL_COLUMN(kPredecessorColumns, node)));
  row->pid = next.integer(PAWL_COLUMN(kPredecessorColumns, pid));
  row->lock_visible = next.integer(PAWL_COLUMN(kPredecessorColumns, lock_visible)) != 0;
  row->locked_until = next.integer(PAWL_COLUMN(kPredecessorColumns, locked_until));
  row->sessions_until = next.integer(PAWL_COLUMN(kPredecessorColumns, sessions_until));
  row->boot_seq = next.integer(PAWL_COLUMN(kPredecessorColumns, boot_seq));
  return Status::kOk;
}

Status Workers::check_node(const NewWorker& worker, Evidence& evidence) {
  Predecessor row;
  while (true) {
    PAWL_TRY(next_of_node(worker.node, &row));
    if (row.worker == 0) return Status::kOk;
    Claim claim;
    claim.holder = row.worker;
    claim.lock_visible = row.lock_visible;
    claim.is_own_node = true;
    claim.locked_until = row.locked_until;
    claim.boot_seq = row.boot_seq;
    claim.subject = subtract_saturating(0, row.worker);  // neither a session's key nor 0
    const Gone gone = evidence.gone(claim, context_.batch_worker, batch_.now, batch_.boot_seq);
    if (rules::may_take_node(gone, row.locked_until, worker.lease_ms, batch_.now)) {
      PAWL_TRY(take_node_of_owner(row, claim, evidence));
      continue;
    }
    context_.diagnostic.format(
        "worker_node_id \"%.*s\" is in use by process %" PRId64 " (incarnation %" PRId64 ")",
        static_cast<int>(worker.node.size()), worker.node.data(), row.pid, row.worker);
    return Status::kNodeIdInUse;
  }
}

constexpr auto kNameWorker = PAWL_QUERY("UPDATE workers SET node='~'||inc WHERE inc=?1");

// F13: the node's id is free, but exclusive sessions are not yet. So the former registration keeps
// them, without the id, until its lease is over.
Status Workers::take_node_of_owner(const Predecessor& row, Claim claim, Evidence& evidence) {
  OtherMachines* const others = context_.file.other_machines();
  if (others == nullptr) return Status::kOk;
  claim.is_exclusive = true;
  claim.locked_until = std::max(row.locked_until, row.sessions_until);
  if (evidence.gone(claim, context_.batch_worker, batch_.now, batch_.boot_seq) != Gone::kNo)
    return Status::kOk;
  PAWL_TRY(fail(others->take_node(claim.holder), "take the id of a node"));
  Statement name = connection_.use(kNameWorker);
  name.bind(claim.holder);
  return fail(name.run(), "name a worker");
}

constexpr auto kInsertWorker = PAWL_QUERY(
    "INSERT INTO workers(node,pid,start_time,boot_seq,lock_visible,locked_until,draining,"
    "buried,any_tag,sessions_max,messages_max,message_bytes_max,inc)"
    " VALUES(?1,?2,?3,?4,?5,?6,0,0,?7,?8,?9,?10,?11)");
constexpr auto kInsertHandler =
    PAWL_QUERY("INSERT INTO handlers(name,inc) VALUES(?1,?2) ON CONFLICT DO NOTHING");

Status Workers::insert_worker(const NewWorker& worker, Incarnation* out) {
  rows_.unregistered.start_over();
  {
    Statement insert = connection_.use(kInsertWorker);
    insert.bind_text(worker.node).bind(worker.pid).bind(worker.start_time).bind(batch_.boot_seq);
    insert.bind(worker.lock_visible ? 1 : 0).bind(add_saturating(batch_.now, worker.lease_ms));
    insert.bind(worker.tags.mode == TagFilter::Mode::kAny ? 1 : 0).bind(worker.sessions_max);
    if (worker.mailbox.has_value()) {
      insert.bind(worker.mailbox->messages).bind(worker.mailbox->bytes);
    } else {
      insert.bind_null().bind_null();
    }
    const std::optional<std::int64_t> id = context_.new_id();
    PAWL_TRY(fail(insert.bind_or_null(id).run(), "register a worker"));
    *out = context_.inserted_id(id);
  }
  if (sql::SharedClock* const clock = context_.file.shared_clock()) clock->set_worker(*out);
  rows_.workers.forget_known();
  if (worker.mailbox.has_value()) PAWL_TRY(rows_.place.keep_mailbox_limits(*worker.mailbox));
  if (worker.node.empty()) {
    Statement name = connection_.use(kNameWorker);
    name.bind(*out);
    PAWL_TRY(fail(name.run(), "name a worker"));
  }
  for (std::size_t i = 0; i < worker.handler_count; ++i) {
    Statement insert = connection_.use(kInsertHandler);
    insert.bind_text(worker.handlers[i]).bind(*out);
    PAWL_TRY(fail(insert.run(), "register a handler"));
  }
  return insert_tags(worker.tags, *out);
}

constexpr auto kInsertTag =
    PAWL_QUERY("INSERT INTO worker_tags(inc,tag) VALUES(?1,?2) ON CONFLICT DO NOTHING");

// Untagged work has the empty tag. A worker that serves any tag says so in its row.
Status Workers::insert_tags(const TagFilter& tags, Incarnation worker) {
  const bool untagged = tags.serves({});
  for (std::size_t i = 0; i < tags.count + (untagged ? 1U : 0U); ++i) {
    Statement insert = connection_.use(kInsertTag);
    insert.bind(worker).bind_text(i < tags.count ? tags.set[i].view() : std::string_view());
    PAWL_TRY(fail(insert.run(), "register a tag"));
  }
  return Status::kOk;
}

Status Workers::bury_earlier_boots(Incarnation newcomer, std::string_view node,
                                   const CrashLimits& limits) {
  Predecessor row;
  while (true) {
    PAWL_TRY(next_earlier(&row));
    if (row.worker == 0) return Status::kOk;
    const Incarnation heir = row.node == node ? newcomer : 0;
    PAWL_TRY(bury_worker(row.worker, heir, nullptr, 0, limits));
  }
}

// Finds the worker of this boot that had the node before, for the caller to bury: its notes are in
// its worker file, which the caller reads. Without `former` it is buried here. A caller may have
// left without burying its predecessor, so there may be several; all but the last are buried here.
Status Workers::inherit(const NewWorker& worker, Incarnation newcomer, const CrashLimits& limits) {
  if (worker.former != nullptr) *worker.former = 0;
  if (worker.node.empty()) return Status::kOk;
  Predecessor row;
  while (true) {
    PAWL_TRY(next_of_node(worker.node, &row));
    if (row.worker == 0 || row.worker == newcomer) return Status::kOk;
    if (worker.former == nullptr) {
      PAWL_TRY(bury_worker(row.worker, newcomer, nullptr, 0, limits));
      continue;
    }
    if (*worker.former != 0) PAWL_TRY(bury_worker(*worker.former, newcomer, nullptr, 0, limits));
    *worker.former = row.worker;
  }
}

constexpr auto kReadHeir = PAWL_QUERY("SELECT locked_until FROM workers WHERE inc=?1 AND buried=0");
constexpr auto kFirstSessionOf = PAWL_QUERY(
    "SELECT sid,hard FROM sessions\fINDEXED BY s_owner\r"
    "WHERE owner=?1 AND (?2<>0 OR (hard=0 AND excl=0)) ORDER BY hard,sid LIMIT 1");

Status Workers::hand_sessions_over(Of of, Incarnation from, Incarnation heir,
                                   std::string_view reason, const CrashLimits& limits) {
  OwnerChange change;
  change.reason = reason;
  change.limits = limits;
  if (heir != 0) {
    // The heir's first lease on the sessions is that of its own row; it renews both together.
    Statement read = connection_.use(kReadHeir);
    read.bind(heir);
    if (read.row()) {
      change.to = heir;
      change.lease_ms = rules::lease_left_ms(read.integer(0), batch_.now);
    }
    PAWL_TRY(fail(read.status(), "read the heir"));
  }
  Walk walk;
  while (true) {
    bool hard = false;
    {
      Statement first = connection_.use(kFirstSessionOf);
      first.bind(from).bind(of == Of::kAll ? 1 : 0);
      if (!first.row()) return fail(first.status(), "find a worker's sessions");
      change.session = first.integer(0);
      hard = first.integer(1) != 0;
      if (!walk.rises(first.integer(1), change.session)) return no_progress("sessions");
    }
    PAWL_TRY(hard ? moves_.hand_device_over(change.session, reason)
                  : owners_.change_owner(change, nullptr));
  }
}

constexpr auto kFirstLockOf =
    PAWL_QUERY("SELECT id,sid,state=", sql::number<rules::WorkState::kCancelledRunning>,
               " AS is_cancelled,locked_until FROM worker_queue\fINDEXED BY wq_locked\r"
               "WHERE id>=",
               sql::number<kIndexedWorkFrom>, " AND state IN (",
               sql::number<rules::WorkState::kLocked, rules::WorkState::kCancelledRunning>,
               ") AND inc=?1 AND NOT EXISTS(SELECT 1 FROM sessions s WHERE s.sid=worker_queue.sid"
               " AND s.owner=?1) ORDER BY locked_until,id LIMIT 1");
constexpr auto kFirstAtOnce = PAWL_QUERY(
    "SELECT id FROM worker_queue WHERE id<", sql::number<kIndexedWorkFrom>,
    " AND inc=?1 AND state=", sql::number<rules::WorkState::kLocked>, " ORDER BY id LIMIT 1");

// F8. Work of its exclusive sessions stays with them.
Status Workers::free_soft_of(Incarnation worker, const CrashLimits& limits) {
  PAWL_TRY(hand_sessions_over(Of::kSoft, worker, 0, "gone", limits));
  return free_locks_of(worker, limits);
}

// Frees items without a session, and what is left of cancelled items. The other items went with
// their sessions, or stay with them.
Status Workers::free_locks_of(Incarnation worker, const CrashLimits& limits) {
  PAWL_TRY(free_handed_over_at_once(worker, limits));
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    SessionKey session = 0;
    bool cancelled_running = false;
    {
      Statement first = connection_.use(kFirstLockOf);
      first.bind(worker);
      if (!first.row()) return fail(first.status(), "find a worker's locks");
      item = first.integer(PAWL_COLUMN(kFirstLockOf, id));
      if (!walk.rises(first.integer(PAWL_COLUMN(kFirstLockOf, locked_until)), item))
        return no_progress("worker_queue");
      session = first.integer(PAWL_COLUMN(kFirstLockOf, sid));
      cancelled_running = first.integer(PAWL_COLUMN(kFirstLockOf, is_cancelled)) != 0;
    }
    PAWL_TRY(cancelled_running ? rows_.work.delete_work(item, session)
                               : rows_.work.unlock_work(item, session, false, limits));
  }
}

Status Workers::free_handed_over_at_once(Incarnation worker, const CrashLimits& limits) {
  Walk walk;
  while (true) {
    WorkItemId item = 0;
    {
      Statement first = connection_.use(kFirstAtOnce);
      first.bind(worker);
      if (!first.row()) return fail(first.status(), "find a worker's locks");
      item = first.integer(0);
      if (!walk.rises(item)) return no_progress("worker_queue");
    }
    PAWL_TRY(rows_.work.unlock_work(item, 0, false, limits));
  }
}

constexpr auto kBuryRow = PAWL_QUERY("UPDATE workers SET buried=1 WHERE inc=?1", kTimerMoves);
constexpr auto kDeleteHandlers = PAWL_QUERY("DELETE FROM handlers WHERE inc=?1");
constexpr auto kDeleteTags = PAWL_QUERY("DELETE FROM worker_tags WHERE inc=?1");
constexpr auto kDeleteDeclarations = PAWL_QUERY(
    "DELETE FROM devices WHERE inc=?1 AND sid IN"
    " (SELECT sid FROM devices\fINDEXED BY d_worker\rWHERE inc=?1)");
constexpr auto kPruneBuried = PAWL_QUERY(
    "DELETE FROM workers WHERE buried=1 AND inc<=(SELECT inc FROM workers WHERE buried=1"
    " ORDER BY inc DESC LIMIT 1 OFFSET ?1) AND inc<>?2");

Status Workers::bury_row(Incarnation worker) {
  rows_.workers.forget_known();
  {
    Statement bury = connection_.use(kBuryRow);
    bury.bind(worker);
    PAWL_TRY(fail(bury.run(), "bury a worker"));
  }
  {
    Statement remove = connection_.use(kDeleteHandlers);
    remove.bind(worker);
    PAWL_TRY(fail(remove.run(), "remove handlers"));
  }
  {
    Statement remove = connection_.use(kDeleteTags);
    remove.bind(worker);
    PAWL_TRY(fail(remove.run(), "remove tags"));
  }
  {
    Statement remove = connection_.use(kDeleteDeclarations);
    remove.bind(worker);
    PAWL_TRY(fail(remove.run(), "remove declarations"));
  }
  Statement prune = connection_.use(kPruneBuried);
  prune.bind(kBuriedKept).bind(worker);
  return fail(prune.run(), "prune buried workers");
}

constexpr auto kCountTurnCrash = PAWL_QUERY("UPDATE instances SET crashes=crashes+1 WHERE key=?1");

// The runtime reads the count together with the instance, and fails the instance there.
Status Workers::count_turn_crash(InstanceKey instance) {
  Statement count = connection_.use(kCountTurnCrash);
  count.bind(instance);
  return fail(count.run(), "count a crash of a turn");
}

}  // namespace pawl::store
