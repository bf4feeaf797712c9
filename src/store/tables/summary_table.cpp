#include "summary_table.hpp"

#include <cinttypes>
#include <cstring>

#include "crc32c.hpp"
#include "pawl/session.hpp"

namespace pawl::store {
namespace {

// The checksum covers the session's key, so that a summary under another row is noticed.
std::uint32_t summary_crc(SessionKey session, std::string_view summary) {
  unsigned char key[sizeof(std::uint64_t)];
  for (unsigned i = 0; i < sizeof key; ++i)
    key[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(session) >> (8 * i));
  return crc32c(summary.data(), summary.size(), crc32c(key, sizeof key));
}

}  // namespace

constexpr sql::Query kDropSummary{"DELETE FROM session_summaries WHERE sid=?1"};

Status SummaryTable::drop_summary(SessionKey session) {
  Statement drop = connection_.use(kDropSummary);
  drop.bind(session);
  return fail(drop.run(), "drop a summary");
}

constexpr sql::Query kPutSummary{
    "INSERT INTO session_summaries(sid,summary,crc) VALUES(?1,?2,?3) "
    "ON CONFLICT(sid) DO UPDATE SET summary=excluded.summary,crc=excluded.crc"};

Status SummaryTable::put_summary(SessionKey session, std::string_view summary) {
  Statement put = connection_.use(kPutSummary);
  put.bind(session).bind_blob_or_null(summary).bind(summary_crc(session, summary));
  return fail(put.run(), "keep a summary");
}

constexpr sql::Query kReadSummary{"SELECT summary,crc FROM session_summaries WHERE sid=?1"};

Status SummaryTable::read_summary(SessionKey session, char* buffer, std::size_t capacity,
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
    context_.diagnostic.format(
        "the summary kept for session %" PRId64 " has a wrong length or checksum", session);
    return Status::kOk;
  }
  if (stored.size() > capacity)
    return fail(Status::kResourceExhausted, "a summary for the buffer given");
  if (!stored.empty()) std::memcpy(buffer, stored.data(), stored.size());
  *summary = {buffer, stored.size()};
  return Status::kOk;
}

}  // namespace pawl::store
