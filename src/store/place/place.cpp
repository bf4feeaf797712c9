#include "store/place/place.hpp"

#include <cstddef>

#include "core/clock_rules.hpp"
#include "pawl/port.hpp"

namespace pawl::store {
namespace {

// A wall clock that moved less than this against boot time drifted; one that moved further was set.
constexpr std::int64_t kStepMs = 1000;
constexpr LockToken kTokensAhead = 1'000;
constexpr std::size_t kBootIdBytes = sizeof(port::BootId::bytes);

std::string_view bytes_of(const port::BootId& id) {
  return {reinterpret_cast<const char*>(id.bytes), kBootIdBytes};
}

ClockSample sample_of(port::Clock& clock) {
  ClockSample sample;
  sample.boot_ms = clock.boot_ms();
  sample.wall_ms = clock.wall_ms();
  sample.synced = clock.synced();
  sample.boot_id = clock.boot_id();
  return sample;
}

// How long starts are persisted first after a crash in a first turn of which nothing was stored.
constexpr std::int64_t kPersistStartsFirstMs = 3'600'000;

}  // namespace

// Applies T1 and T3, and sets what the batch sees. The sample is taken now, with the lock held: an
// older one could lie before a mark of another process.
Status Place::start_clock() {
  if (meta_is_known_) {
    context_.next = context_.committed;  // a batch that wrote nothing took numbers that no row has
  } else {
    PAWL_TRY(read_meta(&context_.clock));
  }
  const ClockSample sample = sample_of(*context_.file.port().clock);
  PAWL_TRY(shared_ == nullptr ? adopt_boot(sample) : begin_shared(sample));
  clock_now_ = context_.clock;
  PAWL_TRY(sync_clock(sample));
  batch_.now = pawl_time(context_.clock, sample.boot_ms);
  batch_.stamp_ms = stamp(context_.clock, sample).utc_ms;
  batch_.segment = context_.clock.boot_seq;
  batch_.boot_seq = shared_ == nullptr ? batch_.segment : shared_->boot_number();
  if (shared_ != nullptr) {
    const OptionalMs held_until = shared_->moves_held_until();
    batch_.moves_are_held = held_until.has_value() && !held_until.has_passed(batch_.now);
  }
  batch_.clock_confirmed =
      context_.clock.off_known && context_.clock.off_seq == context_.clock.boot_seq;
  batch_.utc_known = context_.clock.off_known;
  batch_.utc_ms = context_.clock.off_known ? add_saturating(batch_.now, context_.clock.off) : 0;
  batch_.persist_starts_first = batch_.now < persist_starts_until_;
  return Status::kOk;
}

// Reads the row, which also shows a sync that another process made.
Status Place::refresh_clock() {
  if (meta_is_known_) return Status::kOk;
  ClockRow row;
  PAWL_TRY(read_meta(&row));
  // A row of an earlier boot means that our adoption of this boot was rolled back.
  if (row.boot_seq >= context_.clock.boot_seq) {
    context_.clock = row;
  } else {
    meta_is_known_ = false;  // context_.clock is not what the row says
  }
  return Status::kOk;
}

Status Place::write_mark() {
  if (needs_mark(context_.clock, batch_.now)) {
    context_.clock = mark(clock_now_, batch_.now);
    PAWL_TRY(write_meta());
  }
  if (shared_ != nullptr) shared_->keep(context_.clock);
  return store_counters();
}

std::int64_t Place::pawl_now() {
  return pawl_time(context_.clock, context_.file.port().clock->boot_ms());
}

std::int64_t Place::own_lease_end(std::int64_t lease_ms) const {
  return shared_ == nullptr ? boot_ms_of(add_saturating(batch_.now, lease_ms))
                            : shared_->own_lease_end(lease_ms);
}

std::int64_t Place::boot_ms_of(std::int64_t pawl_time) const {
  return boot_time(context_.clock, pawl_time);
}

constexpr auto kKeepMailboxLimits =
    PAWL_QUERY("UPDATE meta SET messages_max=?1,message_bytes_max=?2 WHERE id=1");

Status Place::keep_mailbox_limits(const MailboxLimits& limits) {
  MailboxLimits& last = context_.last_mailbox;
  if (last.messages == limits.messages && last.bytes == limits.bytes) return Status::kOk;
  Statement keep = connection_.use(kKeepMailboxLimits);
  keep.bind(limits.messages).bind(limits.bytes);
  PAWL_TRY(fail(keep.run(), "keep the limits of waiting messages"));
  last = limits;
  return Status::kOk;
}

constexpr auto kPersistStartsFirst =
    PAWL_QUERY("UPDATE meta SET persist_starts_until=?1 WHERE id=1");

Status Place::require_persisted_starts() {
  meta_is_known_ = false;
  Statement keep = connection_.use(kPersistStartsFirst);
  keep.bind(add_saturating(batch_.now, kPersistStartsFirstMs));
  return fail(keep.run(), "require persisted starts");
}

void Place::forget_meta() { meta_is_known_ = false; }

constexpr auto kReadMeta = PAWL_QUERY(
    "SELECT boot_id,boot_seq,k,mark,off,off_seq,adopted,persist_starts_until,next_epoch,next_token,"
    "quota,reserve,log_max,messages_max,message_bytes_max FROM meta WHERE id=1");

Status Place::read_meta(ClockRow* out) {
  Statement row = connection_.use(kReadMeta);
  if (!row.row()) return no_row(row, Status::kCorrupt, "meta");
  PAWL_TRY(check_meta(row));
  *out = ClockRow();
  const std::string_view id = row.bytes(PAWL_COLUMN(kReadMeta, boot_id));
  out->boot_id.known = id.size() == kBootIdBytes;
  for (std::size_t i = 0; out->boot_id.known && i < kBootIdBytes; ++i)
    out->boot_id.bytes[i] = static_cast<std::uint8_t>(id[i]);
  out->boot_seq = row.integer(PAWL_COLUMN(kReadMeta, boot_seq));
  out->k = row.integer(PAWL_COLUMN(kReadMeta, k));
  out->mark = row.integer(PAWL_COLUMN(kReadMeta, mark));
  out->off_known = !row.is_null(PAWL_COLUMN(kReadMeta, off));
  out->off = row.integer(PAWL_COLUMN(kReadMeta, off));
  out->off_seq = row.integer(PAWL_COLUMN(kReadMeta, off_seq));
  out->adopted = row.integer(PAWL_COLUMN(kReadMeta, adopted)) != 0;
  persist_starts_until_ = row.integer(PAWL_COLUMN(kReadMeta, persist_starts_until));
  context_.stored = {row.integer(PAWL_COLUMN(kReadMeta, next_epoch)),
                     row.integer(PAWL_COLUMN(kReadMeta, next_token))};
  context_.next = {context_.file.next_number(context_.stored.epoch),
                   context_.file.next_number(context_.stored.token)};
  context_.committed = context_.next;
  context_.quota_bytes = row.integer(PAWL_COLUMN(kReadMeta, quota));
  context_.reserve_bytes = row.integer(PAWL_COLUMN(kReadMeta, reserve));
  context_.log_max_bytes = row.integer(PAWL_COLUMN(kReadMeta, log_max));
  context_.last_mailbox = {row.integer(PAWL_COLUMN(kReadMeta, messages_max)),
                           row.integer(PAWL_COLUMN(kReadMeta, message_bytes_max))};
  if (shared_ != nullptr) shared_->count(out);
  meta_is_known_ = true;
  return Status::kOk;
}

// Everything depends on these numbers. Within their ranges no sum of them overflows.
Status Place::check_meta(const Statement& row) {
  constexpr std::int64_t kTimeMax = std::int64_t{1} << 53;  // 285,000 years
  constexpr std::int64_t kCountMax = std::int64_t{1} << 62;
  struct Range {
    const char* name;
    std::int64_t least;
    std::int64_t most;
    int column;
    bool may_be_null;
  };
  constexpr Range kRanges[] = {
      {"boot_seq", 0, kCountMax, PAWL_COLUMN(kReadMeta, boot_seq), false},
      {"k", -kTimeMax, kTimeMax, PAWL_COLUMN(kReadMeta, k), false},
      {"mark", 0, kTimeMax, PAWL_COLUMN(kReadMeta, mark), false},
      {"off", -kTimeMax, kTimeMax, PAWL_COLUMN(kReadMeta, off), true},
      {"off_seq", -1, kCountMax, PAWL_COLUMN(kReadMeta, off_seq), false},
      {"adopted", 0, 1, PAWL_COLUMN(kReadMeta, adopted), false},
      {"persist_starts_until", 0, kTimeMax, PAWL_COLUMN(kReadMeta, persist_starts_until), false},
      {"next_epoch", 1, kCountMax, PAWL_COLUMN(kReadMeta, next_epoch), false},
      {"next_token", 1, kCountMax, PAWL_COLUMN(kReadMeta, next_token), false},
      {"quota", 0, kCountMax, PAWL_COLUMN(kReadMeta, quota), false},
      {"reserve", 0, kCountMax, PAWL_COLUMN(kReadMeta, reserve), false},
      {"messages_max", 0, kCountMax, PAWL_COLUMN(kReadMeta, messages_max), false},
      {"message_bytes_max", 0, kCountMax, PAWL_COLUMN(kReadMeta, message_bytes_max), false},
  };
  for (const Range& range : kRanges) {
    if (range.may_be_null && row.is_null(range.column)) continue;
    bool whole = !row.is_null(range.column);
    const std::int64_t number = row.integer(range.column, &whole);
    if (whole && number >= range.least && number <= range.most) continue;
    connection_.diagnostic().format("meta.%s is damaged: no number from %lld to %lld", range.name,
                                    static_cast<long long>(range.least),
                                    static_cast<long long>(range.most));
    return fail(Status::kCorrupt, "meta");
  }
  return Status::kOk;
}

constexpr auto kWriteMeta = PAWL_QUERY(
    "UPDATE meta SET boot_id=?,boot_seq=?,k=?,mark=?,off=?,off_seq=?,adopted=? WHERE id=1",
    kTimerMoves);

Status Place::write_meta() {
  if (shared_ != nullptr) {  // its commit writes the clock
    connection_.add_marks(kTimerMoves);
    return Status::kOk;
  }
  Statement statement = connection_.use(kWriteMeta);
  const port::BootId& boot = context_.clock.boot_id;
  statement.bind_blob_or_null(boot.known ? bytes_of(boot) : std::string_view());
  statement.bind(context_.clock.boot_seq).bind(context_.clock.k).bind(context_.clock.mark);
  if (context_.clock.off_known) {
    statement.bind(context_.clock.off);
  } else {
    statement.bind_null();
  }
  return fail(statement.bind(context_.clock.off_seq).bind(context_.clock.adopted ? 1 : 0).run(),
              "meta");
}

Status Place::carry_clock(Place& to) {
  ClockRow row;
  PAWL_TRY(read_meta(&row));
  const ClockSample sample = sample_of(*context_.file.port().clock);
  row = leave(row, sample);
  if (to.shared_ != nullptr) return to.fail(to.context_.file.count_on(row), "meta");
  to.context_.clock = adopt_moved(row, shared_ != nullptr, sample);
  return to.write_meta();
}

constexpr auto kStoreCounters = PAWL_QUERY("UPDATE meta SET next_epoch=?,next_token=? WHERE id=1");

// No other connection can take from the counters while the batch has the write lock; therefore they
// are written once, for all that a batch took. Numbers taken by a batch that wrote nothing are
// in no row, and may be taken again. Tokens are stored ahead, so that not every commit writes them.
// Once another connection has committed, both counters go on from the row; therefore numbers
// that are taken later are higher, whichever worker takes them.
Status Place::store_counters() {
  if (context_.next.epoch == context_.stored.epoch && context_.next.token <= context_.stored.token)
    return Status::kOk;
  const StoreContext::Counters ahead = {context_.next.epoch,
                                        context_.next.token <= context_.stored.token
                                            ? context_.stored.token
                                            : context_.next.token + kTokensAhead};
  PAWL_TRY(
      fail(connection_.use(kStoreCounters).bind(ahead.epoch).bind(ahead.token).run(), "counters"));
  context_.stored = ahead;
  return Status::kOk;
}

Status Place::adopt_boot(const ClockSample& sample) {
  const AdoptResult result = adopt(context_.clock, sample);
  if (result.kind == Adoption::kNone) return Status::kOk;
  context_.clock = result.row;
  PAWL_TRY(write_meta());
  if (result.kind == Adoption::kSameBoot) return Status::kOk;
  batch_.clock_adopted = true;
  return note_clock("adopted", sample,
                    static_cast<std::int64_t>(stamp(context_.clock, sample).quality));
}

// F4b, F5b. What was counted without a gap is no news.
Status Place::begin_shared(const ClockSample& sample) {
  const std::int64_t segment_before = context_.clock.boot_seq;
  const sql::SharedClock::Begun begun = shared_->begin(sample, &context_.clock);
  if (!begun.adopted) return Status::kOk;
  batch_.clock_adopted = true;
  PAWL_TRY(note_clock("adopted", sample,
                      static_cast<std::int64_t>(stamp(context_.clock, sample).quality)));
  if (begun.refused) return note_clock("refused", sample, 0);
  return begun.credit_ms > 0 ? credit(begun.credit_ms, segment_before, sample) : Status::kOk;
}

constexpr auto kCredit = PAWL_QUERY(
    "UPDATE orchestrator_queue\fINDEXED BY oq_due\rSET due=due-?1 "
    "WHERE base=",
    sql::number<TimeBase::kPawl>, " AND due IS NOT NULL AND due<9223372036854775807 AND seg<=?2",
    kTimerMoves);

constexpr auto kCreditTimers = PAWL_QUERY(
    "UPDATE instances\fINDEXED BY i_timer\rSET timer_due=timer_due-?1 WHERE timer_base=",
    sql::number<TimeBase::kPawl>,
    " AND timer_due IS NOT NULL AND timer_due<9223372036854775807 AND timer_seg<=?2", kTimerMoves);

constexpr auto kCreditLimits = PAWL_QUERY(
    "UPDATE instances\fINDEXED BY i_limit\rSET limit_due=limit_due-?1 WHERE limit_due IS NOT NULL "
    "AND limit_due<9223372036854775807 AND limit_seg<=?2",
    kLimitMoves);

Status Place::sync_clock(const ClockSample& sample) {
  const SyncResult result = sync(context_.clock, sample, SyncLimits());
  if (!result.changed) return Status::kOk;
  const bool confirmed =
      !context_.clock.off_known || context_.clock.off_seq != context_.clock.boot_seq;
  const bool stepped = result.step >= kStepMs || result.step <= -kStepMs;
  if (!confirmed && !stepped) {
    // A drift of a few ms is no reason to write; the next mark stores it.
    clock_now_ = result.row;
    return Status::kOk;
  }
  context_.clock = result.row;
  clock_now_ = context_.clock;
  PAWL_TRY(write_meta());
  if (stepped) return note_clock("stepped", sample, result.step);
  batch_.clock_synced = true;
  PAWL_TRY(note_clock("synced", sample, result.gap));
  if (shared_ != nullptr) return Status::kOk;  // its segments have the credit of a gap
  if (result.refused) return note_clock("refused", sample, result.gap);
  return result.credited ? credit(result.gap, result.credit_seg_max, sample) : Status::kOk;
}

// Makes timers due earlier by a gap, if they were made in these boots or segments.
Status Place::credit(std::int64_t gap_ms, std::int64_t segment_max, const ClockSample& sample) {
  batch_.clock_credit_ms = gap_ms;
  PAWL_TRY(note_clock("credited", sample, gap_ms));
  // Due times that mean "never" stay unchanged.
  for (const sql::QueryRef credit :
       {sql::QueryRef(kCredit), sql::QueryRef(kCreditTimers), sql::QueryRef(kCreditLimits)})
    PAWL_TRY(fail(connection_.use(credit).bind(gap_ms).bind(segment_max).run(), "credit"));
  return Status::kOk;
}

constexpr auto kNoteClock = PAWL_QUERY(
    "INSERT INTO clock_ring(slot,seq,kind,boot_seq,at,wall_stamp,"
    "detail) SELECT n%64,n,?1,?2,?3,?4,?5 FROM "
    "(SELECT coalesce(max(seq),0)+1 AS n FROM clock_ring) AS newest WHERE true "
    "ON CONFLICT(slot) DO UPDATE SET seq=excluded.seq,kind=excluded.kind,"
    "boot_seq=excluded.boot_seq,at=excluded.at,wall_stamp=excluded.wall_stamp,"
    "detail=excluded.detail");

// Keeps the last 64 changes of the clock, for people.
Status Place::note_clock(std::string_view kind, const ClockSample& sample, std::int64_t detail) {
  return fail(connection_.use(kNoteClock)
                  .bind_text(kind)
                  .bind(context_.clock.boot_seq)
                  .bind(pawl_time(context_.clock, sample.boot_ms))
                  .bind(sample.wall_ms)
                  .bind(detail)
                  .run(),
              "clock_ring");
}

}  // namespace pawl::store
