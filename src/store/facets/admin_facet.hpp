// AdminFacet: lists and verbs for people.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_ADMIN_FACET_HPP
#define PAWL_STORE_FACETS_ADMIN_FACET_HPP

#include <cstddef>
#include <string_view>

#include "admin_store.hpp"
#include "tables/instance_directory.hpp"
#include "tables/instance_verbs.hpp"
#include "tables/restarts.hpp"
#include "tables/session_directory.hpp"
#include "tables/session_expiry.hpp"
#include "tables/session_verbs.hpp"
#include "tables/store_metrics.hpp"
#include "tables/tree_removal.hpp"
#include "tables/work_directory.hpp"

namespace pawl::store {

class AdminFacet final : public AdminStore {
 public:
  AdminFacet(SessionExpiry& expiry, SessionVerbs& session_verbs, SessionDirectory& directory,
             InstanceDirectory& instance_directory, StoreMetrics& metrics, InstanceVerbs& verbs,
             Restarts& restarts, TreeRemoval& removal, WorkDirectory& work)
      : expiry_(expiry),
        session_verbs_(session_verbs),
        directory_(directory),
        instance_directory_(instance_directory),
        metrics_(metrics),
        verbs_(verbs),
        restarts_(restarts),
        removal_(removal),
        work_(work) {}
  AdminFacet(const AdminFacet&) = delete;
  AdminFacet& operator=(const AdminFacet&) = delete;

  Status list_instances(const InstanceFilter& filter, Page* page,
                        InstanceVisitor& visitor) override {
    return instance_directory_.list_instances(filter, page, visitor);
  }
  Status list_tree(InstanceKey of, bool children_only, Page* page,
                   InstanceVisitor& visitor) override {
    return instance_directory_.list_tree(of, children_only, page, visitor);
  }
  Status read_instance_info(std::string_view id, InstanceVisitor& visitor) override {
    return instance_directory_.read_instance_info(id, visitor);
  }
  Status read_instance_stats(std::string_view id, InstanceStats* out) override {
    return instance_directory_.read_instance_stats(id, out);
  }
  Status list_executions(InstanceKey key, ExecutionVisitor& visitor) override {
    return instance_directory_.list_executions(key, visitor);
  }
  Status list_activities(InstanceKey key, ExecutionId execution,
                         ActivityVisitor& visitor) override {
    return instance_directory_.list_activities(key, execution, visitor);
  }
  Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) override {
    return work_.list_work(filter, page, visitor);
  }
  Status list_messages(InstanceKey key, Page* page, MessageVisitor& visitor) override {
    return work_.list_messages(key, page, visitor);
  }
  Status read_metrics(Metrics* out) override { return metrics_.read_metrics(out); }
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor) override {
    return directory_.list_sessions(filter, page, visitor);
  }
  Status read_session(std::string_view instance, std::string_view session,
                      SessionVisitor& visitor) override {
    return directory_.read_session(instance, session, visitor);
  }
  Status end_session(std::string_view instance, std::string_view session,
                     std::string_view owner_label) override {
    return expiry_.end_session(instance, session, owner_label);
  }
  Status hold_session(std::string_view instance, std::string_view session,
                      std::int64_t hold_ms) override {
    return session_verbs_.hold_session(instance, session, hold_ms);
  }
  Status handoff_session(std::string_view instance, std::string_view session, std::string_view tag,
                         std::string_view summary) override {
    return session_verbs_.handoff_session(instance, session, tag, summary);
  }
  Status change_session(std::string_view instance, std::string_view session,
                        const SessionUpdate& update) override {
    return session_verbs_.change_session(instance, session, update);
  }
  Status terminate_instance(std::string_view id, std::string_view reason) override {
    return verbs_.terminate_instance(id, reason);
  }
  Status suspend_instance(std::string_view id) override { return verbs_.suspend_instance(id); }
  Status resume_instance(std::string_view id) override { return verbs_.resume_instance(id); }
  Status restart_instance(const Restart& how) override { return restarts_.restart_instance(how); }
  Status prune_executions(InstanceKey key, const PruneLimits& limits, std::size_t events_max,
                          Removed* removed, bool* more) override {
    return removal_.prune_executions(key, limits, events_max, removed, more);
  }
  Status delete_instance(InstanceKey key, bool force) override {
    return removal_.delete_instance(key, force);
  }

 private:
  SessionExpiry& expiry_;
  SessionVerbs& session_verbs_;
  SessionDirectory& directory_;
  InstanceDirectory& instance_directory_;
  StoreMetrics& metrics_;
  InstanceVerbs& verbs_;
  Restarts& restarts_;
  TreeRemoval& removal_;
  WorkDirectory& work_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_ADMIN_FACET_HPP
