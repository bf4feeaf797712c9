#include "machine.hpp"

#include <sys/mman.h>

#include <cstdio>

#ifdef BENCH_POSTGRES
#include "pawl/postgres.hpp"
#endif
#include "work.hpp"

namespace bench {
namespace {

constexpr std::int64_t kPatienceMs = 3'600'000;

}  // namespace

Block::Block(std::size_t bytes)
    : bytes_(bytes),
      memory_(
          ::mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
Block::~Block() {
  if (memory_ != MAP_FAILED) ::munmap(memory_, bytes_ + 1);
}
void* Block::get() const { return memory_ == MAP_FAILED ? nullptr : memory_; }

pawl::ServerDatabase find_server([[maybe_unused]] const Setup& setup) {
#ifdef BENCH_POSTGRES
  if (!setup.server.empty()) return pawl::postgresql(setup.server);
#endif
  return {};
}

pawl::Status Machine::explain(const char* what, pawl::Status status, std::string_view text) {
  if (status != pawl::Status::kOk && error_.empty())
    error_ = std::string(what) + ": " + pawl::status_name(status) + ": " + std::string(text);
  return status;
}

pawl::Status Machine::start_process() {
  if (!add_work(&registry_))
    return explain("registration", pawl::Status::kResourceExhausted, "the table is full");
  process_block_ = std::make_unique<Block>(pawl::Process::required_memory(process_options_));
  pawl::Diagnostic diagnostic;
  const pawl::Status status =
      process_.start(process_options_, process_block_->get(), process_block_->size(), diagnostic);
  return explain("start of the process", status, diagnostic.text());
}

pawl::Options Machine::default_options() const {
  pawl::Options options;
  options.database_path = setup.database;
  options.database = server();
  options.synchronous_full = setup.synchronous_full;
  options.limits.batch = options.slots.inline_activities = static_cast<std::uint32_t>(setup.batch);
  if (options.limits.warm_instances < 4 * options.limits.batch)
    options.limits.warm_instances = 4 * options.limits.batch;
  options.timing.tick_max = std::chrono::milliseconds(static_cast<std::int64_t>(setup.tick_ms));
  options.timing.commit_window =
      std::chrono::milliseconds(static_cast<std::int64_t>(setup.window_ms));
  return options;
}

pawl::Status Machine::start(const pawl::Options& options) {
  runtime_.reset();
  block_ = std::make_unique<Block>(pawl::Runtime::required_memory(options));
  runtime_ = std::make_unique<pawl::Runtime>();
  seen_ = 0;
  pawl::Diagnostic diagnostic;
  const pawl::Status status = runtime_->start(process_, registry_, options, port_.port(),
                                              block_->get(), block_->size(), diagnostic);
  return explain("start of the runtime", status, diagnostic.text());
}

pawl::Status Machine::stop() {
  return explain("stop", runtime_->stop(std::chrono::seconds(10)), runtime_->error_text());
}

void Machine::begin() {
  before_ = stats();
  since_ms = now_ms();
  measurement_ = std::make_unique<Measurement>();
}

void Machine::end() {
  measurement_->end(&figures);
  figures.commits = stats().commits - before_.commits;
  figures.io_reported.fsyncs = stats().flushes - before_.flushes;
  figures.io_reported.bytes_written = stats().bytes_written - before_.bytes_written;
  figures.server_trips = stats().server_trips - before_.server_trips;
  figures.orchestrations = stats().orchestrations_completed - before_.orchestrations_completed;
  figures.activities = stats().activities_completed - before_.activities_completed;
  if (stats().orchestrations_failed > 0)
    static_cast<void>(explain("orchestrations", pawl::Status::kUnsupported, "some failed"));
}

bool Machine::note_ends() {
  const double age_ms = now_ms() - since_ms;
  for (; seen_ < ends(); ++seen_) {
    if (keep_latencies && figures.latencies_ms.size() < figures.latencies_ms.capacity())
      figures.latencies_ms.push_back(age_ms);
  }
  return count_ != nullptr && stats().*count_ + stats().orchestrations_failed >= wanted_;
}

pawl::Status Machine::run_to(std::uint64_t pawl::RuntimeStats::*count, std::uint64_t wanted) {
  count_ = count;
  wanted_ = wanted;
  if (note_ends()) return pawl::Status::kOk;
  const pawl::Status status = runtime_->run_for(
      std::chrono::milliseconds(kPatienceMs),
      [](void* machine) noexcept { return static_cast<Machine*>(machine)->note_ends(); }, this);
  return explain("run", status, runtime_->error_text());
}

pawl::Status Machine::run_to_ends(std::uint64_t ends) {
  return run_to(&pawl::RuntimeStats::orchestrations_completed, ends);
}

pawl::Status Machine::run_to_turns(std::uint64_t turns) {
  return run_to(&pawl::RuntimeStats::turns, turns);
}

pawl::Status Machine::start_one(std::uint64_t number, const char* name, std::string_view input) {
  char id[48];
  std::snprintf(id, sizeof(id), "%s-%llu", name, static_cast<unsigned long long>(number));
  for (;;) {
    const pawl::Status status = runtime_->start_orchestration(name, pawl::InstanceId(id), input);
    if (status != pawl::Status::kResourceExhausted)
      return explain("start of an orchestration", status, runtime_->error_text());
    const pawl::Result<bool> ticked = runtime_->tick(std::chrono::seconds(10));
    if (!ticked.ok()) return explain("tick", ticked.status(), runtime_->error_text());
    static_cast<void>(note_ends());
  }
}

pawl::Status Machine::start_many(std::uint64_t count, const char* name, std::string_view input) {
  for (std::uint64_t i = 0; i < count; ++i)
    PAWL_TRY(start_one(i, name, input));
  return pawl::Status::kOk;
}

}  // namespace bench
