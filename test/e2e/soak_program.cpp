// The processes that the soak kills (soak_test.cpp).
//
//   soak_program serve DB WORKER RUNS JOURNAL SEED INSTANCES MESSAGES [NODE]
//       a Runtime; writes what it runs to the file RUNS
//   soak_program drive DB JOURNAL SEED INSTANCES MESSAGES GAP_MS TURN
//       a Client that carries out the plan of the seed
//
// Both files are appended to, one line per write, and outlive the process; drive goes on where the
// journal ends. TURN is another number each time, so that drive takes another path. serve prints
// "ready", or ends with 75 when the store was busy, and ends in order on SIGTERM. With
// SOAK_ON_SERVER the rows are in schema soak of the server PAWL_POSTGRES.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "error_file.hpp"
#include "option_drawer.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#ifdef SOAK_ON_SERVER
#include "pawl/postgres.hpp"
#endif
#include "soak_code.hpp"
#include "soak_plan.hpp"

namespace {

constexpr std::size_t kBytesMax = 16 * 1024 * 1024;
// Null: the file DB.
const pawl::ServerDatabase* server() {
#ifdef SOAK_ON_SERVER
  static const pawl::ServerDatabase kServer =
      pawl::postgresql(std::getenv("PAWL_POSTGRES"), "soak");
  return &kServer;
#else
  return nullptr;
#endif
}

constexpr int kBusyStatus = 75;  // other processes held the write lock for busy_ms_max: start again

[[noreturn]] void die(const char* what, pawl::Status status, std::string_view text) {
  std::fprintf(stderr, "soak_program: %s: %s: %.*s\n", what, pawl::status_name(status),
               static_cast<int>(text.size()), text.data());
  std::_Exit(3);
}

class LineFile {
 public:
  explicit LineFile(const char* path)
      : fd_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (fd_ < 0) std::_Exit(4);
  }
  void write(const std::string& line) const {
    const std::string whole = line + "\n";
    if (::write(fd_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
      std::_Exit(5);
  }

 private:
  int fd_;
};

class FileWitness final : public soak::Witness {
 public:
  FileWitness(const char* path, std::string worker, const soak::Plan& plan, const char* journal)
      : file_(path), worker_(std::move(worker)), plan_(plan), journal_(journal) {}
  void on_run(const std::string& line) override { file_.write(line); }
  void pause() override { ::usleep(30'000); }
  bool is_sent(const std::string& instance) override {
    soak::Journal journal(plan_);
    std::ifstream lines(journal_);
    for (std::string line; std::getline(lines, line);)
      journal.apply(line);
    return journal.is_sent(instance);
  }
  [[nodiscard]] std::string worker() const override { return worker_; }

 private:
  LineFile file_;
  std::string worker_;
  const soak::Plan& plan_;
  const char* journal_;
};

// Options of one life, drawn from its name. Durations stay as they are, because the test has to
// wait for them.
pawl::Options options_of(const std::string& worker, std::uint64_t seed, bool is_first) {
  const std::string life = std::to_string(seed) + worker;
  std::seed_seq words(life.begin(), life.end());
  pawl::test::Rng random(words);
  const pawl::Options usual;
  pawl::Options options =
      pawl::test::draw_options(usual, pawl::test::draw_of(seed), random, kBytesMax);
  soak::raise_to_the_plan(options, is_first);
  options.leases = usual.leases;
  options.timing = usual.timing;
  options.sessions.session_idle_timeout = usual.sessions.session_idle_timeout;
  options.sessions.session_cleanup_interval = usual.sessions.session_cleanup_interval;
  return options;
}

pawl::Runtime* serving = nullptr;
void on_sigterm(int) { serving->request_stop(); }

int serve(pawl::Process& process, int count, char** words) {
  if (count < 7) return 2;
  const auto number = [&](int at) { return std::strtoull(words[at], nullptr, 10); };
  const soak::Plan plan(number(4), number(5), number(6));
  FileWitness witness(words[2], words[1], plan, words[3]);
  pawl::Registry registry;
  const pawl::Status filled = soak::fill(registry, witness);
  if (filled != pawl::Status::kOk) die("registration", filled, "");
  pawl::posix::FdLogSink log(STDERR_FILENO, pawl::LogLevel::kWarning);
  pawl::Options options = options_of(words[1], number(4), count > 7);
  options.database_path = words[0];
  options.database = server();
  if (count > 7) options.worker_node_id = words[7];
  options.log = std::getenv("SOAK_PROGRAM_LOG") != nullptr ? &log : crash_test::error_file();
  const std::size_t bytes = pawl::Runtime::required_memory(options);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Runtime runtime;
  pawl::Diagnostic diagnostic;
  const std::int64_t before = port.port().clock->boot_ms();
  const pawl::Status started =
      runtime.start(process, registry, options, port.port(), memory.get(), bytes, diagnostic);
  if (started == pawl::Status::kBusy) {
    std::printf("busy %lld ms\n", static_cast<long long>(port.port().clock->boot_ms() - before));
    return kBusyStatus;
  }
  if (started != pawl::Status::kOk) die("start of the runtime", started, diagnostic.text());
  for (const char* device : soak::kDevices) {
    const pawl::Status asked = runtime.declare_session(device, true);
    if (asked != pawl::Status::kOk) die("declaration", asked, runtime.error_text());
  }
  serving = &runtime;
  struct sigaction action {};
  action.sa_handler = on_sigterm;
  ::sigaction(SIGTERM, &action, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  const pawl::Status ran = runtime.run();
  if (ran != pawl::Status::kOk && ran != pawl::Status::kStopped)
    die("run", ran, runtime.error_text());
  return 0;
}

// Answers what waits for an answer from outside. False: such an instance has not ended yet.
bool answer_all(pawl::Client& client, const soak::Plan& plan) {
  bool have_ended = true;
  for (const soak::Instance& one : plan.instances()) {
    if (one.kind != soak::Kind::kOutside) continue;
    const std::string problem = soak::answer_from_outside(client, one.id);
    if (!problem.empty()) die(problem.c_str(), pawl::Status::kStale, client.error_text());
    pawl::OrchestrationStatus status;
    have_ended = client.get_status(one.id, &status) == pawl::Status::kOk &&
                 status.state != pawl::OrchestrationState::kRunning && have_ended;
  }
  return have_ended;
}

// Makes each call again, which has its answer by now or soon.
void ask_again(pawl::Client& client, const soak::Plan& plan, const soak::Journal& journal) {
  for (std::size_t i = 0; i < plan.instances().size(); ++i) {
    const soak::Instance& one = plan.instances()[i];
    if (one.kind != soak::Kind::kServer) continue;
    for (const soak::Try& sent : journal.tries(i)) {
      if (one.actions[sent.action] != soak::Verb::kSend) continue;
      pawl::Status status = pawl::Status::kBusy;
      while (status == pawl::Status::kBusy)
        status = soak::ask(client, one.id, soak::token_of(sent), std::chrono::minutes(1));
      if (status != pawl::Status::kOk) die(one.id.c_str(), status, client.error_text());
    }
  }
}

int drive(pawl::Process& process, int count, char** words) {
  if (count < 7) return 2;
  const auto number = [&](int at) { return std::strtoull(words[at], nullptr, 10); };
  const soak::Plan plan(number(2), number(3), number(4));
  const LineFile file(words[1]);
  soak::Driver driver(plan, number(2) * 1'000 + number(6),
                      [&file](const std::string& line) { file.write(line); });
  std::ifstream before(words[1]);
  for (std::string line; std::getline(before, line);)
    driver.restore(line);

  pawl::ClientOptions options;
  options.database_path = words[0];
  options.database = server();
  options.queue_messages_max = soak::kQueueMessages;
  const std::size_t bytes = pawl::Client::required_memory(options);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Client client;
  pawl::Diagnostic diagnostic;
  const pawl::Status opened =
      client.open(process, options, port.port(), memory.get(), bytes, diagnostic);
  if (opened != pawl::Status::kOk) die("open of the client", opened, diagnostic.text());
  const auto is_waited_for = [&](std::size_t instance, std::size_t action) {
    const soak::Instance& one = plan.instances()[instance];
    pawl::OrchestrationStatus status;
    if (client.get_status(one.id, &status) != pawl::Status::kOk) return false;
    return status.state == pawl::OrchestrationState::kCompleted ||
           status.state == pawl::OrchestrationState::kFailed ||
           soak::is_waited_for(one, action, status.custom_status);
  };
  std::mt19937 random(static_cast<unsigned>(number(6)));
  while (!driver.journal().is_done()) {
    ::usleep(static_cast<useconds_t>(random() % (2'000 * number(5) + 1)));
    answer_all(client, plan);
    soak::Call call;
    if (!driver.next(is_waited_for, &call)) continue;
    const pawl::Status status =
        soak::make(client, call, std::chrono::milliseconds(call.instance % 3 * 10));
    const soak::Answer answer = soak::answer_of(call.verb, status);
    if (answer == soak::Answer::kUnknown) die("a call", status, client.error_text());
    const std::string problem = driver.on_answer(call, answer);
    if (!problem.empty()) die(problem.c_str(), status, client.error_text());
  }
  while (!answer_all(client, plan))
    ::usleep(20'000);
  ask_again(client, plan, driver.journal());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  pawl::Process process;
  const pawl::ProcessOptions options;
  const std::size_t bytes = pawl::Process::required_memory(options);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::Diagnostic diagnostic;
  const pawl::Status status = process.start(options, memory.get(), bytes, diagnostic);
  if (status != pawl::Status::kOk) die("start of the process", status, diagnostic.text());
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "serve") return serve(process, argc - 2, argv + 2);
  if (mode == "drive") return drive(process, argc - 2, argv + 2);
  std::fputs("soak_program: see the head of its source\n", stderr);
  return 2;
}
