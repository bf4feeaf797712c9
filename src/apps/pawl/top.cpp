// top: a live view of workers and instances.
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "apps/pawl/process_io.hpp"
#include "apps/pawl/tool_commands.hpp"
#include "apps/pawl/units.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

constexpr std::int64_t kSecondMs = 1'000;
// Pages of running instances, so that a look does not read all of a large database.
constexpr std::size_t kPagesALook = 4;
constexpr std::size_t kRowsAPage = 1024;
constexpr std::size_t kInstancesShown = 10;

volatile std::sig_atomic_t asked_to_stop = 0;
void on_stop_signal(int /*number*/) { asked_to_stop = 1; }

// Restores the terminal, whatever ends the view.
class LiveTerminal {
 public:
  LiveTerminal() {
    keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (keys_) {
      struct termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    std::signal(SIGINT, on_stop_signal);
    std::signal(SIGTERM, on_stop_signal);
    StdoutSink().write("\x1b[?1049h\x1b[?25l");
  }
  ~LiveTerminal() {
    StdoutSink().write("\x1b[?25h\x1b[?1049l");
    static_cast<void>(std::fflush(stdout));
    if (keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;
  void begin_frame() { StdoutSink().write("\x1b[H\x1b[2J"); }
  // False: the key q, or a signal.
  [[nodiscard]] bool wait(std::int64_t ms) const {
    struct pollfd input = {keys_ ? STDIN_FILENO : -1, POLLIN, 0};
    const int ready = ::poll(&input, 1, static_cast<int>(std::min<std::int64_t>(ms, 3'600'000)));
    char key = 0;
    if (ready > 0 && ::read(STDIN_FILENO, &key, 1) == 1 && (key == 'q' || key == 'Q')) return false;
    return asked_to_stop == 0;
  }

 private:
  struct termios before_ = {};
  bool keys_ = false;
};

struct WorkerLine {
  std::string node;
  std::int64_t pid = 0;
  std::int64_t sessions = 0;
  std::int64_t busy = 0;
  std::int64_t devices = 0;
  bool draining = false;
};

std::vector<std::int64_t> pids_of(const std::vector<WorkerLine>& workers) {
  std::vector<std::int64_t> found;
  found.reserve(workers.size());
  for (const WorkerLine& one : workers)
    found.push_back(one.pid);
  return found;
}

struct InstanceLine {
  std::string id;
  std::string name;
  const char* state;
  std::int64_t updated_ms;
};

// One look, and the changes since the one before.
struct Frame {
  Metrics metrics;
  std::vector<WorkerLine> workers;
  std::vector<InstanceLine> latest;  // the instances that changed last
  std::int64_t at_ms = 0;
};

Frame look(Tool& tool) {
  Frame frame;
  frame.at_ms = boot_ms();
  tool.must(tool.client().get_metrics(&frame.metrics));
  tool.must(tool.client().list_workers(visit([&frame](const WorkerInfo& one) {
    frame.workers.push_back({std::string(one.node), one.pid, one.sessions, one.sessions_busy,
                             one.devices, one.draining});
  })));
  auto keep = visit([&all = frame.latest](const InstanceInfo& info) {
    all.push_back({std::string(info.id), std::string(info.name),
                   orchestration_state_name(info.state), info.updated_ms});
    std::sort(all.begin(), all.end(), [](const InstanceLine& a, const InstanceLine& b) {
      return a.updated_ms > b.updated_ms;
    });
    if (all.size() > kInstancesShown) all.pop_back();
  });
  InstanceFilter running;
  running.any_state = false;
  Page page;
  page.rows_max = kRowsAPage;
  for (std::size_t i = 0; i < kPagesALook && (i == 0 || page.more); ++i)
    tool.must(tool.client().list_instances(running, &page, keep));
  return frame;
}

// A removal meanwhile makes a count fall: then the rate is unknown.
std::optional<std::int64_t> per_minute(std::int64_t before, std::int64_t now, std::int64_t ms) {
  if (ms <= 0 || now < before) return std::nullopt;
  return (now - before) * 60 * kSecondMs / ms;
}

struct Rates {
  std::optional<std::int64_t> events, completed, failed, bytes;
};

Rates rates_of(const Frame& before, const Frame& now, const WriteRate& written) {
  const std::int64_t ms = now.at_ms - before.at_ms;
  Rates rates;
  rates.events = per_minute(before.metrics.events, now.metrics.events, ms);
  rates.completed =
      per_minute(before.metrics.instances_completed, now.metrics.instances_completed, ms);
  rates.failed = per_minute(before.metrics.instances_failed, now.metrics.instances_failed, ms);
  if (written.bytes().has_value()) rates.bytes = per_minute(0, *written.bytes(), written.ms());
  return rates;
}

std::string number(std::int64_t value) { return std::to_string(value); }
std::string rate(const std::optional<std::int64_t>& value) {
  return value.has_value() ? number(*value) + "/min" : "-";
}

void print_tables(const Frame& is, const Screen& screen) {
  {
    TextTable workers(screen, {"NODE", "PID", "SESSIONS", "BUSY", "DEVICES", "STATE"});
    for (const WorkerLine& one : is.workers)
      workers.row({one.node, number(one.pid), number(one.sessions), number(one.busy),
                   number(one.devices), one.draining ? "draining" : "serving"});
  }
  StdoutSink().write("\n");
  TextTable instances(screen, {"INSTANCE", "NAME", "STATE", "UPDATED"});
  for (const InstanceLine& one : is.latest)
    instances.row({one.id, one.name, one.state, screen.time(one.updated_ms)});
}

void print_people(const Frame& is, const Rates& rates, const Screen& screen) {
  const Metrics& m = is.metrics;
  const auto field = [&screen](const char* name, const std::string& value) {
    print_field(screen, name,
                cut_to(value, screen.terminal ? screen.width - 17 : value.size() + 1));
  };
  field("instances", number(m.instances_running) + " running, " + number(m.instances_completed) +
                         " completed, " + number(m.instances_failed) + " failed, " +
                         number(m.instances_stopped) + " stopped, " +
                         number(m.instances_suspended) + " suspended");
  field("activities", number(m.activities_ready) + " ready, " + number(m.activities_running) +
                          " running, " + number(m.activities_delayed) + " delayed, " +
                          number(m.activities_outside) + " outside");
  field("sessions", number(m.sessions_active) + " active, " + number(m.sessions_idle) + " idle, " +
                        number(m.sessions_waiting) + " waiting, " + number(m.sessions_lost) +
                        " lost");
  field("waiting", number(m.messages_waiting) + " messages, " + number(m.timers_waiting) +
                       " timers" +
                       (m.unread_messages > 0 ? ", unread " + number(m.unread_messages) : ""));
  field("space", screen.size(m.used_bytes) + " used, log " + screen.size(m.log_bytes) +
                     (m.refuses_new ? ", refuses what is new" : ""));
  field("rates", "events " + rate(rates.events) + ", completed " + rate(rates.completed) +
                     ", failed " + rate(rates.failed) + ", workers write " +
                     (rates.bytes.has_value() ? size_text(*rates.bytes) + "/min" : "-"));
  StdoutSink().write("\n");
  print_tables(is, screen);
}

void print_json(Tool& tool, const Frame& is, const Rates& rates) {
  JsonOut& out = tool.out();
  write_json(is.metrics, out.begin_object().key("metrics"));
  out.begin_object("per_minute");
  const auto put = [&out](const char* key, const std::optional<std::int64_t>& value) {
    if (value.has_value()) out.number(key, *value);
  };
  put("events", rates.events);
  put("completed", rates.completed);
  put("failed", rates.failed);
  put("bytes", rates.bytes);
  out.end_object().begin_list("workers");
  for (const WorkerLine& one : is.workers)
    out.begin_object().text("node", one.node).number("pid", one.pid).end_object();
  out.end_list().begin_list("instances");
  for (const InstanceLine& one : is.latest)
    out.begin_object().text("id", one.id).number("updated_ms", one.updated_ms).end_object();
  out.end_list().end_object().end_line();
}

int top(Tool& tool, std::int64_t every_ms, bool once) {
  const bool lives = Screen::of_stdout().terminal && !once && !tool.json();
  WriteRate written;
  Frame before = look(tool);
  written.read(pids_of(before.workers));
  Frame now = before;
  if (!lives) {
    // Two looks, since a rate needs them.
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(every_ms, 3'600'000)));
    now = look(tool);
    written.read(pids_of(now.workers));
    const Rates rates = rates_of(before, now, written);
    if (tool.json())
      print_json(tool, now, rates);
    else
      print_people(now, rates, tool.screen());
    return kDone;
  }
  LiveTerminal terminal;
  do {
    terminal.begin_frame();
    print_people(now, rates_of(before, now, written), Screen::of_stdout());
    tool.flush();
    if (!terminal.wait(every_ms)) break;
    before = now;
    now = look(tool);
    written.read(pids_of(now.workers));
  } while (asked_to_stop == 0);
  return kDone;
}

}  // namespace

void add_top(Tool& tool) {
  auto every = std::make_shared<std::optional<std::int64_t>>();
  auto once = std::make_shared<bool>(false);
  CLI::App* const command = tool.add("top", "A live view; q ends it", [&tool, every, once] {
    return top(tool, std::max<std::int64_t>(every->value_or(2 * kSecondMs), 100), *once);
  });
  add_duration(command, "--every", every.get(), "A look every so long; as by default 2s");
  command->add_flag("--once", *once, "One view of what changed in that time, as into a pipe");
}

}  // namespace pawl::tool
