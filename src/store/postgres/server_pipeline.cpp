#include "store/postgres/server_pipeline.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/check.hpp"
#include "core/clock_rules.hpp"

namespace pawl::postgres {
namespace {

constexpr int kBinary = 1;

const char* command_of(const PGresult* result) {
  return result == nullptr ? "" : PQcmdStatus(const_cast<PGresult*>(result));
}

}  // namespace

void put_number(char (&at)[8], std::int64_t value) {
  for (int i = 0; i < 8; ++i)
    at[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * (7 - i)));
}

Numbers::Numbers(std::initializer_list<std::optional<std::int64_t>> numbers) {
  PAWL_CHECK("postgres-14", numbers.size() <= kMax);
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

Status ServerPipeline::connect(std::int64_t wait_ms) {
  queued_ = 0;
  ends_later_ = is_under_way_ = has_failed_late_ = false;
  late_.reset();
  return ServerSocket::connect(wait_ms);
}

bool ServerPipeline::in_transaction() const {
  if (is_lost()) return false;
  if (ends_later_) return false;
  if (queued() > 0) return true;
  const PGTransactionStatusType status = PQtransactionStatus(handle_);
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

Status ServerPipeline::note_queued(bool sent, PGresult** keep) {
  if (!sent) {
    lose();
    return judge(nullptr);
  }
  keep_[queued_++] = keep;
  return Status::kOk;
}

bool ServerPipeline::enter_pipeline() {
  if (queued() > 0) return true;
  take_late_answers();
  if (is_lost() || PQenterPipelineMode(handle_) != 1) return false;
  return !std::exchange(ends_later_, false) || queue_text("COMMIT") == Status::kOk;
}

Status ServerPipeline::queue(const char* name, int count, const char* const* values,
                             const int* sizes, PGresult** keep) {
  PAWL_CHECK("postgres-15", queued() < kQueuedMax && count <= kParametersMax);
  int formats[kParametersMax];
  for (int& format : formats)
    format = kBinary;
  return note_queued(enter_pipeline() && PQsendQueryPrepared(handle_, name, count, values, sizes,
                                                             formats, kBinary) == 1,
                     keep);
}

Status ServerPipeline::queue_text(const char* sql) {
  return note_queued(enter_pipeline() && PQsendQueryParams(handle_, sql, 0, nullptr, nullptr,
                                                           nullptr, nullptr, 0) == 1);
}

Status ServerPipeline::queue_named(const char* name, PGresult** keep) {
  return note_queued(
      enter_pipeline() && PQsendQueryPrepared(handle_, name, 0, nullptr, nullptr, nullptr, 0) == 1,
      keep);
}

Status ServerPipeline::settle(PGresult** out) {
  take_late_answers();
  if (ends_later_) static_cast<void>(enter_pipeline());
  if (queued() == 0) return Status::kOk;
  return end_pipeline(out) ? take_answers(OptionalMs()) : judge(nullptr);
}

bool ServerPipeline::end_pipeline(PGresult** out) {
  failed_at_.reset();
  answers_ = {queued_, 0, Status::kOk, out};
  queued_ = 0;
  if (is_lost() || PQpipelineSync(handle_) != 1) {
    lose();
    return false;
  }
  ++trips_;
  return true;
}

// A pipeline has an answer for each statement, also for those that were not run since one before
// them had failed; and one for its end.
Status ServerPipeline::take_answers(OptionalMs until_ms) {
  is_under_way_ = false;
  for (; answers_.taken <= answers_.count && !is_lost(); ++answers_.taken) {
    is_under_way_ = until_ms.has_value() && !has_answer(until_ms.value());
    if (is_under_way_) return Status::kBusy;
    PGresult* const result = wait_for_answer();
    if (answers_.taken < answers_.count)
      take_answer(result);
    else
      PQclear(result);
  }
  if (!is_lost() && PQexitPipelineMode(handle_) != 1) lose();
  if (is_lost() && answers_.status == Status::kOk && answers_.taken < answers_.count)
    answers_.status = Status::kIo;
  return answers_.status;
}

void ServerPipeline::take_answer(PGresult* result) {
  const int at = answers_.taken;
  if (answers_.status != Status::kOk) return PQclear(result);
  answers_.status = judge(result);
  // A transaction that failed is rolled back by a COMMIT, which then says so and is no error.
  if (std::strcmp(command_of(result), "ROLLBACK") == 0) {
    diagnostic_.format("the server has rolled the transaction back");
    answers_.status = Status::kIo;
  }
  if (answers_.status != Status::kOk) failed_at_ = at;
  count_changes(result);
  if (answers_.status == Status::kOk && keep_[at] != nullptr) {
    *keep_[at] = result;
  } else if (answers_.status == Status::kOk && at + 1 == answers_.count &&
             answers_.last != nullptr) {
    *answers_.last = result;
  } else {
    PQclear(result);
  }
}

void ServerPipeline::count_changes(const PGresult* result) {
  const char* const command = command_of(result);
  if (*command != 'I' && *command != 'U' && *command != 'D') return;
  changes_ = std::strtoll(PQcmdTuples(const_cast<PGresult*>(result)), nullptr, 10);
  total_changes_ += changes_;
}

// ---- a commit whose answers are under way ----

Status ServerPipeline::commit(const char* name,
                              std::initializer_list<std::optional<std::int64_t>> numbers) {
  const Numbers given(numbers);
  PAWL_TRY(note_queued(enter_pipeline() &&
                       PQsendQueryPrepared(handle_, name, given.count, given.values, given.sizes,
                                           given.formats, kBinary) == 1));
  PAWL_TRY(queue_text("COMMIT"));
  if (!end_pipeline(nullptr)) return judge(nullptr);
  sent_boot_ms_ = boot_ms();
  has_failed_late_ = false;
  const OptionalMs most_ms = std::exchange(commit_most_ms_, OptionalMs());
  const Status status = take_answers(
      most_ms.has_value() ? OptionalMs(add_saturating(sent_boot_ms_, most_ms.value())) : most_ms);
  // Those that asked for results ahead are gone when they come.
  for (int at = answers_.taken; is_under_way_ && at < answers_.count; ++at)
    keep_[at] = nullptr;
  return status;
}

std::optional<Status> ServerPipeline::go_on() {
  if (!late_.has_value()) {
    if (boot_ms() - sent_boot_ms_ >= kUnderWayMsMax) {
      lose();
      static_cast<void>(judge(nullptr));
    }
    const Status status = take_answers(boot_ms());
    if (is_under_way_) return std::nullopt;
    late_ = status;
  }
  has_failed_late_ = *late_ != Status::kOk;
  return std::exchange(late_, std::nullopt);
}

void ServerPipeline::take_late_answers() {
  if (is_under_way_) late_ = take_answers(OptionalMs());
}

}  // namespace pawl::postgres
