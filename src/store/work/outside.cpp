#include "store/work/outside.hpp"

#include "core/check.hpp"
#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "store/sql/damage.hpp"
#include "store/work/result_rules.hpp"

namespace pawl::store {
namespace {

constexpr std::size_t kSecretDigits = 32;

// Whether these are digits of a number. Upper case is another text, and so another token.
bool is_digits(std::string_view text, bool hexadecimal) {
  for (const char at : text)
    if (!(at >= '0' && at <= '9') && !(hexadecimal && at >= 'a' && at <= 'f')) return false;
  return !text.empty();
}

// Requires: digits of a number below 10^19; 0 if it is too large for an id.
WorkItemId number_of(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char digit : digits)
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return number > INT64_MAX ? 0 : static_cast<WorkItemId>(number);
}

Sha256 hash_of(const WorkResult& answer) {
  const char how[] = {static_cast<char>('0' + static_cast<int>(answer.error)),
                      answer.permanent ? 'p' : 'r'};
  return sha256({std::string_view(how, sizeof how), answer.payload});
}

}  // namespace

void OutsideWork::draw(port::Clock& clock, WorkItemId item, Secret* secret, Sha256* hash) {
  clock.random(secret->words, sizeof secret->words);
  const CompletionToken token = token_of(item, *secret);
  *hash = sha256({token.view()});
}

CompletionToken OutsideWork::token_of(WorkItemId item, const Secret& secret) {
  FixedText<CompletionToken::kBytesMax> text;
  const bool fits = text.append_number(item) == Status::kOk && text.append('-') == Status::kOk &&
                    text.append_hex(secret.words[0], kSecretDigits / 2) == Status::kOk &&
                    text.append_hex(secret.words[1], kSecretDigits / 2) == Status::kOk;
  PAWL_CHECK("store-90", fits);
  return CompletionToken(text.view());
}

Status OutsideWork::leave(const WorkDone& done, WhileOutside session) {
  WorkRow row;
  const Status read = rows_.work.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (rules::ends_cancelled(row.handed_over(), returned(done)))
    return rows_.work.delete_work(row.id, row.session);
  if (!rules::accepts(row.handed_over(), returned(done))) return Status::kStale;
  WorkWrite left;
  left.state = session == WhileOutside::kHoldsSession ? rules::WorkState::kOutsideHolding
                                                      : rules::WorkState::kOutside;
  left.outside_stamp = batch_.stamp_ms;
  const std::int64_t silence_ms = row.policy.heartbeat_timeout_ms;
  if (silence_ms != 0) left.silent_due = make_due(batch_.now, silence_ms);
  PAWL_TRY(rows_.work.write_state(row.id, left));
  if (row.session == 0) return Status::kOk;
  ++context_.made_ready;  // the session's next work may start, or it makes room for another one
  PAWL_TRY(rows_.sessions.note_activity(row.session));
  PAWL_TRY(rows_.sessions.recompute_head(row.session));
  return done.abort_session ? owners_.abort_session(row.session) : Status::kOk;
}

Status OutsideWork::read_token(std::string_view token, Named* out) {
  const std::size_t dash = token.find('-');
  const bool is_token = dash <= CompletionToken::kBytesMax - kSecretDigits - 1 &&
                        token.size() == dash + 1 + kSecretDigits &&
                        is_digits(token.substr(0, dash), false) &&
                        is_digits(token.substr(dash + 1), true);
  if (!is_token) {
    context_.diagnostic.format("a completion token is a number, \"-\" and 32 hexadecimal digits");
    return Status::kInvalidArgument;
  }
  out->item = number_of(token.substr(0, dash));
  out->hash = sha256({token});
  return Status::kOk;
}

constexpr auto kWaitsFor =
    PAWL_QUERY("SELECT q.token_hash=?2 AND " PAWL_IS_THERE
               " AS waits FROM worker_queue q JOIN instances i ON i.key=q.instance WHERE q.id=?1");

Status OutsideWork::read_waiting(const Named& token, WorkRow* row) {
  {
    Statement read = connection_.use(kWaitsFor);
    read.bind(token.item).bind_blob(token.hash.view());
    if (!read.row()) return no_row(read, Status::kNotFound, "find the activity of a token");
    if (read.integer(PAWL_COLUMN(kWaitsFor, waits)) == 0) return Status::kNotFound;
  }
  PAWL_TRY(rows_.work.read_work(token.item, row));
  if (row->damaged) {
    context_.diagnostic.format("worker_queue: a column has a type or value that it cannot have");
    return Status::kCorrupt;
  }
  return rules::may_be_answered(row->state) ? Status::kOk : Status::kNotFound;
}

Status OutsideWork::answer(std::string_view token, const WorkResult& result) {
  require_batch();
  Named named;
  PAWL_TRY(read_token(token, &named));
  const Sha256 answer = hash_of(result);
  WorkRow row;
  const Status waits = read_waiting(named, &row);
  if (waits == Status::kNotFound) return answered_before(named, answer);
  PAWL_TRY(waits);
  PAWL_TRY(written(remember(named, answer)));
  PAWL_TRY(written(rows_.sessions.note_activity(row.session)));
  const rules::AfterFailure next =
      rules::after_answer(row.state, row.its_session.exclusive, {result.error, result.permanent},
                          row.policy.retry, row.failures);
  return written(next == rules::AfterFailure::kRetry
                     ? rows_.work.retry_work(row, result.payload)
                     : rows_.work.end_work(row.id, result.error, result.payload));
}

constexpr auto kRemember =
    PAWL_QUERY("INSERT INTO answers(id,item,token_hash,answer) VALUES(?1,?2,?3,?4)");
constexpr auto kForgetOldest = PAWL_QUERY(
    "DELETE FROM answers WHERE id<=(SELECT id FROM answers ORDER BY id DESC LIMIT 1 OFFSET ?1)");

Status OutsideWork::remember(const Named& token, const Sha256& answer) {
  {
    Statement insert = connection_.use(kRemember);
    insert.bind(context_.next_token()).bind(token.item);
    insert.bind_blob(token.hash.view()).bind_blob(answer.view());
    PAWL_TRY(fail(insert.run(), "remember an answer"));
  }
  Statement forget = connection_.use(kForgetOldest);
  forget.bind(kAnswersKept);
  return fail(forget.run(), "forget an answer");
}

constexpr auto kAnswer = PAWL_QUERY(
    "SELECT answer=?3 AS is_same FROM answers WHERE item=?1 AND token_hash=?2"
    " ORDER BY id DESC LIMIT 1");

Status OutsideWork::answered_before(const Named& token, const Sha256& answer) {
  Statement read = connection_.use(kAnswer);
  read.bind(token.item).bind_blob(token.hash.view()).bind_blob(answer.view());
  if (!read.row()) {
    context_.diagnostic.format(
        "no activity waits for this token: it was retried or cancelled, a limit passed, or it"
        " ended otherwise");
    return no_row(read, Status::kNotFound, "look for an answer");
  }
  if (read.integer(PAWL_COLUMN(kAnswer, is_same)) != 0) return Status::kOk;
  context_.diagnostic.format("another answer came first, and counts");
  return Status::kStale;
}

constexpr auto kHeartbeat =
    PAWL_QUERY("UPDATE worker_queue SET progress=coalesce(?2,progress),silent_due=?3 WHERE id=?1");

Status OutsideWork::heartbeat(std::string_view token, std::string_view progress) {
  require_batch();
  Named named;
  PAWL_TRY(read_token(token, &named));
  WorkRow row;
  const Status waits = read_waiting(named, &row);
  if (waits == Status::kNotFound)
    context_.diagnostic.format("no activity waits for this token any more");
  PAWL_TRY(waits);
  Statement note = connection_.use(kHeartbeat);
  note.bind(row.id).bind_blob_or_null(progress);
  const std::int64_t silence_ms = row.policy.heartbeat_timeout_ms;
  note.bind_due(silence_ms == 0 ? OptionalMs() : make_due(batch_.now, silence_ms), kWorkComes);
  return fail(note.run(), "note a heartbeat from outside");
}

}  // namespace pawl::store
