#include "server.hpp"

#include <microhttpd.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <new>

namespace pawl::http {
namespace {

// Headers and the first line; the library answers more with 431 or 414.
constexpr std::size_t kHeadBytesMax = 16 * 1024;
constexpr std::int64_t kWatchPauseMs = 250;  // between two looks at what is watched

// Scripts, styles and answers of this server alone; nothing that a payload smuggles into a page runs.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view header(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Head head_of(MHD_Connection* connection) {
  Head head;
  head.authorization = header(connection, "Authorization");
  head.host = header(connection, "Host");
  head.origin = header(connection, "Origin");
  head.has_origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin") != nullptr;
  head.marked =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Pawl-Request") != nullptr;
  const std::string_view length = header(connection, "Content-Length");
  std::uint64_t bytes = 0;
  if (std::from_chars(length.data(), length.data() + length.size(), bytes).ec == std::errc())
    head.body_bytes = bytes;
  return head;
}

Method method_of(std::string_view name) {
  if (name == "GET" || name == "HEAD") return Method::kGet;
  if (name == "POST") return Method::kPost;
  if (name == "DELETE") return Method::kDelete;
  return Method::kOther;
}

// The parts of a URI are decoded after they were parted (Exchange::begin()), so not by the library.
std::size_t leave_as_it_is(void* /*user*/, MHD_Connection* /*connection*/, char* text) {
  return std::strlen(text);
}

// What peers do wrong is no news for a log.
void ignore_log(void* /*user*/, const char* /*format*/, va_list /*arguments*/) {}

}  // namespace

struct Server::Slot {
  Exchange exchange;
  const Route* route = nullptr;
  MHD_Connection* connection = nullptr;
  bool used = false;
  bool begun = false;      // its head was looked at
  bool suspended = false;  // it waits for a change
  std::size_t body_bytes = 0;
};

struct Server::Connection {
  int fd = -1;  // -1: free
  std::int64_t deadline_ms = 0;
};

// What the library calls.
struct Server::Callbacks {
  static void* on_uri(void* user, const char* uri, MHD_Connection* /*connection*/) {
    return static_cast<Server*>(user)->take_slot(uri);
  }

  static MHD_Result on_request(void* user, MHD_Connection* connection, const char* /*url*/,
                               const char* method, const char* /*version*/, const char* data,
                               std::size_t* size, void** request) {
    Server& server = *static_cast<Server*>(user);
    auto* const slot = static_cast<Slot*>(*request);
    if (slot == nullptr) return MHD_NO;
    slot->connection = connection;
    int answer = MHD_YES;
    if (!slot->begun)
      answer = server.begin_request(*slot, method);
    else if (*size != 0)
      answer = server.take_body(*slot, data, size);
    else
      answer = server.end_request(*slot);
    return answer == MHD_YES ? MHD_YES : MHD_NO;
  }

  static void on_end(void* user, MHD_Connection* connection, void** request,
                     MHD_RequestTerminationCode /*how*/) {
    Server& server = *static_cast<Server*>(user);
    if (*request != nullptr) server.give_back(static_cast<Slot*>(*request));
    *request = nullptr;
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    auto* const known = info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
    if (known != nullptr) known->deadline_ms = server.now_ms_ + server.options_.request_timeout_ms;
  }

  static void on_connection(void* user, MHD_Connection* connection, void** known,
                            MHD_ConnectionNotificationCode what) {
    Server& server = *static_cast<Server*>(user);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      *known = server.take_connection(connection);
    } else if (*known != nullptr) {
      static_cast<Connection*>(*known)->fd = -1;
      server.has_closed_ = true;
      *known = nullptr;
    }
  }
};

Server::Server() = default;
Server::~Server() { stop(); }

Status Server::start(int fd, const Gate& gate, Owner& owner, const ServerOptions& options) {
  gate_ = &gate;
  owner_ = &owner;
  options_ = options;
  const std::size_t count = options.connections;
  const std::size_t each = options.body_bytes_max + options.answer_bytes_max;
  slots_.reset(new (std::nothrow) Slot[count]);
  connections_.reset(new (std::nothrow) Connection[count]);
  buffers_.reset(new (std::nothrow) char[count * each]);
  if (slots_ == nullptr || connections_ == nullptr || buffers_ == nullptr)
    return Status::kResourceExhausted;
  for (std::size_t i = 0; i < count; ++i) {
    char* const begin = buffers_.get() + i * each;
    slots_[i].exchange.attach(begin, options.body_bytes_max, begin + options.body_bytes_max,
                              options.answer_bytes_max);
  }
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr, nullptr,
      &Callbacks::on_request, this, MHD_OPTION_EXTERNAL_LOGGER, &ignore_log, nullptr,
      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, options.connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kHeadBytesMax, MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_NOTIFY_COMPLETED, &Callbacks::on_end, this, MHD_OPTION_NOTIFY_CONNECTION,
      &Callbacks::on_connection, this, MHD_OPTION_URI_LOG_CALLBACK, &Callbacks::on_uri, this,
      MHD_OPTION_UNESCAPE_CALLBACK, &leave_as_it_is, nullptr, MHD_OPTION_END);
  return daemon_ == nullptr ? Status::kResourceExhausted : Status::kOk;
}

void Server::stop() {
  if (daemon_ == nullptr) return;
  // The library ends the process if a connection is suspended still.
  for (std::size_t i = 0; i < options_.connections; ++i)
    if (slots_[i].suspended) resume(slots_[i]);
  MHD_stop_daemon(daemon_);
  daemon_ = nullptr;
}

int Server::fd() const {
  const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
  return info == nullptr ? -1 : info->epoll_fd;
}

void Server::run(std::int64_t now_ms) {
  now_ms_ = now_ms;
  has_closed_ = false;
  MHD_run(daemon_);
  // MHD_get_timeout() does not say that something was resumed.
  if (look_at_watches()) MHD_run(daemon_);
  close_overdue();
}

OptionalMs Server::next_due(std::int64_t now_ms) const {
  OptionalMs due;
  MHD_UNSIGNED_LONG_LONG own = 0;
  if (MHD_get_timeout(daemon_, &own) == MHD_YES)
    due = now_ms + static_cast<std::int64_t>(own < 60'000 ? own : 60'000);
  // With all connections taken the library does not listen. It begins again in its next run after one
  // has closed, and until then fd() says nothing of those who wait.
  if (has_closed_) due = now_ms;
  for (std::size_t i = 0; i < options_.connections; ++i)
    if (connections_[i].fd >= 0) due.keep_earlier(connections_[i].deadline_ms);
  if (watches_ != 0) due.keep_earlier(watches_due_ms_);
  return due;
}

Server::Slot* Server::take_slot(const char* uri) {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    Slot& slot = slots_[i];
    if (slot.used) continue;
    slot.used = true;
    slot.begun = slot.suspended = false;
    slot.route = nullptr;
    slot.body_bytes = 0;
    slot.exchange.begin(uri);
    return &slot;
  }
  return nullptr;
}

void Server::give_back(Slot* slot) {
  if (slot->suspended) --watches_;
  slot->suspended = slot->used = false;
}

Server::Connection* Server::take_connection(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info == nullptr) return nullptr;
  for (std::size_t i = 0; i < options_.connections; ++i) {
    Connection& known = connections_[i];
    if (known.fd >= 0) continue;
    known.fd = info->connect_fd;
    known.deadline_ms = now_ms_ + options_.request_timeout_ms;
    return &known;
  }
  return nullptr;
}

// The head is here and the body is not. A request is refused before a long body comes. A short one
// is read first, because a client that is still sending when its connection closes misses the answer.
int Server::begin_request(Slot& slot, const char* method) {
  slot.begun = true;
  slot.exchange.method = method_of(method);
  const Head head = head_of(slot.connection);
  slot.route = gate_->admit(head, slot.exchange);
  if (slot.route != nullptr) return MHD_YES;
  const std::uint64_t bytes = head.body_bytes.value_or(0);
  return bytes > 0 && bytes <= options_.body_bytes_max ? MHD_YES : send(slot);
}

// A body of unknown length that turns out too long is read to its end, or to four times what is
// allowed, because the library takes no answer in between.
int Server::take_body(Slot& slot, const char* data, std::size_t* size) const {
  slot.body_bytes += *size;
  if (slot.body_bytes > 4 * options_.body_bytes_max) return MHD_NO;
  const bool takes = slot.route != nullptr && slot.route->takes_body;
  if (!takes || !slot.exchange.body().write({data, *size})) slot.exchange.too_large = true;
  *size = 0;
  return MHD_YES;
}

int Server::end_request(Slot& slot) {
  if (slot.exchange.too_large && slot.exchange.status == 0)
    slot.exchange.fail(413, "too_large", "the body is longer than this path takes");
  if (slot.exchange.status == 0) answer(slot);
  if (slot.exchange.status != 0) return send(slot);
  // It waits, and is looked at again; its connection must not be closed as overdue.
  slot.suspended = true;
  if (watches_++ == 0) watches_due_ms_ = now_ms_ + kWatchPauseMs;
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(slot.connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  auto* const known = info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
  if (known != nullptr)
    known->deadline_ms = slot.exchange.watch_until.value_or(now_ms_) + options_.request_timeout_ms;
  MHD_suspend_connection(slot.connection);
  return MHD_YES;
}

void Server::answer(Slot& slot) {
  Backend& backend = owner_->backend();
  backend.now_ms = now_ms_;
  backend.watches = watches_;
  http::answer(*slot.route, slot.exchange, backend);
}

int Server::send(Slot& slot) const {
  Exchange& exchange = slot.exchange;
  const std::string_view text =
      exchange.constant.data() != nullptr ? exchange.constant : exchange.answer().text();
  // The buffer is the slot's until on_end(); the library only reads it.
  MHD_Response* const response = MHD_create_response_from_buffer(
      text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_PERSISTENT);
  if (response == nullptr) return MHD_NO;
  const auto add = [&](const char* name, const char* value) {
    static_cast<void>(MHD_add_response_header(response, name, value));
  };
  add("Content-Type", exchange.content_type);
  add("X-Content-Type-Options", "nosniff");
  add("Cache-Control", exchange.is_page ? "no-cache" : "no-store");
  if (exchange.is_page) {
    add("Content-Security-Policy", kContentPolicy);
    add("Referrer-Policy", "no-referrer");
    add("Cross-Origin-Resource-Policy", "same-origin");
  }
  if (exchange.status == 401) add("WWW-Authenticate", "Bearer");
  if (exchange.status == 503) add("Retry-After", "1");
  if (exchange.allow != nullptr && exchange.status == 405) add("Allow", exchange.allow);
  const MHD_Result queued =
      MHD_queue_response(slot.connection, static_cast<unsigned>(exchange.status), response);
  MHD_destroy_response(response);
  return queued;
}

// The library sees the end of the stream then, and cleans up.
void Server::close_overdue() {
  for (std::size_t i = 0; i < options_.connections; ++i) {
    Connection& known = connections_[i];
    if (known.fd < 0 || known.deadline_ms > now_ms_) continue;
    static_cast<void>(::shutdown(known.fd, SHUT_RDWR));
    known.deadline_ms = now_ms_ + options_.request_timeout_ms;
  }
}

bool Server::look_at_watches() {
  if (watches_ == 0 || now_ms_ < watches_due_ms_) return false;
  bool resumed = false;
  watches_due_ms_ = now_ms_ + kWatchPauseMs;
  for (std::size_t i = 0; i < options_.connections; ++i) {
    Slot& slot = slots_[i];
    if (!slot.used || !slot.suspended) continue;
    answer(slot);
    if (slot.exchange.status == 0) continue;
    resume(slot);
    resumed = true;
  }
  return resumed;
}

void Server::resume(Slot& slot) {
  slot.suspended = false;
  --watches_;
  MHD_resume_connection(slot.connection);
}

}  // namespace pawl::http
