#include "pawl/endpoint.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include "parts/endpoint/gate.hpp"
#include "parts/endpoint/listener.hpp"
#include "parts/endpoint/server.hpp"
#include "pawl/files.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kRetryMs = 1'000;  // between two tries to open the database
// A byte of a payload takes at most six in JSON; the rest is for the text around a page's rows.
constexpr std::size_t kAnswerAround = 64 * 1024;

std::size_t answer_bytes(const EndpointOptions& options) {
  return http::kPageBytes + 6 * options.client.payload_bytes_max + kAnswerAround;
}

class FileSink final : public TextSink {
 public:
  explicit FileSink(int descriptor) : fd_(descriptor) {}
  bool write(std::string_view text) noexcept override {
    for (const char c : text) {
      buffer_[size_++] = c;
      if (size_ == sizeof buffer_ && !flush()) return false;
    }
    return true;
  }
  bool flush() {
    const bool good = ::write(fd_, buffer_, size_) == static_cast<ssize_t>(size_);
    size_ = 0;
    return good;
  }

 private:
  int fd_;
  std::size_t size_ = 0;
  char buffer_[4096];
};

}  // namespace

struct Endpoint::Parts final : http::Server::Owner {
  Parts(Process& process_given, const EndpointOptions& given)
      : process(process_given), options(given), port(given.port) {}
  ~Parts() { static_cast<void>(stop()); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  Status check(Diagnostic& why) const;
  Status check_metrics_file(Diagnostic& why) const;
  Status make_metrics_file(posix::NewFile& file, Diagnostic& why) const;
  Status listen(Diagnostic& why);
  Status start(Diagnostic& why);
  bool start_thread();
  Status stop();
  bool join();
  void run();
  http::Backend& backend() override;
  void open_database();
  void write_metrics_file();

  Process& process;
  EndpointOptions options;
  posix::SystemPort port;
  Client client;
  std::unique_ptr<unsigned char[]> memory;  // for the client
  http::Gate gate;
  http::Listener listener;
  http::Server server;
  http::Backend answers;
  std::unique_ptr<RuntimeCounters> counters;
  Diagnostic why_closed;
  std::int64_t retry_ms = INT64_MIN;
  std::int64_t metrics_due_ms = INT64_MIN;
  std::int64_t now_ms = 0;
  bool has_begun = false;  // the Process may be used
  std::atomic<bool> stops{false};
  int wake_fd = -1;
  int ended_fd = -1;  // readable when the thread has ended
  pthread_t thread = {};
  bool has_thread = false;
};

Status Endpoint::Parts::check(Diagnostic& why) const {
  if (options.connections < 1 || options.connections > 256) {
    why.format("connections is %u; it is 1 to 256", options.connections);
    return Status::kInvalidOptions;
  }
  if (options.watches > options.connections) {
    why.format("watches is %u, and connections %u", options.watches, options.connections);
    return Status::kInvalidOptions;
  }
  const std::int64_t timeout = options.request_timeout.count();
  if (timeout < 100 || timeout > 600'000) {
    why.format("request_timeout is %lld ms; it is 100 ms to 10 min",
               static_cast<long long>(timeout));
    return Status::kInvalidOptions;
  }
  const std::int64_t interval = options.metrics_interval.count();
  if (interval < 1'000 || interval > 86'400'000) {
    why.format("metrics_interval is %lld ms; it is 1 s to a day", static_cast<long long>(interval));
    return Status::kInvalidOptions;
  }
  if (options.tcp.has_value() && options.tcp->token_file.empty()) {
    why.format("tcp without tcp.token_file");
    return Status::kInvalidOptions;
  }
  return check_metrics_file(why);
}

// kOk also after other failures: the file at the path may change, so each writing checks again, and
// a full disk may have room later.
Status Endpoint::Parts::check_metrics_file(Diagnostic& why) const {
  if (options.metrics_file.empty()) return Status::kOk;
  posix::NewFile file;
  Diagnostic text;
  switch (make_metrics_file(file, text)) {
    case Status::kInvalidArgument:
    case Status::kBusy:
    case Status::kCannotOpen:
      why.format("metrics_file %.*s", PAWL_TEXT(text.text()));
      return Status::kInvalidOptions;
    default: return Status::kOk;
  }
}

Status Endpoint::Parts::make_metrics_file(posix::NewFile& file, Diagnostic& why) const {
  return file.make(options.metrics_file.c_str(), ".tmp", 0644, options.client.database_path.c_str(),
                   why);
}

Status Endpoint::Parts::listen(Diagnostic& why) {
  gate.set_read_only(options.read_only);
  gate.set_body_bytes_max(options.client.payload_bytes_max);
  if (options.tcp.has_value()) {
    const EndpointTcp& tcp = *options.tcp;
    PAWL_TRY(gate.guard_tcp(tcp.token_file.c_str(), tcp.address.view(), tcp.host_name.view(), why));
    return listener.listen_tcp(tcp.address.view(), tcp.port, tcp.allow_others, why);
  }
  const unsigned mode = options.socket_mode.value_or(options.port.group_access ? 0660 : 0600);
  if (!options.socket_path.empty())
    return listener.listen_unix(options.socket_path.view(), mode, why);
  char path[512];
  const std::string_view database = options.client.database_path.view();
  std::snprintf(path, sizeof path, "%.*s-http", PAWL_TEXT(database));
  return listener.listen_unix(path, mode, why);
}

Status Endpoint::Parts::start(Diagnostic& why) {
  PAWL_TRY(check(why));
  const std::size_t bytes = Client::required_memory(options.client);
  counters.reset(new (std::nothrow) RuntimeCounters);
  memory.reset(new (std::nothrow) unsigned char[bytes]);
  if (counters == nullptr || memory == nullptr) {
    why.format("no %zu bytes", bytes + sizeof(RuntimeCounters));
    return Status::kResourceExhausted;
  }
  PAWL_TRY(port.port().clock->open(why));
  PAWL_TRY(listen(why));
  wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ended_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  http::ServerOptions limits;
  limits.connections = options.connections;
  limits.request_timeout_ms = options.request_timeout.count();
  limits.body_bytes_max = options.client.payload_bytes_max;
  limits.answer_bytes_max = answer_bytes(options);
  if (wake_fd < 0 || ended_fd < 0 ||
      server.start(listener.fd(), gate, *this, limits) != Status::kOk) {
    why.format("no memory or no descriptors for %u connections", options.connections);
    return Status::kResourceExhausted;
  }
  answers.board = options.board;
  answers.clock = port.port().clock;
  answers.counters = counters.get();
  answers.watches_max = options.watches;
  answers.read_only = options.read_only;
  if (start_thread()) return Status::kOk;
  why.format("the system has no thread for the endpoint");
  return Status::kResourceExhausted;
}

// std::thread was rejected: where the system has no thread left it throws, which ends the process.
bool Endpoint::Parts::start_thread() {
  const auto run_parts = [](void* given) -> void* {
    auto& parts = *static_cast<Parts*>(given);
    parts.run();
    const int ended = parts.ended_fd;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(ended, &one, sizeof one));
    return nullptr;
  };
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread = ::pthread_create(&thread, nullptr, run_parts, this) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (has_thread) ::pthread_setname_np(thread, Endpoint::kThreadName);
  return has_thread;
}

// Waits as long as a request may take: a thread that takes longer never ends, or not soon.
bool Endpoint::Parts::join() {
  if (!has_thread) return true;
  pollfd ended = {ended_fd, POLLIN, 0};
  const std::int64_t until = port.port().clock->boot_ms() + options.request_timeout.count();
  std::int64_t left = options.request_timeout.count();
  while (::poll(&ended, 1, static_cast<int>(left > 0 ? left : 0)) != 1) {
    left = until - port.port().clock->boot_ms();
    if (left <= 0) return false;
  }
  ::pthread_join(thread, nullptr);
  has_thread = false;
  return true;
}

Status Endpoint::Parts::stop() {
  stops.store(true);
  const std::uint64_t one = 1;
  if (wake_fd >= 0) static_cast<void>(!::write(wake_fd, &one, sizeof one));
  if (!join()) return Status::kTimeout;
  server.stop();
  listener.close();
  client.close();
  for (int* const fd : {&wake_fd, &ended_fd}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  return Status::kOk;
}

void Endpoint::Parts::run() {
  port::Clock& clock = *port.port().clock;
  while (!stops.load()) {
    now_ms = clock.boot_ms();
    server.run(now_ms);
    if (!options.metrics_file.empty() && now_ms >= metrics_due_ms) write_metrics_file();
    now_ms = clock.boot_ms();
    OptionalMs due = server.next_due(now_ms);
    if (!options.metrics_file.empty()) due.keep_earlier(metrics_due_ms);
    std::int64_t sleep = -1;
    if (due.has_value()) sleep = due.value() > now_ms ? due.value() - now_ms : 0;
    pollfd sources[] = {
        {server.fd(), POLLIN, 0}, {server.listen_fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}};
    static_cast<void>(::poll(sources, 3, static_cast<int>(sleep > 60'000 ? 60'000 : sleep)));
  }
}

// A Host starts its Process after this thread began; the board shows when it has started.
http::Backend& Endpoint::Parts::backend() {
  if (!has_begun && (options.board == nullptr || options.board->life().running)) has_begun = true;
  if (!has_begun)
    answers.why_closed = "the runtime of this process has not started yet";
  else if (answers.client == nullptr && now_ms >= retry_ms)
    open_database();
  return answers;
}

void Endpoint::Parts::open_database() {
  retry_ms = now_ms + kRetryMs;
  answers.closed = client.open(process, options.client, port.port(), memory.get(),
                               Client::required_memory(options.client), why_closed);
  answers.why_closed = why_closed.text();
  if (answers.closed == Status::kOk) answers.client = &client;
}

// For the textfile collector: written under another name first, so that it never reads half a file.
void Endpoint::Parts::write_metrics_file() {
  metrics_due_ms = now_ms + options.metrics_interval.count();
  http::Backend& from = backend();
  from.now_ms = now_ms;
  if (from.client == nullptr || from.count() != Status::kOk) return;
  posix::NewFile file;
  Diagnostic why;
  if (make_metrics_file(file, why) != Status::kOk) return;
  FileSink sink(file.descriptor());
  if (write_all_metrics(from, sink) == Status::kOk && sink.flush())
    static_cast<void>(file.put_in_place(why));
}

Endpoint::Endpoint() = default;
Endpoint::~Endpoint() {
  // A thread is left: nothing that it uses may be freed.
  if (stop() == Status::kTimeout) static_cast<void>(parts_.release());
}

Status Endpoint::start(Host& host, const EndpointOptions& options, Diagnostic& why) {
  if (host.process().started()) {
    why.format("the endpoint of a Host is started before the Host is");
    return Status::kInvalidArgument;
  }
  EndpointOptions of_host = options;
  const HostOptions& own = host.options();
  of_host.client.database_path = own.runtime.database_path;
  of_host.client.database = own.runtime.database;
  of_host.port = own.port;
  of_host.board = &host.board();
  if (parts_ != nullptr) return Status::kAlreadyExists;
  auto parts = std::make_unique<Parts>(host.process(), of_host);
  PAWL_TRY(parts->start(why));
  ProcessOptions& process = host.options().process;
  ++process.connections_max;
  process.page_cache_pages += options.client.cache_pages;
  process.payload_bytes_max = std::max(process.payload_bytes_max, options.client.payload_bytes_max);
  parts_ = std::move(parts);
  return Status::kOk;
}

Status Endpoint::start(Process& process, const EndpointOptions& options, Diagnostic& why) {
  if (parts_ != nullptr) return Status::kAlreadyExists;
  if (!process.started()) {
    why.format("the Process is not started");
    return Status::kInvalidArgument;
  }
  auto parts = std::make_unique<Parts>(process, options);
  parts->has_begun = true;
  PAWL_TRY(parts->start(why));
  parts_ = std::move(parts);
  return Status::kOk;
}

Status Endpoint::stop() {
  if (parts_ == nullptr) return Status::kOk;
  PAWL_TRY(parts_->stop());
  parts_.reset();
  return Status::kOk;
}

std::uint16_t Endpoint::port() const {
  return parts_ == nullptr ? std::uint16_t{0} : parts_->listener.port();
}

}  // namespace pawl
