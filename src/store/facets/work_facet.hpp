// WorkFacet: work items, from the hand-over to the result.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_WORK_FACET_HPP
#define PAWL_STORE_FACETS_WORK_FACET_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tables/context.hpp"
#include "tables/parked_instances.hpp"
#include "tables/unregistered_work.hpp"
#include "tables/work_fetch.hpp"
#include "tables/work_results.hpp"
#include "tables/work_table.hpp"
#include "work_queue.hpp"

namespace pawl::store {

class WorkFacet final : public WorkQueue {
 public:
  WorkFacet(StoreContext& context, WorkTable& items, UnregisteredWork& unregistered,
            WorkResults& results, WorkFetch& fetch, ParkedInstances& parked_instances)
      : context_(context),
        items_(items),
        unregistered_(unregistered),
        results_(results),
        fetch_(fetch),
        parked_instances_(parked_instances) {}
  WorkFacet(const WorkFacet&) = delete;
  WorkFacet& operator=(const WorkFacet&) = delete;

  Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity, WorkItem* out,
                         bool* found) override {
    return fetch_.fetch_work_item(how, buffer, capacity, out, found);
  }
  Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                           bool* more) override {
    return unregistered_.wake_unregistered(me, limit, woken, more);
  }
  [[nodiscard]] std::int64_t made_ready() const override {
    return context_.made_ready + context_.heads_moved;
  }
  Status check_work_item(const WorkDone& done) override { return results_.check_work_item(done); }
  Status ack_work_item(const WorkDone& done, const WorkResult& result) override {
    return results_.ack_work_item(done, result);
  }
  Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                           const CrashLimits& limits) override {
    return results_.abandon_work_item(done, delay_ms, strike, limits);
  }
  Status note_progress(const WorkDone& done, std::string_view progress, std::int64_t at) override {
    return results_.note_progress(done, progress, at);
  }
  Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                              const WorkerTerms& options) override {
    return items_.renew_work_item_lock(done, me, options);
  }
  Status wake_delayed(std::size_t limit, std::size_t* woken) override {
    return parked_instances_.wake_delayed(limit, woken);
  }

 private:
  StoreContext& context_;
  WorkTable& items_;
  UnregisteredWork& unregistered_;
  WorkResults& results_;
  WorkFetch& fetch_;
  ParkedInstances& parked_instances_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_WORK_FACET_HPP
