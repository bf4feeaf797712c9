// pawld --replay-check: the library's check, and the checks that need the configuration.
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "apps/common/message.hpp"
#include "apps/pawld/daemon.hpp"
#include "apps/pawld/options.hpp"
#include "apps/pawld/orchestrations.hpp"
#include "pawl/replay_check.hpp"

namespace pawld {
namespace {

// The code of a definition always agrees with its record; only activities or orchestrations that
// the definition calls may be missing.
class Visitor final : public pawl::ReplayVisitor, public DefinitionListener {
 public:
  explicit Visitor(const Config& config) : config_(config) {}

  void on_begin(std::string_view /*id*/) noexcept override { missing_.clear(); }
  void on_definition(const Definition& definition) noexcept override {
    missing_.clear();
    for (const std::string& name : activities_of(definition)) {
      if (config_.find_activity(name) != nullptr) continue;
      missing_ = "the configuration has no activity " + quoted(name) + " any more";
    }
    if (definition.type != Definition::Type::kSchedule) return;
    const std::string run(definition.schedule.orchestration.view());
    if (config_.find_definition(run) == nullptr)
      missing_ = "the configuration has no orchestration " + quoted(run) + " any more";
  }
  void on_answer(const pawl::ReplayAnswer& answer) noexcept override {
    if (answer.go && missing_.empty()) {
      ++go;
      return;
    }
    ++no_go;
    std::string line = "no-go " + std::string(answer.id) + ": " + std::string(answer.name) +
                       ", execution " + std::to_string(answer.execution_id) + ": ";
    line.append(answer.go ? missing_
                          : pawl::error_kind_name(answer.why) + (": " + std::string(answer.text)));
    std::puts(pawl::programs::printable(line).c_str());
  }

  std::int64_t go = 0;
  std::int64_t no_go = 0;

 private:
  const Config& config_;
  std::string missing_;
};

}  // namespace

int check_replay(const Config& config) {
  struct stat info = {};
  if (!config.server.has_value() && stat(config.database.c_str(), &info) != 0) {
    std::puts("there is no database yet: 0 go, 0 no-go");
    return kStopped;
  }
  Visitor visitor(config);
  Orchestrations orchestrations(config, &visitor);
  const auto registry = std::make_unique<pawl::Registry>();
  pawl::Options options = runtime_options(config);
  pawl::ProcessOptions process_options;
  process_options.connections_max = 1;
  std::vector<unsigned char> for_sqlite(pawl::Process::required_memory(process_options));
  std::vector<unsigned char> for_check(pawl::replay_check_memory(options));
  pawl::posix::SystemPort port(port_options(config));
  pawl::Process process;
  pawl::Diagnostic why;
  pawl::ReplayTotals totals;
  pawl::Status status = orchestrations.add_to(*registry);
  if (status == pawl::Status::kOk)
    status = registry->add_orchestration(pawl::kSchedule, pawl::run_schedule);
  if (status == pawl::Status::kOk)
    status = process.start(process_options, for_sqlite.data(), for_sqlite.size(), why);
  if (status == pawl::Status::kOk)
    status = pawl::replay_check(process, *registry, options, port.port(), for_check.data(),
                                for_check.size(), visitor, &totals, why);
  if (status != pawl::Status::kOk) {
    std::fprintf(stderr, "pawld: not checked: %s: %.*s\n", pawl::status_name(status),
                 PAWL_TEXT(why.text()));
    return kWrongUse;
  }
  std::printf("%lld go, %lld no-go\n", static_cast<long long>(visitor.go),
              static_cast<long long>(visitor.no_go));
  if (std::fflush(stdout) != 0) return kWrongUse;
  return visitor.no_go == 0 ? kStopped : kFailed;
}

}  // namespace pawld
