#include "store/postgres/server_link.hpp"

#include <poll.h>

#include <cerrno>
#include <climits>

#include "core/check.hpp"

namespace pawl::postgres {
namespace {

constexpr int kBinary = 1;

// Without it libpq prints notices to standard error, which is the program's. None says more than
// the status of its statement.
void pass_over(void* /*link*/, const PGresult* /*notice*/) {}

}  // namespace

Status status_of(std::string_view sqlstate) {
  struct Meaning {
    std::string_view begins;
    Status status;
  };
  // The first that fits.
  constexpr Meaning kMeanings[] = {
      {"55P03", Status::kBusy},  // lock_not_available
      {"40", Status::kBusy},     // a deadlock, or a view that cannot be kept
      {"57014", Status::kBusy},  // cancelled, as by a limit of time
      {"53100", Status::kFull},  // disk_full
      {"53", Status::kResourceExhausted},
      {"54", Status::kResourceExhausted},
      {"25006", Status::kReadOnly},  // read_only_sql_transaction: a standby
      {"42501", Status::kReadOnly},  // insufficient_privilege
      {"23", Status::kAlreadyExists},
      {"22", Status::kCorrupt},  // Pawl's statements are fixed, so a row holds what it must not
      {"42", Status::kCorrupt},  // for the same reason the schema is not Pawl's any more
      {"XX", Status::kCorrupt},
  };
  for (const Meaning& one : kMeanings)
    if (sqlstate.substr(0, one.begins.size()) == one.begins) return one.status;
  return Status::kIo;
}

Status ServerLink::open(const char* address, port::Clock& clock, std::int64_t answer_ms_max) {
  PAWL_CHECK("postgres-6", handle_ == nullptr);
  clock_ = &clock;
  answer_ms_max_ = answer_ms_max;
  lost_ = false;
  handle_ = PQconnectStart(address);
  if (handle_ != nullptr) PQsetNoticeReceiver(handle_, pass_over, nullptr);
  const std::int64_t until = clock.boot_ms() + answer_ms_max;
  PostgresPollingStatusType polled =
      handle_ == nullptr ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (polled == PGRES_POLLING_READING || polled == PGRES_POLLING_WRITING) {
    if (!wait_for_socket(until, polled == PGRES_POLLING_WRITING)) break;
    polled = PQconnectPoll(handle_);
  }
  if (polled == PGRES_POLLING_OK && PQsetnonblocking(handle_, 1) == 0) return Status::kOk;
  // The text of libpq names host and database, and no password. It is empty where the time was up.
  const char* const text = handle_ == nullptr ? "no memory" : PQerrorMessage(handle_);
  diagnostic_.format("the server cannot be reached: %s", *text == '\0' ? "no answer" : text);
  close();
  return Status::kCannotOpen;
}

void ServerLink::close() {
  if (handle_ != nullptr) PQfinish(handle_);
  handle_ = nullptr;
}

bool ServerLink::in_transaction() const {
  if (handle_ == nullptr) return false;
  const PGTransactionStatusType status = PQtransactionStatus(handle_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

Status ServerLink::ask(const char* sql, PGresult** out) {
  return wait_for(is_lost() ? 0 : PQsendQuery(handle_, sql), out);
}

Status ServerLink::prepare(const char* name, const char* sql, int count, const Oid* types) {
  return wait_for(is_lost() ? 0 : PQsendPrepare(handle_, name, sql, count, types), nullptr);
}

Status ServerLink::ask_binary(const char* sql, PGresult** out) {
  return wait_for(
      is_lost() ? 0
                : PQsendQueryParams(handle_, sql, 0, nullptr, nullptr, nullptr, nullptr, kBinary),
      out);
}

Status ServerLink::run(const char* name, int count, const char* const* values, const int* sizes,
                       PGresult** out) {
  int formats[kParametersMax];
  for (int& format : formats)
    format = kBinary;
  PAWL_CHECK("postgres-7", count <= kParametersMax);
  const int sent =
      is_lost() ? 0 : PQsendQueryPrepared(handle_, name, count, values, sizes, formats, kBinary);
  return wait_for(sent, out);
}

Status ServerLink::wait_for(int sent, PGresult** out) {
  if (sent == 0) lost_ = true;
  PGresult* const result = is_lost() ? nullptr : wait_for_answer();
  const Status status = judge(result);
  if (status == Status::kOk && out != nullptr) {
    *out = result;
  } else {
    PQclear(result);
  }
  return status;
}

// A text of several statements has a result for each; the first that failed is the last one.
PGresult* ServerLink::wait_for_answer() {
  const std::int64_t until = clock_->boot_ms() + answer_ms_max_;
  PGresult* last = nullptr;
  for (;;) {
    const int unsent = PQflush(handle_);
    if (unsent < 0) break;
    if (unsent == 0 && PQisBusy(handle_) == 0) {
      PGresult* const next = PQgetResult(handle_);
      if (next == nullptr) return last;
      PQclear(last);
      last = next;
      continue;
    }
    if (!wait_for_socket(until, unsent > 0) || PQconsumeInput(handle_) == 0) break;
  }
  PQclear(last);
  lost_ = true;
  return nullptr;
}

bool ServerLink::wait_for_socket(std::int64_t until_ms, bool writes) {
  const std::int64_t left = until_ms - clock_->boot_ms();
  pollfd waits{PQsocket(handle_), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
  if (left <= 0 || waits.fd < 0) return false;
  const int ready = ::poll(&waits, 1, static_cast<int>(left < INT_MAX ? left : INT_MAX));
  return ready > 0 || (ready < 0 && errno == EINTR);
}

Status ServerLink::judge(const PGresult* result) {
  const ExecStatusType how = result == nullptr ? PGRES_FATAL_ERROR : PQresultStatus(result);
  if (how == PGRES_COMMAND_OK || how == PGRES_TUPLES_OK) return Status::kOk;
  const char* const code =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (code == nullptr || (handle_ != nullptr && PQstatus(handle_) != CONNECTION_OK)) {
    lost_ = true;
    const char* const text = handle_ == nullptr ? "it is closed" : PQerrorMessage(handle_);
    diagnostic_.format("the connection to the server is lost: %s",
                       *text == '\0' ? "no answer" : text);
    return Status::kIo;
  }
  const char* const text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  diagnostic_.format("%s (postgresql %s)", text == nullptr ? "no text" : text, code);
  return status_of(code);
}

}  // namespace pawl::postgres
