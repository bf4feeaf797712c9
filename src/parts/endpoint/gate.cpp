#include "parts/endpoint/gate.hpp"

#include <unistd.h>

#include "pawl/files.hpp"
#include "pawl/printable.hpp"

namespace pawl::http {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Status refuse(Diagnostic& why, const char* path, const char* text) {
  why.format("token_file %s: %s", path, text);
  return Status::kInvalidOptions;
}

// Always looks at kTokenBytesMax bytes, so the time taken reveals nothing about the token.
bool equal_in_constant_time(std::string_view given, std::string_view token) {
  unsigned different = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < Gate::kTokenBytesMax; ++i) {
    const unsigned a = i < given.size() ? static_cast<unsigned char>(given[i]) : 0U;
    const unsigned b = i < token.size() ? static_cast<unsigned char>(token[i]) : 0U;
    different |= a ^ b;
  }
  return different == 0;
}

bool equal_without_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

}  // namespace

Status Gate::guard_tcp(const char* token_file, std::string_view address, std::string_view host_name,
                       Diagnostic& why) {
  tcp_ = true;
  address_ = Name(address);
  host_name_ = Name(host_name);
  // The group may read it, so that a group of operators can share it.
  constexpr unsigned kForbidden = 027;
  Diagnostic unfit;
  const File file(posix::open_trusted(token_file, kForbidden, unfit));
  if (file.fd() < 0) {
    why.format("token_file %.*s", PAWL_TEXT(unfit.text()));
    return Status::kInvalidOptions;
  }
  char text[kTokenBytesMax + 64];
  const ssize_t read = ::read(file.fd(), text, sizeof text);
  if (read < 0) return refuse(why, token_file, "cannot be read");
  std::size_t size = static_cast<std::size_t>(read);
  while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r' || text[size - 1] == ' '))
    --size;
  if (size < kTokenBytesLeast || size > kTokenBytesMax)
    return refuse(why, token_file, "a token has 16 to 512 bytes");
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] <= ' ' || text[i] > '~')
      return refuse(why, token_file, "a token has printable characters without spaces");
    token_[i] = text[i];
  }
  token_size_ = size;
  return Status::kOk;
}

bool Gate::has_token(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  const bool has_scheme = authorization.size() >= kScheme.size() &&
                          equal_without_case(authorization.substr(0, kScheme.size()), kScheme);
  const std::string_view given =
      has_scheme ? authorization.substr(kScheme.size()) : std::string_view();
  return equal_in_constant_time(given, {token_, token_size_});
}

// A page of another site can let its own name point to this machine's address and send requests
// that its browser takes for requests to that site. Their Host is the site's name.
bool Gate::is_this_machine(std::string_view host) const {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket))
    host = host.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (equal_without_case(host, "localhost") || host == "127.0.0.1" || host == "::1") return true;
  if (host.empty()) return false;
  return equal_without_case(host, address_) || equal_without_case(host, host_name_);
}

bool Gate::admit_tcp(const Head& head, const Route* route, Exchange& exchange) const {
  if (!is_this_machine(head.host)) {
    exchange.fail(421, "misdirected", "the Host of the request is not this machine");
    return false;
  }
  if (head.has_origin) {
    std::string_view origin = head.origin;
    const std::size_t scheme = origin.find("://");
    if (scheme != std::string_view::npos) origin = origin.substr(scheme + 3);
    if (!equal_without_case(origin, head.host)) {
      exchange.fail(403, "forbidden", "the request comes from a page of another origin");
      return false;
    }
  }
  if ((route == nullptr || route->access == Access::kToken) && !has_token(head.authorization)) {
    exchange.fail(401, "unauthorized", "Authorization: Bearer TOKEN is missing or wrong");
    return false;
  }
  return true;
}

bool Gate::admit_write(const Head& head, Exchange& exchange) const {
  if (!head.marked) {
    exchange.fail(403, "forbidden", "a write needs the header X-Pawl-Request");
    return false;
  }
  if (read_only_) {
    exchange.fail(403, "forbidden", "this endpoint only reads");
    return false;
  }
  return true;
}

const Route* Gate::admit(const Head& head, Exchange& exchange) const {
  if (head.ambiguous) {
    exchange.fail(400, "bad_request",
                  "Content-Length, Host, Authorization or Transfer-Encoding is given twice, or "
                  "Transfer-Encoding beside Content-Length");
    exchange.closes = true;
    return nullptr;
  }
  if (exchange.uri_problem() == 414) {
    exchange.fail(414, "too_large", "the path and its query have at most 4,096 bytes");
    return nullptr;
  }
  if (exchange.uri_problem() != 0) {
    exchange.fail(400, "bad_request", "the path or its query cannot be read");
    return nullptr;
  }
  const Route* const route = find_route(exchange);
  if (tcp_ && !admit_tcp(head, route, exchange)) return nullptr;
  if (route == nullptr) {
    if (exchange.allow != nullptr)
      exchange.fail(405, "method_not_allowed", exchange.allow);
    else
      exchange.fail(404, "no_such_path", "docs/endpoint.md has the paths; so has /v1/openapi.json");
    return nullptr;
  }
  if (route->method != Method::kGet && !admit_write(head, exchange)) return nullptr;
  const std::size_t most = route->body != nullptr ? body_bytes_max_ : 0;
  if (head.body_bytes.value_or(0) > most) {
    exchange.fail(413, "too_large",
                  route->body != nullptr ? "the body is longer than payload_bytes_max"
                                         : "this path takes no body");
    return nullptr;
  }
  return route;
}

}  // namespace pawl::http
