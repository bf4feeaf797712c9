// The routes of the endpoint and the functions that answer them.
//
// Ownership: only the counts of a second are kept between requests. Thread rule: the endpoint's
// thread.
#ifndef PAWL_PARTS_ENDPOINT_ROUTES_HPP
#define PAWL_PARTS_ENDPOINT_ROUTES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "parts/endpoint/exchange.hpp"
#include "parts/endpoint/schemas.hpp"
#include "parts/fields/json_fields.hpp"
#include "pawl/client.hpp"
#include "pawl/export.hpp"
#include "pawl/prometheus.hpp"
#include "pawl/runtime_board.hpp"
#include "pawl/visit.hpp"

namespace pawl::http {

class Call;

inline constexpr std::size_t kPageBytes = 256 * 1024;  // a page ends after the row that reaches it

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

// A probe needs no token either, but its places are safe from other requests without the token.
enum class Access : std::uint8_t { kOpen, kProbe, kToken };
enum class Needs : std::uint8_t { kNothing, kDatabase };

// A parameter of the query. The server checks what the description says.
struct Parameter {
  enum class Form : std::uint8_t { kText, kNumber, kFlag, kWord };
  const char* name;
  const char* help;
  Form form = Form::kText;
  bool required = false;
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;  // of a text: bytes
  // Its value when it is not given: a number, 1 for true, or the index of a word.
  std::optional<std::int64_t> absent = std::nullopt;
  fields::Words words = {};
};

// One row of the table. `id`, `summary`, `errors` and the helps are for the description alone.
struct Route {
  const char* path;  // a segment in braces takes any
  const char* id;
  const char* summary;
  void (*answer)(Call& call);
  const AnswerSchema* schema = nullptr;  // of the answer; null: a text or a file
  const char* content = "application/json";
  const Parameter* parameters = nullptr;
  std::size_t parameter_count = 0;
  const char* body = nullptr;         // what it holds; null: the route takes none
  const char* errors = "";            // HTTP statuses that are to be expected
  const char* unavailable = nullptr;  // what 503 with the same schema says
  int success = 200;
  Method method = Method::kGet;
  Access access = Access::kToken;
  Needs needs = Needs::kDatabase;

  [[nodiscard]] constexpr bool is_json() const {
    return std::string_view(content) == "application/json";
  }
};

extern const Route kRoutes[];
extern const std::size_t kRouteCount;

class AnswerRows;

// A request whose parameters are good.
class Call {
 public:
  Call(const Route& route, Exchange& exchange, Backend& backend)
      : route_(route), exchange_(exchange), backend_(backend) {}
  [[nodiscard]] Exchange& exchange() { return exchange_; }
  [[nodiscard]] Backend& backend() { return backend_; }
  [[nodiscard]] Client& client() { return *backend_.client; }
  [[nodiscard]] std::string_view segment(std::size_t at) const { return exchange_.segment(at); }
  Buffer& out() { return exchange_.answer(); }

  // Each reads a parameter of the route; one that is not given has its default.
  [[nodiscard]] std::optional<std::string_view> given(std::string_view name) const;
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;
  // Index of the word. None: it is not given and has no default.
  [[nodiscard]] std::optional<std::size_t> word(std::string_view name) const;
  [[nodiscard]] Page page() const;

  // Writes the answer's object piece by piece. The names of its parts are those of the schema, in
  // their order.
  void begin() { put("{"); }
  template <typename T>
  void members(const T& value) {
    separate();
    JsonOut json(out());
    fields::write_members(value, json);
  }
  // Writes all of it.
  template <typename T>
  void object(const T& value) {
    JsonOut json(out());
    write_json(value, json);
  }
  // False: it did not fit.
  template <typename T>
  bool part(const T& value) {
    begin_part();
    JsonOut json(out());
    write_json(value, json);
    return json.ok();
  }
  void begin_rows() {
    begin_part();
    put("[");
  }
  // `is_cut`: of a list that may be cut.
  void end_rows(bool is_cut = false);
  void end() { put("}"); }

  // Answers with the text written so far if `status` is kOk, else with the error.
  void finish(Status status, int http_status = 200);
  // Answers with one object.
  template <typename T>
  void give(const T& value, Status status, int http_status = 200) {
    begin();
    members(value);
    end();
    finish(status, http_status);
  }
  void done(Status status);  // {"status":"ok"}
  // Ends a page of numbered rows: the list, "after" (the last row's number), and "more".
  void finish_page(Status status, const AnswerRows& rows, std::int64_t last, const Page& page);

 private:
  void put(std::string_view text) { static_cast<void>(out().write(text)); }
  void separate() {
    if (out().text().back() != '{') put(",");
  }
  void begin_part();

  const Route& route_;
  Exchange& exchange_;
  Backend& backend_;
  std::size_t parts_ = 0;  // begun so far
};

void write_json(const OrchestrationStats& value, JsonOut& out);
void write_json(const ActivityStats& value, JsonOut& out);

// A list of objects in an answer, as many as fit.
class AnswerRows {
 public:
  explicit AnswerRows(Buffer& out) : out_(out), begin_(out.size()) {}
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

// Null: no route. For a path with other methods, exchange->allow has them.
const Route* find_route(Exchange& exchange);
// Leaves exchange.status at 0 if the request waits for a change: call again.
void answer(const Route& route, Exchange& exchange, Backend& backend);

// Writes the description of all routes.
void write_openapi(JsonOut& out);

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
void explain_instance(Call& call);
void delete_instance(Call& call);
void get_history(Call& call);
void list_executions(Call& call);
void list_children(Call& call);
void get_tree(Call& call);
void list_values(Call& call);
void get_value(Call& call);
void watch_instance(Call& call);
void raise_event(Call& call);
void call_instance(Call& call);
void enqueue_event(Call& call);
void cancel_instance(Call& call);
void terminate_instance(Call& call);
void suspend_instance(Call& call);
void resume_instance(Call& call);
void change_time_limit(Call& call);
void restart_instance(Call& call);
void complete_activity(Call& call);
void fail_activity(Call& call);
void heartbeat_activity(Call& call);
void list_sessions(Call& call);
void get_session(Call& call);
void explain_session(Call& call);
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

// Answers with all that `list` lists, as far as there is room.
template <typename Row, typename List>
void answer_list(Call& call, List&& list) {
  call.begin();
  call.begin_rows();
  AnswerRows rows(call.out());
  auto visitor = visit([&rows](const Row& one) { static_cast<void>(rows.add(one)); });
  const Status status = list(visitor);
  call.end_rows();
  call.members(ListEnd{rows.full()});
  call.end();
  call.finish(status);
}

// Answers with one page of what `list` lists. `place`: the next page begins after that number.
template <typename Row, typename List>
void answer_page(Call& call, std::int64_t Row::*place, List&& list) {
  Page page = call.page();
  call.begin();
  call.begin_rows();
  AnswerRows rows(call.out());
  std::int64_t last = 0;
  auto visitor = visit([&](const Row& row) {
    if (rows.add(row)) last = row.*place;
  });
  const Status status = list(&page, visitor);
  call.finish_page(status, rows, last, page);
}

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_ROUTES_HPP
