// Store: the storage. One object is one connection of one process.
//
// Purpose: the loop and the clients call it by noun: session(), work(), instance(), worker() and
// place(); each noun has its classes, and a call has one name from here to its row. It is written
// over sql::Connection and sql::Database, so that it has one text for all engines; an engine makes
// one (store_factory.hpp). The storage knows the kind and the fields of an event; payloads are
// bytes.
//
// A call is made in a batch unless it says otherwise: between batch().begin() and commit() or
// rollback(), which are one write transaction. If it answers kIo, kFull, kCorrupt or
// kResourceExhausted the batch is dead: roll it back. kStale, kNotFound and kAlreadyExists leave it
// alive and unchanged.
//
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: one thread a connection. Times: Pawl time in ms
// (clock_rules.hpp) unless a name says otherwise.
#ifndef PAWL_STORE_STORE_HPP
#define PAWL_STORE_STORE_HPP

#include <string_view>

#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "store/causes.hpp"
#include "store/change_sink.hpp"
#include "store/context.hpp"
#include "store/instance/call_rows.hpp"
#include "store/instance/deliveries.hpp"
#include "store/instance/directory.hpp"
#include "store/instance/ready.hpp"
#include "store/instance/removal.hpp"
#include "store/instance/turn_writer.hpp"
#include "store/instance/verbs.hpp"
#include "store/place/batches.hpp"
#include "store/rows.hpp"
#include "store/session/directory.hpp"
#include "store/session/expiry.hpp"
#include "store/session/moves.hpp"
#include "store/session/openings.hpp"
#include "store/session/owners.hpp"
#include "store/session/verbs.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/database.hpp"
#include "store/work/fetch.hpp"
#include "store/work/items.hpp"
#include "store/work/outside.hpp"
#include "store/worker/workers.hpp"

namespace pawl {
namespace store {

// The classes of a noun, in the order in which they call each other.
struct Sessions {
  Sessions(StoreContext& context, Rows& of)
      : rows(of.sessions),
        owners(context, of),
        openings(context, of, owners),
        moves(context, of, owners, openings),
        verbs(context, of, owners, openings, moves),
        expiry(context, of, owners, openings, verbs),
        directory(context, of) {}

  SessionRows& rows;
  SessionOwners owners;
  SessionOpenings openings;
  SessionMoves moves;
  SessionVerbs verbs;
  SessionExpiry expiry;
  SessionDirectory directory;
};

struct Work {
  Work(StoreContext& context, Rows& of, Sessions& sessions, Batches& batches)
      : rows(of.work),
        unregistered(of.unregistered),
        items(context, of, sessions.owners, sessions.openings, sessions.moves),
        outside(context, of, sessions.owners),
        fetch(context, of, sessions.owners, batches) {}

  WorkRows& rows;
  UnregisteredWork& unregistered;
  WorkItems items;
  OutsideWork outside;
  WorkFetch fetch;
};

struct Instances {
  Instances(StoreContext& context, Rows& of, Sessions& sessions, Work& work)
      : rows(of.instances),
        history(of.history),
        calls(of.calls),
        deliveries(context, of),
        removal(context, of, sessions.verbs),
        ready(context, of, sessions.moves, sessions.expiry),
        turns(context, of, sessions.verbs, work.items, deliveries, removal),
        verbs(context, of, deliveries),
        directory(context, of, sessions.directory) {}

  InstanceRows& rows;
  InstanceHistory& history;
  CallRows& calls;
  Deliveries deliveries;
  TreeRemoval removal;
  ReadyInstances ready;
  TurnWriter turns;
  InstanceVerbs verbs;
  InstanceDirectory directory;
};

}  // namespace store

class Store {
 public:
  // The engine's; both outlive the Store.
  Store(sql::Connection& connection, sql::Database& file)
      : context_(connection, file),
        rows_(context_),
        sessions_(context_, rows_),
        batches_(context_, rows_, sessions_.owners),
        work_(context_, rows_, sessions_, batches_),
        instances_(context_, rows_, sessions_, work_),
        workers_(context_, rows_, sessions_.owners, sessions_.moves, batches_) {
    context_.batches = &batches_;
  }
  ~Store() { close(); }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Status open(const StoreOptions& options, const port::Port& port, Diagnostic& diagnostic);
  void close();
  void set_change_sink(ChangeSink* sink) { context_.sink = sink; }
  // The workers of other machines, for Evidence; null: there are none.
  [[nodiscard]] OtherMachines* other_machines() { return context_.file.other_machines(); }
  // From now on commits on other machines end the sleep of these threads; null: no more.
  void wake(port::Threads* threads) { context_.file.wake(threads); }
  // A batch is in doubt, and the answer to its commit is under way; it ends the sleep of the loop.
  [[nodiscard]] bool outcome_comes() const { return context_.file.outcome_comes(); }
  // Plans one view for reads that perhaps are none: the first of them begins it, and what others
  // have committed is not looked at before it. A batch follows the end at once.
  void plan_read() { context_.read_is_planned = true; }
  void end_planned_read();
  // Whether it gains something to say what will be read.
  [[nodiscard]] bool reads_ahead() const { return context_.connection.reads_ahead(); }
  [[nodiscard]] bool is_reading() const { return context_.in_read; }
  // For a move, which carries rows without knowing what they mean.
  [[nodiscard]] sql::Connection& connection() { return context_.connection; }
  [[nodiscard]] sql::Database& database() { return context_.file; }
  // The text of the last failure of any call.
  [[nodiscard]] const Diagnostic& diagnostic() const { return context_.diagnostic; }
  // Opaque 16-byte id of the database as 32 hex digits.
  [[nodiscard]] std::string_view database_id() const { return context_.file.database_id(); }
  // The input and output of all connections of this process over the same Storage, since the first
  // of them was opened. Other work of the port (the bell, the folder of a new file) is not counted.
  [[nodiscard]] IoUse io_use() const { return context_.file.io_use(); }

  [[nodiscard]] store::Batches& batch() { return batches_; }
  [[nodiscard]] store::Sessions& session() { return sessions_; }
  [[nodiscard]] store::Work& work() { return work_; }
  [[nodiscard]] store::Instances& instance() { return instances_; }
  [[nodiscard]] store::Workers& worker() { return workers_; }
  [[nodiscard]] store::Place& place() { return rows_.place; }
  [[nodiscard]] store::DueIndex& due() { return rows_.due; }
  [[nodiscard]] store::Causes causes() { return {context_, rows_}; }

 private:
  store::StoreContext context_;
  store::Rows rows_;
  store::Sessions sessions_;
  store::Batches batches_;
  store::Work work_;
  store::Instances instances_;
  store::Workers workers_;
};

}  // namespace pawl

#endif  // PAWL_STORE_STORE_HPP
