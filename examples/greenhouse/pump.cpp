// greenhouse-pump: the process that has the pump.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "field.hpp"
#include "garden.hpp"
#include "host.hpp"

namespace {

using greenhouse::Field;
using greenhouse::Watering;

constexpr int kSliceMs = 20;
constexpr int kMoistureASlice = 2;

// A blocking driver. An attempt after a crash goes on from the last heartbeat, so a bed gets its
// water, and at most a few slices too much. A cancelled run switches the pump off at once. If the
// cause is that this process must end, Pawl hands the rest to the next process.
pawl::Reply<Watering> run_pump(pawl::ActivityContext& ctx, const Watering& wanted) {
  const Field& field = *static_cast<const Field*>(ctx.user());
  Watering done{wanted.bed, std::max(0, greenhouse::number_of(ctx.last_progress()))};
  const std::string key = std::string(ctx.idempotency_key());
  if (!field.switch_on(wanted.bed, key)) return ctx.fail("the pump does not answer");
  while (done.ms < wanted.ms && !ctx.is_cancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kSliceMs));
    if (!field.moisten(wanted.bed, kMoistureASlice)) break;
    done.ms += kSliceMs;
    if (ctx.heartbeat(std::to_string(done.ms)) != pawl::Status::kOk) break;
  }
  if (!field.switch_off(key)) return ctx.fail("the pump does not answer");
  if (done.ms < wanted.ms) return ctx.fail("the pump was stopped");
  return done;
}

pawl::Reply<pawl::Nothing> pump_off(pawl::ActivityContext& ctx, const pawl::Nothing& /*input*/) {
  const Field& field = *static_cast<const Field*>(ctx.user());
  if (!field.switch_off(ctx.idempotency_key())) return ctx.fail("the pump does not answer");
  return pawl::Nothing();
}

void on_declared(void* /*user*/, pawl::Status status) noexcept {
  if (status != pawl::Status::kOk)
    std::fprintf(stderr, "greenhouse-pump: the pump: %s\n", pawl::status_name(status));
}

int run(const char* path, Field& field) {
  pawl::HostOptions options = example::small_host(path, "pump");
  options.runtime.run_orchestrations = false;
  options.runtime.slots.threads = 1;
  options.runtime.timing.heartbeat_interval = std::chrono::milliseconds(200);
  pawl::Host host(options);
  const auto mode = pawl::ActivityMode::kThreaded;
  host.add_activity(greenhouse::kPump, run_pump, mode, &field);
  host.add_activity(greenhouse::kPumpOff, pump_off, mode, &field);
  if (host.start() == pawl::Status::kOk)
    on_declared(nullptr,
                host.runtime().declare_session(greenhouse::kPumpDevice, false, on_declared));
  return host.run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[1], "--db") != 0 || std::strcmp(argv[3], "--field") != 0) {
    std::fputs("greenhouse-pump --db FILE --field FOLDER\n", stderr);
    return 2;
  }
  Field field(argv[4]);
  if (!field.lock_pump()) {
    std::perror("greenhouse-pump: the pump is another process's");
    return 1;
  }
  // The process before this one may have died while the pump ran.
  if (!field.switch_off("at the start")) {
    std::perror("greenhouse-pump: the pump does not answer");
    return 1;
  }
  return run(argv[2], field);
}
