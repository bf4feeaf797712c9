#include <memory>
#include <new>

#include "parts/c_api/c_host.hpp"
#include "parts/c_api/c_layouts.hpp"
#include "parts/c_api/c_types.hpp"

namespace pawl::c_api {
namespace {

struct HostOptionsTable {
  using C = pawl_host_options;
  using Cpp = HostOptions;
  static constexpr Member kMembers[] = {
      PAWL_C_MEMBER(database_path, runtime.database_path),
      PAWL_C_CODE(database),
      PAWL_C_MEMBER(worker_node_id, runtime.worker_node_id),
      PAWL_C_INT(small, 0),
      PAWL_C_MEMBER(run_orchestrations, runtime.run_orchestrations),
      PAWL_C_INT(catch_signals, 0),
      PAWL_C_INT(wall_trust, PAWL_TRUST_KERNEL),
      PAWL_C_MEMBER(synchronous_full, runtime.synchronous_full),
      PAWL_C_INT(clients_max, 1),
      PAWL_C_MS(grace),
      PAWL_C_CODE(log),
      PAWL_C_CODE(log_user),
      PAWL_C_INT(tag_mode, PAWL_TAGS_DEFAULT_ONLY),
      PAWL_C_INT(tag_count, 0),
      PAWL_C_CODE(tags),
      PAWL_C_MEMBER(threads, runtime.slots.threads),
      PAWL_C_MEMBER(inline_activities, runtime.slots.inline_activities),
      PAWL_C_MEMBER(cooperative, runtime.slots.cooperative),
      PAWL_C_MEMBER(payload_bytes_max, runtime.limits.payload_bytes_max),
      PAWL_C_MEMBER(history_events_max, runtime.limits.history_events_max),
      PAWL_C_MEMBER(queue_messages_max, runtime.limits.queue_messages_max),
      PAWL_C_MEMBER(kv_keys_max, runtime.limits.kv_keys_max),
      PAWL_C_MEMBER(max_sessions_per_worker, runtime.sessions.max_sessions_per_worker),
      PAWL_C_MEMBER(max_sessions_per_orchestration,
                    runtime.sessions.max_sessions_per_orchestration),
      PAWL_C_MEMBER(max_sessions_per_owner, runtime.sessions.max_sessions_per_owner),
      PAWL_C_MEMBER(audit_activities, runtime.sessions.audit_activities),
      PAWL_C_MEMBER(work_root, runtime.sessions.work_root),
      PAWL_C_CODE(owner_change),
      PAWL_C_CODE(owner_user),
      PAWL_C_MEMBER(session_lock_timeout_ms, runtime.leases.session_lock_timeout),
      PAWL_C_MEMBER(session_lock_renewal_buffer_ms, runtime.leases.session_lock_renewal_buffer),
      PAWL_C_MEMBER(session_idle_timeout_ms, runtime.sessions.session_idle_timeout),
      PAWL_C_MEMBER(session_cleanup_interval_ms, runtime.sessions.session_cleanup_interval),
      PAWL_C_MEMBER(evict_idle_ms, runtime.sessions.evict_idle),
      PAWL_C_MEMBER(leak_open_ms, runtime.sessions.leak_open),
      PAWL_C_MEMBER(leak_unused_ms, runtime.sessions.leak_unused),
      PAWL_C_MEMBER(worker_lock_timeout_ms, runtime.leases.worker_lock_timeout),
      PAWL_C_MEMBER(worker_lock_renewal_buffer_ms, runtime.leases.worker_lock_renewal_buffer),
      PAWL_C_MEMBER(commit_window_ms, runtime.timing.commit_window),
      PAWL_C_MEMBER(busy_max_ms, runtime.timing.busy_max),
      PAWL_C_MEMBER(heartbeat_interval_ms, runtime.timing.heartbeat_interval),
      PAWL_C_MEMBER(activity_grace_ms, runtime.timing.activity_grace),
      PAWL_C_MEMBER(cancel_grace_ms, runtime.timing.cancel_grace),
      PAWL_C_MEMBER(retention_age_ms, runtime.retention.age),
      PAWL_C_MEMBER(retention_count, runtime.retention.count),
      PAWL_C_MEMBER(retention_executions, runtime.retention.executions),
      PAWL_C_MEMBER(quota_bytes, runtime.space.quota_bytes),
      PAWL_C_MEMBER(log_bytes_max, runtime.space.log_bytes_max),
  };
};

// The options with their C++ defaults, before any member is taken.
void make_default(HostOptions* options, bool is_small) {
  if (!is_small) return;
  options->runtime = Options::small();
  options->process = ProcessOptions::small();
}

void give_host_defaults(void* out, std::size_t bytes, bool is_small) {
  HostOptions from;
  make_default(&from, is_small);
  from_cpp(StructOf<pawl_host_options>::kLayout, &from, out, bytes);
  constexpr std::size_t kAt = offsetof(pawl_host_options, small);
  const int small = is_small ? 1 : 0;
  if (bytes >= kAt + sizeof small) std::memcpy(static_cast<char*>(out) + kAt, &small, sizeof small);
}

constexpr std::uint32_t kClientsMax = 31;

bool is_valid(const pawl_host_options& given) {
  const bool has_tags = given.tag_count == 0 || given.tags != nullptr;
  return given.database_path != nullptr && given.clients_max <= kClientsMax &&
         given.grace_ms >= 0 && has_tags && given.tag_count <= TagFilter::kTagsMax &&
         given.tag_mode >= PAWL_TAGS_DEFAULT_ONLY && given.tag_mode <= PAWL_TAGS_NONE &&
         (given.wall_trust == PAWL_TRUST_KERNEL || given.wall_trust == PAWL_TRUST_ALWAYS ||
          given.wall_trust == PAWL_TRUST_NEVER);
}

TagFilter tag_filter(const pawl_host_options& given) {
  TagFilter filter;
  filter.mode = static_cast<TagFilter::Mode>(given.tag_mode);
  filter.count = given.tag_count;
  for (std::size_t i = 0; i < given.tag_count; ++i)
    filter.set[i] = name_of(given.tags[i]);
  return filter;
}

}  // namespace

const Layout StructOf<pawl_host_options>::kLayout = layout_of<HostOptionsTable>(
    [](void* out, std::size_t bytes) { give_host_defaults(out, bytes, false); });
const Layout kSmallHostOptions = layout_of<HostOptionsTable>(
    [](void* out, std::size_t bytes) { give_host_defaults(out, bytes, true); });

namespace {

// Takes the options of a host. *whole becomes a whole struct, too.
Status take_host_options(const pawl_host_options* given, pawl_host_options* whole,
                         HostOptions* out) {
  PAWL_TRY(take(StructOf<pawl_host_options>::kLayout, given, whole));
  const bool is_small = whole->small != 0;
  if (is_small) PAWL_TRY(take(kSmallHostOptions, given, whole));
  make_default(out, is_small);
  if (!is_valid(*whole) || !to_cpp(kSmallHostOptions, whole, out)) return Status::kInvalidArgument;
  out->runtime.worker_tag_filter = tag_filter(*whole);
  out->process.connections_max = 1 + whole->clients_max;
  out->process.page_cache_pages +=
      static_cast<int>(whole->clients_max) * ClientOptions().cache_pages;
  if (out->process.payload_bytes_max < whole->payload_bytes_max)
    out->process.payload_bytes_max = whole->payload_bytes_max;
  out->port.wall_trust = static_cast<posix::WallTrust>(whole->wall_trust);
  out->catch_signals = whole->catch_signals != 0;
  return Status::kOk;
}

}  // namespace
}  // namespace pawl::c_api

using pawl::Status;

pawl_status pawl_host_open(const pawl_host_options* options, pawl_host** out) {
  if (out == nullptr) return PAWL_INVALID_ARGUMENT;
  *out = nullptr;
  pawl_host_options given;
  pawl::HostOptions taken;
  const Status refused = pawl::c_api::take_host_options(options, &given, &taken);
  if (refused != Status::kOk) return pawl::c_api::status_of(refused);
  std::unique_ptr<pawl_host> host(new (std::nothrow) pawl_host(taken, given));
  if (host == nullptr || !host->answers.make(host->host.options().runtime.limits.requests_max))
    return PAWL_RESOURCE_EXHAUSTED;
  *out = host.release();
  return PAWL_OK;
}
