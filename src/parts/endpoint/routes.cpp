#include "parts/endpoint/routes.hpp"

#include <charconv>
#include <cinttypes>
#include <cstdio>

namespace pawl::http {
namespace {

constexpr const char* kPageOf = "after limit ";

// src/parts/endpoint/openapi.json describes each route; test/endpoint compares both.
constexpr Route kRoutes[] = {
    {Method::kGet, "/", "", get_page, Access::kOpen, Needs::kNothing},
    {Method::kGet, "/page/{file}", "", get_page_file, Access::kOpen, Needs::kNothing},
    {Method::kGet, "/health", "", get_health, Access::kProbe, Needs::kNothing},
    {Method::kGet, "/ready", "", get_ready, Access::kProbe, Needs::kNothing},
    {Method::kGet, "/metrics", "", get_metrics_text},
    {Method::kGet, "/v1/openapi.json", "", get_openapi, Access::kOpen, Needs::kNothing},
    {Method::kGet, "/v1/endpoint", "", get_endpoint, Access::kToken, Needs::kNothing},
    {Method::kGet, "/v1/metrics", "", get_metrics},
    {Method::kGet, "/v1/runtime", "", get_runtime, Access::kToken, Needs::kNothing},
    {Method::kGet, "/v1/instances",
     "name id_prefix state created_from_ms created_before_ms updated_from_ms updated_before_ms "
     "roots_only after limit ",
     list_instances},
    {Method::kPost, "/v1/instances", "name id version start_after_ms ", start_instance,
     Access::kToken, Needs::kDatabase, true},
    {Method::kGet, "/v1/instances/{id}", "", get_instance},
    {Method::kDelete, "/v1/instances/{id}", "force ", delete_instance},
    {Method::kGet, "/v1/instances/{id}/history", "execution after limit ", get_history},
    {Method::kGet, "/v1/instances/{id}/executions", kPageOf, list_executions},
    {Method::kGet, "/v1/instances/{id}/children", kPageOf, list_children},
    {Method::kGet, "/v1/instances/{id}/tree", kPageOf, get_tree},
    {Method::kGet, "/v1/instances/{id}/values", kPageOf, list_values},
    {Method::kGet, "/v1/instances/{id}/values/{key}", "", get_value},
    {Method::kGet, "/v1/instances/{id}/watch", "revision timeout_ms ", watch_instance},
    {Method::kPost, "/v1/instances/{id}/events/{name}", "", raise_event, Access::kToken,
     Needs::kDatabase, true},
    {Method::kPost, "/v1/instances/{id}/queues/{name}", "", enqueue_event, Access::kToken,
     Needs::kDatabase, true},
    {Method::kPost, "/v1/instances/{id}/cancel", "reason ", cancel_instance},
    {Method::kPost, "/v1/instances/{id}/terminate", "reason ", terminate_instance},
    {Method::kPost, "/v1/instances/{id}/suspend", "", suspend_instance},
    {Method::kPost, "/v1/instances/{id}/resume", "", resume_instance},
    {Method::kPost, "/v1/instances/{id}/restart", "from version by ", restart_instance},
    {Method::kGet, "/v1/instances/{id}/messages", kPageOf, list_messages},
    {Method::kGet, "/v1/queue", "name tag session instance state after limit ", list_queue},
    {Method::kGet, "/v1/sessions",
     "node instance owner_label kind state open_for_ms unused_for_ms after limit ", list_sessions},
    {Method::kGet, "/v1/sessions/{session}", "instance ", get_session},
    {Method::kDelete, "/v1/sessions/{session}", "instance owner_label ", close_session},
    {Method::kPost, "/v1/sessions/{session}/transfer", "instance node stop_timeout_ms force ",
     transfer_session},
    {Method::kPost, "/v1/sessions/{session}/hold", "instance hold_ms ", hold_session},
    {Method::kPost, "/v1/sessions/{session}/handoff", "instance tag ", handoff_session,
     Access::kToken, Needs::kDatabase, true},
    {Method::kGet, "/v1/workers", "", list_workers},
    {Method::kPost, "/v1/workers/{node}/drain", "stop_timeout_ms force ", drain_worker},
    {Method::kPost, "/v1/workers/{node}/undrain", "", undrain_worker},
    {Method::kDelete, "/v1/devices/{device}", "", forget_device},
};

// Compares segment by segment; a name in braces takes any segment that is not empty.
bool fits(std::string_view path, const Exchange& exchange) {
  path.remove_prefix(1);
  std::size_t at = 0;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view wanted = path.substr(0, end);
    if (at == exchange.segments()) return false;
    const std::string_view given = exchange.segment(at++);
    if (wanted[0] == '{' ? given.empty() : given != wanted) return false;
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  }
  return at == exchange.segments();
}

// A space follows each word of `words`.
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(end + 1);
  }
  return false;
}

bool know_parameters(const Route& route, Exchange& exchange) {
  Diagnostic why;
  for (std::size_t i = 0; i < exchange.parameters(); ++i) {
    const std::string_view name = exchange.parameter(i).name;
    if (!has_word(route.parameters, name))
      why.format("%s has no parameter \"%.*s\"; it has: %s", route.path, PAWL_TEXT(name),
                 route.parameters);
    else if (exchange.find(name) != &exchange.parameter(i))
      why.format("\"%.*s\" is given twice", PAWL_TEXT(name));
    else
      continue;
    exchange.fail(400, "bad_request", why.text());
    return false;
  }
  return true;
}

int http_status_of(Status status) {
  switch (status) {
    case Status::kInvalidArgument:
    case Status::kInvalidOptions: return 400;
    case Status::kNotOwner: return 403;
    case Status::kNotFound: return 404;
    case Status::kAlreadyExists:
    case Status::kStale:
    case Status::kStillRunning:
    case Status::kChildInstance:
    case Status::kNotRestartable:
    case Status::kDeviceHeld:
    case Status::kNoEligibleTarget: return 409;
    case Status::kResourceExhausted: return 413;
    case Status::kQuota:
    case Status::kFull: return 507;
    case Status::kBusy:
    case Status::kStopped:
    case Status::kReadOnly:
    case Status::kCannotOpen:
    case Status::kForeignDatabase:
    case Status::kNewerDatabase:
    case Status::kOlderDatabase:
    case Status::kForeignBoot:
    case Status::kNetworkFilesystem: return 503;
    default: return 500;
  }
}

}  // namespace

const Route* find_route(Exchange& exchange) {
  static constexpr const char* kAllow[] = {"",       "GET, HEAD",        "POST", "GET, HEAD, POST",
                                           "DELETE", "GET, HEAD, DELETE"};
  unsigned allowed = 0;
  for (const Route& route : kRoutes) {
    if (!fits(route.path, exchange)) continue;
    if (route.method == exchange.method) return &route;
    allowed |= route.method == Method::kGet ? 1U : route.method == Method::kPost ? 2U : 4U;
  }
  if (allowed != 0 && allowed < 6) exchange.allow = kAllow[allowed];
  return nullptr;
}

void answer(const Route& route, Exchange& exchange, Backend& backend) {
  if (!know_parameters(route, exchange)) return;
  if (route.needs == Needs::kDatabase && backend.client == nullptr)
    return exchange.fail(503, status_name(backend.closed), backend.why_closed);
  Call call(exchange, backend);
  route.answer(call);
}

std::string_view Call::text(std::string_view name) {
  const Exchange::Parameter* const found = exchange_.find(name);
  return found == nullptr ? std::string_view() : found->value;
}

std::string_view Call::required(std::string_view name) {
  const std::string_view value = text(name);
  if (!value.empty() || !good()) return value;
  Diagnostic why;
  why.format("\"%.*s\" is missing", PAWL_TEXT(name));
  refuse(why.text());
  return value;
}

std::int64_t Call::number(std::string_view name, std::int64_t least, std::int64_t most,
                          std::int64_t absent) {
  const Exchange::Parameter* const found = exchange_.find(name);
  if (found == nullptr || !good()) return absent;
  const std::string_view value = found->value;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= least &&
      number <= most)
    return number;
  Diagnostic why;
  why.format("\"%.*s\" is a number from %lld to %lld", PAWL_TEXT(name),
             static_cast<long long>(least), static_cast<long long>(most));
  refuse(why.text());
  return absent;
}

bool Call::flag(std::string_view name) {
  static constexpr const char* kWords[] = {"false", "true"};
  return one_of(name, kWords, 2, 0) == 1;
}

std::size_t Call::one_of(std::string_view name, const char* const* words, std::size_t count,
                         std::size_t absent) {
  const Exchange::Parameter* const found = exchange_.find(name);
  if (found == nullptr || !good()) return absent;
  Diagnostic why;
  for (std::size_t i = 0; i < count; ++i)
    if (found->value == words[i]) return i;
  why.format("\"%.*s\" is one of %s, %s%s%s", PAWL_TEXT(name), words[0], words[1],
             count > 2 ? ", " : "", count > 2 ? words[2] : "");
  refuse(why.text());
  return absent;
}

Page Call::page() {
  Page page;
  page.after = number("after", 0, INT64_MAX, 0);
  page.rows_max = static_cast<std::size_t>(number("limit", 1, kRowsMax, kRowsDefault));
  return page;
}

void Call::end(Status status, int http_status) {
  if (status != Status::kOk) {
    const std::string_view text =
        backend_.client == nullptr ? std::string_view() : client().error_text();
    return exchange_.fail(http_status_of(status), status_name(status), text);
  }
  exchange_.status = http_status;
}

void Call::end_rows(Status status, const Rows& rows, std::int64_t last, const Page& page) {
  // A row that no answer can hold is an error; else the client would ask for it again and again.
  if (status == Status::kOk && rows.full() && rows.count() == 0)
    return exchange_.fail(500, "resource_exhausted", "a row is longer than an answer");
  char text[96];
  std::snprintf(text, sizeof text, "],\"after\":%" PRId64 ",\"more\":%s}",
                rows.full() ? last : page.after, rows.full() || page.more ? "true" : "false");
  static_cast<void>(out().write(text));
  end(status);
}

void Call::done(Status status) {
  static_cast<void>(out().write("{\"status\":\"ok\"}"));
  end(status);
}

Status Backend::count() {
  if (counted_ms.has_value() && now_ms - counted_ms.value() < 1'000) return Status::kOk;
  PAWL_TRY(count_for_prometheus(*client, &counts));
  counted_ms = now_ms;
  return Status::kOk;
}

}  // namespace pawl::http
