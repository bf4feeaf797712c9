#include "store/postgres/other_workers.hpp"

#include "core/clock_rules.hpp"
#include "store/postgres/fleet_lease_rules.hpp"
#include "store/postgres/node_lock.hpp"

namespace pawl::postgres {
namespace {

constexpr char kIsConnected[] =
    "SELECT EXISTS(SELECT 1 FROM nodes n WHERE n.inc=$1 AND " PAWL_IS_CONNECTED("n.id") ")::int";
constexpr char kReadLiving[] =
    "SELECT w.inc,EXISTS(SELECT 1 FROM nodes n WHERE n.inc=w.inc AND " PAWL_IS_CONNECTED(
        "n.id") ")::int,max(w.locked_until,w.sessions_until),"
                "EXISTS(SELECT 1 FROM worker_queue)::int,w.boot_seq FROM workers w "
                "WHERE w.buried=0 AND w.inc<>$1 ORDER BY w.inc";

constexpr char kFindConnection[] =
    "SELECT coalesce(host(a.client_addr),'') FROM nodes n JOIN pg_stat_activity a ON a.pid IN("
    "SELECT l.pid FROM " PAWL_NODE_LOCKS("n.id") ") WHERE n.inc=$1";

constexpr char kTakeNode[] = "UPDATE nodes SET inc=NULL WHERE inc=$1";

bool has_graced(std::int64_t since_boot_ms, std::int64_t boot_ms) {
  return fleet::may_take_node_id({false, since_boot_ms}, boot_ms);
}

}  // namespace

Gone OtherWorkers::judge(const Claim& claim, bool is_proved_dead, std::int64_t now) {
  fleet::OwnerView owner;
  owner.is_proved_dead = is_proved_dead;
  owner.locked_until_ms = claim.locked_until;
  if (!is_proved_dead) {
    PGresult* found = nullptr;
    if (link_.ask_about(kIsConnected, {claim.holder}, &found) != Status::kOk) return Gone::kNo;
    const GoneConnection* const gone = note(claim.holder, number_at(found, 0) != 0);
    PQclear(found);
    if (gone != nullptr) owner.connection_free_since_boot_ms = gone->since_boot_ms;
  }
  const std::int64_t boot_ms = link_.boot_ms();
  const fleet::TakeoverTime time = {now, boot_ms, time_.moves_held_until()};
  if (!fleet::may_become_owner(claim.is_exclusive, owner, time)) return Gone::kNo;
  const OptionalMs since = owner.connection_free_since_boot_ms;
  const bool is_gone = is_proved_dead || (since.has_value() && has_graced(since.value(), boot_ms));
  return is_gone ? Gone::kProof : Gone::kSuspicion;
}

Status OtherWorkers::find_connection(Incarnation worker, Connected* out) {
  *out = Connected();
  PGresult* found = nullptr;
  PAWL_TRY(link_.ask_about(kFindConnection, {worker}, &found));
  out->is_connected = PQntuples(found) > 0;
  if (out->is_connected) out->address.assign_cut(PQgetvalue(found, 0, 0));
  PQclear(found);
  return Status::kOk;
}

Status OtherWorkers::take_node(Incarnation worker) {
  return link_.ask_about(kTakeNode, {worker}, nullptr);
}

OtherMachines::Look OtherWorkers::look(Incarnation me, std::int64_t now) {
  Look seen;
  is_watching_ = false;
  PGresult* living = nullptr;
  if (link_.ask_about(kReadLiving, {me}, &living) != Status::kOk) return seen;
  for (int row = 0; row < PQntuples(living); ++row) {
    if (is_here(number_at(living, 0, row), number_at(living, 4, row))) continue;
    seen.has_others = true;
    seen.has_work = number_at(living, 3, row) != 0;
    GoneConnection* const gone = note(number_at(living, 0, row), number_at(living, 1, row) != 0);
    if (gone == nullptr) continue;
    if (!has_graced(gone->since_boot_ms, link_.boot_ms())) {
      is_watching_ = true;
      continue;
    }
    seen.has_gone = seen.has_gone || !gone->was_reported || number_at(living, 2, row) <= now;
    gone->was_reported = true;
  }
  forget_unknown(living);
  PQclear(living);
  return seen;
}

// The kernel reports its death, so nothing has to be looked at.
bool OtherWorkers::is_here(Incarnation worker, std::int64_t boot) const {
  return boot == time_.boot_number() && has_file_here(*storage_, path_, worker);
}

// Null: it is there, or too many are gone.
OtherWorkers::GoneConnection* OtherWorkers::note(Incarnation worker, bool is_connected) {
  for (std::size_t i = 0; i < gone_.size(); ++i) {
    if (gone_[i].worker != worker) continue;
    if (!is_connected) return &gone_[i];
    gone_.erase_at(i);
    return nullptr;
  }
  if (is_connected || gone_.full()) return nullptr;
  is_watching_ = true;
  static_cast<void>(gone_.push_back({worker, link_.boot_ms(), false}));
  return &gone_[gone_.size() - 1];
}

void OtherWorkers::forget_unknown(const PGresult* living) {
  for (std::size_t i = gone_.size(); i-- > 0;) {
    bool is_living = false;
    for (int row = 0; row < PQntuples(living) && !is_living; ++row)
      is_living = number_at(living, 0, row) == gone_[i].worker;
    if (!is_living) gone_.erase_at(i);
  }
}

}  // namespace pawl::postgres
