#include "store/store.hpp"

#include "core/check.hpp"

namespace pawl {

Status Store::open(const StoreOptions& options, const port::Port& port, Diagnostic& diagnostic) {
  sql::Database& file = context_.file;
  PAWL_CHECK("store-10", !file.is_open());
  batches_.forget_known();
  PAWL_TRY(file.prepare(options, port, diagnostic));
  Status status = file.connect(diagnostic);
  if (status == Status::kOk) status = file.set_up(diagnostic);
  if (status == Status::kFull && options.may_take_reserve &&
      rows_.place.remove_reserve() == Status::kOk)
    status = file.set_up(diagnostic);
  file.mark_open();
  if (status != Status::kOk) {
    close();
    return status;
  }
  if (!options.read_only && !file.has_fair_lock()) batches_.take_turns();
  return Status::kOk;
}

void Store::end_planned_read() {
  context_.read_is_planned = false;
  if (!context_.in_read) return;
  if (context_.connection.in_transaction() && context_.connection.end_later()) {
    context_.in_read = false;
  } else {
    batches_.end_read();
  }
}

void Store::close() {
  if (!context_.file.is_open()) return;
  if (context_.in_batch) batches_.rollback();
  if (context_.in_read) batches_.end_read();
  context_.file.disconnect();
  batches_.leave_turns();
  context_.file.leave();
}

}  // namespace pawl
