#include "store/postgres/postgres_database.hpp"

#include <poll.h>

#include <algorithm>
#include <cinttypes>
#include <limits>

#include "store/postgres/node_lock.hpp"

namespace pawl::postgres {
namespace {

// An answer that takes longer counts as lost, beside the time for which a statement may wait for
// the lock. A loop has other things to do: it loses the connection sooner, unless the answer is
// that of a commit, for which it does not wait. Opening makes tables and builds indices, so it
// waits as a client does.
constexpr std::int64_t kAnswerMsMax = 10'000;
constexpr std::int64_t kLoopAnswerMsMax = 2'000;

// A loop waits no longer at once for a server that it tries to reach.
constexpr std::int64_t kLoopConnectMsMax = 200;

// After so long a wait for the lock, and after each further one, its holder is looked at (F16).
constexpr std::int64_t kLockSliceMs = 500;

constexpr int kTryPauseMs = 50;  // between tries to connect

// The greatest wait for the lock.
constexpr std::int64_t kLockMsMax = std::numeric_limits<std::int32_t>::max();

constexpr char kCountOthers[] = "SELECT count(*) FROM nodes WHERE " PAWL_IS_CONNECTED("nodes.id");

// For a move. This connection has no row, since it has committed nothing.
Status refuse_others(ServerLink& link, const char* schema, Diagnostic& diagnostic) {
  PGresult* found = nullptr;
  PAWL_TRY(link.ask_about(kCountOthers, {}, &found));
  const std::int64_t others = number_at(found, 0);
  PQclear(found);
  if (others == 0) return Status::kOk;
  diagnostic.format("schema %s: %" PRId64 " other connection%s it; stop what uses it first", schema,
                    others, others == 1 ? " uses" : "s use");
  return Status::kBusy;
}

bool is_schema_name(std::string_view name) {
  constexpr std::string_view kTaken = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= kSchemaBytesMax &&
         name.find_first_not_of(kTaken) == std::string_view::npos &&
         (name[0] < '0' || name[0] > '9') && name.substr(0, 3) != "pg_";
}

}  // namespace

Status Database::prepare(const StoreOptions& options, const port::Port& port,
                         Diagnostic& diagnostic) {
  if (options.path == nullptr || path_.assign(options.path) != Status::kOk ||
      options.server == nullptr || options.busy_ms_max < 0) {
    diagnostic.format(
        "a store on a server needs its address, a path of at most %zu bytes for what "
        "lies beside it, and no negative options",
        path_.capacity());
    return Status::kInvalidArgument;
  }
  if (!is_schema_name(options.schema)) {
    diagnostic.format(
        "the name of a schema has lower-case letters, digits and underscores, at "
        "most %zu, and begins with neither a digit nor pg_",
        kSchemaBytesMax);
    return Status::kInvalidArgument;
  }
  PAWL_TRY(schema_.assign(options.schema));
  options_ = options;
  options_.path = path_.c_str();
  options_.schema = schema_.view();
  options_.busy_ms_max = std::min<std::int64_t>(options.busy_ms_max, kLockMsMax);
  port_ = port;
  others_.set_up(*port_.storage, path_.c_str());
  return port_.storage->check_place(path_.c_str(), diagnostic);
}

Status Database::fail(Status status, Diagnostic& diagnostic) {
  return postgres::fail(connection_, schema_.c_str(), status, diagnostic);
}

Status Database::connect(Diagnostic& diagnostic) {
  const std::int64_t answer_ms = kAnswerMsMax + options_.busy_ms_max;
  connection_.link().set_up(options_.server, *port_.clock, answer_ms);
  std::uint64_t node = 0;
  port_.clock->random(&node, sizeof node);
  connection_.transaction().set_up(static_cast<std::int64_t>(node >> 1U), port_.clock->boot_id(),
                                   {options_.lease_ms, options_.renew_ms, options_.busy_ms_max},
                                   *this);
  const Status status = connection_.connect(answer_ms);
  if (status == Status::kOk) return status;
  diagnostic = connection_.diagnostic();
  return Status::kCannotOpen;
}

void Database::disconnect() {
  connection_.transaction().leave();
  connection_.close();
}

constexpr auto kSetLockTimeout = PAWL_QUERY("SELECT set_config('lock_timeout',?1,false)");

Status Database::enter(Diagnostic& diagnostic) {
  Status status = connection_.transaction().check_server();
  if (status == Status::kOk) status = enter_schema(connection_, schema_.view());
  if (status != Status::kOk) return fail(status, diagnostic);
  FixedText<24> milliseconds;
  PAWL_TRY(milliseconds.append_number(std::min(options_.busy_ms_max, kLockSliceMs)));
  status = connection_.use(kSetLockTimeout).bind_text(milliseconds.view()).run();
  if (status == Status::kOk) status = connection_.transaction().take_node_lock();
  if (status == Status::kOk && connection_.link().wakes()) status = listen();
  return status == Status::kOk ? status : fail(status, diagnostic);
}

// Each schema has a channel of its own, under its name.
Status Database::listen() {
  FixedText<160> text;
  PAWL_TRY(text.assign("LISTEN "));
  PAWL_TRY(text.append(schema_.view()));
  return connection_.execute(text.c_str());
}

// If it fails, the connection is lost, and the next one listens.
void Database::wake(port::Threads* threads) {
  connection_.link().set_waker(threads);
  static_cast<void>(threads == nullptr ? connection_.execute("UNLISTEN *") : listen());
}

constexpr auto kForgetNodes = PAWL_QUERY(
    "DELETE FROM nodes WHERE at<(SELECT mark FROM meta WHERE id=1)-", sql::number<kNodeMs>, "");

Status Database::set_up(Diagnostic& diagnostic) {
  PAWL_TRY(enter(diagnostic));
  waits_ = static_cast<int>((options_.busy_ms_max + kLockSliceMs - 1) / kLockSliceMs);
  wait_for_locks(options_.busy_ms_max);
  Found found;
  PAWL_TRY(look(&found, diagnostic));
  if (!found.tables) {
    if (!options_.create || options_.read_only) {
      diagnostic.format("schema %s: holds no tables of Pawl", schema_.c_str());
      return Status::kCannotOpen;
    }
    PAWL_TRY(create(found, diagnostic));
  }
  PAWL_TRY(load_database_id(connection_, diagnostic));
  if (options_.moves) PAWL_TRY(refuse_others(connection_.link(), schema_.c_str(), diagnostic));
  if (options_.read_only) return Status::kOk;
  if (options_.lease_ms > 0)
    connection_.link().set_answer_ms_max(kLoopAnswerMsMax +
                                         std::min(options_.busy_ms_max, kLockSliceMs));
  Status status = connection_.use(kForgetNodes).run();
  if (status == Status::kOk) status = connection_.transaction().connected();
  return status == Status::kOk ? status : fail(status, diagnostic);
}

// ---- a move ----

// Where the wall clock was trusted, the mark was made at a time of it that is known. F5b compares
// the server's clock and a node's with that, as after a time without nodes.
constexpr auto kCountOn = PAWL_QUERY(
    "UPDATE meta SET boot_id=NULL,boot_seq=?1,k=0,mark=?2,mark_server_ms=?3,mark_wall_ms=?4,"
    "off_seq=?5,request=0,timeline=0,moves_held_until=NULL WHERE id=1");

Status Database::count_on(const ClockRow& row) {
  const OptionalMs wall_ms =
      row.off_known ? OptionalMs(add_saturating(row.mark, row.off)) : OptionalMs();
  return connection_.use(kCountOn)
      .bind(row.boot_seq)
      .bind(row.mark)
      .bind(wall_ms.value_or(0))
      .bind_optional(wall_ms)
      .bind(row.off_seq)
      .run();
}

// ---- a connection that was lost ----

Status Database::outcome(Diagnostic& diagnostic) {
  StoreTransaction& transaction = connection_.transaction();
  if (!transaction.is_in_doubt()) return Status::kStale;
  Status status = Status::kInDoubt;
  if (outcome_comes()) {
    status = transaction.find_outcome();
    if (outcome_comes()) return status;
  }
  if (transaction.is_in_doubt()) {
    const int tries = connection_.link().may_sleep_elsewhere()
                          ? 1
                          : static_cast<int>(options_.busy_ms_max / kTryPauseMs) + 1;
    if (reconnect(diagnostic, tries) != Status::kOk) return Status::kInDoubt;
    status = transaction.find_outcome();
  }
  if (status != Status::kOk && status != Status::kStale) diagnostic = connection_.diagnostic();
  return transaction.is_in_doubt() ? Status::kInDoubt : status;
}

// A connection that cannot be used as it is now is closed again: it may lead to another server the
// next time.
Status Database::reconnect(Diagnostic& diagnostic, int tries) {
  connection_.link().look();
  while (connection_.link().is_lost()) {
    const bool may_wait = !connection_.link().may_sleep_elsewhere();
    Status status = connection_.connect(
        may_wait ? options_.busy_ms_max : std::min(options_.busy_ms_max, kLoopConnectMsMax));
    if (status == Status::kOk) {
      status = come_back(diagnostic);
      if (status != Status::kOk) connection_.link().close();
    } else {
      diagnostic = connection_.diagnostic();
      if (status == Status::kBusy) return Status::kIo;
    }
    if (status == Status::kOk) return status;
    if (--tries <= 0) return Status::kIo;
    pause(kTryPauseMs);
  }
  return Status::kOk;
}

void Database::pause(int ms) { static_cast<void>(::poll(nullptr, 0, ms)); }

Status Database::come_back(Diagnostic& diagnostic) {
  PAWL_TRY(enter(diagnostic));
  PAWL_TRY(judge_format(connection_, schema_.c_str(), options_.moves, diagnostic));
  const FixedText<32> before = database_id_;
  PAWL_TRY(load_database_id(connection_, diagnostic));
  if (database_id_.view() != before.view()) {
    database_id_ = before;
    diagnostic.format("schema %s: another database has taken its place", schema_.c_str());
    return Status::kForeignDatabase;
  }
  if (options_.read_only) return Status::kOk;
  const Status status = connection_.transaction().connected();
  return status == Status::kOk ? status : fail(status, diagnostic);
}

Status Database::restore() {
  Diagnostic why;
  const Status status = reconnect(why, 1);
  if (status != Status::kOk) connection_.diagnostic() = why;
  return status;
}

// ---- what is there ----

constexpr auto kLook = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM pg_namespace WHERE nspname=?1) AS has_schema,"
    "(SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace "
    "WHERE n.nspname=?1) AS objects,"
    "(SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid=a.attrelid "
    "JOIN pg_namespace n ON n.oid=c.relnamespace WHERE n.nspname=?1 AND c.relname='meta' AND "
    "a.attname IN ('database_id','form','digest')) AS marks");
constexpr std::int64_t kMarks = 3;

// Finds out which program made the tables. Nothing is written before that is known.
Status Database::look(Found* found, Diagnostic& diagnostic) {
  {
    sql::Statement row = connection_.use(kLook);
    if (!row.bind_text(schema_.view()).row()) return fail(row.status(), diagnostic);
    found->schema = row.integer(PAWL_COLUMN(kLook, has_schema)) != 0;
    if (row.integer(PAWL_COLUMN(kLook, objects)) == 0) return Status::kOk;
    if (row.integer(PAWL_COLUMN(kLook, marks)) != kMarks) {
      diagnostic.format("schema %s: holds tables of another program", schema_.c_str());
      return Status::kForeignDatabase;
    }
  }
  found->tables = true;
  PAWL_TRY(judge_format(connection_, schema_.c_str(), options_.moves, diagnostic));
  return judge_objects(connection_, schema_.c_str(), diagnostic);
}

bool Database::has_our_schema() const { return connection_.transaction().form() == kPostgresForm; }

Status Database::check_schema_again(Diagnostic& diagnostic) {
  return has_our_schema() ? Status::kOk
                          : judge_format(connection_, schema_.c_str(), options_.moves, diagnostic);
}

// ---- making it ----

// If two processes create at once, the catalogue lets one of them fail, which then finds the
// tables of the other one. Rejected: an advisory lock first, which some servers that speak the
// protocol take and ignore.
Status Database::create(const Found& found, Diagnostic& diagnostic) {
  Status status = connection_.execute("BEGIN");
  if (status != Status::kOk) return fail(status, diagnostic);
  status = fill(found, diagnostic);
  if (status == Status::kOk) {
    status = connection_.execute("COMMIT");
    if (status == Status::kOk) return status;
    status = fail(status, diagnostic);
  }
  if (connection_.in_transaction()) static_cast<void>(connection_.execute("ROLLBACK"));
  Found again;
  Diagnostic of_look;
  if (look(&again, of_look) == Status::kOk && again.tables) return Status::kOk;
  return status;
}

Status Database::fill(const Found& found, Diagnostic& diagnostic) {
  Status status = found.schema ? Status::kOk : add_schema(connection_, schema_.view());
  if (status == Status::kOk) status = make_schema(connection_);
  if (status != Status::kOk) return fail(status, diagnostic);
  PAWL_TRY(insert_meta(connection_, diagnostic));
  status = note_digest(connection_);
  return status == Status::kOk ? status : fail(status, diagnostic);
}

Status Database::find_reserve(bool* there) {
  *there = false;
  return Status::kOk;
}

}  // namespace pawl::postgres
