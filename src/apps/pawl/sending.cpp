// start, raise, enqueue, call, wait, watch: the actions of an orchestration's client.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "apps/pawl/tool_commands.hpp"
#include "pawl/progress.hpp"

namespace pawl::tool {
namespace {

using std::chrono::milliseconds;
constexpr std::int64_t kHourMs = 3'600'000;

struct StartGiven {
  std::string name;
  std::string input;
  std::string id;
  std::string version;
  std::optional<std::int64_t> after_ms;
  std::optional<std::int64_t> limit_ms;
  bool takes_running = false;
  std::string if_ended;
};

// Made of the orchestration's name and 48 random bits.
std::string new_id(const std::string& name) {
  std::array<unsigned char, 6> random = {};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/dev/urandom", "rb"),
                                                             std::fclose);
  if (file == nullptr || std::fread(random.data(), random.size(), 1, file.get()) != 1)
    fail(kFailed, status_name(Status::kIo), "no random numbers for an id: give --id");
  std::string id = name.substr(0, 200) + "-";
  for (const unsigned char byte : random) {
    id.push_back("0123456789abcdef"[byte >> 4U]);
    id.push_back("0123456789abcdef"[byte & 15U]);
  }
  return id;
}

int start(Tool& tool, const StartGiven& given) {
  StartOptions options;
  if (!given.version.empty()) options.version = Name(given.version);
  options.start_after = milliseconds(given.after_ms.value_or(0));
  if (given.limit_ms.has_value()) options.time_limit = milliseconds(*given.limit_ms);
  if (given.takes_running) options.if_running = IfRunning::kTake;
  if (!given.if_ended.empty())
    options.if_ended = given.if_ended == "next" ? IfEnded::kNextExecution : IfEnded::kNextIfFailed;
  const std::string id = given.id.empty() ? new_id(given.name) : given.id;
  const std::string input = read_payload(given.input);
  tool.must(tool.client().start_orchestration(given.name, InstanceId(id), input, options));
  tool.done("start", id);
  if (!tool.json()) StdoutSink().write(printable(id) + "\n");
  return kDone;
}

struct Sent {
  std::string id;
  std::string name;
  std::string payload;
  std::string start;
  std::string input;
  std::optional<std::string> key;
};

// Calls `send` with the payload and the options that were given.
template <typename Send>
void send(Tool& tool, const Sent& sent, Send&& send) {
  const std::string payload = read_payload(sent.payload);
  const std::string input = read_payload(sent.input);
  SendOptions options;
  if (!sent.start.empty()) options.start_if_ended = StartIfEnded{sent.start, input};
  if (sent.key.has_value()) options.key = *sent.key;
  tool.must(send(payload, options));
}

int raise(Tool& tool, const Sent& sent) {
  send(tool, sent, [&](const std::string& payload, const SendOptions& options) {
    return tool.client().raise_event(sent.id, sent.name, payload, options);
  });
  tool.done("raise", sent.id);
  return kDone;
}

int enqueue(Tool& tool, const Sent& sent) {
  send(tool, sent, [&](const std::string& payload, const SendOptions& options) {
    return tool.client().enqueue_event(sent.id, sent.name, payload, options);
  });
  tool.done("enqueue", sent.id);
  return kDone;
}

struct Called {
  Sent sent;
  std::optional<std::int64_t> timeout_ms;
};

// Prints the answer. Without a timeout it waits an hour, again and again, for the same call.
int call(Tool& tool, const Called& given) {
  CallAnswer answer;
  Status status = Status::kTimeout;
  std::string key;
  send(tool, given.sent, [&](const std::string& payload, SendOptions& options) {
    const milliseconds once(given.timeout_ms.value_or(kHourMs));
    do {
      status = tool.client().call(given.sent.id, given.sent.name, payload, once, &answer, options);
      key = std::string(answer.key.view());
      options.key = key;
    } while (status == Status::kTimeout && !given.timeout_ms.has_value());
    return status == Status::kTimeout ? Status::kOk : status;
  });
  if (status == Status::kTimeout)
    fail(kTimeout, status_name(status), "no answer yet: ask again with --key " + printable(key));
  if (tool.json()) {
    tool.print_json(answer);
  } else {
    StdoutSink sink;
    if (answer.error != ErrorKind::kNone)
      sink.write(printable("refused: " + std::string(error_kind_name(answer.error)) + ": "));
    sink.write(printable(answer.value) + "\n");
  }
  return answer.error == ErrorKind::kNone ? kDone : kBad;
}

int exit_of_state(OrchestrationState state) {
  switch (state) {
    case OrchestrationState::kCompleted: return kDone;
    case OrchestrationState::kFailed: return kBad;
    case OrchestrationState::kStopped: return kHalted;
    default: return kTimeout;
  }
}

// Without a timeout it waits an hour, again and again.
Status wait_for_end(Tool& tool, const std::string& id, std::optional<std::int64_t> timeout_ms,
                    OrchestrationStatus* status) {
  const milliseconds once(timeout_ms.value_or(kHourMs));
  Status seen = Status::kTimeout;
  do {
    seen = tool.client().wait_for_orchestration(id, once, status);
  } while (seen == Status::kTimeout && !timeout_ms.has_value());
  return seen;
}

int wait(Tool& tool, const std::string& id, std::optional<std::int64_t> timeout_ms) {
  OrchestrationStatus status;
  const Status seen = wait_for_end(tool, id, timeout_ms, &status);
  if (seen == Status::kTimeout)
    fail(kTimeout, status_name(seen),
         "the instance is still " + std::string(orchestration_state_name(status.state)));
  tool.must(seen);
  if (tool.json()) {
    tool.print_json(status);
  } else {
    StdoutSink sink;
    if (status.state != OrchestrationState::kCompleted)
      sink.write(printable(std::string(orchestration_state_name(status.state)) + ": " +
                           error_kind_name(status.error) + ": "));
    sink.write(printable(status.output) + "\n");
  }
  return exit_of_state(status.state);
}

struct WatchGiven {
  std::string id;
  bool events = false;
  bool status = false;
};

// Prints the changes since the last look: events by their ids, the status by its version.
class Watcher final : public HistoryVisitor {
 public:
  Watcher(Tool& tool, const WatchGiven& given) : tool_(tool), given_(given) {}

  void print(const ProgressUpdate& update) {
    if (tool_.json()) {
      tool_.print_json_as("progress", update);
    } else {
      line("activity " + std::to_string(update.activity_id) + "\tattempt " +
           std::to_string(update.attempt) + "\t" + std::to_string(update.number) + "\t" +
           printable(update.text()));
    }
  }
  void look() {
    OrchestrationStatus status;
    tool_.must(tool_.client().get_status(given_.id, &status));
    const bool changed = status.updated_ms != updated_ms_ || status.execution_id != execution_;
    const bool is_new =
        status.custom_status_version != version_ || status.state != state_ || updated_ms_ < 0;
    if (status.execution_id != execution_) last_event_ = 0;
    execution_ = status.execution_id;
    updated_ms_ = status.updated_ms;
    if (given_.status && is_new) print(status);
    if (given_.events && changed) {
      const Status read = tool_.client().read_history(given_.id, execution_, *this);
      if (read != Status::kNotFound) tool_.must(read);
    }
  }
  void on_event(const HistoryEvent& event) noexcept override {
    if (event.id <= last_event_) return;
    last_event_ = event.id;
    if (tool_.json()) {
      tool_.print_json_as("event", event);
    } else {
      line("event " + std::to_string(event.id) + "\t" + event.kind + "\t" + printable(event.name));
    }
  }

 private:
  void print(const OrchestrationStatus& status) {
    version_ = status.custom_status_version;
    state_ = status.state;
    if (tool_.json()) {
      tool_.print_json_as("status", status);
    } else {
      line(std::string("status\t") + orchestration_state_name(status.state) + "\t" +
           printable(status.custom_status));
    }
  }
  static void line(const std::string& text) { StdoutSink().write(text + "\n"); }

  Tool& tool_;
  const WatchGiven& given_;
  std::int64_t execution_ = 0;
  std::int64_t last_event_ = 0;
  std::int64_t updated_ms_ = -1;
  std::int64_t version_ = 0;
  OrchestrationState state_ = OrchestrationState::kRunning;
};

// Prints each line as it comes, also into a pipe.
int watch(Tool& tool, const WatchGiven& given) {
  tool.must_see_workers();
  ProgressWatch watched;
  Watcher watcher(tool, given);
  const bool looks = given.events || given.status;
  const milliseconds round(looks ? 500 : kHourMs);
  while (true) {
    if (looks) watcher.look();
    tool.flush();
    const Status seen = tool.client().watch_progress(given.id, round, &watched);
    if (seen == Status::kStale) break;
    if (seen == Status::kTimeout) continue;
    tool.must(seen);
    watcher.print(watched.update());
  }
  if (looks) watcher.look();
  return kDone;
}

void add_options(CLI::App* command, const std::string& what, Sent* sent) {
  add_id(command, &sent->id);
  command->add_option(what, sent->name, "The name of it")->required()->type_name("");
  add_payload(command, "PAYLOAD", &sent->payload, "Its payload; else empty");
  command
      ->add_option("--start", sent->start,
                   "Starts this orchestration, if the instance is not there or has ended")
      ->type_name("NAME");
  command->add_option("--input", sent->input, "Of the start; else empty")->type_name("INPUT");
  command->add_option("--key", sent->key, "Makes it one message, however often it is sent")
      ->type_name("KEY");
}

void add_sent(Tool& tool, const std::string& name, const std::string& help, const std::string& what,
              int (*run)(Tool&, const Sent&)) {
  auto sent = std::make_shared<Sent>();
  add_options(tool.add(name, help, [&tool, sent, run] { return run(tool, *sent); }), what,
              sent.get());
}

}  // namespace

void add_sending(Tool& tool) {
  auto given = std::make_shared<StartGiven>();
  CLI::App* command = tool.add("start", "Starts an orchestration and prints the id",
                               [&tool, given] { return start(tool, *given); });
  command->add_option("NAME", given->name, "The orchestration")->required()->type_name("");
  add_payload(command, "INPUT", &given->input, "Its input; else empty");
  command->add_option("--id", given->id, "The id; else NAME with random digits")->type_name("ID");
  command->add_option("--version", given->version, "Of the code; else the worker's default")
      ->type_name("VERSION");
  add_duration(command, "--after", &given->after_ms, "The first turn comes so much later");
  add_duration(command, "--time-limit", &given->limit_ms, "It is asked to stop after so long");
  command->add_flag("--take-running", given->takes_running,
                    "An instance of the id that runs will do");
  command
      ->add_option("--if-ended", given->if_ended,
                   "Begins the next execution of one that has ended: next, or failed")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"next", "failed"}));

  add_sent(tool, "raise", "Raises an event for a wait of this name", "EVENT", raise);
  add_sent(tool, "enqueue", "Puts a message into a queue of the instance", "QUEUE", enqueue);

  auto called = std::make_shared<Called>();
  command = tool.add("call", "Puts a message into a queue, waits for the answer and prints it",
                     [&tool, called] { return call(tool, *called); });
  add_options(command, "QUEUE", &called->sent);
  add_duration(command, "--timeout", &called->timeout_ms, "At most so long; else without end");

  auto id = std::make_shared<std::string>();
  auto timeout = std::make_shared<std::optional<std::int64_t>>();
  command =
      tool.add("wait", "Waits until it has ended, prints the result; the exit code is by state",
               [&tool, id, timeout] { return wait(tool, *id, *timeout); });
  add_id(command, id.get());
  add_duration(command, "--timeout", timeout.get(), "At most so long; else without end");

  auto watched = std::make_shared<WatchGiven>();
  command = tool.add("watch", "Prints what its activities report, as it comes, until it ends",
                     [&tool, watched] { return watch(tool, *watched); });
  add_id(command, &watched->id);
  command->add_flag("--events", watched->events, "Its new events, too");
  command->add_flag("--status", watched->status, "Changes of its state and custom status, too");
}

}  // namespace pawl::tool
