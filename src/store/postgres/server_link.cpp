#include "store/postgres/server_link.hpp"

#include <cstdlib>

namespace pawl::postgres {
namespace {

constexpr int kBinary = 1;

}  // namespace

std::int64_t number_at(const PGresult* result, int column, int row) {
  return std::strtoll(PQgetvalue(result, row, column), nullptr, 10);
}

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

Status ServerLink::wait_for(int sent, PGresult** out) {
  count_trip();
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
