#include "parts/c_api/c_client.hpp"

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Page;
using pawl::Status;

namespace {

// Makes a call over a page of the instances that match a filter, which may be null.
pawl_status over_instances(pawl_client* client, const pawl_instance_filter* filter, pawl_page* page,
                           const CallOf<Status(const pawl::InstanceFilter&, Page*)>& call) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::InstanceFilter taken;
  pawl_status refused = PAWL_OK;
  if (!take_for(client, filter, &taken, &refused)) return refused;
  return over_page(client, page, [&](Page* of) { return call(taken, of); });
}

// Counts what a call removes.
class Counted {
 public:
  explicit Counted(pawl_removed* out) : out_(out) {}
  ~Counted() {
    if (out_ != nullptr) *out_ = {counted.instances, counted.executions, counted.events};
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  pawl::Removed counted;

 private:
  pawl_removed* out_;
};

Status take_work_filter(const pawl_work_filter* given, pawl::WorkListFilter* out) {
  pawl_work_filter whole;
  PAWL_TRY(take(StructOf<pawl_work_filter>::kLayout, given, &whole));
  if (whole.any_state == 0) {
    if (whole.state < PAWL_ACTIVITY_READY || whole.state > PAWL_ACTIVITY_OUTSIDE)
      return Status::kInvalidArgument;
    out->state = static_cast<pawl::ActivityState>(whole.state);
  }
  return to_cpp(StructOf<pawl_work_filter>::kLayout, &whole, out) ? Status::kOk
                                                                  : Status::kInvalidArgument;
}

}  // namespace

// ---- verbs ----

pawl_status pawl_client_terminate(pawl_client* client, const char* id, const char* reason) {
  return call_with(client, &pawl::Client::terminate_instance, id, reason);
}
pawl_status pawl_client_suspend(pawl_client* client, const char* id) {
  return call_with(client, &pawl::Client::suspend_instance, id);
}
pawl_status pawl_client_resume(pawl_client* client, const char* id) {
  return call_with(client, &pawl::Client::resume_instance, id);
}
pawl_status pawl_client_change_time_limit(pawl_client* client, const char* id, int64_t limit_ms) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep(client->client.change_time_limit(name_of(id), limit_of(limit_ms)));
}
pawl_status pawl_client_restart(pawl_client* client, const char* id, int from,
                                const pawl_restart_options* options) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::RestartOptions taken;
  pawl_status refused = PAWL_OK;
  if (!take_for(client, options, &taken, &refused)) return refused;
  if (from != PAWL_FROM_START && from != PAWL_FROM_LAST_GOOD_EVENT)
    return client->refuse(Status::kInvalidArgument);
  return client->keep(
      client->client.restart_instance(name_of(id), static_cast<pawl::RestartFrom>(from), taken));
}

// ---- listings ----

pawl_status pawl_client_list(pawl_client* client, const pawl_instance_filter* filter,
                             pawl_page* page, pawl_instance_fn visit, void* user) {
  if (visit == nullptr) return PAWL_INVALID_ARGUMENT;
  ShownRows rows(visit_of(visit), user);
  return over_instances(client, filter, page, [&](const pawl::InstanceFilter& taken, Page* of) {
    return client->client.list_instances(taken, of, rows);
  });
}
pawl_status pawl_client_list_children(pawl_client* client, const char* id, pawl_page* page,
                                      pawl_instance_fn visit, void* user) {
  return list_of(client, id, page, visit_of(visit), user,
                 [](pawl::Client& of, std::string_view instance, Page* at, ShownRows& rows) {
                   return of.list_children(instance, at, rows);
                 });
}
pawl_status pawl_client_list_tree(pawl_client* client, const char* id, pawl_page* page,
                                  pawl_instance_fn visit, void* user) {
  return list_of(client, id, page, visit_of(visit), user,
                 [](pawl::Client& of, std::string_view instance, Page* at, ShownRows& rows) {
                   return of.get_instance_tree(instance, at, rows);
                 });
}
pawl_status pawl_client_get_info(pawl_client* client, const char* id, pawl_instance_info* out) {
  return read_one(client, out, [&](pawl::InstanceInfo* read) {
    return client->client.get_instance_info(name_of(id), read);
  });
}
pawl_status pawl_client_cancel_all(pawl_client* client, const pawl_instance_filter* filter,
                                   pawl_page* page, const char* reason, int64_t* asked) {
  std::int64_t count = 0;
  const pawl_status status =
      over_instances(client, filter, page, [&](const pawl::InstanceFilter& taken, Page* of) {
        return client->client.cancel_instances(taken, of, name_of(reason), &count);
      });
  if (asked != nullptr) *asked = count;
  return status;
}
pawl_status pawl_client_get_stats(pawl_client* client, const char* id, pawl_instance_stats* out) {
  return read_one(client, out, [&](pawl::InstanceStats* read) {
    return client->client.get_instance_stats(name_of(id), read);
  });
}
pawl_status pawl_client_list_executions(pawl_client* client, const char* id,
                                        pawl_execution_fn visit, void* user) {
  return list_of(client, id, visit_of(visit), user,
                 [](pawl::Client& of, std::string_view instance, ShownRows& rows) {
                   return of.list_executions(instance, rows);
                 });
}
pawl_status pawl_client_read_history(pawl_client* client, const char* id, int64_t execution_id,
                                     pawl_page* page, pawl_history_fn visit, void* user) {
  return list(client, page, visit_of(visit), user, [&](Page* of, ShownRows& rows) {
    return client->client.read_history(name_of(id), execution_id, of, rows);
  });
}
pawl_status pawl_client_list_activities(pawl_client* client, const char* id,
                                        pawl_activity_info_fn visit, void* user) {
  return list_of(client, id, visit_of(visit), user,
                 [](pawl::Client& of, std::string_view instance, ShownRows& rows) {
                   return of.list_activities(instance, rows);
                 });
}
pawl_status pawl_client_explain(pawl_client* client, const char* id, pawl_cause_fn visit,
                                void* user) {
  return list_of(client, id, visit_of(visit), user,
                 [](pawl::Client& of, std::string_view instance, ShownRows& rows) {
                   return of.explain(instance, rows);
                 });
}
pawl_status pawl_client_explain_session(pawl_client* client, const char* instance,
                                        const char* session, pawl_cause_fn visit, void* user) {
  if (client == nullptr || visit == nullptr) return PAWL_INVALID_ARGUMENT;
  ShownRows rows(visit_of(visit), user);
  return client->keep(client->client.explain_session(name_of(instance), name_of(session), rows));
}
pawl_status pawl_client_list_work(pawl_client* client, const pawl_work_filter* filter,
                                  pawl_page* page, pawl_work_fn visit, void* user) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::WorkListFilter taken;
  const Status refused = take_work_filter(filter, &taken);
  if (refused != Status::kOk) return client->refuse(refused);
  return list(client, page, visit_of(visit), user,
              [&](Page* of, ShownRows& rows) { return client->client.list_work(taken, of, rows); });
}
pawl_status pawl_client_list_messages(pawl_client* client, const char* id, pawl_page* page,
                                      pawl_message_fn visit, void* user) {
  return list_of(client, id, page, visit_of(visit), user,
                 [](pawl::Client& of, std::string_view instance, Page* at, ShownRows& rows) {
                   return of.list_messages(instance, at, rows);
                 });
}

// ---- removal ----

pawl_status pawl_client_delete(pawl_client* client, const char* id, int force,
                               pawl_removed* removed) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  Counted count(removed);
  return client->keep(client->client.delete_instance(name_of(id), force != 0, &count.counted));
}
pawl_status pawl_client_delete_all(pawl_client* client, const pawl_instance_filter* filter,
                                   pawl_page* page, pawl_removed* removed) {
  Counted count(removed);
  return over_instances(client, filter, page, [&](const pawl::InstanceFilter& taken, Page* of) {
    return client->client.delete_instances(taken, of, &count.counted);
  });
}
pawl_status pawl_client_prune(pawl_client* client, const char* id, int64_t keep_last,
                              int64_t ended_before_ms, pawl_removed* removed) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  Counted count(removed);
  return client->keep(
      client->client.prune_executions(name_of(id), keep_last, ended_before_ms, &count.counted));
}
pawl_status pawl_client_prune_all(pawl_client* client, const pawl_instance_filter* filter,
                                  pawl_page* page, int64_t keep_last, int64_t ended_before_ms,
                                  pawl_removed* removed) {
  Counted count(removed);
  return over_instances(client, filter, page, [&](const pawl::InstanceFilter& taken, Page* of) {
    return client->client.prune_instances(taken, of, keep_last, ended_before_ms, &count.counted);
  });
}
