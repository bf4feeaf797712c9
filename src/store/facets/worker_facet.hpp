// WorkerFacet: registrations, from the first lease to the burial.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_WORKER_FACET_HPP
#define PAWL_STORE_FACETS_WORKER_FACET_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tables/session_moves.hpp"
#include "tables/worker_registry.hpp"
#include "worker_store.hpp"

namespace pawl::store {

class WorkerFacet final : public WorkerStore {
 public:
  WorkerFacet(SessionMoves& moves, WorkerRegistry& registry) : moves_(moves), registry_(registry) {}
  WorkerFacet(const WorkerFacet&) = delete;
  WorkerFacet& operator=(const WorkerFacet&) = delete;

  Status register_worker(const NewWorker& worker, Evidence& evidence, const CrashLimits& limits,
                         Incarnation* out) override {
    return registry_.register_worker(worker, evidence, limits, out);
  }
  Status renew_worker(Incarnation me, std::int64_t lease_ms) override {
    return registry_.renew_worker(me, lease_ms);
  }
  Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                     std::size_t note_count, const CrashLimits& limits) override {
    return registry_.bury_worker(incarnation, heir, notes, note_count, limits);
  }
  Status unregister_worker(Incarnation me) override { return registry_.unregister_worker(me); }
  Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) override {
    return registry_.list_workers(out, capacity, count);
  }
  Status drain_worker(std::string_view node, std::int64_t stop_ms) override {
    return moves_.drain_worker(node, stop_ms);
  }
  Status undrain_worker(std::string_view node) override { return moves_.undrain_worker(node); }
  Status describe_worker(Incarnation worker, char* buffer, std::size_t capacity,
                         WorkerInfo* out) override {
    return registry_.describe_worker(worker, buffer, capacity, out);
  }

 private:
  SessionMoves& moves_;
  WorkerRegistry& registry_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_WORKER_FACET_HPP
