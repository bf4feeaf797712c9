#include "store/postgres/server_link.hpp"

#include <cstdlib>
#include <utility>

#include "core/check.hpp"

namespace pawl::postgres {
namespace {

constexpr int kBinary = 1;

constexpr int kNumbersMax = 20;

// Parameters that are numbers, as libpq takes them.
struct Numbers {
  Numbers(std::initializer_list<std::optional<std::int64_t>> numbers) {
    PAWL_CHECK("postgres-14", numbers.size() <= kNumbersMax);
    for (const std::optional<std::int64_t> number : numbers) {
      types[count] = kInt8;
      formats[count] = kBinary;
      if (number.has_value()) {
        put_number(bytes[count], *number);
        values[count] = bytes[count];
        sizes[count] = sizeof bytes[count];
      }
      ++count;
    }
  }

  Oid types[kNumbersMax] = {};
  char bytes[kNumbersMax][8] = {};
  const char* values[kNumbersMax] = {};
  int sizes[kNumbersMax] = {};
  int formats[kNumbersMax] = {};
  int count = 0;
};

}  // namespace

void put_number(char (&at)[8], std::int64_t value) {
  for (int i = 0; i < 8; ++i)
    at[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (7 - i)));
}

std::int64_t number_at(const PGresult* result, int column, int row) {
  return std::strtoll(PQgetvalue(result, row, column), nullptr, 10);
}

bool ServerLink::in_transaction() const {
  if (is_lost()) return false;
  if (ends_later_) return false;
  if (queued() > 0) return true;
  const PGTransactionStatusType status = PQtransactionStatus(handle_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

// ---- statements whose answers are waited for together ----

Status ServerLink::note_queued(bool sent, PGresult** keep) {
  if (!sent) {
    lose();
    return judge(nullptr);
  }
  keep_[queued_++] = keep;
  return Status::kOk;
}

bool ServerLink::enter_pipeline() {
  if (queued() > 0) return true;
  if (is_lost() || PQenterPipelineMode(handle_) != 1) return false;
  return !std::exchange(ends_later_, false) || queue_text("COMMIT") == Status::kOk;
}

Status ServerLink::queue(const char* name, int count, const char* const* values, const int* sizes,
                         PGresult** keep) {
  PAWL_CHECK("postgres-15", queued() < kQueuedMax && count <= kParametersMax);
  int formats[kParametersMax];
  for (int& format : formats)
    format = kBinary;
  return note_queued(enter_pipeline() && PQsendQueryPrepared(handle_, name, count, values, sizes,
                                                             formats, kBinary) == 1,
                     keep);
}

Status ServerLink::queue_text(const char* sql) {
  return note_queued(enter_pipeline() && PQsendQueryParams(handle_, sql, 0, nullptr, nullptr,
                                                           nullptr, nullptr, 0) == 1);
}

Status ServerLink::queue_named(const char* name, PGresult** keep) {
  return note_queued(
      enter_pipeline() && PQsendQueryPrepared(handle_, name, 0, nullptr, nullptr, nullptr, 0) == 1,
      keep);
}

Status ServerLink::settle(PGresult** out) {
  if (ends_later_) static_cast<void>(enter_pipeline());
  return queued() == 0 ? Status::kOk : settle_queued(out);
}

Status ServerLink::settle_queued(PGresult** out) {
  failed_at_.reset();
  if (is_lost() || PQpipelineSync(handle_) != 1) {
    lose();
    return judge(nullptr);
  }
  ++trips_;
  const Status status = take_answers(out);
  if (is_lost()) return status;
  PQclear(wait_for_answer());  // of the end of the pipeline
  if (!is_lost() && PQexitPipelineMode(handle_) != 1) lose();
  return status;
}

// A pipeline has an answer for each statement, also for those that were not run since one before
// them had failed.
Status ServerLink::take_answers(PGresult** out) {
  Status status = Status::kOk;
  const int count = std::exchange(queued_, 0);
  for (int at = 0; at < count && !is_lost(); ++at) {
    PGresult* const result = wait_for_answer();
    if (status != Status::kOk) {
      PQclear(result);
      continue;
    }
    status = judge(result);
    if (status != Status::kOk) failed_at_ = at;
    count_changes(result);
    if (status == Status::kOk && keep_[at] != nullptr) {
      *keep_[at] = result;
    } else if (status == Status::kOk && at + 1 == count && out != nullptr) {
      *out = result;
    } else {
      PQclear(result);
    }
  }
  if (status == Status::kOk && is_lost()) status = Status::kIo;
  return status;
}

void ServerLink::count_changes(const PGresult* result) {
  const char* const command = result == nullptr ? "" : PQcmdStatus(const_cast<PGresult*>(result));
  if (*command != 'I' && *command != 'U' && *command != 'D') return;
  changes_ = std::strtoll(PQcmdTuples(const_cast<PGresult*>(result)), nullptr, 10);
  total_changes_ += changes_;
}

// ---- one that is waited for alone ----

Status ServerLink::failure() const {
  const bool has_failed = !is_lost() && PQtransactionStatus(handle_) == PQTRANS_INERROR;
  return has_failed ? failure_ : Status::kOk;
}

Status ServerLink::ask(const char* sql, PGresult** out) {
  PAWL_TRY(settle());
  return wait_for(is_lost() ? 0 : PQsendQuery(handle_, sql), out);
}

Status ServerLink::roll_back(PGresult** out) {
  static_cast<void>(settle());
  return ask("ROLLBACK", out);
}

Status ServerLink::prepare(const char* name, const char* sql, int count, const Oid* types) {
  PAWL_TRY(settle());
  return wait_for(is_lost() ? 0 : PQsendPrepare(handle_, name, sql, count, types), nullptr);
}

Status ServerLink::ask_binary(const char* sql, PGresult** out) {
  PAWL_TRY(settle());
  return wait_for(
      is_lost() ? 0
                : PQsendQueryParams(handle_, sql, 0, nullptr, nullptr, nullptr, nullptr, kBinary),
      out);
}

Status ServerLink::run(const char* name, int count, const char* const* values, const int* sizes,
                       PGresult** out) {
  PAWL_TRY(queue(name, count, values, sizes));
  return settle(out);
}

Status ServerLink::ask_about(const char* sql,
                             std::initializer_list<std::optional<std::int64_t>> numbers,
                             PGresult** out) {
  PAWL_TRY(settle());
  const Numbers given(numbers);
  return wait_for(is_lost() ? 0
                            : PQsendQueryParams(handle_, sql, given.count, given.types,
                                                given.values, given.sizes, given.formats, 0),
                  out);
}

Status ServerLink::run_before(const char* last, const char* name,
                              std::initializer_list<std::optional<std::int64_t>> numbers,
                              PGresult** out) {
  const Numbers given(numbers);
  PAWL_TRY(note_queued(enter_pipeline() &&
                       PQsendQueryPrepared(handle_, name, given.count, given.values, given.sizes,
                                           given.formats, kBinary) == 1));
  PAWL_TRY(note_queued(
      PQsendQueryParams(handle_, last, 0, nullptr, nullptr, nullptr, nullptr, kBinary) == 1));
  return settle(out);
}

Status ServerLink::wait_for(int sent, PGresult** out) {
  failed_at_.reset();
  ++trips_;
  if (sent == 0) lose();
  PGresult* const result = is_lost() ? nullptr : wait_for_answer();
  const Status status = judge(result);
  if (status == Status::kOk && out != nullptr) {
    *out = result;
  } else {
    PQclear(result);
  }
  return status;
}

}  // namespace pawl::postgres
