// The work of the crash tests: what the instance of each number does, and how it must end.
//
// Shared by the program that runs the work and the driver that only knows the expected results.
// Every kind passes a small number through a fixed count of activities, so that a step that is
// lost, doubled or taken from a neighbour changes the result.
#ifndef PAWL_TEST_CRASH_WORK_HPP
#define PAWL_TEST_CRASH_WORK_HPP

#include <cstdint>
#include <cstdio>
#include <string>

namespace crash_work {

enum class Kind : int {
  kAdder = 0,  // three activities
  kSleeper,    // three activities with timers between them
  kRounds,     // four executions by continue-as-new, one activity and one timer each
  kPinned,     // three activities on a session
  kThreaded,   // two activities on pool threads
  kFan,        // four activities at once
  kTangle,     // two executions, each a session activity, a timer and a plain activity
  kKinds,
  kTurnAborts,  // its third turn calls abort()
  kWorkAborts,  // its activity calls abort()
  kHello,       // one activity
};

// From here on numbers mean the kinds that kill their process.
inline constexpr int kTurnAbortsNumber = 10'000;
inline constexpr int kWorkAbortsNumber = 10'001;
inline constexpr int kFirstHello = 20'000;  // and all higher numbers

inline Kind kind_of(int number) {
  if (number == kTurnAbortsNumber) return Kind::kTurnAborts;
  if (number == kWorkAbortsNumber) return Kind::kWorkAborts;
  if (number >= kFirstHello) return Kind::kHello;
  return static_cast<Kind>(number % static_cast<int>(Kind::kKinds));
}

inline const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kAdder: return "adder";
    case Kind::kSleeper: return "sleeper";
    case Kind::kRounds: return "rounds";
    case Kind::kPinned: return "pinned";
    case Kind::kThreaded: return "threaded";
    case Kind::kFan: return "fan";
    case Kind::kTangle: return "tangle";
    case Kind::kTurnAborts: return "turn_aborts";
    case Kind::kWorkAborts: return "work_aborts";
    case Kind::kHello: return "hello";
    case Kind::kKinds: break;
  }
  return "";
}

inline std::string id_of(int number) {
  return std::string(name_of(kind_of(number))) + "-" + std::to_string(number);
}

// The change that one activity makes to the number.
inline std::int64_t mix(std::int64_t value) { return (value * 31 + 7) % 1'000'003; }

inline std::int64_t mixed(std::int64_t value, int times) {
  for (int i = 0; i < times; ++i)
    value = mix(value);
  return value;
}

// The output of a completed instance.
inline std::string expected_output(int number) {
  switch (kind_of(number)) {
    case Kind::kAdder:
    case Kind::kSleeper:
    case Kind::kPinned: return std::to_string(mixed(number, 3));
    case Kind::kRounds:
    case Kind::kTangle: return std::to_string(mixed(number, 4));
    case Kind::kThreaded: return std::to_string(mixed(number, 2));
    case Kind::kFan:
      return std::to_string(mix(number) + mix(number + 1) + mix(number + 2) + mix(number + 3));
    case Kind::kHello: return std::to_string(mix(number));
    case Kind::kWorkAborts: return "poison";  // the kind of error its activity ended with
    case Kind::kTurnAborts:
    case Kind::kKinds: break;
  }
  return "";
}

inline std::int64_t expected_executions(int number) {
  switch (kind_of(number)) {
    case Kind::kRounds: return 4;
    case Kind::kTangle: return 2;
    default: return 1;
  }
}

}  // namespace crash_work

#endif  // PAWL_TEST_CRASH_WORK_HPP
