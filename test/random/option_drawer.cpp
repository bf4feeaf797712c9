#include "option_drawer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <type_traits>

#include "runtime/options_check.hpp"
#include "store/store.hpp"

namespace pawl::test {
namespace {

struct Option {
  const char* name;
  std::int64_t (*get)(const Options&);
  void (*set)(Options&, std::int64_t);
  // The range of a number that the code accepts unchecked; otherwise both are 0, and the code is
  // asked.
  std::int64_t least = 0;
  std::int64_t most = 0;
};

std::int64_t number_of(std::chrono::milliseconds value) { return value.count(); }
// A reserve that is not given counts as 1 byte, which is too few for a reserve.
std::int64_t number_of(const std::optional<std::size_t>& value) {
  return static_cast<std::int64_t>(value.value_or(1));
}
template <typename T>
std::int64_t number_of(T value) {
  return static_cast<std::int64_t>(value);
}
void assign(std::chrono::milliseconds& field, std::int64_t value) {
  field = std::chrono::milliseconds(value);
}
void assign(std::optional<std::size_t>& field, std::int64_t value) {
  field = static_cast<std::size_t>(value);
}
template <typename T>
void assign(T& field, std::int64_t value) {
  field = static_cast<T>(value);
}

#define OPTION(field)                                           \
#field,                                                       \
      [](const Options&                                         \
             o) { return number_of(o.field); }, [](Options & o, \
                                                   std::int64_t value) { assign(o.field, value); }

// In the order of drawing: an option that bounds another one stands above it.
constexpr Option kOptions[] = {
    {OPTION(run_orchestrations), 0, 1},
    {OPTION(synchronous_full), 0, 1},
    {OPTION(verify_turns), 0, 1},
    {OPTION(limits.batch)},
    {OPTION(limits.instance_batch_max)},
    {OPTION(limits.requests_max)},
    {OPTION(limits.payload_bytes_max)},
    {OPTION(limits.history_events_max)},
    {OPTION(limits.commands_a_turn_max)},
    {OPTION(limits.traces_a_turn_max)},
    {OPTION(limits.orchestrations_max)},
    {OPTION(limits.activities_max)},
    {OPTION(limits.notices_max)},
    {OPTION(limits.workers_max)},
    {OPTION(limits.devices_max)},
    {OPTION(limits.queue_messages_max)},
    {OPTION(limits.kv_keys_max)},
    {OPTION(limits.warm_instances)},
    {OPTION(limits.warm_bytes)},
    {OPTION(limits.crashes_max)},
    {OPTION(limits.strikes_max)},
    {OPTION(limits.reboots_max)},
    {OPTION(slots.inline_activities)},
    {OPTION(slots.threads)},
    {OPTION(slots.cooperative)},
    {OPTION(slots.thread_stack_bytes)},
    {OPTION(slots.cooperative_scratch_bytes)},
    {OPTION(leases.session_lock_timeout)},
    {OPTION(leases.session_lock_renewal_buffer), 1, 1},
    {OPTION(leases.worker_lock_timeout)},
    {OPTION(leases.worker_lock_renewal_buffer), 1, 1},
    {OPTION(leases.home_grace)},
    {OPTION(leases.fast_handoff), 0, 1},
    {OPTION(sessions.session_idle_timeout)},
    {OPTION(sessions.session_cleanup_interval)},
    {OPTION(sessions.max_sessions_per_worker), 0, 10'000},
    {OPTION(sessions.evict_idle)},
    {OPTION(sessions.max_sessions_per_orchestration)},
    {OPTION(sessions.max_sessions_per_owner)},
    {OPTION(sessions.leak_open)},
    {OPTION(sessions.leak_unused)},
    {OPTION(sessions.audit_activities), 0, 1},
    {OPTION(timing.tick_max)},
    {OPTION(timing.commit_window)},
    {OPTION(timing.busy_max)},
    {OPTION(timing.inline_max)},
    {OPTION(timing.heartbeat_interval)},
    {OPTION(timing.activity_grace)},
    {OPTION(timing.cancel_grace)},
    {OPTION(retention.age)},
    {OPTION(retention.count)},
    {OPTION(retention.executions)},
    {OPTION(retention.message_keys)},
    {OPTION(retention.message_key_age)},
    {OPTION(space.quota_bytes)},
    {OPTION(space.reserve_bytes)},
    {OPTION(space.remove_completed), 0, 1},
    {OPTION(space.log_bytes_max)},
    {OPTION(space.cache_pages)},
    {OPTION(space.checkpoint_pages)},
};

#undef OPTION

Options with_a_path() {
  Options options;
  options.database_path = "/any";
  return options;
}

// Asks the code for the range: the two numbers behind "must be" in the diagnostic.
Option asked(Option option) {
  Options options = with_a_path();
  // -1 is below every range, or above it where the option has no sign.
  option.set(options, -1);
  Diagnostic diagnostic;
  const Status status = check_options(options, diagnostic);
  const std::string text(diagnostic.text());
  const std::size_t at = text.find("must be ");
  EXPECT_EQ(status, Status::kInvalidOptions) << option.name;
  EXPECT_NE(at, std::string::npos) << option.name << ": " << text;
  if (at == std::string::npos) return option;
  const std::size_t least = text.find_first_of("0123456789", at);
  const std::size_t behind = text.find_first_not_of("0123456789", least);
  const std::size_t most = text.find_first_of("0123456789", behind);
  EXPECT_NE(most, std::string::npos) << option.name << ": " << text;
  option.least = std::atoll(text.c_str() + least);
  option.most = std::atoll(text.c_str() + most);
  return option;
}

// The ranges are asked for once in a program.
const std::vector<Option>& options_with_ranges() {
  static const auto* const all = [] {
    auto* const made = new std::vector<Option>;
    for (const Option& one : kOptions)
      made->push_back(one.most != 0 ? one : asked(one));
    return made;
  }();
  return *all;
}

std::int64_t draw_number(std::int64_t least, std::int64_t most, std::int64_t usual, Draw how,
                         Rng& random) {
  if (how == Draw::kLeast) return least;
  if (how == Draw::kMost) return most;
  switch (random() % 6) {
    case 0: return least;
    case 1: return most;
    case 2: break;
    default: return std::min(std::max(usual, least), most);
  }
  // Small numbers are drawn as often as large ones.
  std::int64_t width = most - least;
  for (unsigned halvings = static_cast<unsigned>(random() % 24); halvings > 0 && width > 2;
       --halvings)
    width /= 2;
  return least + static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(width) + 1));
}

// Machines that share a server need longer leases.
constexpr std::chrono::milliseconds kServersLeaseLeast{10'000};

// Brings options within the bounds that other drawn options set.
void make_consistent(Options* options) {
  LeaseOptions& leases = options->leases;
  const std::chrono::milliseconds renewal =
      leases.worker_lock_timeout - leases.worker_lock_renewal_buffer;
  auto& idle = options->sessions.session_idle_timeout;
  if (idle <= renewal) idle = renewal + std::chrono::milliseconds(1);
  LimitOptions& limits = options->limits;
  limits.warm_bytes = std::max(limits.warm_bytes, 4 * limits.payload_bytes_max);
  limits.warm_instances = std::max(limits.warm_instances, limits.batch);
  SpaceOptions& space = options->space;
  if (space.quota_bytes != 0) space.quota_bytes = std::max(space.quota_bytes, kQuotaLeast);
  const std::int64_t log_bytes = space.checkpoint_pages * kLogPageBytes;
  const std::size_t reserve = space.reserve_bytes.value_or(0);
  if (reserve != 0 && reserve < static_cast<std::size_t>(log_bytes)) space.reserve_bytes.reset();
  space.log_bytes_max = std::max(space.log_bytes_max, 4 * log_bytes);
}

bool is_size(const Option& option) {
  const std::string name = option.name;
  return name.rfind("limits.", 0) == 0 || name.rfind("slots.", 0) == 0 ||
         name == "space.reserve_bytes" || name == "space.checkpoint_pages";
}

bool fits(const Options& options, std::size_t bytes_max) {
  return Runtime::required_memory(options) <= bytes_max &&
         static_cast<std::size_t>(reserve_bytes(options)) <= bytes_max;
}

}  // namespace

Options draw_options(const Options& base, Draw how, Rng& random, std::size_t bytes_max) {
  const std::vector<Option>& all = options_with_ranges();
  Options options = base;
  for (const Option& one : all)
    one.set(options, draw_number(one.least, one.most, one.get(base), how, random));
  // Above 0 and below the lease.
  const auto draw_buffer = [&](std::chrono::milliseconds lease, std::chrono::milliseconds usual) {
    return std::chrono::milliseconds(draw_number(1, lease.count() - 1, usual.count(), how, random));
  };
  LeaseOptions& leases = options.leases;
  if (options.database != nullptr)
    leases.session_lock_timeout = std::max(leases.session_lock_timeout, kServersLeaseLeast);
  leases.session_lock_renewal_buffer =
      draw_buffer(leases.session_lock_timeout, base.leases.session_lock_renewal_buffer);
  leases.worker_lock_renewal_buffer =
      draw_buffer(leases.worker_lock_timeout, base.leases.worker_lock_renewal_buffer);
  make_consistent(&options);
  // Each round halves one size, so the loop ends at the latest with the least of all sizes, which
  // fits.
  while (!fits(options, bytes_max)) {
    const Option& one = all[static_cast<std::size_t>(random() % all.size())];
    if (!is_size(one)) continue;
    one.set(options, one.least + (one.get(options) - one.least) / 2);
    make_consistent(&options);
  }
  Diagnostic diagnostic;
  EXPECT_EQ(check_options(options, diagnostic), Status::kOk) << diagnostic.text();
  return options;
}

// A client's options are checked like those of a runtime.
ClientOptions draw_client_options(const ClientOptions& base, Draw how, Rng& random,
                                  std::size_t bytes_max) {
  Options usual;
  usual.database_path = base.database_path;
  usual.limits.payload_bytes_max = base.payload_bytes_max;
  usual.limits.queue_messages_max = base.queue_messages_max;
  usual.timing.busy_max = base.busy_max;
  usual.space.cache_pages = base.cache_pages;
  const Options drawn = draw_options(usual, how, random, bytes_max);
  ClientOptions client = base;
  client.payload_bytes_max = drawn.limits.payload_bytes_max;
  client.queue_messages_max = drawn.limits.queue_messages_max;
  client.busy_max = drawn.timing.busy_max;
  client.cache_pages = drawn.space.cache_pages;
  client.synchronous_full = drawn.synchronous_full;
  return client;
}

std::string text_of(const Options& options) {
  std::string text;
  for (const Option& one : options_with_ranges())
    if (one.get(options) != one.get(Options()))
      text += std::string(one.name) + "=" + std::to_string(one.get(options)) + " ";
  return text;
}

}  // namespace pawl::test
