// main() of a program that checks its own code against a database.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "parts/host/out.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/replay_check.hpp"

namespace pawl {
namespace {

constexpr int kAllGo = 0;
constexpr int kSomeNoGo = 1;
constexpr int kNotDone = 2;

class Printer final : public ReplayVisitor {
 public:
  Printer(bool all, Out& out) : all_(all), out_(out) {}
  void on_answer(const ReplayAnswer& answer) noexcept override {
    if (answer.go && !all_) return;
    out_.own(answer.go ? "go    " : "no-go ").text(answer.id).own(": ").text(answer.name);
    if (!answer.version.empty()) out_.own("@").text(answer.version);
    out_.own(", execution ").number(answer.execution_id).own(", ").number(answer.events);
    out_.own(" events, ").own(orchestration_state_name(answer.state));
    if (!answer.go) out_.own(": ").own(error_kind_name(answer.why)).own(": ").text(answer.text);
    out_.own("\n");
  }

 private:
  bool all_;
  Out& out_;
};

}  // namespace

int replay_check_main(const Registry& registry, const Options& options, int argc,
                      const char* const* argv) {
  const bool all = argc == 3 && std::strcmp(argv[1], "--all") == 0;
  if (argc != 2 && !all) {
    Out(stderr).own("usage: PROGRAM [--all] DATABASE\n");
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
  Out out(stdout);
  Printer printer(all, out);
  Status status = process.start(process_options, for_sqlite.data(), for_sqlite.size(), why);
  if (status == Status::kOk)
    status = replay_check(process, registry, checked, port.port(), for_check.data(),
                          for_check.size(), printer, &totals, why);
  if (status == Status::kOk)
    out.number(totals.go).own(" go, ").number(totals.no_go).own(" no-go\n");
  if (!out.flush() && status == Status::kOk) status = Status::kIo;
  if (status == Status::kOk) return totals.no_go == 0 ? kAllGo : kSomeNoGo;
  Out(stderr).own("not checked: ").own(status_name(status)).own(": ").text(why.text()).own("\n");
  return kNotDone;
}

}  // namespace pawl
