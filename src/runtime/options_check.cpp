#include "runtime/options_check.hpp"

#include "codec/event.hpp"
#include "core/ids.hpp"
#include "pawl/registry.hpp"
#include "runtime/crash_notes.hpp"
#include "store/store.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {
namespace {

// Least log_bytes_max, in logs of checkpoint_pages. A log can always become that long, and longer
// by one transaction.
constexpr std::int64_t kLogsLeast = 4;

static_assert(Registry::kOrchestrationsMost == 1'024 && Registry::kActivitiesMax == 128,
              "as below");

struct Range {
  const char* name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

Status check_ranges(const Options& options, Diagnostic& diagnostic) {
  const Range ranges[] = {
      {"limits.batch", options.limits.batch, 1, 1'024},
      {"limits.instance_batch_max", options.limits.instance_batch_max, 1, 1'024},
      {"timing.tick_max", options.timing.tick_max.count(), 1, 10'000},
      {"timing.commit_window", options.timing.commit_window.count(), 0, 10'000},
      {"timing.busy_max", options.timing.busy_max.count(), 1, 60'000},
      {"leases.home_grace", options.leases.home_grace.count(), 0, 3'600'000},
      {"slots.inline_activities", options.slots.inline_activities, 0, 1'024},
      {"slots.threads", options.slots.threads, 0, port::kThreadsMax},
      {"slots.thread_stack_bytes", static_cast<std::int64_t>(options.slots.thread_stack_bytes),
       64 * 1024, 64 * 1024 * 1024},
      {"slots.cooperative", options.slots.cooperative, 0, 256},
      {"slots.cooperative_scratch_bytes",
       static_cast<std::int64_t>(options.slots.cooperative_scratch_bytes), 0, 64 * 1024},
      {"timing.inline_max", options.timing.inline_max.count(), 1, 60'000},
      {"timing.heartbeat_interval", options.timing.heartbeat_interval.count(), 100, 3'600'000},
      {"timing.activity_grace", options.timing.activity_grace.count(), 0, 3'600'000},
      {"timing.cancel_grace", options.timing.cancel_grace.count(), 0, 31'536'000'000},
      {"limits.payload_bytes_max", static_cast<std::int64_t>(options.limits.payload_bytes_max), 256,
       1024 * 1024},
      {"limits.history_events_max", options.limits.history_events_max, 16, 1'000'000},
      {"limits.commands_a_turn_max", options.limits.commands_a_turn_max, 1, 100'000},
      {"limits.traces_a_turn_max", options.limits.traces_a_turn_max, 0, 10'000},
      {"limits.orchestrations_max", options.limits.orchestrations_max, 1, 1'024},
      {"limits.activities_max", options.limits.activities_max, 0, 128},
      {"limits.notices_max", options.limits.notices_max, 1, 64},
      {"limits.workers_max", options.limits.workers_max, 2, 64},
      {"limits.devices_max", options.limits.devices_max, 0, 1'024},
      {"limits.queue_messages_max", options.limits.queue_messages_max, 1, 1'024},
      {"limits.kv_keys_max", options.limits.kv_keys_max, 1, 10'000},
      {"limits.warm_instances", options.limits.warm_instances, 1, 100'000},
      {"limits.warm_bytes", static_cast<std::int64_t>(options.limits.warm_bytes), 16 * 1024,
       1 << 30},
      {"limits.requests_max", options.limits.requests_max, 1, 100'000},
      {"retention.age", options.retention.age.count(), 0, 31'536'000'000'000},
      {"retention.count", options.retention.count, 0, 100'000},
      {"retention.executions", options.retention.executions, 0, 1'000'000},
      {"retention.message_keys", options.retention.message_keys, 1, 1'024},
      {"retention.message_key_age", options.retention.message_key_age.count(), 1'000,
       31'536'000'000},
      {"space.quota_bytes", options.space.quota_bytes, 0, 1'125'899'906'842'624},
      {"space.reserve_bytes", static_cast<std::int64_t>(options.space.reserve_bytes.value_or(0)), 0,
       64 * 1024 * 1024},
      {"space.log_bytes_max", options.space.log_bytes_max, 64 * 1024, 1'125'899'906'842'624},
      {"limits.crashes_max", options.limits.crashes_max, 1, 1'000},
      {"limits.strikes_max", options.limits.strikes_max, 1, 1'000},
      {"limits.reboots_max", options.limits.reboots_max, 1, 100'000},
      {"space.cache_pages", options.space.cache_pages, 16, 65'536},
      {"space.checkpoint_pages", options.space.checkpoint_pages, 16, 100'000},
  };
  for (const Range& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    diagnostic.format("%s = %lld must be %lld..%lld", range.name,
                      static_cast<long long>(range.value), static_cast<long long>(range.least),
                      static_cast<long long>(range.most));
    return Status::kInvalidOptions;
  }
  return Status::kOk;
}

Status check_tags(const TagFilter& filter, Diagnostic& diagnostic) {
  const bool has_set =
      filter.mode == TagFilter::Mode::kTags || filter.mode == TagFilter::Mode::kDefaultAnd;
  const std::size_t least = has_set ? 1 : 0;
  const std::size_t most = has_set ? TagFilter::kTagsMax : 0;
  if (filter.count < least || filter.count > most) {
    diagnostic.format("worker_tag_filter has %zu tags; its mode needs %zu..%zu", filter.count,
                      least, most);
    return Status::kInvalidOptions;
  }
  for (std::size_t i = 0; i < filter.count; ++i) {
    if (!is_valid_name(filter.set[i])) {
      diagnostic.format(
          "worker_tag_filter: tag %zu has %zu bytes or a control character; "
          "1..%zu bytes are allowed",
          i + 1, filter.set[i].size(), kNameBytesMax);
      return Status::kInvalidOptions;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (filter.set[j] != filter.set[i]) continue;
      diagnostic.format("worker_tag_filter: tags %zu and %zu are the same", j + 1, i + 1);
      return Status::kInvalidOptions;
    }
  }
  return Status::kOk;
}

Status check_claims(const Options& options, Diagnostic& diagnostic) {
  const std::size_t most = options.sessions.max_sessions_per_worker;
  if (options.sessions.claim_at_start_count > most ||
      (options.sessions.claim_at_start == nullptr && most > 0 &&
       options.sessions.claim_at_start_count > 0)) {
    diagnostic.format("claim_at_start has %zu names%s; max_sessions_per_worker is %zu",
                      options.sessions.claim_at_start_count,
                      options.sessions.claim_at_start == nullptr ? " and is null" : "", most);
    return Status::kInvalidOptions;
  }
  for (std::size_t i = 0; i < options.sessions.claim_at_start_count; ++i) {
    if (is_valid_id(options.sessions.claim_at_start[i])) continue;
    diagnostic.format(
        "claim_at_start: name %zu has %zu bytes, a control character or a blank at its ends; "
        "1..%zu "
        "bytes are allowed",
        i + 1, options.sessions.claim_at_start[i].size(), kNameBytesMax);
    return Status::kInvalidOptions;
  }
  return Status::kOk;
}

Status check_path(const char* option, const Path& path, Diagnostic& diagnostic) {
  if (path.fits()) return Status::kOk;
  if (path.size() > Path::kBytesMax) {
    diagnostic.format("%s has %zu bytes; at most %zu are allowed", option, path.size(),
                      Path::kBytesMax);
  } else {
    diagnostic.format("%s has a zero byte inside", option);
  }
  return Status::kInvalidOptions;
}

Status check_texts(const Options& options, Diagnostic& diagnostic) {
  if (options.database_path.empty()) {
    diagnostic.format("database_path is not set");
    return Status::kInvalidOptions;
  }
  PAWL_TRY(check_path("database_path", options.database_path, diagnostic));
  if (options.database != nullptr) {
    PAWL_TRY(check_path("the address of the database", options.database->address, diagnostic));
    if (options.database->engine == nullptr || options.database->address.empty()) {
      diagnostic.format("database has no engine or no address: see pawl/server_database.hpp");
      return Status::kInvalidOptions;
    }
  }
  if (options.sessions.work_root.has_value())
    PAWL_TRY(check_path("sessions.work_root", *options.sessions.work_root, diagnostic));
  if (!options.worker_node_id.has_value() || is_valid_id(*options.worker_node_id))
    return Status::kOk;
  diagnostic.format(
      "worker_node_id has %zu bytes, a control character or a blank at its ends; 1..%zu "
      "bytes are allowed",
      options.worker_node_id->size(), kNameBytesMax);
  return Status::kInvalidOptions;
}

}  // namespace

std::int64_t reserve_bytes(const Options& options) {
  const SpaceOptions& space = options.space;
  if (options.database != nullptr) return 0;
  if (space.reserve_bytes.has_value()) return static_cast<std::int64_t>(*space.reserve_bytes);
  return 2 * kLogPageBytes * space.checkpoint_pages;
}

Status check_options(const Options& options, Diagnostic& diagnostic) {
  PAWL_TRY(check_texts(options, diagnostic));
  PAWL_TRY(check_ranges(options, diagnostic));
  PAWL_TRY(check_tags(options.worker_tag_filter, diagnostic));
  PAWL_TRY(check_claims(options, diagnostic));
  if (options.limits.warm_bytes < 4 * options.limits.payload_bytes_max) {
    diagnostic.format("warm_bytes = %zu must be at least 4 * payload_bytes_max = %zu",
                      options.limits.warm_bytes, 4 * options.limits.payload_bytes_max);
    return Status::kInvalidOptions;
  }
  if (options.space.quota_bytes != 0 && options.space.quota_bytes < kQuotaLeast) {
    diagnostic.format("quota_bytes = %lld must be 0 or at least %lld",
                      static_cast<long long>(options.space.quota_bytes),
                      static_cast<long long>(kQuotaLeast));
    return Status::kInvalidOptions;
  }
  // A smaller reserve would leave a full disk without room for the content of the log.
  const std::int64_t log_bytes = options.space.checkpoint_pages * kLogPageBytes;
  const std::int64_t reserve = reserve_bytes(options);
  if (reserve != 0 && reserve < log_bytes) {
    diagnostic.format(
        "reserve_bytes = %lld must be 0 or at least %lld, as much as the log of "
        "checkpoint_pages = %d holds",
        static_cast<long long>(reserve), static_cast<long long>(log_bytes),
        options.space.checkpoint_pages);
    return Status::kInvalidOptions;
  }
  const long long log_bytes_least = kLogsLeast * log_bytes;
  if (options.space.log_bytes_max < log_bytes_least) {
    diagnostic.format(
        "log_bytes_max = %lld must be at least %lld, %lld times what the log of checkpoint_pages = "
        "%d holds",
        static_cast<long long>(options.space.log_bytes_max), log_bytes_least,
        static_cast<long long>(kLogsLeast), options.space.checkpoint_pages);
    return Status::kInvalidOptions;
  }
  if (options.limits.warm_instances < options.limits.batch) {
    diagnostic.format("warm_instances = %u must be at least batch = %u",
                      options.limits.warm_instances, options.limits.batch);
    return Status::kInvalidOptions;
  }
  const std::int64_t lease_ms = options.leases.session_lock_timeout.count();
  if (options.database != nullptr && lease_ms < kSharedLeaseMsMin) {
    diagnostic.format(
        "session_lock_timeout (%lld ms) must be at least %lld ms with a database of a "
        "server: the clocks of two machines differ",
        static_cast<long long>(lease_ms), static_cast<long long>(kSharedLeaseMsMin));
    return Status::kInvalidOptions;
  }
  return validate(options.leases, options.sessions, diagnostic);
}

Status check_payload(const Process& process, std::size_t payload_bytes_max,
                     Diagnostic& diagnostic) {
  if (payload_bytes_max <= process.payload_bytes_max_) return Status::kOk;
  diagnostic.format("payload_bytes_max = %zu is more than the %zu of ProcessOptions",
                    payload_bytes_max, process.payload_bytes_max_);
  return Status::kInvalidOptions;
}

}  // namespace pawl
