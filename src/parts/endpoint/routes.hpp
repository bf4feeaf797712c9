// The routes of the endpoint and the functions that answer them.
//
// Ownership: only the counts of a second are kept between requests. Thread rule: the endpoint's
// thread.
#ifndef PAWL_PARTS_ENDPOINT_ROUTES_HPP
#define PAWL_PARTS_ENDPOINT_ROUTES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parts/endpoint/exchange.hpp"
#include "pawl/client.hpp"
#include "pawl/export.hpp"
#include "pawl/prometheus.hpp"
#include "pawl/runtime_board.hpp"

namespace pawl::http {

inline constexpr std::int64_t kRowsDefault = 50;
inline constexpr std::int64_t kRowsMax = 200;
inline constexpr std::size_t kPageBytes = 256 * 1024;  // a page ends after the row that reaches it
inline constexpr std::int64_t kWatchMs = 25'000;
inline constexpr std::int64_t kWatchMsMax = 30'000;

// The words of an enumeration, in its order, for Call::one_of().
template <std::size_t kCount, typename State>
std::array<const char*, kCount> words_of(const char* (*name)(State)) {
  std::array<const char*, kCount> words;
  for (std::size_t i = 0; i < kCount; ++i)
    words[i] = name(static_cast<State>(i));
  return words;
}

// The sources of the answers.
struct Backend {
  Client* client = nullptr;  // null: the database is not open, `closed` says why
  Status closed = Status::kStopped;
  std::string_view why_closed;
  const RuntimeBoard* board = nullptr;
  RuntimeCounters* counters = nullptr;  // room for a copy
  port::Clock* clock = nullptr;
  std::int64_t now_ms = 0;    // boot time
  std::uint32_t watches = 0;  // requests that wait now
  std::uint32_t watches_max = 0;
  bool read_only = false;  // the gate refuses writes

  // Counts the rows of the database, at most once a second however often it is called.
  Status count();
  PrometheusCounts counts;
  OptionalMs counted_ms;
};

class Rows;

// A request whose parameters are read one by one. The first wrong one sets the answer; good() is
// false then.
class Call {
 public:
  Call(Exchange& exchange, Backend& backend) : exchange_(exchange), backend_(backend) {}
  [[nodiscard]] Exchange& exchange() { return exchange_; }
  [[nodiscard]] Backend& backend() { return backend_; }
  [[nodiscard]] Client& client() { return *backend_.client; }
  [[nodiscard]] std::string_view segment(std::size_t at) const { return exchange_.segment(at); }
  Buffer& out() { return exchange_.answer(); }

  // Empty: no such parameter.
  std::string_view text(std::string_view name);
  std::string_view required(std::string_view name);
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most,
                      std::int64_t absent);
  bool flag(std::string_view name);
  // The index of the word; `absent` if there is no such parameter.
  std::size_t one_of(std::string_view name, const char* const* words, std::size_t count,
                     std::size_t absent);
  Page page();
  [[nodiscard]] bool good() const { return exchange_.status == 0; }

  // Answers with the text written so far if `status` is kOk, else with the error.
  void end(Status status, int http_status = 200);
  void done(Status status);  // {"status":"ok"}
  // Ends a page of numbered rows: the list, "after" (the last row's number), and "more".
  void end_rows(Status status, const Rows& rows, std::int64_t last, const Page& page);
  void refuse(std::string_view message) { exchange_.fail(400, "bad_request", message); }

 private:
  Exchange& exchange_;
  Backend& backend_;
};

// A list of objects in an answer, as many as fit.
class Rows {
 public:
  explicit Rows(Buffer& out) : out_(out), begin_(out.size()) {}
  // False: the row did not fit, and nothing was written; no later row is taken.
  template <typename Row>
  bool add(const Row& row) {
    if (full_ || out_.size() - begin_ >= kPageBytes) return !(full_ = true);
    const std::size_t mark = out_.size();
    JsonOut json(out_);
    const bool comma = count_ == 0 || out_.write(",");
    if (comma) write_json(row, json);
    if (!comma || !json.ok()) {
      out_.truncate(mark);
      return !(full_ = true);
    }
    ++count_;
    return true;
  }
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  Buffer& out_;
  std::size_t begin_;
  std::size_t count_ = 0;
  bool full_ = false;
};

// A probe needs no token either, but its places are safe from other requests without the token.
enum class Access : std::uint8_t { kOpen, kProbe, kToken };
enum class Needs : std::uint8_t { kNothing, kDatabase };

// The members are in the order of a row of the table, which people read.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Route {
  Method method;
  const char* path;        // a segment in braces takes any
  const char* parameters;  // names, each followed by a space
  void (*answer)(Call& call);
  Access access = Access::kToken;
  Needs needs = Needs::kDatabase;
  bool takes_body = false;
};

// Null: no route. For a path with other methods, exchange->allow has them.
const Route* find_route(Exchange& exchange);
// Leaves exchange.status at 0 if the request waits for a change: call again.
void answer(const Route& route, Exchange& exchange, Backend& backend);

// Writes the answer of /metrics from fresh counts (Backend::count()).
// Returns kOk; kIo: the sink took no more.
Status write_all_metrics(const Backend& backend, TextSink& out);

// ---- the answers ----
void get_page(Call& call);
void get_page_file(Call& call);
void get_openapi(Call& call);
void get_endpoint(Call& call);
void get_health(Call& call);
void get_ready(Call& call);
void get_metrics_text(Call& call);
void get_metrics(Call& call);
void get_runtime(Call& call);
void list_instances(Call& call);
void start_instance(Call& call);
void get_instance(Call& call);
void delete_instance(Call& call);
void get_history(Call& call);
void list_executions(Call& call);
void list_children(Call& call);
void get_tree(Call& call);
void list_values(Call& call);
void get_value(Call& call);
void watch_instance(Call& call);
void raise_event(Call& call);
void enqueue_event(Call& call);
void cancel_instance(Call& call);
void terminate_instance(Call& call);
void suspend_instance(Call& call);
void resume_instance(Call& call);
void restart_instance(Call& call);
void list_sessions(Call& call);
void get_session(Call& call);
void close_session(Call& call);
void transfer_session(Call& call);
void hold_session(Call& call);
void handoff_session(Call& call);
void list_queue(Call& call);
void list_messages(Call& call);
void list_workers(Call& call);
void drain_worker(Call& call);
void undrain_worker(Call& call);
void forget_device(Call& call);

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_ROUTES_HPP
