// Tables: all tables of one storage, by family.
//
// Purpose: each table knows those above it in this file and no others, so that there is no circle.
// The tables know a database engine only through src/store/sql; the engine brings the file and the
// check of its schema.
// Ownership: the store owns context, schema check and file, which outlive the tables. Thread rule:
// as context.hpp.
#ifndef PAWL_STORE_TABLES_TABLES_HPP
#define PAWL_STORE_TABLES_TABLES_HPP

#include "children.hpp"
#include "context.hpp"
#include "device_claims.hpp"
#include "device_table.hpp"
#include "due_index.hpp"
#include "history_table.hpp"
#include "instance_directory.hpp"
#include "instance_messages.hpp"
#include "instance_reader.hpp"
#include "instance_table.hpp"
#include "instance_verbs.hpp"
#include "message_table.hpp"
#include "meta_table.hpp"
#include "new_instances.hpp"
#include "opened_sessions.hpp"
#include "parked_instances.hpp"
#include "ready_instances.hpp"
#include "restarts.hpp"
#include "row_quarantine.hpp"
#include "schema_check.hpp"
#include "session_directory.hpp"
#include "session_events.hpp"
#include "session_expiry.hpp"
#include "session_handoff.hpp"
#include "session_limits.hpp"
#include "session_moves.hpp"
#include "session_openings.hpp"
#include "session_owners.hpp"
#include "session_sweep.hpp"
#include "session_table.hpp"
#include "session_verbs.hpp"
#include "sql/database.hpp"
#include "store_metrics.hpp"
#include "store_space.hpp"
#include "summary_table.hpp"
#include "transactions.hpp"
#include "tree_removal.hpp"
#include "turn_reader.hpp"
#include "turn_writer.hpp"
#include "unregistered_work.hpp"
#include "value_table.hpp"
#include "work_directory.hpp"
#include "work_fetch.hpp"
#include "work_outcomes.hpp"
#include "work_results.hpp"
#include "work_schedule.hpp"
#include "work_table.hpp"
#include "worker_registry.hpp"
#include "worker_table.hpp"

namespace pawl::store {

// Rows that several families read and write.
struct RowTables {
  explicit RowTables(StoreContext& context)
      : workers(context),
        due(context, workers),
        instances(context),
        messages(context),
        summaries(context),
        events(context, messages),
        sessions(context, summaries),
        items(context, sessions),
        devices(context),
        outcomes(context, instances, messages, sessions, items),
        unregistered(context, workers, sessions, items) {}

  WorkerTable workers;
  DueIndex due;
  InstanceTable instances;
  MessageTable messages;
  SummaryTable summaries;
  SessionEvents events;
  SessionTable sessions;
  WorkTable items;
  DeviceTable devices;
  WorkOutcomes outcomes;
  UnregisteredWork unregistered;
};

// The owner of a session, and how a session is opened, moved and ended.
struct SessionTables {
  SessionTables(StoreContext& context, RowTables& rows)
      : owners(context, rows.workers, rows.events, rows.sessions, rows.outcomes, rows.unregistered),
        limits(context, rows.events),
        openings(context, rows.summaries, rows.events, rows.sessions, rows.unregistered, owners,
                 limits),
        moves(context, rows.workers, rows.due, rows.instances, rows.events, rows.sessions,
              rows.items, owners, rows.devices, openings),
        claims(context, rows.summaries, rows.events, rows.sessions, rows.outcomes, owners,
               rows.devices, moves),
        handoff(context, rows.sessions, openings, moves),
        opened(context, rows.messages, rows.events, rows.sessions, owners, openings, handoff),
        expiry(context, rows.instances, rows.events, rows.sessions, owners, openings, opened),
        sweep(context, rows.events, rows.sessions, owners),
        verbs(context, rows.instances, rows.sessions, openings, handoff),
        directory(context, rows.workers, rows.instances) {}

  SessionOwners owners;
  SessionLimits limits;
  SessionOpenings openings;
  SessionMoves moves;
  DeviceClaims claims;
  SessionHandoff handoff;
  OpenedSessions opened;
  SessionExpiry expiry;
  SessionSweep sweep;
  SessionVerbs verbs;
  SessionDirectory directory;
};

// The way of a work item through the queue, and how a damaged row is taken out of it.
struct WorkTables {
  WorkTables(StoreContext& context, RowTables& rows, SessionTables& sessions)
      : schedule(context, rows.events, rows.sessions, rows.outcomes, rows.unregistered,
                 sessions.moves, sessions.openings, sessions.limits),
        results(context, rows.sessions, rows.items, rows.outcomes, sessions.owners),
        quarantine(context, rows.instances, rows.sessions, rows.items, rows.outcomes,
                   sessions.owners),
        fetch(context, rows.workers, rows.summaries, rows.events, rows.sessions, rows.items,
              rows.outcomes, rows.unregistered, sessions.owners, quarantine),
        directory(context) {}

  WorkSchedule schedule;
  WorkResults results;
  RowQuarantine quarantine;
  WorkFetch fetch;
  WorkDirectory directory;
};

// The database's clock and counters, and the space it takes.
struct PlaceTables {
  PlaceTables(StoreContext& context, sql::Database& file)
      : meta(context, file), space(context, file) {}

  MetaTable meta;
  StoreSpace space;
};

// Instances: their life, their turns, and the calls of operators on them.
struct InstanceTables {
  InstanceTables(StoreContext& context, RowTables& rows, SessionTables& sessions, WorkTables& work,
                 PlaceTables& place)
      : history(context),
        values(context, rows.instances, rows.messages),
        created(context, rows.messages, place.space),
        mailbox(context, rows.workers, rows.instances, rows.messages, place.space),
        reader(context, history),
        parked(context, rows.instances, rows.items, rows.outcomes, sessions.claims,
               sessions.expiry),
        children(context, rows.messages, created),
        ready(context, rows.workers, rows.due),
        turn_reader(context),
        directory(context, rows.instances, history),
        verbs(context, rows.instances),
        restarts(context, rows.instances, rows.messages, rows.items, history, values, children,
                 place.space),
        removal(context, rows.instances, rows.items, sessions.opened),
        turn_writer(context, rows.instances, rows.messages, rows.items, sessions.opened,
                    work.schedule, work.results, history, values, children, removal) {}

  HistoryTable history;
  ValueTable values;
  NewInstances created;
  InstanceMessages mailbox;
  InstanceReader reader;
  ParkedInstances parked;
  Children children;
  ReadyInstances ready;
  TurnReader turn_reader;
  InstanceDirectory directory;
  InstanceVerbs verbs;
  Restarts restarts;
  TreeRemoval removal;
  TurnWriter turn_writer;
};

struct Tables {
  Tables(StoreContext& context, SchemaCheck& schema, sql::Database& file)
      : rows(context),
        sessions(context, rows),
        work(context, rows, sessions),
        place(context, file),
        instances(context, rows, sessions, work, place),
        registry(context, rows.workers, rows.items, rows.outcomes, rows.unregistered,
                 sessions.owners, sessions.moves, work.quarantine, file, place.meta),
        metrics(context, rows.sessions, sessions.directory, place.space),
        transactions(context, rows.workers, rows.due, rows.sessions, rows.unregistered,
                     work.results, work.fetch, schema, file, place.meta, place.space) {}

  RowTables rows;
  SessionTables sessions;
  WorkTables work;
  PlaceTables place;
  InstanceTables instances;
  WorkerRegistry registry;
  StoreMetrics metrics;
  Transactions transactions;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_TABLES_HPP
