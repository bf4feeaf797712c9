// Prints the memory that must be given at start, in bytes, for footprint.py. With "parts" it prints
// a table of all parts, counted by the code that takes them.
#include <cstdio>
#include <cstring>

#include "pawl/host.hpp"
#include "pawl/process.hpp"
#include "pawl/runtime.hpp"
#include "replay/engine.hpp"
#include "runtime/loop_parts.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/runtime_limits.hpp"
#include "store/store_factory.hpp"

namespace {

struct Given {
  const char* name;
  pawl::ProcessOptions process;
  pawl::Options runtime;
};

std::size_t all_of(const Given& given) {
  const std::size_t shared = pawl::Process::required_memory(given.process);
  const std::size_t own = pawl::Runtime::required_memory(given.runtime);
  return shared == 0 || own == 0 ? 0 : shared + own;
}

// The bytes that `take` takes from an arena.
template <typename Take>
std::size_t planned(Take&& take) {
  pawl::ArenaPlan plan;
  static_cast<void>(take(plan));
  return plan.used();
}

template <typename Part>
std::size_t part(const pawl::Options& options) {
  return planned([&](pawl::ArenaPlan& plan) {
    Part memory;
    static_cast<void>(memory.allocate(plan, options));
    return 0;
  });
}

struct Row {
  const char* name;
  std::size_t (*bytes)(const Given&);
};

std::size_t row_slots(const Given& given) {
  return pawl::StoreFactory::row_slots_memory(given.process.payload_bytes_max);
}
std::size_t statements(const Given& given) {
  return pawl::StoreFactory::statements_memory(given.process.statement_bytes) *
         given.process.connections_max;
}
std::size_t log_writes(const Given& given) {
  const auto connections = static_cast<int>(given.process.connections_max);
  const std::size_t each =
      pawl::StoreFactory::log_buffer_memory(given.process.page_cache_pages / connections);
  return each * given.process.connections_max;
}

constexpr Row kRows[] = {
    {"SQLite: kept statements", statements},
    {"SQLite: rows of the largest size", row_slots},
    {"SQLite: writes to the log", log_writes},
    {"SQLite: pages, schema, what runs",
     [](const Given& given) {
       return pawl::Process::required_memory(given.process) - statements(given) - row_slots(given) -
              log_writes(given);
     }},
    {"warm histories", [](const Given& given) { return part<pawl::WarmCache>(given.runtime); }},
    {"tick",
     [](const Given& given) { return tick_bytes(given.runtime, given.runtime.limits.batch); }},
    {"activities in hand", [](const Given& given) { return part<pawl::Slots>(given.runtime); }},
    {"calls that wait for a tick",
     [](const Given& given) { return part<pawl::Requests>(given.runtime); }},
    {"turns of a tick",
     [](const Given& given) { return part<pawl::Turns::Memory>(given.runtime); }},
    {"engine",
     [](const Given& given) {
       return sizeof(pawl::Engine) + pawl::Engine::required_memory(engine_limits(given.runtime));
     }},
    {"counters by name",
     [](const Given& given) { return part<pawl::NameCounters>(given.runtime); }},
    {"registered kinds",
     [](const Given& given) { return part<pawl::TurnLoader::Memory>(given.runtime); }},
    {"notices", [](const Given& given) { return part<pawl::Notices::Memory>(given.runtime); }},
    {"devices", [](const Given& given) { return part<pawl::Devices::Memory>(given.runtime); }},
    {"watched leases",
     [](const Given& given) {
       return sizeof(pawl::Evidence::Seen) * pawl::Evidence::kSeenEach *
              given.runtime.limits.workers_max;
     }},
    {"workers", [](const Given& given) { return part<pawl::ThisWorker::Memory>(given.runtime); }},
    {"owned sessions",
     [](const Given& given) { return part<pawl::SessionWatch::Memory>(given.runtime); }},
    {"storage", [](const Given&) { return pawl::StoreFactory::engine_of(nullptr).bytes; }},
    {"core", [](const Given&) { return sizeof(pawl::RuntimeCore); }},
};

void print_parts(const Given* given, std::size_t count) {
  std::printf("| part |");
  for (std::size_t i = 0; i < count; ++i)
    std::printf(" %s |", given[i].name);
  std::printf("\n|---|");
  for (std::size_t i = 0; i < count; ++i)
    std::printf("---|");
  for (const Row& row : kRows) {
    std::printf("\n| %s |", row.name);
    for (std::size_t i = 0; i < count; ++i)
      std::printf(" %lu |", static_cast<unsigned long>(row.bytes(given[i])));
  }
  std::printf("\n| alignment |");
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = all_of(given[i]);
    for (const Row& row : kRows)
      rest -= row.bytes(given[i]);
    std::printf(" %lu |", static_cast<unsigned long>(rest));
  }
  std::printf("\n| all |");
  for (std::size_t i = 0; i < count; ++i)
    std::printf(" %lu |", static_cast<unsigned long>(all_of(given[i])));
  std::printf("\n");
}

}  // namespace

int main(int count, char** words) {
  const pawl::HostOptions host;
  Given given[] = {
      {"a Host's default", host.process, host.runtime},
      {"small", pawl::ProcessOptions::small(), pawl::Options::small()},
      {"smallest", pawl::ProcessOptions::smallest(), pawl::Options::smallest()},
  };
  bool all = true;
  for (Given& each : given) {
    each.runtime.database_path = "pawl.db";
    all = all && all_of(each) != 0;  // 0: no block can be made with these options
  }
  if (count > 1 && std::strcmp(words[1], "parts") == 0) {
    print_parts(given, sizeof given / sizeof given[0]);
    return all ? 0 : 1;
  }
  for (const Given& each : given)
    std::printf("%lu memory at start, %s options\n", static_cast<unsigned long>(all_of(each)),
                each.name);
  return all ? 0 : 1;
}
