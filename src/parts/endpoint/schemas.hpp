// Schemas: what each answer of the endpoint holds.
//
// Purpose: the answers are written by these tables, and /v1/openapi.json describes them by the same
// tables. A struct of a public header has its table in src/parts/fields; what the endpoint alone
// answers has a struct here. Ownership: constants.
#ifndef PAWL_PARTS_ENDPOINT_SCHEMAS_HPP
#define PAWL_PARTS_ENDPOINT_SCHEMAS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parts/fields/fields.hpp"

namespace pawl::http {

struct Refusal {
  std::string_view error;
  std::string_view message;
};

struct Done {
  const char* status;
};

struct Started {
  std::string_view id;
};

struct Health {
  const char* status;
  bool runtime;
  std::int64_t late_ms;
};

struct Readiness {
  bool ready;
  const char* reason;
};

struct Modes {
  bool read_only;
};

// The state of a Runtime, beside its counters.
struct Now {
  std::string_view worker;
  bool ready;
  std::int64_t taken_ms;
  std::int64_t now_ms;
  std::int64_t next_due_in_ms;
};

// The end of a page.
struct RowsEnd {
  std::int64_t after;
  bool more;
};

struct ValuesEnd {
  std::string_view after;
  bool more;
};

struct ListEnd {
  bool more;
};

struct Executed {
  std::int64_t execution_id;
};

struct Revised {
  std::string_view revision;
};

struct Called {
  bool answered;
};

struct Watched {
  bool changed;
  std::string_view revision;
};

struct AnswerSchema;

// A member that is an object, or a list of objects.
struct Part {
  enum class Form : std::uint8_t {
    kObject,
    kList,
    kCutList,  // a flag beside it, NAME_more, says that there are more
  };
  const char* name;
  Form form;
  const AnswerSchema* schema;
};

struct FieldList {
  const fields::Field* first = nullptr;
  std::size_t count = 0;
};

// An answer's members: those of at most two structs, and parts in their order.
struct AnswerSchema {
  const char* name;
  const char* help;
  FieldList lists[2];
  const Part* parts = nullptr;
  std::size_t part_count = 0;
};

// In the order of the description.
extern const AnswerSchema* const kSchemas[];
extern const std::size_t kSchemaCount;

namespace schema {
extern const AnswerSchema kRefusal, kDone, kStarted, kRemoved, kHealth, kModes, kReadiness, kValue,
    kSession, kMetrics, kRuntime, kInstances, kExecutions, kHistory, kSessions, kValues, kWorkers,
    kCauses, kQueue, kMessages, kDetail, kChange, kCalled;
}  // namespace schema

inline const char* health_word(std::size_t index) { return index == 0 ? "ok" : "stalled"; }
inline const char* done_word(std::size_t /*index*/) { return "ok"; }

}  // namespace pawl::http

namespace pawl::fields {

template <>
struct FieldsOf<http::Refusal> {
  using T = http::Refusal;
  static constexpr Field kAll[] = {
      PAWL_FIELD(error, "A stable name: of a Status, as `not_found`, or `unauthorized` and such."),
      PAWL_FIELD(message, "For people."),
  };
};

template <>
struct FieldsOf<http::Done> {
  using T = http::Done;
  static constexpr Field kAll[] = {
      PAWL_FIELD(status, "It is durable.").one_of({http::done_word, 1}),
  };
};

template <>
struct FieldsOf<http::Started> {
  using T = http::Started;
  static constexpr Field kAll[] = {PAWL_FIELD(id, "Id of the instance.")};
};

template <>
struct FieldsOf<http::Health> {
  using T = http::Health;
  static constexpr Field kAll[] = {
      PAWL_FIELD(status, "Whether the loop goes round.").one_of({http::health_word, 2}),
      PAWL_FIELD(runtime, "A Runtime of this process is watched."),
      PAWL_FIELD(late_ms, "How long its loop is overdue."),
  };
};

template <>
struct FieldsOf<http::Readiness> {
  using T = http::Readiness;
  static constexpr Field kAll[] = {
      PAWL_FIELD(ready, "It may be given work."),
      PAWL_FIELD(reason, "Why not, or ok."),
  };
};

template <>
struct FieldsOf<http::Modes> {
  using T = http::Modes;
  static constexpr Field kAll[] = {PAWL_FIELD(read_only, "It answers every write with 403.")};
};

template <>
struct FieldsOf<http::Now> {
  using T = http::Now;
  static constexpr Field kAll[] = {
      PAWL_FIELD(worker, "Its name."),
      PAWL_FIELD(ready, "It may be given work."),
      PAWL_FIELD(taken_ms, "When the counters were taken, on the clock of now_ms."),
      PAWL_FIELD(now_ms, "Boot time: take rates between two answers by it."),
      PAWL_FIELD(next_due_in_ms, "Until the loop has work by itself; below 0: overdue."),
  };
};

template <>
struct FieldsOf<http::RowsEnd> {
  using T = http::RowsEnd;
  static constexpr Field kAll[] = {
      PAWL_FIELD(after, "Give it as `after` for the next page."),
      PAWL_FIELD(more, "Ask again with this `after`."),
  };
};

template <>
struct FieldsOf<http::ValuesEnd> {
  using T = http::ValuesEnd;
  static constexpr Field kAll[] = {
      PAWL_FIELD(after, "The last key: give it as `after` for the next page.").unless_empty(),
      PAWL_FIELD(more, "Ask again with this `after`."),
  };
};

template <>
struct FieldsOf<http::ListEnd> {
  using T = http::ListEnd;
  static constexpr Field kAll[] = {PAWL_FIELD(more, "Some did not fit into an answer.")};
};

template <>
struct FieldsOf<http::Executed> {
  using T = http::Executed;
  static constexpr Field kAll[] = {PAWL_FIELD(execution_id, "The execution of the events.")};
};

template <>
struct FieldsOf<http::Revised> {
  using T = http::Revised;
  static constexpr Field kAll[] = {
      PAWL_FIELD(revision, "Changes with the instance: for `watch`."),
  };
};

template <>
struct FieldsOf<http::Called> {
  using T = http::Called;
  static constexpr Field kAll[] = {
      PAWL_FIELD(answered, "false: the time was over; ask again with the key."),
  };
};

template <>
struct FieldsOf<http::Watched> {
  using T = http::Watched;
  static constexpr Field kAll[] = {
      PAWL_FIELD(changed, "false: the time was over."),
      PAWL_FIELD(revision, "Give it as `revision` for the next change."),
  };
};

}  // namespace pawl::fields

#endif  // PAWL_PARTS_ENDPOINT_SCHEMAS_HPP
