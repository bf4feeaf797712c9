#include "options_check.hpp"

#include <cstring>

#include "crash_notes.hpp"
#include "event.hpp"
#include "ids.hpp"
#include "provider.hpp"
#include "session_options.hpp"

namespace pawl {
namespace {

constexpr std::size_t kPathBytesMax = 400;
// It is as long as checkpoint_pages in any case, and one transaction longer.
constexpr std::int64_t kLogsLeast = 4;

struct Range {
  const char* name;
  std::int64_t value;
  std::int64_t least;
  std::int64_t most;
};

Status check_ranges(const Options& options, Diagnostic& diagnostic) {
  const Range ranges[] = {
      {"batch", options.batch, 1, 1'024},
      {"instance_batch_max", options.instance_batch_max, 1, 1'024},
      {"tick_ms_max", options.tick_ms_max, 1, 10'000},
      {"commit_window_ms", options.commit_window_ms, 0, 10'000},
      {"busy_ms_max", options.busy_ms_max, 1, 60'000},
      {"home_grace_ms", options.home_grace_ms, 0, 3'600'000},
      {"inline_slots", options.inline_slots, 0, 1'024},
      {"thread_slots", options.thread_slots, 0, port::kThreadsMax},
      {"thread_stack_bytes", static_cast<std::int64_t>(options.thread_stack_bytes), 64 * 1024,
       64 * 1024 * 1024},
      {"cooperative_slots", options.cooperative_slots, 0, 256},
      {"cooperative_scratch_bytes", static_cast<std::int64_t>(options.cooperative_scratch_bytes), 0,
       64 * 1024},
      {"inline_ms_max", options.inline_ms_max, 1, 60'000},
      {"heartbeat_interval_ms", options.heartbeat_interval_ms, 100, 3'600'000},
      {"activity_grace_ms", options.activity_grace_ms, 0, 3'600'000},
      {"cancel_grace_ms", options.cancel_grace_ms, 0, 31'536'000'000},
      {"payload_bytes_max", static_cast<std::int64_t>(options.payload_bytes_max), 256, 1024 * 1024},
      {"history_events_max", options.history_events_max, 16, 1'000'000},
      {"commands_a_turn_max", options.commands_a_turn_max, 1, 100'000},
      {"traces_a_turn_max", options.traces_a_turn_max, 0, 10'000},
      {"queue_messages_max", options.queue_messages_max, 1, 1'024},
      {"kv_keys_max", options.kv_keys_max, 1, 10'000},
      {"warm_instances", options.warm_instances, 1, 100'000},
      {"warm_bytes", static_cast<std::int64_t>(options.warm_bytes), 64 * 1024, 1 << 30},
      {"requests_max", options.requests_max, 1, 100'000},
      {"retention_ms", options.retention_ms, 0, 31'536'000'000'000},
      {"retention_count", options.retention_count, 0, 100'000},
      {"keep_executions", options.keep_executions, 0, 1'000'000},
      {"quota_bytes", options.quota_bytes, 0, 1'125'899'906'842'624},
      {"reserve_bytes", static_cast<std::int64_t>(options.reserve_bytes), 0, 64 * 1024 * 1024},
      {"log_bytes_max", options.log_bytes_max, 64 * 1024, 1'125'899'906'842'624},
      {"crashes_max", options.crashes_max, 1, 1'000},
      {"strikes_max", options.strikes_max, 1, 1'000},
      {"reboots_max", options.reboots_max, 1, 100'000},
      {"cache_pages", options.cache_pages, 16, 65'536},
      {"checkpoint_pages", options.checkpoint_pages, 16, 100'000},
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
  if (options.claim_at_start_count > most ||
      (options.claim_at_start == nullptr && most > 0 && options.claim_at_start_count > 0)) {
    diagnostic.format("claim_at_start has %zu names%s; max_sessions_per_worker is %zu",
                      options.claim_at_start_count,
                      options.claim_at_start == nullptr ? " and is null" : "", most);
    return Status::kInvalidOptions;
  }
  for (std::size_t i = 0; i < options.claim_at_start_count; ++i) {
    if (is_valid_name(options.claim_at_start[i])) continue;
    diagnostic.format(
        "claim_at_start: name %zu has %zu bytes or a control character; 1..%zu bytes are allowed",
        i + 1, options.claim_at_start[i].size(), kNameBytesMax);
    return Status::kInvalidOptions;
  }
  return Status::kOk;
}

}  // namespace

Status check_options(const Options& options, Diagnostic& diagnostic) {
  if (options.database_path == nullptr || options.database_path[0] == '\0') {
    diagnostic.format("database_path is not set");
    return Status::kInvalidOptions;
  }
  const std::size_t path_bytes = std::strlen(options.database_path);
  if (path_bytes > kPathBytesMax) {
    diagnostic.format("database_path has %zu bytes; at most %zu are allowed", path_bytes,
                      kPathBytesMax);
    return Status::kInvalidOptions;
  }
  if (options.worker_node_id != nullptr) {
    if (!is_valid_name(options.worker_node_id)) {
      diagnostic.format(
          "worker_node_id has %zu bytes or a control character; 1..%zu bytes are allowed",
          std::strlen(options.worker_node_id), kNameBytesMax);
      return Status::kInvalidOptions;
    }
  }
  PAWL_TRY(check_ranges(options, diagnostic));
  PAWL_TRY(check_tags(options.worker_tag_filter, diagnostic));
  PAWL_TRY(check_claims(options, diagnostic));
  if (options.warm_bytes < 4 * options.payload_bytes_max) {
    diagnostic.format("warm_bytes = %zu must be at least 4 * payload_bytes_max = %zu",
                      options.warm_bytes, 4 * options.payload_bytes_max);
    return Status::kInvalidOptions;
  }
  if (options.quota_bytes != 0 && options.quota_bytes < kQuotaLeast) {
    diagnostic.format("quota_bytes = %lld must be 0 or at least %lld",
                      static_cast<long long>(options.quota_bytes),
                      static_cast<long long>(kQuotaLeast));
    return Status::kInvalidOptions;
  }
  // Or a full disk would have no room for what is in the log.
  const std::int64_t log_bytes = options.checkpoint_pages * kLogPageBytes;
  if (options.reserve_bytes != 0 && static_cast<std::int64_t>(options.reserve_bytes) < log_bytes) {
    diagnostic.format(
        "reserve_bytes = %zu must be 0 or at least %lld, as much as the log of "
        "checkpoint_pages = %d holds",
        options.reserve_bytes, static_cast<long long>(log_bytes), options.checkpoint_pages);
    return Status::kInvalidOptions;
  }
  const long long log_bytes_least = kLogsLeast * log_bytes;
  if (options.log_bytes_max < log_bytes_least) {
    diagnostic.format(
        "log_bytes_max = %lld must be at least %lld, %lld times what the log of checkpoint_pages = "
        "%d holds",
        static_cast<long long>(options.log_bytes_max), log_bytes_least,
        static_cast<long long>(kLogsLeast), options.checkpoint_pages);
    return Status::kInvalidOptions;
  }
  if (options.warm_instances < options.batch) {
    diagnostic.format("warm_instances = %u must be at least batch = %u", options.warm_instances,
                      options.batch);
    return Status::kInvalidOptions;
  }
  return validate(options.sessions, diagnostic);
}

Status check_payload(const Process& process, std::size_t payload_bytes_max,
                     Diagnostic& diagnostic) {
  if (payload_bytes_max <= process.payload_bytes_max_) return Status::kOk;
  diagnostic.format("payload_bytes_max = %zu is more than the %zu of ProcessOptions",
                    payload_bytes_max, process.payload_bytes_max_);
  return Status::kInvalidOptions;
}

}  // namespace pawl
