// Fields: the members of a public struct that are shown, each described once.
//
// Purpose: JSON, the text for Prometheus, the tool's texts and the endpoint's description of its
// answers all follow from these tables, so a new member is one new row. A row holds an offset and a
// kind, because one loop over rows is smaller than code for each member. A source copies what it
// needs of the rows at compile time, so a program has no description that it does not show.
// Ownership: constants. Thread rule: callable from any. The tables are in client_fields.hpp and
// runtime_fields.hpp.
#ifndef PAWL_PARTS_FIELDS_FIELDS_HPP
#define PAWL_PARTS_FIELDS_FIELDS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "pawl/call_text.hpp"
#include "pawl/cause.hpp"
#include "pawl/error.hpp"
#include "pawl/management.hpp"
#include "pawl/name_stats.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/session_stats.hpp"

namespace pawl::fields {

enum class FieldKind : std::uint8_t {
  kInteger,  // std::int64_t
  kBytes,    // std::int64_t: a size
  kCount,    // std::uint64_t
  kCount32,
  kFlag,
  kMs,        // OptionalMs
  kText,      // std::string_view
  kCallText,  // CallText
  kWord,      // const char*, of the program itself
  kLines,     // std::string_view: a name a line
  kOrchestrationState,
  kExecutionState,
  kActivityState,
  kSessionState,
  kCause,
  kCauseHelp,  // a CauseKind, as what could be done
  kError,      // ErrorKind
  kDurations,
  kHistoryLengths,
  kSessionLasted,      // SessionEnds::Histogram, of times
  kSessionActivities,  // the same, of numbers
};

// When JSON has the member. Empty: a text without bytes, 0, none.
enum class Shown : std::uint8_t {
  kAlways,
  kUnlessEmpty,
  kWithOwner,  // of a SessionInfo: while a worker owns the session
  kNever,      // only the text for Prometheus has it
};

// The words of an enumeration, by its numbers.
struct Words {
  const char* (*name)(std::size_t index) = nullptr;
  std::size_t count = 0;
};

// The members are in the order of a row of a table, which people read.
struct Field {
  const char* name;  // in JSON
  const char* help;  // one line: the description of the endpoint has it, and Prometheus
  std::uint16_t offset;
  FieldKind kind;
  Shown shown;
  const char* metric = nullptr;  // name for Prometheus; null: it is none
  // A metric has this value of the label "state". A text is the label of this name of all metrics
  // of its struct.
  const char* label = nullptr;
  Words words = {};  // of a kWord; a kind of an enumeration has its own

  // Each gives the same row with one difference.
  [[nodiscard]] constexpr Field called(const char* other) const {
    Field row = *this;
    row.name = other;
    return row;
  }
  [[nodiscard]] constexpr Field as(FieldKind other) const {
    Field row = *this;
    row.kind = other;
    return row;
  }
  [[nodiscard]] constexpr Field unless_empty() const { return shown_as(Shown::kUnlessEmpty); }
  [[nodiscard]] constexpr Field with_owner() const { return shown_as(Shown::kWithOwner); }
  [[nodiscard]] constexpr Field not_in_json() const { return shown_as(Shown::kNever); }
  // Rows of one metric stand in a sequence and differ in `state`.
  [[nodiscard]] constexpr Field measured(const char* name_of_metric,
                                         const char* state = nullptr) const {
    Field row = *this;
    row.metric = name_of_metric;
    row.label = state;
    return row;
  }
  [[nodiscard]] constexpr Field labels(const char* name_of_label) const {
    Field row = *this;
    row.label = name_of_label;
    return row;
  }
  [[nodiscard]] constexpr Field one_of(Words some) const {
    Field row = *this;
    row.words = some;
    return row;
  }

 private:
  [[nodiscard]] constexpr Field shown_as(Shown other) const {
    Field row = *this;
    row.shown = other;
    return row;
  }
};

template <typename T>
inline constexpr bool kNoKind = false;

template <typename T>
constexpr FieldKind kind_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return FieldKind::kFlag;
  } else if constexpr (std::is_unsigned_v<T>) {
    return sizeof(T) == sizeof(std::uint64_t) ? FieldKind::kCount : FieldKind::kCount32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return FieldKind::kInteger;
  } else if constexpr (std::is_same_v<T, OptionalMs>) {
    return FieldKind::kMs;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return FieldKind::kText;
  } else if constexpr (std::is_same_v<T, CallText>) {
    return FieldKind::kCallText;
  } else if constexpr (std::is_same_v<T, const char*>) {
    return FieldKind::kWord;
  } else if constexpr (std::is_same_v<T, OrchestrationState>) {
    return FieldKind::kOrchestrationState;
  } else if constexpr (std::is_same_v<T, ExecutionState>) {
    return FieldKind::kExecutionState;
  } else if constexpr (std::is_same_v<T, ActivityState>) {
    return FieldKind::kActivityState;
  } else if constexpr (std::is_same_v<T, SessionState>) {
    return FieldKind::kSessionState;
  } else if constexpr (std::is_same_v<T, CauseKind>) {
    return FieldKind::kCause;
  } else if constexpr (std::is_same_v<T, ErrorKind>) {
    return FieldKind::kError;
  } else if constexpr (std::is_same_v<T, Durations>) {
    return FieldKind::kDurations;
  } else if constexpr (std::is_same_v<T, HistoryLengths>) {
    return FieldKind::kHistoryLengths;
  } else if constexpr (std::is_same_v<T, SessionEnds::Histogram>) {
    return FieldKind::kSessionActivities;
  } else {
    static_assert(kNoKind<T>, "a member of this type is not shown yet");
  }
}

template <typename Member>
constexpr Field field(const char* name, const char* help, std::size_t offset) {
  constexpr FieldKind kind = kind_of<Member>();
  const bool may_be_absent = kind == FieldKind::kMs || kind == FieldKind::kError;
  return {name, help, static_cast<std::uint16_t>(offset), kind,
          may_be_absent ? Shown::kUnlessEmpty : Shown::kAlways};
}

// The table of a struct: a specialisation has `T`, the struct, and `kAll`, the rows.
template <typename Struct>
struct FieldsOf;

// ---- what a row reads ----

template <typename State, const char* (*kName)(State)>
const char* word_of(std::size_t index) {
  return kName(static_cast<State>(index));
}

// A kind without a list of words has count 0.
constexpr Words words_of(FieldKind kind) {
  constexpr auto kExecutionStates = static_cast<std::size_t>(ExecutionState::kContinuedAsNew) + 1;
  switch (kind) {
    case FieldKind::kOrchestrationState:
      return {word_of<OrchestrationState, orchestration_state_name>, kOrchestrationStateCount};
    case FieldKind::kExecutionState:
      return {word_of<ExecutionState, execution_state_name>, kExecutionStates};
    case FieldKind::kActivityState:
      return {word_of<ActivityState, activity_state_name>, kActivityStateCount};
    case FieldKind::kSessionState:
      return {word_of<SessionState, session_state_name>, kSessionStateCount};
    case FieldKind::kCause: return {word_of<CauseKind, cause_kind_name>, kCauseKindCount};
    default: return {};
  }
}

constexpr bool is_histogram(FieldKind kind) { return kind >= FieldKind::kDurations; }

// The member of a row in `value`.
inline const void* place_of(std::uint16_t offset, const void* value) {
  return static_cast<const char*>(value) + offset;
}

template <typename T>
const T& value_at(const void* at) {
  return *static_cast<const T*>(at);
}

// Requires: a number or a flag.
inline std::int64_t number_at(FieldKind kind, const void* at) {
  switch (kind) {
    case FieldKind::kCount: return static_cast<std::int64_t>(value_at<std::uint64_t>(at));
    case FieldKind::kCount32: return value_at<std::uint32_t>(at);
    case FieldKind::kFlag: return value_at<bool>(at) ? 1 : 0;
    default: return value_at<std::int64_t>(at);
  }
}

// Requires: a text, a word, a state or an error. An error that is none has no text.
inline std::string_view text_at(FieldKind kind, const void* at) {
  switch (kind) {
    case FieldKind::kCallText: return value_at<CallText>(at);
    case FieldKind::kWord: return value_at<const char*>(at);
    case FieldKind::kText:
    case FieldKind::kLines: return value_at<std::string_view>(at);
    case FieldKind::kError: {
      const auto error = value_at<ErrorKind>(at);
      return error == ErrorKind::kNone ? std::string_view() : error_kind_name(error);
    }
    case FieldKind::kCauseHelp: return cause_help(value_at<CauseKind>(at));
    default: break;
  }
  const Words words = words_of(kind);
  return words.name == nullptr ? std::string_view() : words.name(value_at<std::uint8_t>(at));
}

// A histogram of any struct. The last count has no bound.
struct HistogramView {
  const std::int64_t* bounds;
  std::size_t bound_count;
  const std::uint64_t* counts;
  std::int64_t total;
  std::int64_t most;
};

// Requires: a histogram.
inline HistogramView histogram_at(FieldKind kind, const void* at) {
  if (kind == FieldKind::kDurations) {
    const auto& value = value_at<Durations>(at);
    return {Durations::kUpToMs, Durations::kBounds, value.counts, value.total_ms, value.longest_ms};
  }
  if (kind == FieldKind::kHistoryLengths) {
    const auto& value = value_at<HistoryLengths>(at);
    return {HistoryLengths::kUpTo, HistoryLengths::kBounds, value.counts, value.total,
            value.longest};
  }
  const auto& value = value_at<SessionEnds::Histogram>(at);
  return {
      kind == FieldKind::kSessionLasted ? SessionEnds::kLastedUpToMs : SessionEnds::kActivitiesUpTo,
      SessionEnds::kBounds, value.counts, value.total, value.most};
}

}  // namespace pawl::fields

// A row of a table: `T` is the struct there.
#define PAWL_FIELD(member, help) \
  ::pawl::fields::field<decltype(T::member)>(#member, help, offsetof(T, member))

#endif  // PAWL_PARTS_FIELDS_FIELDS_HPP
