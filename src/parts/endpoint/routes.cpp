#include "parts/endpoint/routes.hpp"

#include <charconv>

namespace pawl::http {
namespace {

using fields::Words;

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

const Parameter* find_parameter(const Route& route, std::string_view name) {
  for (std::size_t i = 0; i < route.parameter_count; ++i)
    if (name == route.parameters[i].name) return &route.parameters[i];
  return nullptr;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::size_t> index_of(const Words& words, std::string_view text) {
  for (std::size_t i = 0; i < words.count; ++i)
    if (text == words.name(i)) return i;
  return std::nullopt;
}

// False: `why` says what the parameter takes.
bool accepts(const Parameter& is, std::string_view value, Diagnostic& why) {
  if (is.required && value.empty()) {
    why.format("\"%s\" is missing", is.name);
    return false;
  }
  switch (is.form) {
    case Parameter::Form::kText:
      if (value.size() <= static_cast<std::uint64_t>(is.most)) return true;
      why.format("\"%s\" has at most %lld bytes", is.name, static_cast<long long>(is.most));
      return false;
    case Parameter::Form::kNumber: {
      const std::optional<std::int64_t> number = number_in(value);
      if (number.has_value() && *number >= is.least && *number <= is.most) return true;
      why.format("\"%s\" is a number from %lld to %lld", is.name, static_cast<long long>(is.least),
                 static_cast<long long>(is.most));
      return false;
    }
    case Parameter::Form::kFlag:
    case Parameter::Form::kWord: break;
  }
  if (index_of(is.words, value).has_value()) return true;
  const bool has_more = is.words.count > 2;
  why.format("\"%s\" is one of %s, %s%s%s", is.name, is.words.name(0), is.words.name(1),
             has_more ? ", " : "", has_more ? is.words.name(2) : "");
  return false;
}

// Names all that the route takes.
void refuse_unknown(const Route& route, std::string_view name, Diagnostic& why) {
  char names[160];
  Buffer list;
  list.attach(names, sizeof names);
  for (std::size_t i = 0; i < route.parameter_count; ++i) {
    static_cast<void>(list.write(route.parameters[i].name));
    static_cast<void>(list.write(" "));
  }
  why.format("%s has no parameter \"%.*s\"; it has: %.*s", route.path, PAWL_TEXT(name),
             PAWL_TEXT(list.text()));
}

// False: the exchange has the answer.
bool check_parameters(const Route& route, Exchange& exchange) {
  Diagnostic why;
  for (std::size_t i = 0; i < exchange.parameters() && why.text().empty(); ++i) {
    const auto& [name, value] = exchange.parameter(i);
    const Parameter* const parameter = find_parameter(route, name);
    if (parameter == nullptr)
      refuse_unknown(route, name, why);
    else if (exchange.find(name) != &exchange.parameter(i))
      why.format("\"%.*s\" is given twice", PAWL_TEXT(name));
    else
      static_cast<void>(accepts(*parameter, value, why));
  }
  for (std::size_t i = 0; i < route.parameter_count && why.text().empty(); ++i)
    if (exchange.find(route.parameters[i].name) == nullptr && route.parameters[i].required)
      why.format("\"%s\" is missing", route.parameters[i].name);
  if (why.text().empty()) return true;
  exchange.fail(400, "bad_request", why.text());
  return false;
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
    case Status::kKeyReused:
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
  for (const Route* route = kRoutes; route != kRoutes + kRouteCount; ++route) {
    if (!fits(route->path, exchange)) continue;
    if (route->method == exchange.method) return route;
    allowed |= route->method == Method::kGet ? 1U : route->method == Method::kPost ? 2U : 4U;
  }
  if (allowed != 0 && allowed < 6) exchange.allow = kAllow[allowed];
  return nullptr;
}

void answer(const Route& route, Exchange& exchange, Backend& backend) {
  if (!check_parameters(route, exchange)) return;
  if (route.needs == Needs::kDatabase && backend.client == nullptr)
    return exchange.fail(503, status_name(backend.closed), backend.why_closed);
  Call call(route, exchange, backend);
  route.answer(call);
}

std::optional<std::string_view> Call::given(std::string_view name) const {
  const Exchange::Given* const found = exchange_.find(name);
  return found == nullptr ? std::nullopt : std::optional<std::string_view>(found->value);
}

std::string_view Call::text(std::string_view name) const {
  return given(name).value_or(std::string_view());
}

std::int64_t Call::number(std::string_view name) const {
  const auto value = given(name);
  const Parameter* const parameter = find_parameter(route_, name);
  return (value.has_value() ? number_in(*value) : parameter->absent).value_or(0);
}

std::optional<std::size_t> Call::word(std::string_view name) const {
  const Parameter* const parameter = find_parameter(route_, name);
  if (const auto value = given(name)) return index_of(parameter->words, *value);
  if (!parameter->absent.has_value()) return std::nullopt;
  return static_cast<std::size_t>(*parameter->absent);
}

bool Call::flag(std::string_view name) const { return word(name) == std::size_t{1}; }

Page Call::page() const {
  Page page;
  page.after = number("after");
  page.rows_max = static_cast<std::size_t>(number("limit"));
  return page;
}

void Call::begin_part() {
  separate();
  put("\"");
  put(route_.schema->parts[parts_++].name);
  put("\":");
}

void Call::end_rows(bool is_cut) {
  put("]");
  const Part& part = route_.schema->parts[parts_ - 1];
  if (part.form != Part::Form::kCutList) return;
  put(",\"");
  put(part.name);
  put(is_cut ? "_more\":true" : "_more\":false");
}

void Call::finish(Status status, int http_status) {
  if (status != Status::kOk) {
    const std::string_view text =
        backend_.client == nullptr ? std::string_view() : client().error_text();
    return exchange_.fail(http_status_of(status), status_name(status), text);
  }
  exchange_.status = http_status;
}

void Call::finish_page(Status status, const AnswerRows& rows, std::int64_t last, const Page& page) {
  // A row that no answer can hold is an error; else the client would ask for it again and again.
  if (status == Status::kOk && rows.full() && rows.count() == 0)
    return exchange_.fail(500, "resource_exhausted", "a row is longer than an answer");
  end_rows();
  members(RowsEnd{rows.full() ? last : page.after, rows.full() || page.more});
  end();
  finish(status);
}

void Call::done(Status status) { give(Done{done_word(0)}, status); }

Status Backend::count() {
  if (counted_ms.has_value() && now_ms - counted_ms.value() < 1'000) return Status::kOk;
  PAWL_TRY(count_for_prometheus(*client, &counts));
  counted_ms = now_ms;
  return Status::kOk;
}

}  // namespace pawl::http
