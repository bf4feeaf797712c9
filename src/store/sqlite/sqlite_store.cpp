#include "sqlite_store.hpp"

#include "check.hpp"

namespace pawl::store {

SqliteStore::SqliteStore(sqlite::Connection* engine)
    : engine_(engine == nullptr ? own_ : *engine),
      context_(engine_),
      schema_(context_),
      file_(context_, engine_, schema_),
      tables_(context_, schema_, file_),
      batch_(tables_.work.quarantine, file_, tables_.place.meta, tables_.transactions),
      instances_(tables_.rows.due, tables_.work.quarantine, tables_.instances.history,
                 tables_.instances.values, tables_.instances.created, tables_.instances.mailbox,
                 tables_.instances.reader, tables_.instances.parked, tables_.instances.ready,
                 tables_.instances.turn_reader, tables_.instances.turn_writer),
      work_(context_, tables_.rows.items, tables_.rows.unregistered, tables_.work.results,
            tables_.work.fetch, tables_.instances.parked),
      sessions_(tables_.rows.sessions, tables_.sessions.owners, tables_.sessions.moves,
                tables_.sessions.claims, tables_.sessions.expiry, tables_.sessions.sweep),
      workers_(tables_.sessions.moves, tables_.registry),
      admin_(tables_.sessions.expiry, tables_.sessions.verbs, tables_.sessions.directory,
             tables_.instances.directory, tables_.metrics, tables_.instances.verbs,
             tables_.instances.restarts, tables_.instances.removal, tables_.work.directory),
      housekeeping_(file_, tables_.place.space, tables_.instances.removal) {
  context_.batches = &batch_;
  facets_ = {&batch_, &instances_, &work_, &sessions_, &workers_, &admin_, &housekeeping_};
}

Status SqliteStore::open(const StoreOptions& options, const port::Port& port,
                         Diagnostic& diagnostic) {
  PAWL_CHECK("store-10", !file_.is_open());
  tables_.transactions.forget_known();
  PAWL_TRY(file_.prepare(options, port, diagnostic));
  Status status = file_.connect(diagnostic);
  if (status == Status::kOk) status = file_.set_up(diagnostic);
  if (status == Status::kFull && options.may_take_reserve &&
      tables_.place.space.remove_reserve() == Status::kOk)
    status = file_.set_up(diagnostic);
  file_.mark_open();
  if (status != Status::kOk) {
    close();
    return status;
  }
  if (!options.read_only) tables_.transactions.take_turns();
  return Status::kOk;
}

void SqliteStore::close() {
  if (!file_.is_open()) return;
  if (context_.in_batch) tables_.transactions.rollback();
  if (context_.in_read) tables_.transactions.end_read();
  engine_.close();
  tables_.transactions.leave_turns();
  file_.leave();
}

}  // namespace pawl::store
