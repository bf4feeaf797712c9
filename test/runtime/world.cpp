#include "world.hpp"

#include <gtest/gtest.h>

#include "pawl/visit.hpp"

namespace pawl::testing {

Process& shared_process() {
  Process* process = nullptr;
  Diagnostic diagnostic;
  const Status status = shared_process(&process, diagnostic);
  EXPECT_EQ(status, Status::kOk) << diagnostic.text();
  return *process;
}

TestClient::TestClient(sim::Machine& machine, const char* path, ClientOptions options, Here here)
    : node(machine) {
  options.database_path = path;
  memory = std::make_unique<Block>(Client::required_memory(options));
  Diagnostic diagnostic;
  expect_ok(client.open(shared_process(), options, node.port(), memory->data(), memory->bytes(),
                        diagnostic),
            "Client::open", diagnostic.text(), here);
}

OrchestrationStatus TestClient::status(std::string_view id, Here here) {
  OrchestrationStatus out;
  expect_ok(client.get_status(id, &out), "get_status", client.error_text(), here);
  return out;
}

// ---- what the workers know ----

Gateway::Gateway(std::uint64_t seed) : machine(seed) {
  machine.set_wall(1'800'000'000'000);  // in January 2027
  machine.set_synced(true);
  options.database_path = kPath;
  options.database = client_options.database = on_server.database;
  options.verify_turns = true;
}

void Gateway::add(const char* name, Orchestration function, const char* version, Here here) {
  expect_ok(registry.add_orchestration(name, function, version), "add_orchestration", name, here);
}

void Gateway::add(const char* name, Activity function, ActivityMode mode, void* user, Here here) {
  expect_ok(registry.add_activity(name, function, mode, user), "add_activity", name, here);
}

// ---- workers ----

void Gateway::kills_are_many() {
  options.leases.home_grace = std::chrono::milliseconds(0);
  options.limits.crashes_max = options.limits.strikes_max = 1'000;
  patience_ms = 600'000;
}

Worker& Gateway::start_worker(const Registry& known, const Options& how, Here here) {
  Options with = how;
  with.database = on_server.database;  // the options may be those of another world
  workers.push_back(std::make_unique<Worker>(machine, known, with));
  Worker& made = *workers.back();
  expect_ok(made.start(), "Runtime::start", made.diagnostic.text(), here);
  return made;
}

Worker& Gateway::restart(Here here) {
  for (const auto& worker : workers)
    worker->kill();
  workers.clear();
  return start_worker(here);
}

Options Gateway::named(const char* node) const {
  Options out = options;
  out.worker_node_id = node;
  return out;
}

Status Gateway::declare(Worker& worker, std::string_view device, bool standby, Here here) {
  return answer_of(
      worker,
      [&](Status* answer) {
        return worker.runtime->declare_session(device, standby, keep_answer, answer);
      },
      here);
}

Status Gateway::withdraw(Worker& worker, std::string_view device, Here here) {
  return answer_of(
      worker,
      [&](Status* answer) { return worker.runtime->withdraw_session(device, keep_answer, answer); },
      here);
}

// ---- instances ----

TestClient& Gateway::client(Here here) {
  client_options.database = on_server.database;
  if (client_ == nullptr)
    client_ =
        std::make_unique<TestClient>(machine, options.database_path.c_str(), client_options, here);
  return *client_;
}

void Gateway::start(std::string_view id, std::string_view name, std::string_view input, Here here) {
  TestClient& by = client(here);
  expect_ok(by->start_orchestration(name, InstanceId(id), input), "start_orchestration",
            by->error_text(), here);
}

void Gateway::start_at(Worker& worker, std::string_view id, std::string_view name,
                       std::string_view input, Here here) {
  expect_ok(worker.runtime->start_orchestration(name, InstanceId(id), input),
            "Runtime::start_orchestration", id, here);
}

void Gateway::cancel_instance(std::string_view id, std::string_view reason, Here here) {
  expect_ok(client()->cancel_instance(id, reason), "cancel_instance", client()->error_text(), here);
}

void Gateway::raise_event(std::string_view id, std::string_view name, std::string_view data,
                          Here here) {
  expect_ok(client()->raise_event(id, name, data), "raise_event", client()->error_text(), here);
}

void Gateway::enqueue_event(std::string_view id, std::string_view queue, std::string_view data,
                            Here here) {
  expect_ok(client()->enqueue_event(id, queue, data), "enqueue_event", client()->error_text(),
            here);
}

bool Gateway::is_there(std::string_view id) {
  OrchestrationStatus out;
  return client()->get_status(id, &out) == Status::kOk;
}

bool Gateway::has_ended(std::string_view id) {
  OrchestrationStatus out;
  return client()->get_status(id, &out) == Status::kOk && out.state != OrchestrationState::kRunning;
}

bool Gateway::is_running(std::string_view id, Here here) {
  return client().status(id, here).state == OrchestrationState::kRunning;
}

std::string Gateway::outcome_of(std::string_view id, Here here) {
  const OrchestrationStatus status = client().status(id, here);
  std::string text = orchestration_state_name(status.state);
  if (status.error != ErrorKind::kNone) text += std::string(" ") + error_kind_name(status.error);
  return text + " " + std::string(status.output);
}

std::string Gateway::shown(std::string_view id, Here here) {
  return std::string(client().status(id, here).custom_status);
}

std::vector<KeptEvent> Gateway::history(std::string_view id, std::int64_t execution, Here here) {
  std::vector<KeptEvent> all;
  auto keep = visit([&](const HistoryEvent& event) {
    all.push_back({event.kind, std::string(event.name), std::string(event.payload), event.error,
                   event.ref, event.time_ms});
  });
  expect_ok(client()->read_history(id, execution, keep), "read_history", client()->error_text(),
            here);
  return all;
}

std::size_t Gateway::count(const std::vector<KeptEvent>& events, std::string_view kind) {
  std::size_t found = 0;
  for (const KeptEvent& event : events)
    found += event.kind == kind ? 1U : 0U;
  return found;
}

// ---- time ----

bool Gateway::drive_until(const std::function<bool()>& until, OptionalMs ms) {
  std::vector<Worker*> all;
  for (const auto& worker : workers)
    all.push_back(worker.get());
  return drive_until(all, until, ms);
}

bool Gateway::drive_until(const std::vector<Worker*>& only, const std::function<bool()>& until,
                          OptionalMs ms) {
  return drive(machine, only, until, ms.value_or(patience_ms));
}

void Gateway::tick_all(const Worker* except) {
  for (const auto& worker : workers)
    if (worker->running() && worker.get() != except)
      static_cast<void>(worker->runtime->tick(std::chrono::milliseconds::max()));
}

void Gateway::tick_until_it_works(const std::vector<Worker*>& these, Here here) {
  const RuntimeStats& stats = these.front()->runtime->stats();
  for (int i = 0; i < 20 && stats.activities_started == 0; ++i)
    for (Worker* worker : these)
      static_cast<void>(worker->runtime->tick(std::chrono::milliseconds::max()));
  if (stats.activities_started != 1U)
    ADD_FAILURE_AT(here.file, here.line) << stats.activities_started << " activities began:\n"
                                         << these.front()->lines.all();
}

void Gateway::pass(std::int64_t ms) {
  static_cast<void>(drive_until([] { return false; }, ms));
}

void Gateway::pass(const std::vector<Worker*>& only, std::int64_t ms) {
  static_cast<void>(drive_until(
      only, [] { return false; }, ms));
}

bool Gateway::ends(std::string_view id, OptionalMs ms) {
  return drive_until([&] { return has_ended(id); }, ms);
}

bool Gateway::ends(const std::vector<Worker*>& only, std::string_view id, OptionalMs ms) {
  return drive_until(
      only, [&] { return has_ended(id); }, ms);
}

std::string Gateway::end_of(std::string_view id, OptionalMs ms, Here here) {
  if (!ends(id, ms)) {
    std::string log;
    for (const auto& worker : workers)
      log += worker->lines.all();
    ADD_FAILURE_AT(here.file, here.line) << "the instance " << id << " has not ended:\n" << log;
  }
  return outcome_of(id, here);
}

std::string Gateway::end_with_kills(std::string_view id, Here here) {
  for (int life = 0; life < 1'000 && is_running(id, here); ++life) {
    Worker& worker = restart(here);
    for (int tick = 0; tick <= life % 3; ++tick)
      expect_ok(worker.runtime->tick(std::chrono::milliseconds::max()).status(), "Runtime::tick",
                "", here);
    if (!worker.runtime->next_due().has_passed(machine.boot_ms())) machine.advance(500);
  }
  return outcome_of(id, here);
}

}  // namespace pawl::testing
