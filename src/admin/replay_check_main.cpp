// The main() of a program that checks its own code against a database.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "pawl/port_posix.hpp"
#include "pawl/replay_check.hpp"

namespace pawl {
namespace {

constexpr int kAllGo = 0;
constexpr int kSomeNoGo = 1;
constexpr int kNotDone = 2;

int length(std::string_view text) { return static_cast<int>(text.size()); }

class Printer final : public ReplayVisitor {
 public:
  explicit Printer(bool all) : all_(all) {}
  void on_answer(const ReplayAnswer& answer) override {
    if (answer.go && !all_) return;
    std::printf("%-5s %.*s: %.*s%s%.*s, execution %lld, %lld events, %s",
                answer.go ? "go" : "no-go", length(answer.id), answer.id.data(),
                length(answer.name), answer.name.data(), answer.version.empty() ? "" : "@",
                length(answer.version), answer.version.data(),
                static_cast<long long>(answer.execution_id), static_cast<long long>(answer.events),
                orchestration_state_name(answer.state));
    if (!answer.go)
      std::printf(": %s: %.*s", error_kind_name(answer.why), length(answer.text),
                  answer.text.data());
    std::printf("\n");
  }

 private:
  bool all_;
};

}  // namespace

int replay_check_main(const Registry& registry, const Options& options, int argc,
                      const char* const* argv) {
  const bool all = argc == 3 && std::strcmp(argv[1], "--all") == 0;
  if (argc != 2 && !all) {
    std::fputs("usage: PROGRAM [--all] DATABASE\n", stderr);
    return kNotDone;
  }
  Options checked = options;
  checked.database_path = argv[argc - 1];
  ProcessOptions process_options;
  process_options.connections_max = 1;
  std::vector<unsigned char> for_sqlite(Process::required_memory(process_options));
  std::vector<unsigned char> for_check(replay_check_memory(checked));
  posix::SystemPort port;
  Process process;
  Diagnostic why;
  ReplayTotals totals;
  Printer printer(all);
  Status status = process.start(process_options, for_sqlite.data(), for_sqlite.size(), why);
  if (status == Status::kOk)
    status = replay_check(process, registry, checked, port.port(), for_check.data(),
                          for_check.size(), printer, &totals, why);
  if (status == Status::kOk)
    std::printf("%lld go, %lld no-go\n", static_cast<long long>(totals.go),
                static_cast<long long>(totals.no_go));
  if (status == Status::kOk && std::fflush(stdout) != 0) status = Status::kIo;
  if (status == Status::kOk) return totals.no_go == 0 ? kAllGo : kSomeNoGo;
  std::fprintf(stderr, "not checked: %s: %.*s\n", status_name(status), length(why.text()),
               why.text().data());
  return kNotDone;
}

}  // namespace pawl
