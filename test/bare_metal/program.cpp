#include "program.hpp"

#include <chrono>
#include <cstddef>

#include "flash.hpp"
#include "port/bare_metal/qemu/board.hpp"

namespace pawl::metal_test {
namespace {

// With the memory of the flash, all of a program besides its stack: there is no heap.
constexpr std::size_t kSqliteBytes = 180'000;
constexpr std::size_t kRuntimeBytes = 224'000;

qemu::EmulatedBoard board;
const Flash* flash = nullptr;
alignas(8) unsigned char for_sqlite[kSqliteBytes];
alignas(8) unsigned char for_runtime[kRuntimeBytes];
bare_metal::Machine machine;
bare_metal::BareMetalPort& port() {
  static bare_metal::BareMetalPort instance(machine);
  return instance;
}
Process process;
Runtime the_runtime;

class Log final : public LogSink {
 public:
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override {
    if (level < LogLevel::kWarning) return;
    qemu::say("%s: %.*s", log_level_name(level), PAWL_TEXT(event));
    for (std::size_t i = 0; i < count; ++i) {
      const LogField& field = fields[i];
      if (field.is_number)
        qemu::say("  %.*s=%lld", PAWL_TEXT(field.key), static_cast<long long>(field.number));
      else
        qemu::say("  %.*s=%.*s", PAWL_TEXT(field.key), PAWL_TEXT(field.text));
    }
  }
};
Log log;

void put_on_the_board(Options& options) {
  options.database_path = "pawl.db";
  options.worker_node_id = "board";
  options.log = &log;
  options.slots.threads = 0;
  options.space.reserve_bytes = 0;
}

ProcessOptions process_options(const Options& of_runtime) {
  ProcessOptions options = ProcessOptions::smallest();
  options.sqlite_memory = SqliteMemory::kOwn;
  options.payload_bytes_max = of_runtime.limits.payload_bytes_max;
  return options;
}

bool failed(const char* what, Status status, const Diagnostic& why) {
  qemu::say("%s: %s: %.*s", what, status_name(status), PAWL_TEXT(why.text()));
  return false;
}

struct Wanted {
  std::string_view id;
  OrchestrationStatus status;
};

bool has_ended(void* user) noexcept {
  Wanted& wanted = *static_cast<Wanted*>(user);
  if (the_runtime.get_status(wanted.id, &wanted.status) != Status::kOk) return false;
  return wanted.status.state != OrchestrationState::kRunning &&
         wanted.status.state != OrchestrationState::kSuspended;
}

}  // namespace

bool start_board(const ProcessOptions& of_process) {
  Diagnostic why;
  board.start();
  flash = start_flash();
  if (flash == nullptr) return failed("flash", Status::kIo, why);
  Status status = machine.start(board, flash->chip, {}, flash->memory, flash->bytes, why);
  if (status != Status::kOk) return failed("machine", status, why);
  status = process.start(of_process, for_sqlite, sizeof(for_sqlite), why);
  return status == Status::kOk || failed("process", status, why);
}

port::Port board_port() { return port().port(); }

bool report() {
  const MemoryUse heap = process.memory_use();
  qemu::say("sqlite: %zu bytes at most, %zu failures", heap.high_water, heap.failures);
  qemu::say("flash: %lu operations, %lu of %lu sectors, %lu erases of one block at most",
            static_cast<unsigned long>(flash->operations()),
            static_cast<unsigned long>(machine.sectors().sectors_in_use()),
            static_cast<unsigned long>(machine.sectors().sector_count()),
            static_cast<unsigned long>(machine.sectors().erases_max()));
  const bool is_stack_left = qemu::report_stack();
  return heap.failures == 0 && is_stack_left;
}

bool start(const Registry& registry, Options& options) {
  Diagnostic why;
  const ProcessOptions of_process = process_options(options);
  if (!start_board(of_process)) return false;
  put_on_the_board(options);
  const Status status = the_runtime.start(process, registry, options, port().port(), for_runtime,
                                          sizeof(for_runtime), why);
  if (status != Status::kOk) return failed("runtime", status, why);
  qemu::say("memory: machine %zu, sqlite %zu, runtime %zu",
            bare_metal::Machine::required_memory(flash->chip.geometry(), {}),
            Process::required_memory(of_process), Runtime::required_memory(options));
  return true;
}

Runtime& runtime() { return the_runtime; }

void start_once(std::string_view name, const InstanceId& id, std::string_view input) {
  const Answer answer = [](void*, Status status) noexcept {
    if (status != Status::kOk) qemu::say("start: %s", status_name(status));
  };
  const Status asked =
      the_runtime.start_orchestration(name, id, input, StartOptions(), answer, nullptr);
  if (asked != Status::kOk) qemu::say("start: %s", status_name(asked));
}

int finish(std::string_view id) {
  Wanted wanted = {id, {}};
  Status ran = Status::kTimeout;
  while (ran == Status::kTimeout)
    ran = the_runtime.run_for(std::chrono::seconds(10), has_ended, &wanted);
  qemu::say("%.*s: %s %.*s", PAWL_TEXT(id), orchestration_state_name(wanted.status.state),
            PAWL_TEXT(wanted.status.output));
  const bool completed =
      ran == Status::kOk && wanted.status.state == OrchestrationState::kCompleted;
  const Status stopped = the_runtime.stop(std::chrono::seconds(1));
  const bool fitted = report();
  return completed && fitted && stopped == Status::kOk ? 0 : 1;
}

}  // namespace pawl::metal_test
