// upgrade: converts a database of an earlier form.
#include <unistd.h>

#include <cstdio>

#include "apps/common/upgrade.hpp"
#include "apps/pawl/tool_commands.hpp"
#include "apps/pawl/units.hpp"
#include "pawl/maintenance.hpp"

namespace pawl::tool {
namespace {

// Shown on the error output, so that standard output holds only the answer.
class Notes final : public programs::UpgradeListener {
 public:
  explicit Notes(Tool& tool) : tool_(tool), shows_(::isatty(STDERR_FILENO) == 1) {}
  ~Notes() {
    if (shows_) std::fputs("\r\x1b[K", stderr);
  }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  void on_begin(std::int64_t /*format*/, std::int64_t needed,
                std::int64_t available) noexcept override {
    if (!tool_.json())
      std::fprintf(stderr, "the new file takes up to %s, of %s that are free\n",
                   tool_.screen().size(needed).c_str(), tool_.screen().size(available).c_str());
  }
  void on_rows(std::int64_t rows) noexcept override {
    if (shows_) std::fprintf(stderr, "\r%lld rows", static_cast<long long>(rows));
  }

 private:
  Tool& tool_;
  bool shows_;
};

int upgrade(Tool& tool) {
  const std::string& path = tool.file_that_is_there("a schema of an older Pawl is not converted");
  const programs::Upgrade done = [&] {
    Notes notes(tool);
    return programs::upgrade(path, posix::PortOptions(), notes);
  }();
  if (done.status != Status::kOk) fail(exit_of(done.status), status_name(done.status), done.why);
  if (tool.json()) {
    tool.out().begin_object().text("done", "upgrade").flag("converted", done.was_older);
    if (done.was_older) tool.out().number("format", done.format).number("bytes", done.bytes);
    tool.out().end_object().end_line();
  } else if (done.was_older) {
    StdoutSink().write(printable(path) + ": converted, " + tool.screen().size(done.bytes) +
                       ", checked\n");
  } else {
    StdoutSink().write(printable(path) + ": has today's form already, nothing is changed\n");
  }
  return kDone;
}

}  // namespace

void add_upgrade(Tool& tool) {
  tool.add("upgrade", "Converts a database that an older Pawl made, which no process uses",
           [&tool] { return upgrade(tool); });
}

}  // namespace pawl::tool
