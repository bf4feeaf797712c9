// Rows: what several classes of the storage read and write: the rows of each noun, the history, the
// clock and the room of the database.
//
// Purpose: a class of the storage has one reference for all that lies below it, and one for each
// class beside it that it calls. Each member knows the members above it, so there is no circle.
// Ownership: the Store owns the context, which outlives the rows. Thread rule: as store.hpp.
#ifndef PAWL_STORE_ROWS_HPP
#define PAWL_STORE_ROWS_HPP

#include "store/context.hpp"
#include "store/instance/call_rows.hpp"
#include "store/instance/history.hpp"
#include "store/instance/message_keys.hpp"
#include "store/instance/rows.hpp"
#include "store/place/due_index.hpp"
#include "store/place/place.hpp"
#include "store/session/events.hpp"
#include "store/session/rows.hpp"
#include "store/work/rows.hpp"
#include "store/work/unregistered.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

struct Rows {
  explicit Rows(StoreContext& context)
      : place(context),
        workers(context),
        due(context, workers),
        instances(context),
        history(context),
        keys(context),
        calls(context),
        sessions(context),
        events(context, instances),
        work(context, sessions, instances),
        unregistered(context, workers, sessions, work) {}

  Place place;
  WorkerRows workers;
  DueIndex due;
  InstanceRows instances;
  InstanceHistory history;
  MessageKeys keys;
  CallRows calls;
  SessionRows sessions;
  SessionEvents events;
  WorkRows work;
  UnregisteredWork unregistered;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_ROWS_HPP
