#include "store/postgres/store_time.hpp"

#include <algorithm>

#include "core/clock_rules.hpp"
#include "store/postgres/batch_rules.hpp"
#include "store/postgres/fleet_lease_rules.hpp"
#include "store/postgres/node_lock.hpp"

namespace pawl::postgres {
namespace {

// A question that was not asked again for so long was given up, and is none any more.
constexpr std::int64_t kGivenUpMs = 5'000;

// A worker looks at the end of its lease at most so late.
constexpr std::int64_t kLatenessMs = 1'000;

// Anchors of other segments are void, so their nodes have to compare before they count again. Nodes
// of one boot have one clock, and nothing to compare.
constexpr char kReadOthers[] =
    "WITH sibling AS (SELECT k,compared FROM nodes WHERE id<>$1 AND segment=$3 AND boot=$4 "
    "ORDER BY compared DESC LIMIT 1) "
    "SELECT count(*),count(*) FILTER (WHERE request>=$2),coalesce(max(renew_ms),0),"
    "(SELECT k FROM sibling),(SELECT compared FROM sibling) FROM nodes "
    "WHERE id<>$1 AND segment=$3 AND boot<>$4 AND renew_ms>0 AND " PAWL_IS_CONNECTED("nodes.id");

// Says also that this node has no anchor, so that no other one waits for its answer.
constexpr char kAsk[] =
    "WITH asked AS (UPDATE meta SET seq=seq+1,request=$2 WHERE id=1 RETURNING mark),"
    "node AS (INSERT INTO nodes(id,number,committed,at) SELECT $1,0,0,mark FROM asked "
    "ON CONFLICT(id) DO UPDATE SET segment=0) SELECT pg_notify(current_schema()::text,'')";

// After another connection has committed, each commit of this one wakes the others for so long.
constexpr std::int64_t kOthersMs = 60'000;

OptionalMs optional_at(const PGresult* result, int column) {
  return PQgetisnull(result, 0, column) == 0 ? OptionalMs(number_at(result, column)) : OptionalMs();
}

std::int64_t number_of(const port::BootId& boot) {
  std::uint64_t folded = 0;
  for (const std::uint8_t byte : boot.bytes)
    folded = (folded << 8U | folded >> 56U) ^ byte;
  return static_cast<std::int64_t>(folded >> 1U);
}

}  // namespace

const char* const StoreTime::kNameBatch =
    "WITH batch AS (UPDATE meta SET seq=seq+1,adopted=1,mark=greatest(mark,$3),boot_seq=$4,"
    "mark_server_ms=$5,mark_wall_ms=$6,off=$7,off_seq=$8,timeline=$9,moves_held_until=$10,"
    "lease_ms=$11,request=greatest(request,$12) WHERE id=1 RETURNING mark),"
    "node AS (INSERT INTO nodes(id,number,committed,at,inc,renew_ms,boot,k,compared,request,"
    "segment) SELECT $1,$2,$2,mark,$13,$14,$15,$16,$17,$18,$4 FROM batch "
    "ON CONFLICT(id) DO UPDATE SET number=excluded.number,committed=excluded.committed,"
    "at=excluded.at,inc=excluded.inc,renew_ms=excluded.renew_ms,boot=excluded.boot,k=excluded.k,"
    "compared=excluded.compared,request=excluded.request,segment=excluded.segment) "
    "SELECT pg_notify(current_schema()::text,'') WHERE $19<>0";

void StoreTime::set_up(std::int64_t node, const port::BootId& boot, const Terms& terms) {
  node_ = node;
  boot_ = boot.known ? number_of(boot) : node;  // a process without an id is a boot of its own
  terms_ = terms;
  worker_ = 0;
  anchor_.reset();
  batch_.taken.reset();
  request_.reset();
  seen_request_ = answered_request_ = 0;
}

// ---- the anchor ----

// A Client answers no request, so others cannot compare with it. It compares twice as often, which
// keeps it within kApartMs.
bool StoreTime::may_go_on(const std::optional<fleet::TimeAnchor>& anchor, std::int64_t now) const {
  return anchor.has_value() && (is_worker() || !fleet::needs_comparing(*anchor, now));
}

Status StoreTime::prepare(const PGresult* row, std::int64_t timeline) {
  batch_ = Batch();
  batch_.mark = {number_at(row, 2), number_at(row, 3), number_at(row, 4), optional_at(row, 5)};
  batch_.request = seen_request_ = number_at(row, 6);
  batch_.timeline = number_at(row, 7);
  batch_.moves_held_until = optional_at(row, 8);
  batch_.lease_ms = std::max(number_at(row, 9), terms_.lease_ms);
  batch_.server_ms = number_at(row, 10);
  batch_.own_timeline = timeline;
  const std::int64_t now = link_.boot_ms();
  if (request_.has_value() && subtract_saturating(now, request_->asked_boot_ms) > kGivenUpMs)
    request_.reset();
  if (anchor_.has_value() && !fleet::is_good(*anchor_, batch_.mark.segment, now)) anchor_.reset();
  if (anchor_.has_value() && !fleet::needs_comparing(*anchor_, now)) return Status::kOk;
  Others others;
  PAWL_TRY(read_others(&others));
  others_renew_ms_ = others.renew_ms;
  const bool takes_any = is_worker() && !anchor_.has_value();
  if (others.sibling.has_value() &&
      fleet::may_take_sibling(*others.sibling, batch_.mark.segment, now, takes_any)) {
    batch_.taken = fleet::anchor_from_sibling(*others.sibling, anchor_, now);
    return Status::kOk;
  }
  switch (fleet::comparison_step(others.view, now, std::max(terms_.renew_ms, others.renew_ms))) {
    case fleet::ComparisonStep::kBeginSegment: batch_.begins_segment = true; return Status::kOk;
    case fleet::ComparisonStep::kTakeMark:
      batch_.taken = fleet::anchor_from_mark(batch_.mark, anchor_, request_->asked_boot_ms, now);
      return Status::kOk;
    case fleet::ComparisonStep::kAsk: return ask(now);
    case fleet::ComparisonStep::kWait: break;
  }
  return may_go_on(anchor_, now) ? Status::kOk : say_waiting();
}

void StoreTime::saw_others() { others_until_boot_ms_ = link_.boot_ms() + kOthersMs; }

// A loop that has registered has other things to do. Before that, a quarter more than what
// comparison_step() waits for.
std::int64_t StoreTime::patience_ms() const {
  if (is_registered()) return 0;
  return is_worker() ? std::max(terms_.busy_ms_max, others_renew_ms_ / 2 * 3) : terms_.busy_ms_max;
}

Status StoreTime::say_waiting() {
  diagnostic_.format("other nodes have not said yet how they count the time");
  return Status::kBusy;
}

Status StoreTime::read_others(Others* out) {
  PGresult* found = nullptr;
  const std::int64_t number = request_.has_value() ? request_->number : 0;
  PAWL_TRY(link_.ask_about(kReadOthers, {node_, number, batch_.mark.segment, boot_}, &found));
  const std::int64_t asked = number_at(found, 0);
  out->view = {request_, asked > 0, asked == number_at(found, 1)};
  out->renew_ms = number_at(found, 2);
  if (PQgetisnull(found, 0, 3) == 0)
    out->sibling =
        fleet::TimeAnchor{0, number_at(found, 3), batch_.mark.segment, number_at(found, 4)};
  PQclear(found);
  return Status::kOk;
}

// A node that counts asks with the commit of its batch, and goes on.
Status StoreTime::ask(std::int64_t now) {
  const fleet::MarkRequest request = {
      fleet::next_number(add_saturating(batch_.request, 1), batch_.own_timeline),
      request_.has_value() ? request_->first_asked_boot_ms : now, now};
  if (may_go_on(anchor_, now)) {
    batch_.asks = request;
    return Status::kOk;
  }
  PAWL_TRY(link_.ask_about(kAsk, {node_, request.number}, nullptr));
  PAWL_TRY(link_.ask("COMMIT", nullptr));
  request_ = request;
  return say_waiting();
}

// ---- a batch ----

sql::SharedClock::Begun StoreTime::begin(const ClockSample& now, ClockRow* row) {
  Begun begun;
  const std::optional<fleet::TimeAnchor>& from = batch_.taken.has_value() ? batch_.taken : anchor_;
  fleet::TimedBatch batch;
  batch.sent_boot_ms = batch.compared_boot_ms = now.boot_ms;
  if (from.has_value()) {
    batch.count_ms = fleet::own_count(*from, now.boot_ms);
    batch.compared_boot_ms = from->compared_boot_ms;
  }
  batch_.trusted_wall_ms.clear();
  if (wall_trusted(now)) batch_.trusted_wall_ms = now.wall_ms;
  std::int64_t time_ms = fleet::batch_time(batch_.mark.store_ms, batch.count_ms);
  std::int64_t segment = batch_.mark.segment;
  if (batch_.begins_segment) {
    const fleet::NewSegment made = fleet::begin_segment(batch_.mark, batch.count_ms,
                                                        {batch_.server_ms, batch_.trusted_wall_ms});
    begun = {!batch.count_ms.has_value(), made.refused, made.credit_ms};
    segment = fleet::next_number(add_saturating(segment, 1), batch_.own_timeline);
    time_ms = made.store_ms;
    batch.compared_boot_ms = now.boot_ms;
  }
  batch_.has_count = batch.count_ms.has_value();
  const fleet::TimeAnchor next = fleet::anchor_after(batch, time_ms, segment, now.boot_ms);
  const bool is_new_timeline = batch_.timeline != 0 && batch_.own_timeline > batch_.timeline;
  batch_.moves_held_until =
      fleet::moves_held_until(batch_.moves_held_until, is_new_timeline, time_ms, batch_.lease_ms);
  if (batch_.taken.has_value() || batch_.begins_segment) {
    batch_.taken = next;
  } else {
    anchor_ = next;
  }
  row->boot_id = port::BootId();
  row->boot_seq = segment;
  row->k = subtract_saturating(time_ms, now.boot_ms);
  row->adopted = true;
  batch_.clock = *row;
  batch_.time_ms = time_ms;
  batch_.sent_boot_ms = now.boot_ms;
  return begun;
}

void StoreTime::count(ClockRow* row) {
  const std::int64_t now = link_.boot_ms();
  const bool counts = anchor_.has_value() && fleet::is_good(*anchor_, row->boot_seq, now);
  const std::int64_t store_ms = counts ? fleet::own_count(*anchor_, now) : row->mark;
  row->boot_id = port::BootId();
  row->k = subtract_saturating(store_ms, now);
}

std::int64_t StoreTime::own_lease_end(std::int64_t lease_ms) const {
  return fleet::own_lease_end(batch_.sent_boot_ms, {lease_ms, kLatenessMs});
}

Status StoreTime::commit(const char* name, std::int64_t number) {
  const fleet::TimeAnchor& anchor = batch_.taken.has_value() ? *batch_.taken : *anchor_;
  const auto optional = [](OptionalMs ms) {
    return ms.has_value() ? std::optional<std::int64_t>(ms.value()) : std::nullopt;
  };
  const bool has_others =
      others_until_boot_ms_.has_value() && !others_until_boot_ms_.has_passed(link_.boot_ms());
  const bool wakes_others = has_others || batch_.asks.has_value();
  const std::optional<std::int64_t> off =
      batch_.clock.off_known ? std::optional<std::int64_t>(batch_.clock.off) : std::nullopt;
  const std::optional<std::int64_t> worker =
      worker_ != 0 ? std::optional<std::int64_t>(worker_) : std::nullopt;
  return link_.commit(
      name, {node_, number, batch_.time_ms, anchor.segment, batch_.server_ms,
             optional(batch_.trusted_wall_ms), off, batch_.clock.off_seq, batch_.own_timeline,
             optional(batch_.moves_held_until), batch_.lease_ms,
             batch_.asks.has_value() ? batch_.asks->number : 0, worker, terms_.renew_ms, boot_,
             subtract_saturating(anchor.store_ms, anchor.boot_ms), anchor.compared_boot_ms,
             batch_.has_count ? batch_.request : 0, wakes_others ? 1 : 0});
}

void StoreTime::committed() {
  if (batch_.taken.has_value()) {
    anchor_ = batch_.taken;
    request_.reset();
  }
  if (batch_.asks.has_value()) request_ = batch_.asks;
  if (batch_.has_count) answered_request_ = batch_.request;
  batch_.taken.reset();
  batch_.asks.reset();
}

}  // namespace pawl::postgres
