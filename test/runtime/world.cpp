#include "world.hpp"

#include <gtest/gtest.h>

namespace pawl::testing {

Process& shared_process() {
  static Block* block = nullptr;
  static Process process;
  if (!process.started()) {
    ProcessOptions options;
    options.connections_max = 8;
    options.page_cache_pages = 8 * 256;
    block = new Block(Process::required_memory(options));
    Diagnostic diagnostic;
    const Status status = process.start(options, block->data(), block->bytes(), diagnostic);
    EXPECT_EQ(status, Status::kOk) << diagnostic.text();
  }
  return process;
}

void Lines::write(LogLevel level, std::string_view event, const LogField* fields,
                  std::size_t count) {
  std::string line = std::string(log_level_name(level)) + " " + std::string(event);
  for (std::size_t i = 0; i < count; ++i) {
    line += " " + std::string(fields[i].key) + "=";
    line += fields[i].is_number ? std::to_string(fields[i].number) : std::string(fields[i].text);
  }
  lines_.push_back(line);
}

std::size_t Lines::count(std::string_view part) const {
  std::size_t found = 0;
  for (const std::string& line : lines_)
    found += line.find(part) != std::string::npos ? 1U : 0U;
  return found;
}

std::string Lines::all() const {
  std::string text;
  for (const std::string& line : lines_)
    text += line + "\n";
  return text;
}

Worker::Worker(sim::Machine& machine, const Registry& known, Options given)
    : node(machine), options(given), registry(known) {
  options.log = &lines;
}

// On a killed node every call fails, so nothing reaches the machine any more; SQLite's memory comes back.
Worker::~Worker() {
  if (runtime != nullptr && !killed) stop();
}

Status Worker::start() {
  memory = std::make_unique<Block>(Runtime::required_memory(options));
  runtime = std::make_unique<Runtime>();
  return runtime->start(shared_process(), registry, options, node.port(), memory->data(),
                        memory->bytes(), diagnostic);
}

void Worker::kill() {
  node.kill();
  killed = true;
}

TestClient::TestClient(sim::Machine& machine, const char* path, ClientOptions options)
    : node(machine), memory(Client::required_memory(options)) {
  options.database_path = path;
  Diagnostic diagnostic;
  const Status status = client.open(shared_process(), options, node.port(), memory.data(),
                                    memory.bytes(), diagnostic);
  EXPECT_EQ(status, Status::kOk) << diagnostic.text();
}

OrchestrationStatus TestClient::status(std::string_view id) {
  OrchestrationStatus out;
  const Status status = client.get_status(id, &out);
  EXPECT_EQ(status, Status::kOk) << client.error_text();
  return out;
}

bool drive(sim::Machine& machine, const std::vector<Worker*>& workers,
           const std::function<bool()>& until, std::int64_t ms) {
  const std::int64_t end = machine.boot_ms() + ms;
  // Every round does something or moves time, so this ends.
  while (true) {
    bool more = false;
    std::int64_t due = end;
    for (Worker* worker : workers) {
      if (worker->killed || worker->runtime == nullptr) continue;
      worker->node.run_jobs();
      const Result<bool> ticked = worker->runtime->tick(INT64_MAX);
      if (!ticked.ok()) continue;
      more = more || ticked.value();
      const std::int64_t next = worker->runtime->next_due();
      if (next >= 0 && next < due) due = next;
    }
    if (until()) return true;
    if (more || due == 0) continue;
    if (machine.boot_ms() >= end) return false;
    machine.advance(due > machine.boot_ms() ? due - machine.boot_ms() : 1);
  }
}

}  // namespace pawl::testing
