#include "parts/c_api/c_client.hpp"

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Page;

namespace {

// Copies a setting that shall change.
template <typename T>
void change(std::uint32_t which, std::uint32_t bit, const T& setting, std::optional<T>* update) {
  if ((which & bit) != 0) *update = setting;
}

pawl::SessionUpdate update_of(const pawl::SessionSettings& settings, std::uint32_t which) {
  pawl::SessionUpdate update;
  change(which, PAWL_CHANGE_OWNER_LABEL, settings.owner_label, &update.owner_label);
  change(which, PAWL_CHANGE_KIND, settings.kind, &update.kind);
  change(which, PAWL_CHANGE_IDLE_TIMEOUT, settings.idle_timeout, &update.idle_timeout);
  change(which, PAWL_CHANGE_IDLE_CLOSE, settings.idle_close, &update.idle_close);
  change(which, PAWL_CHANGE_IDLE_CLOSE_NOTICE, settings.idle_close_notice,
         &update.idle_close_notice);
  change(which, PAWL_CHANGE_MAX_AGE, settings.max_age, &update.max_age);
  change(which, PAWL_CHANGE_EXPIRY_NOTICE, settings.expiry_notice, &update.expiry_notice);
  change(which, PAWL_CHANGE_MAX_ACTIVITIES, settings.max_activities, &update.max_activities);
  change(which, PAWL_CHANGE_ACTIVITY_WARNING, settings.activity_warning, &update.activity_warning);
  change(which, PAWL_CHANGE_RATE_INTERVAL, settings.rate_interval, &update.rate_interval);
  change(which, PAWL_CHANGE_RATE_BURST, settings.rate_burst, &update.rate_burst);
  change(which, PAWL_CHANGE_RATE_WAIT, settings.rate_wait, &update.rate_wait);
  return update;
}
// Makes a call for a session, by its opener and its id.
pawl_status on_session(
    pawl_client* client, const char* instance, const char* session,
    const CallOf<pawl::Status(std::string_view opener, std::string_view id)>& call) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep(call(name_of(instance), name_of(session)));
}
// Makes a call that moves sessions, with options that may be null.
pawl_status moving(pawl_client* client, const pawl_transfer_options* options,
                   const CallOf<pawl::Status(const pawl::TransferOptions&)>& call) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::TransferOptions taken;
  pawl_status refused = PAWL_OK;
  return take_for(client, options, &taken, &refused) ? client->keep(call(taken)) : refused;
}
constexpr std::uint32_t kChanges = 2 * PAWL_CHANGE_RATE_WAIT - 1;

}  // namespace

// ---- sessions ----

pawl_status pawl_client_list_sessions(pawl_client* client, const pawl_session_filter* filter,
                                      pawl_page* page, pawl_session_fn visit, void* user) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::SessionFilter taken;
  pawl_status refused = PAWL_OK;
  if (!take_for(client, filter, &taken, &refused)) return refused;
  return list(client, page, visit_of(visit), user, [&](Page* of, ShownRows& rows) {
    return client->client.list_sessions(taken, of, rows);
  });
}
pawl_status pawl_client_get_session(pawl_client* client, const char* instance, const char* session,
                                    pawl_session_info* out) {
  return read_one(client, out, [&](pawl::SessionInfo* read) {
    return client->client.get_session(name_of(instance), name_of(session), read);
  });
}
pawl_status pawl_client_close_session(pawl_client* client, const char* instance,
                                      const char* session, const char* owner_label) {
  return on_session(client, instance, session, [&](std::string_view opener, std::string_view id) {
    return client->client.close_session(opener, id, name_of(owner_label));
  });
}
pawl_status pawl_client_hold_session(pawl_client* client, const char* instance, const char* session,
                                     int64_t hold_ms) {
  return on_session(client, instance, session, [&](std::string_view opener, std::string_view id) {
    return client->client.hold_session(opener, id, ms_of(hold_ms));
  });
}
pawl_status pawl_client_handoff_session(pawl_client* client, const char* instance,
                                        const char* session, const char* tag, const void* summary,
                                        size_t size) {
  if (!is_bytes(summary, size)) return PAWL_INVALID_ARGUMENT;
  return on_session(client, instance, session, [&](std::string_view opener, std::string_view id) {
    return client->client.handoff_session(opener, id, name_of(tag), bytes_of(summary, size));
  });
}
pawl_status pawl_client_change_session(pawl_client* client, const char* instance,
                                       const char* session, const pawl_session_settings* settings,
                                       uint32_t which) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::SessionSettings taken;
  pawl_status refused = PAWL_OK;
  if (!take_for(client, settings, &taken, &refused)) return refused;
  if ((which & ~kChanges) != 0) return client->refuse(pawl::Status::kUnsupported);
  return client->keep(
      client->client.change_session(name_of(instance), name_of(session), update_of(taken, which)));
}

// ---- workers ----

pawl_status pawl_client_transfer_session(pawl_client* client, const char* session, const char* node,
                                         const pawl_transfer_options* options) {
  return moving(client, options, [&](const pawl::TransferOptions& taken) {
    return client->client.transfer_session(name_of(session), name_of(node), taken);
  });
}
pawl_status pawl_client_drain_worker(pawl_client* client, const char* node,
                                     const pawl_transfer_options* options) {
  return moving(client, options, [&](const pawl::TransferOptions& taken) {
    return client->client.drain_worker(name_of(node), taken);
  });
}
pawl_status pawl_client_undrain_worker(pawl_client* client, const char* node) {
  return call_with(client, &pawl::Client::undrain_worker, node);
}
pawl_status pawl_client_forget_device(pawl_client* client, const char* device) {
  return call_with(client, &pawl::Client::forget_device, device);
}
pawl_status pawl_client_list_workers(pawl_client* client, pawl_worker_fn visit, void* user) {
  return list_of(
      client, nullptr, visit_of(visit), user,
      [](pawl::Client& of, std::string_view, ShownRows& rows) { return of.list_workers(rows); });
}

// ---- the database ----

pawl_status pawl_client_get_metrics(pawl_client* client, pawl_metrics* out) {
  return read_one(client, out,
                  [&](pawl::Metrics* read) { return client->client.get_metrics(read); });
}
pawl_status pawl_client_set_quota(pawl_client* client, int64_t bytes) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep(client->client.set_quota(bytes));
}
