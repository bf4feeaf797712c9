// Client: reads the state, the values and the progress of an instance, and waits for them.
#include <algorithm>

#include "runtime/client_core.hpp"
#include "runtime/progress_ring.hpp"

namespace pawl {

Status Client::get_status(std::string_view id, OrchestrationStatus* out) {
  return enter([&](ClientCore& core) { return core.get_status(id, out); });
}

Status Client::wait_for_orchestration(std::string_view id, std::chrono::milliseconds timeout,
                                      OrchestrationStatus* out) {
  return enter([&](ClientCore& core) {
    return core.wait_until(id, timeout.count(), FirstLook::kNow, out,
                           [out] { return !goes_on(*out); });
  });
}

Status Client::wait_for_status_change(std::string_view id, std::int64_t last_version,
                                      std::chrono::milliseconds timeout, OrchestrationStatus* out) {
  return enter([&](ClientCore& core) {
    PAWL_TRY(core.wait_until(id, timeout.count(), FirstLook::kNow, out, [out, last_version] {
      return out->custom_status_version > last_version || !goes_on(*out);
    }));
    return out->custom_status_version > last_version ? Status::kOk
                                                     : core.explain(Status::kStale, {id});
  });
}

// ---- progress ----

namespace {

// A worker that writes a heartbeat notifies no watcher, because that would cost a system call. So
// the Client polls.
constexpr std::int64_t kWatchMs = 20;
// Interval of looks in the database, for an end or a new worker whose commit was not heard of.
constexpr std::int64_t kWatchedLookMs = 1'000;

// Is the instance there, does it run, and which workers live?
Status look_at_watched(ClientCore& core, std::string_view id, ProgressWatch* watch, bool* runs) {
  InstanceStatus row;
  PAWL_TRY(core.explain(
      core.store().instance().directory.get_status(id, &row, core.buffer(), core.buffer_bytes()),
      {id}));
  ProgressReader::follow(row.key, *watch);
  *runs = goes_on(public_status(row));
  std::size_t count = 0;
  PAWL_TRY(core.explain(
      core.store().worker().list_workers(core.workers(), ClientCore::kWorkersMax, &count), {id}));
  Incarnation living[ClientCore::kWorkersMax] = {};
  for (std::size_t i = 0; i < count; ++i)
    living[i] = core.workers()[i].incarnation;
  ProgressReader::set_workers(living, count, *watch);
  return Status::kOk;
}

}  // namespace

Status Client::watch_progress(std::string_view id, std::chrono::milliseconds timeout,
                              ProgressWatch* watch) {
  return enter([&](ClientCore& core) {
    const std::int64_t timeout_ms = timeout.count();
    if (timeout_ms > 0) PAWL_TRY(core.begin_waiting());
    const port::Port& port = core.port();
    ProgressReader reader(*port.storage, core.options().database_path.c_str());
    std::int64_t now = port.clock->boot_ms();
    const std::int64_t end = now + (timeout_ms > 0 ? timeout_ms : 0);
    std::int64_t look_at = now;
    bool runs = true;
    while (true) {
      if (now >= look_at) {
        PAWL_TRY(look_at_watched(core, id, watch, &runs));
        look_at = now + kWatchedLookMs;
      }
      if (reader.next(*watch)) return Status::kOk;
      if (!runs) return core.explain(Status::kStale, {id});
      if (now >= end) return Status::kTimeout;
      const port::WakeReasons reasons = port.threads->wait(std::min(end, now + kWatchMs));
      now = port.clock->boot_ms();
      // A notification may come before its commit can be read.
      if (reasons.bell || reasons.log) look_at = std::min(look_at, now + kWatchMs / 2);
    }
  });
}

// ---- values ----

namespace {

Status get_value(ClientCore& core, std::string_view id, std::string_view key, KvEntry* out,
                 bool* found) {
  *found = false;
  if (!is_valid_name(key)) {
    core.diagnostic().format("a key is 1 to 256 bytes without control characters");
    return Status::kInvalidArgument;
  }
  const Status read = core.store().instance().rows.get_kv_value(id, key, out, found, core.buffer(),
                                                                core.options().payload_bytes_max);
  core.lend({&out->key, &out->value});
  return core.explain(read, {id});
}

}  // namespace

Status Client::get_kv_value(std::string_view id, std::string_view key, KvEntry* out, bool* found) {
  return enter([&](ClientCore& core) { return get_value(core, id, key, out, found); });
}

Status Client::get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().instance().rows.get_all_kv_values(id, page, visitor), {id});
  });
}

Status Client::wait_for_kv_value(std::string_view id, std::string_view key,
                                 std::chrono::milliseconds timeout, KvEntry* out) {
  return enter([&](ClientCore& core) {
    OrchestrationStatus status;
    bool found = false;
    Status read = Status::kOk;
    PAWL_TRY(core.wait_until(id, timeout.count(), FirstLook::kNow, &status, [&] {
      // Asked before the read, so that the last value is seen.
      const bool is_over = !goes_on(status);
      read = get_value(core, id, key, out, &found);
      return found || is_over || read != Status::kOk;
    }));
    if (read != Status::kOk || found) return read;
    return core.explain(Status::kStale, {id});
  });
}

}  // namespace pawl
