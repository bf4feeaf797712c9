// TraceLog: what the code of the last pass traced.
//
// Purpose: holds traces with their texts, and the places they came from. Ownership: storage given
// by the engine.
// Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_TRACE_LOG_HPP
#define PAWL_REPLAY_TRACE_LOG_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "replay/engine.hpp"

namespace pawl {

namespace internal {
struct BranchRun;
}

struct TraceLog {
  static constexpr std::size_t kTextBytesMax = 512;   // for one trace; longer ones are cut
  static constexpr std::size_t kTextBytesMean = 128;  // room for all, per trace
  struct Origin {
    const internal::BranchRun* branch = nullptr;
    EventId position = 0;
  };
  Trace* traces = nullptr;
  Origin* origins = nullptr;
  char* texts = nullptr;
  std::size_t capacity = 0;
  std::size_t text_capacity = 0;
  std::size_t count = 0;
  std::size_t text_size = 0;
  std::uint32_t lost = 0;

  void clear();
  void add(LogLevel level, std::string_view text, Origin origin);
  // Forgets what branches traced beyond their horizon.
  void withdraw();
};

}  // namespace pawl

#endif  // PAWL_REPLAY_TRACE_LOG_HPP
