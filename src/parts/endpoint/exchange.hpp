// Exchange: one request and its answer, in memory of fixed size.
//
// Ownership: the buffers belong to the slot that it lives in, for one request after another.
// Thread rule: the endpoint's thread.
#ifndef PAWL_PARTS_ENDPOINT_EXCHANGE_HPP
#define PAWL_PARTS_ENDPOINT_EXCHANGE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "pawl/json_out.hpp"
#include "pawl/printable.hpp"
#include "pawl/status.hpp"

namespace pawl::http {

enum class Method : std::uint8_t { kGet, kPost, kDelete, kOther };

// A text of bounded size; a piece that does not fit is refused and changes nothing.
class Buffer final : public TextSink {
 public:
  void attach(char* memory, std::size_t bytes) {
    memory_ = memory;
    bytes_ = bytes;
    size_ = 0;
  }
  bool write(std::string_view text) noexcept override {
    if (text.size() > bytes_ - size_) return false;
    if (!text.empty()) std::memcpy(memory_ + size_, text.data(), text.size());
    size_ += text.size();
    return true;
  }
  void clear() { size_ = 0; }
  void truncate(std::size_t size) { size_ = size; }
  [[nodiscard]] std::string_view text() const { return {memory_, size_}; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t size_ = 0;
};

class Exchange {
 public:
  static constexpr std::size_t kUriBytesMax = 4'096;
  static constexpr std::size_t kSegmentsMax = 6;
  static constexpr std::size_t kParametersMax = 16;

  struct Given {
    std::string_view name;
    std::string_view value;
  };

  void attach(char* body, std::size_t body_bytes, char* answer, std::size_t answer_bytes) {
    body_.attach(body, body_bytes);
    answer_.attach(answer, answer_bytes);
  }
  // Splits the URI into path and query, and decodes each part by itself, so that an id may hold the
  // characters that separate parts.
  void begin(std::string_view uri);
  // 0: the URI is good; else the HTTP status of the problem.
  [[nodiscard]] int uri_problem() const { return uri_problem_; }

  Method method = Method::kOther;
  [[nodiscard]] std::size_t segments() const { return segment_count_; }
  [[nodiscard]] std::string_view segment(std::size_t at) const { return segments_[at]; }
  [[nodiscard]] std::size_t parameters() const { return parameter_count_; }
  [[nodiscard]] const Given& parameter(std::size_t at) const { return parameters_[at]; }
  [[nodiscard]] const Given* find(std::string_view name) const;

  Buffer& body() { return body_; }
  Buffer& answer() { return answer_; }

  int status = 0;  // status of the answer; 0: none yet
  const char* content_type = "application/json";
  const char* allow = nullptr;              // header of a 405
  std::string_view constant;                // replaces answer(), for files of the page
  bool is_page = false;                     // send the page's headers
  bool too_large = false;                   // the body is
  bool closes = false;                      // close the connection after the answer
  std::optional<std::int64_t> watch_until;  // end of the wait, boot ms; none: does not wait

  // Replaces the answer by {"error":name,"message":...}.
  void fail(int http_status, std::string_view name, std::string_view message);

 private:
  bool decode(std::string_view from, bool plus_is_space, std::string_view* out);
  bool take_path(std::string_view path);
  bool take_query(std::string_view query);

  Buffer body_;
  Buffer answer_;
  char decoded_[kUriBytesMax];
  std::size_t decoded_size_ = 0;
  std::string_view segments_[kSegmentsMax];
  std::size_t segment_count_ = 0;
  Given parameters_[kParametersMax];
  std::size_t parameter_count_ = 0;
  int uri_problem_ = 0;
};

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_EXCHANGE_HPP
