#include "device_table.hpp"

#include "clock_rules.hpp"

namespace pawl::store {

constexpr auto kReadHolderText = sql::join(
    "SELECT d.inc,d.role,w.node,w.pid,coalesce(w.buried<>0,1),coalesce(w.lock_visible=1,0),"
    "w.locked_until,w.boot_seq FROM devices d LEFT JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND d.role<>",
    sql::number<session::Role::kStandby>, " LIMIT 1");
constexpr sql::Query kReadHolder{kReadHolderText};

// Reads the holder, living or dead; worker 0: none.
Status DeviceTable::read_holder(SessionKey session, Declaration* out) {
  *out = Declaration();
  Statement read = connection_.use(kReadHolder);
  read.bind(session);
  if (!read.row()) return fail(read.status(), "read a declaration");
  out->worker = read.integer(0);
  out->role = session::role_of(read.integer(1));
  out->node.assign_cut(read.bytes(2));
  out->pid = read.integer(3);
  out->claim.holder = out->worker;
  out->claim.buried = read.integer(4) != 0;
  out->claim.lock_visible = read.integer(5) != 0;
  out->claim.locked_until = read.integer(6);
  out->claim.boot_seq = read.integer(7);
  out->claim.subject = subtract_saturating(0, out->worker);  // neither a session's key nor 0
  return Status::kOk;
}

constexpr sql::Query kReadRole{"SELECT role FROM devices WHERE sid=?1 AND inc=?2"};

Status DeviceTable::read_role(SessionKey session, Incarnation worker, session::Role* role) {
  Statement read = connection_.use(kReadRole);
  read.bind(session).bind(worker);
  if (!read.row())
    return read.status() == Status::kOk ? Status::kNotFound : fail(read.status(), "read a role");
  *role = session::role_of(read.integer(0));
  return Status::kOk;
}

constexpr sql::Query kPutDeclaration{
    "INSERT INTO devices(sid,inc,role) VALUES(?1,?2,?3) "
    "ON CONFLICT(sid,inc) DO UPDATE SET role=excluded.role"};

Status DeviceTable::put_declaration(SessionKey session, Incarnation worker, session::Role role) {
  Statement put = connection_.use(kPutDeclaration);
  put.bind(session).bind(worker).bind(static_cast<std::int64_t>(role));
  return fail(put.run(), "declare a device");
}

constexpr sql::Query kDropDeclaration{"DELETE FROM devices WHERE sid=?1 AND inc=?2"};

Status DeviceTable::drop_declaration(SessionKey session, Incarnation worker) {
  Statement drop = connection_.use(kDropDeclaration);
  drop.bind(session).bind(worker);
  return fail(drop.run(), "withdraw a device");
}

constexpr auto kFirstStandbyText = sql::join(
    "SELECT d.inc FROM devices d JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND d.role=",
    sql::number<session::Role::kStandby>,
    " AND w.buried=0 AND w.draining=0 ORDER BY d.inc LIMIT 1");
constexpr sql::Query kFirstStandby{kFirstStandbyText};

Status DeviceTable::first_standby(SessionKey session, std::optional<Incarnation>* worker) {
  Statement first = connection_.use(kFirstStandby);
  first.bind(session);
  worker->reset();
  if (first.row()) *worker = first.integer(0);
  return fail(first.status(), "find a standby");
}

constexpr sql::Query kHasDeclarer{
    "SELECT EXISTS(SELECT 1 FROM devices d JOIN workers w ON w.inc=d.inc"
    " WHERE d.sid=?1 AND w.buried=0)"};

Status DeviceTable::has_declarer(SessionKey session, bool* found) {
  Statement find = connection_.use(kHasDeclarer);
  find.bind(session);
  if (!find.row()) return fail(find.status(), "find a declaration");
  *found = find.integer(0) != 0;
  return Status::kOk;
}

}  // namespace pawl::store
