#include "parts/endpoint/exchange.hpp"

#include "parts/endpoint/schemas.hpp"
#include "parts/fields/json_fields.hpp"

namespace pawl::http {
namespace {

// -1: no hexadecimal digit.
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Exchange::begin(std::string_view uri) {
  body_.clear();
  answer_.clear();
  method = Method::kOther;
  decoded_size_ = segment_count_ = parameter_count_ = 0;
  status = uri_problem_ = 0;
  content_type = "application/json";
  allow = nullptr;
  constant = {};
  is_page = too_large = closes = false;
  watch_until.reset();
  const std::size_t mark = uri.find('?');
  const std::string_view query =
      mark == std::string_view::npos ? std::string_view() : uri.substr(mark + 1);
  if (uri.size() > kUriBytesMax)
    uri_problem_ = 414;
  else if (!take_path(uri.substr(0, mark)) || !take_query(query))
    uri_problem_ = 400;
}

bool Exchange::take_path(std::string_view path) {
  if (path.empty() || path[0] != '/') return false;
  path.remove_prefix(1);
  if (path.empty()) return true;
  // Stops at kSegmentsMax, one more than any route has: no route fits a longer path, as it must be.
  while (segment_count_ < kSegmentsMax) {
    const std::size_t end = path.find('/');
    if (!decode(path.substr(0, end), false, &segments_[segment_count_++])) return false;
    if (end == std::string_view::npos) return true;
    path.remove_prefix(end + 1);
  }
  return true;
}

bool Exchange::take_query(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (one.empty()) continue;
    if (parameter_count_ == kParametersMax) return false;
    Given& parameter = parameters_[parameter_count_++];
    const std::size_t equals = one.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    if (!decode(one.substr(0, equals), true, &parameter.name) ||
        !decode(value, true, &parameter.value))
      return false;
  }
  return true;
}

// Decoded text is never longer than its source.
bool Exchange::decode(std::string_view from, bool plus_is_space, std::string_view* out) {
  char* const begin = decoded_ + decoded_size_;
  std::size_t size = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    char c = from[i];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      const int high = i + 2 < from.size() ? digit(from[i + 1]) : -1;
      const int low = high < 0 ? -1 : digit(from[i + 2]);
      if (low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    begin[size++] = c;
  }
  decoded_size_ += size;
  *out = {begin, size};
  return true;
}

const Exchange::Given* Exchange::find(std::string_view name) const {
  for (std::size_t i = 0; i < parameter_count_; ++i)
    if (parameters_[i].name == name) return &parameters_[i];
  return nullptr;
}

void Exchange::fail(int http_status, std::string_view name, std::string_view message) {
  status = http_status;
  content_type = "application/json";
  constant = {};
  is_page = false;
  watch_until.reset();
  answer_.clear();
  // The message may hold bytes of the request that are no text, or half a character at its end.
  char text[4 * Diagnostic::kCapacity];
  Buffer shown;
  shown.attach(text, sizeof text);
  static_cast<void>(write_printable(message, shown));
  JsonOut out(answer_);
  fields::write_object(Refusal{name, shown.text()}, out);
}

}  // namespace pawl::http
