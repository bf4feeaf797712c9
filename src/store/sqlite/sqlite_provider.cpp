#include "sqlite_provider.hpp"

#include "check.hpp"

namespace pawl::store {

Status SqliteProvider::open(const ProviderOptions& options, const port::Port& port,
                            Diagnostic& diagnostic) {
  PAWL_CHECK("provider-10", !file_.is_open());
  transactions_.forget_known();
  PAWL_TRY(file_.prepare(options, port, diagnostic));
  Status status = file_.connect(diagnostic);
  if (status == Status::kOk) status = file_.set_up(diagnostic);
  if (status == Status::kFull && options.may_take_reserve && space_.remove_reserve() == Status::kOk)
    status = file_.set_up(diagnostic);
  file_.mark_open();
  if (status != Status::kOk) {
    close();
    return status;
  }
  if (!options.read_only) transactions_.take_turns();
  return Status::kOk;
}

void SqliteProvider::close() {
  if (!file_.is_open()) return;
  if (context_.in_batch) transactions_.rollback();
  if (context_.in_read) transactions_.end_read();
  engine_.close();
  transactions_.leave_turns();
  file_.leave();
}

}  // namespace pawl::store
