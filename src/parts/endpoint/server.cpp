#include "parts/endpoint/server.hpp"

#include <microhttpd.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>

namespace pawl::http {
namespace {

// Limit of the first line and the headers; the library answers a longer head with 431 or 414.
constexpr std::size_t kHeadBytesMax = 16 * 1024;
constexpr std::int64_t kHeadMs = 3'000;          // a head, from its connection to its last byte
constexpr std::int64_t kWatchPauseMs = 250;      // between two looks at the watched instances
constexpr std::int64_t kNoDescriptorMs = 1'000;  // until another try to accept
constexpr int kAcceptedMax = 32;                 // in one run()

// The page uses scripts, styles and answers of this server alone, so no script that a payload
// smuggles into it runs.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src "
    "'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view header(MHD_Connection* connection, const char* name) {
  const char* const value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::size_t times(MHD_Connection* connection, const char* name) {
  struct Search {
    const char* name;
    std::size_t found;
  } search = {name, 0};
  const auto look = [](void* user, MHD_ValueKind, const char* key, const char*) {
    auto& wanted = *static_cast<Search*>(user);
    if (::strcasecmp(key, wanted.name) == 0) ++wanted.found;
    return MHD_YES;
  };
  static_cast<void>(MHD_get_connection_values(connection, MHD_HEADER_KIND, look, &search));
  return search.found;
}

// If one of these headers comes twice, a proxy may use the other one, and see another end of the
// request or another sender.
bool is_ambiguous(MHD_Connection* connection) {
  const std::size_t lengths = times(connection, "Content-Length");
  const std::size_t encodings = times(connection, "Transfer-Encoding");
  return lengths + encodings > 1 || times(connection, "Host") > 1 ||
         times(connection, "Authorization") > 1;
}

Head head_of(MHD_Connection* connection) {
  Head head;
  head.ambiguous = is_ambiguous(connection);
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

// URIs are decoded after they were split (Exchange::begin()), so the library must not decode them.
std::size_t leave_as_it_is(void* /*user*/, MHD_Connection* /*connection*/, char* text) {
  return std::strlen(text);
}

// The library sees the end of the stream in its next run, and cleans up.
void hang_up(const ConnectionPlace& place) { static_cast<void>(::shutdown(place.fd, SHUT_RDWR)); }

// Null: the connection was let in without a place, and must go.
ConnectionPlace* place_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == nullptr ? nullptr : static_cast<ConnectionPlace*>(info->socket_context);
}

// Errors of clients are not logged.
void ignore_log(void* /*user*/, const char* /*format*/, va_list /*arguments*/) {}

}  // namespace

struct Server::Slot {
  Exchange exchange;
  const Route* route = nullptr;
  MHD_Connection* connection = nullptr;
  ConnectionPlace* place = nullptr;
  bool used = false;
  bool begun = false;      // the head was looked at
  bool suspended = false;  // waits for a change
  std::size_t body_bytes = 0;
};

// The functions that the library calls.
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
    slot->place = place_of(connection);
    if (slot->place == nullptr) return MHD_NO;
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
    if (ConnectionPlace* const place = place_of(connection))
      server.places_.await_head(*place, server.head_deadline());
  }

  static void on_connection(void* user, MHD_Connection* connection, void** place,
                            MHD_ConnectionNotificationCode what) {
    Server& server = *static_cast<Server*>(user);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      *place = server.take_place(connection);
    } else if (*place != nullptr) {
      Places::free(*static_cast<ConnectionPlace*>(*place));
      *place = nullptr;
    }
  }
};

Server::Server() = default;
Server::~Server() { stop(); }

Status Server::start(int fd, const Gate& gate, Owner& owner, const ServerOptions& options) {
  listen_fd_ = fd;
  gate_ = &gate;
  owner_ = &owner;
  options_ = options;
  const std::size_t count = options.connections;
  const std::size_t each = options.body_bytes_max + options.answer_bytes_max;
  slots_.reset(new (std::nothrow) Slot[count]);
  buffers_.reset(new (std::nothrow) char[count * each]);
  if (slots_ == nullptr || buffers_ == nullptr || places_.start(options.connections) != Status::kOk)
    return Status::kResourceExhausted;
  for (std::size_t i = 0; i < count; ++i) {
    char* const begin = buffers_.get() + i * each;
    slots_[i].exchange.attach(begin, options.body_bytes_max, begin + options.body_bytes_max,
                              options.answer_bytes_max);
  }
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
      nullptr, nullptr, &Callbacks::on_request, this, MHD_OPTION_EXTERNAL_LOGGER, &ignore_log,
      nullptr, MHD_OPTION_CONNECTION_LIMIT, options.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kHeadBytesMax, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
      &Callbacks::on_end, this, MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::on_connection, this,
      MHD_OPTION_URI_LOG_CALLBACK, &Callbacks::on_uri, this, MHD_OPTION_UNESCAPE_CALLBACK,
      &leave_as_it_is, nullptr, MHD_OPTION_END);
  return daemon_ == nullptr ? Status::kResourceExhausted : Status::kOk;
}

void Server::stop() {
  if (daemon_ == nullptr) return;
  // The library ends the process if a connection is still suspended.
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
  MHD_run(daemon_);
  accept_waiting();
  look_at_watches();
  // MHD_get_timeout() does not report resumed connections.
  if (resumed_) MHD_run(daemon_);
  resumed_ = false;
  places_.for_each_overdue(now_ms, &hang_up);
}

OptionalMs Server::next_due(std::int64_t now_ms) const {
  OptionalMs due;
  MHD_UNSIGNED_LONG_LONG own = 0;
  if (MHD_get_timeout(daemon_, &own) == MHD_YES)
    due = now_ms + static_cast<std::int64_t>(own < 60'000 ? own : 60'000);
  due.keep_earlier(accepts_again_ms_);
  due.keep_earlier(places_.next_deadline());
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

ConnectionPlace* Server::take_place(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? nullptr : places_.take(info->connect_fd, head_deadline());
}

std::int64_t Server::head_deadline() const {
  return now_ms_ + std::min(kHeadMs, options_.request_timeout_ms);
}

int Server::listen_fd() const {
  const bool lets_in = places_.has_room() || places_.weakest() != nullptr;
  return lets_in && !accepts_again_ms_.has_value() ? listen_fd_ : -1;
}

// Each connection is served before the next one is let in: if its head has come already, it does
// not count as one without a head.
void Server::accept_waiting() {
  if (accepts_again_ms_.has_passed(now_ms_)) accepts_again_ms_.clear();
  for (int i = 0; i < kAcceptedMax; ++i) {
    pollfd waiting = {listen_fd(), POLLIN, 0};
    if (waiting.fd < 0 || ::poll(&waiting, 1, 0) != 1 || !make_room()) return;
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    auto* const peer = static_cast<sockaddr*>(static_cast<void*>(&address));
    const int fd = ::accept4(listen_fd_, peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    // Without descriptors nothing can be accepted: the readable socket must not keep the loop
    // awake.
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
      accepts_again_ms_ = now_ms_ + kNoDescriptorMs;
    if (fd < 0) return;
    static_cast<void>(MHD_add_connection(daemon_, fd, peer, size));  // closes a refused fd
    MHD_run(daemon_);
  }
}

bool Server::make_room() {
  if (places_.has_room()) return true;
  hang_up(*places_.weakest());
  MHD_run(daemon_);  // sees the end of the stream, and cleans up
  return places_.has_room();
}

// Called when the head has come and the body has not. A request is refused before a long body
// comes. A short body is read first: a client that still sends when its connection closes misses
// the answer.
int Server::begin_request(Slot& slot, const char* method) {
  slot.begun = true;
  slot.exchange.method = method_of(method);
  const Head head = head_of(slot.connection);
  slot.route = gate_->admit(head, slot.exchange);
  Standing standing = Standing::kNoToken;
  if (gate_->trusts(head))
    standing = Standing::kTrusted;
  else if (slot.route != nullptr && slot.route->access == Access::kProbe)
    standing = Standing::kProbe;
  const std::int64_t deadline = now_ms_ + options_.request_timeout_ms;
  if (const ConnectionPlace* const goes = places_.admit(*slot.place, standing, deadline))
    hang_up(*goes);
  if (slot.route != nullptr) return MHD_YES;
  const std::uint64_t bytes = head.body_bytes.value_or(0);
  const bool reads = bytes > 0 && bytes <= options_.body_bytes_max && !slot.exchange.closes;
  return reads ? MHD_YES : send(slot);
}

// A body of unknown length that is too long is read to its end, or to four times the limit, because
// the library takes no answer in between.
int Server::take_body(Slot& slot, const char* data, std::size_t* size) const {
  slot.body_bytes += *size;
  if (slot.body_bytes > 4 * options_.body_bytes_max) return MHD_NO;
  const bool takes = slot.route != nullptr && slot.route->body != nullptr;
  if (!takes || !slot.exchange.body().write({data, *size})) slot.exchange.too_large = true;
  *size = 0;
  return MHD_YES;
}

int Server::end_request(Slot& slot) {
  if (slot.exchange.too_large && slot.exchange.status == 0)
    slot.exchange.fail(413, "too_large", "the body is longer than this path takes");
  // A client may have left just now; its place is then free for this one.
  if (watches_ >= owner_->backend().watches_max) look_at_watches();
  if (slot.exchange.status == 0) answer(slot);
  if (slot.exchange.status != 0) return send(slot);
  // The request waits and is looked at again; meanwhile its connection must not be closed as
  // overdue.
  slot.suspended = true;
  if (watches_++ == 0) watches_due_ms_ = now_ms_ + kWatchPauseMs;
  slot.place->deadline_ms =
      slot.exchange.watch_until.value_or(now_ms_) + options_.request_timeout_ms;
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
  if (exchange.closes) add("Connection", "close");
  if (exchange.status == 503) add("Retry-After", "1");
  if (exchange.allow != nullptr && exchange.status == 405) add("Allow", exchange.allow);
  const MHD_Result queued =
      MHD_queue_response(slot.connection, static_cast<unsigned>(exchange.status), response);
  MHD_destroy_response(response);
  return queued;
}

// The library, too, treats a client that closed its side as gone, but it does not look at the
// socket of a waiting request.
bool Server::has_left(const Slot& slot) {
  pollfd peer = {slot.place->fd, POLLRDHUP, 0};
  return ::poll(&peer, 1, 0) == 1;
}

void Server::look_at_watches() {
  if (watches_ == 0) return;
  const bool due = now_ms_ >= watches_due_ms_;
  if (due) watches_due_ms_ = now_ms_ + kWatchPauseMs;
  for (std::size_t i = 0; i < options_.connections; ++i) {
    Slot& slot = slots_[i];
    if (!slot.used || !slot.suspended) continue;
    const bool left = has_left(slot);
    if (left) slot.exchange.watch_until = now_ms_;
    if (!due && !left) continue;
    answer(slot);
    if (slot.exchange.status != 0) resume(slot);
  }
}

void Server::resume(Slot& slot) {
  slot.suspended = false;
  resumed_ = true;
  --watches_;
  MHD_resume_connection(slot.connection);
}

}  // namespace pawl::http
