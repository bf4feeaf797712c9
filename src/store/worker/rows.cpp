#include "store/worker/rows.hpp"

namespace pawl::store {
constexpr auto kNodeOf = PAWL_QUERY("SELECT node FROM workers WHERE inc=?1");

Status WorkerRows::node_of(Incarnation worker, FixedText<kNameBytesMax>* node) {
  Statement read = connection_.use(kNodeOf);
  read.bind(worker);
  if (read.row()) node->assign_cut(read.bytes(0));
  return fail(read.status(), "read a worker");
}

constexpr auto kHandlerElsewhere = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM handlers h JOIN workers w ON w.inc=h.inc"
    " WHERE h.name=?1 AND h.inc<>?2 AND w.buried=0 AND (w.draining=0 OR ?3=0)"
    " AND (w.any_tag<>0 OR EXISTS(SELECT 1 FROM worker_tags t WHERE t.inc=h.inc AND t.tag=?4)))");

Status WorkerRows::handler_elsewhere(std::string_view activity, std::string_view tag,
                                     Incarnation me, bool to_claim, bool* found) {
  // A draining worker claims no session.
  Statement find = connection_.use(kHandlerElsewhere);
  find.bind_text(activity).bind(me).bind(to_claim ? 1 : 0).bind_text(tag);
  if (!find.row()) return fail(find.status(), "find a handler");
  *found = find.integer(0) != 0;
  return Status::kOk;
}

constexpr auto kRoomElsewhere = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM workers w\fINDEXED BY w_living\rWHERE w.buried=0 AND w.inc<>?2"
    " AND w.draining=0 AND EXISTS(SELECT 1 FROM handlers h WHERE h.name=?1 AND h.inc=w.inc)"
    " AND (w.any_tag<>0 OR EXISTS(SELECT 1 FROM worker_tags t WHERE t.inc=w.inc AND t.tag=?3))"
    " AND w.sessions_max>(SELECT count(*) FROM sessions s\fINDEXED BY s_owner\r"
    "WHERE s.owner=w.inc AND s.hard=0))");

Status WorkerRows::room_elsewhere(std::string_view activity, std::string_view tag, Incarnation me,
                                  bool* found) {
  Statement find = connection_.use(kRoomElsewhere);
  find.bind_text(activity).bind(me).bind_text(tag);
  if (!find.row()) return fail(find.status(), "find a worker with room");
  *found = find.integer(0) != 0;
  return Status::kOk;
}

constexpr auto kFindNode = PAWL_QUERY(
    "SELECT inc FROM workers\fINDEXED BY w_living\rWHERE buried=0 AND "
    "node=?1 ORDER BY inc DESC LIMIT 1");

Status WorkerRows::living_worker(std::string_view node, Incarnation* worker) {
  Statement find = connection_.use(kFindNode);
  find.bind_text(node);
  if (!find.row()) return no_row(find, Status::kNotFound, "find a worker");
  *worker = find.integer(0);
  return Status::kOk;
}

constexpr auto kFindWorker = PAWL_QUERY("SELECT buried FROM workers WHERE inc=?");

Status WorkerRows::is_buried(Incarnation worker, bool* buried) {
  Statement row = connection_.use(kFindWorker);
  *buried = !row.bind(worker).row() || row.integer(0) != 0;
  return fail(row.status(), "workers");
}

constexpr auto kCheckWorker = PAWL_QUERY("SELECT buried,draining FROM workers WHERE inc=?");

Status WorkerRows::check_worker(Incarnation me) {
  if (known_worker_ == me) {
    batch_.draining = known_draining_;
    return Status::kOk;
  }
  Statement row = connection_.use(kCheckWorker);
  if (row.bind(me).row() && row.integer(0) == 0) {
    known_worker_ = me;
    known_draining_ = row.integer(1) != 0;
    batch_.draining = known_draining_;
    return Status::kOk;
  }
  if (row.status() != Status::kOk) return fail(row.status(), "workers");
  context_.diagnostic.format("worker incarnation %lld was buried", static_cast<long long>(me));
  return Status::kBuried;
}

// A damaged limit in a row is ignored.
constexpr auto kMailboxLimits = PAWL_QUERY(
    "SELECT (SELECT CAST(min(messages_max) AS BIGINT) FROM workers\fINDEXED BY w_living\r"
    "WHERE buried=0 AND messages_max BETWEEN 1 AND 1048576),"
    "(SELECT CAST(min(message_bytes_max) AS BIGINT) FROM workers\fINDEXED BY w_living\r"
    "WHERE buried=0 AND message_bytes_max BETWEEN 1 AND 1099511627776)");

Status WorkerRows::mailbox_limits(MailboxLimits* out) {
  if (!known_limits_.has_value()) {
    Statement row = connection_.use(kMailboxLimits);
    if (!row.row()) return fail(row.status(), "read the limits of waiting messages");
    known_limits_ = context_.last_mailbox;
    if (!row.is_null(0)) known_limits_->messages = row.integer(0);
    if (!row.is_null(1)) known_limits_->bytes = row.integer(1);
  }
  *out = *known_limits_;
  return Status::kOk;
}

}  // namespace pawl::store
