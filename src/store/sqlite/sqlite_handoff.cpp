// Sessions that an orchestration hands to workers of another kind, with what those should know. Rules:
// docs/sessions.md.
#include <cinttypes>
#include <cstring>

#include "crc32c.hpp"
#include "policy.hpp"
#include "sqlite_provider.hpp"

namespace pawl::sqlite {

namespace {

constexpr std::int64_t kHandoffStopMs = 20'000;

// Bound to its session, so that a summary under another row is noticed.
std::uint32_t summary_crc(SessionKey session, std::string_view summary) {
  unsigned char key[sizeof(std::uint64_t)];
  for (unsigned i = 0; i < sizeof key; ++i)
    key[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(session) >> (8 * i));
  return crc32c(summary.data(), summary.size(), crc32c(key, sizeof key));
}

}  // namespace

Status SqliteProvider::handoff_session(InstanceKey instance, const Event& event) {
  ActivityOptions use;
  if (!decode_policy(event.policy, &use)) return fail(Status::kInvalidArgument, "read a handoff");
  SessionKey session = 0;
  Status found = find_session(use.own_session ? instance : 0, event.name, &session);
  if (found == Status::kNotFound && !use.own_session)
    found = find_session(instance, event.name, &session);
  if (found == Status::kNotFound) return Status::kOk;
  PAWL_TRY(found);
  Moving row;
  PAWL_TRY(read_moving(session, &row));
  // Who has the device does not change by that.
  if (row.hard) return Status::kOk;
  PAWL_TRY(set_kind(session, event.tag, event.payload));
  return move_or_stop(row, {0, kHandoffStopMs, false, "handoff"});
}

constexpr sql::Query kSetTag{"UPDATE sessions SET tag=?2 WHERE sid=?1"};
constexpr sql::Query kPutSummary{
    "INSERT OR REPLACE INTO session_summaries(sid,summary,crc) VALUES(?1,?2,?3)"};

Status SqliteProvider::set_kind(SessionKey session, std::string_view tag,
                                std::string_view summary) {
  {
    Statement set = connection_.use(kSetTag);
    set.bind(session).bind_text_or_null(tag);
    PAWL_TRY(fail(set.run(), "hand a session over"));
  }
  ++made_ready_;
  PAWL_TRY(wake_waiting_of(session));
  if (summary.empty()) return drop_summary(session);
  Statement put = connection_.use(kPutSummary);
  put.bind(session).bind_blob_or_null(summary).bind(summary_crc(session, summary));
  return fail(put.run(), "keep a summary");
}

constexpr sql::Query kDropSummary{"DELETE FROM session_summaries WHERE sid=?1"};

Status SqliteProvider::drop_summary(SessionKey session) {
  Statement drop = connection_.use(kDropSummary);
  drop.bind(session);
  return fail(drop.run(), "drop a summary");
}

constexpr sql::Query kReadSummary{"SELECT summary,crc FROM session_summaries WHERE sid=?1"};

Status SqliteProvider::read_summary(SessionKey session, char* buffer, std::size_t capacity,
                                    std::string_view* summary, bool* damaged) {
  *summary = {};
  *damaged = false;
  Statement read = connection_.use(kReadSummary);
  read.bind(session);
  if (!read.row()) return fail(read.status(), "read a summary");
  const std::string_view stored = read.bytes(0);
  if (stored.size() > kSessionSummaryBytesMax ||
      static_cast<std::uint32_t>(read.integer(1)) != summary_crc(session, stored)) {
    *damaged = true;
    diagnostic_.format("the summary kept for session %" PRId64 " has a wrong length or checksum",
                       session);
    return Status::kOk;
  }
  if (stored.size() > capacity)
    return fail(Status::kResourceExhausted, "a summary for the buffer given");
  if (!stored.empty()) std::memcpy(buffer, stored.data(), stored.size());
  *summary = {buffer, stored.size()};
  return Status::kOk;
}

}  // namespace pawl::sqlite
