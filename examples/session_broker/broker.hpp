// broker: the orchestration of one chat thread and its agent.
//
// The agent is a child process of the worker that owns the thread's session. This code decides when
// there is one, of which kind, who may use it how often, and when it has to go; what it knows lies
// in its working folder.
#ifndef SESSION_BROKER_BROKER_HPP
#define SESSION_BROKER_BROKER_HPP

#include "pawl/pawl.hpp"

namespace session_broker {

// A worker serves one kind: it is the tag of what its agents are asked.
inline constexpr const char* kKinds[] = {"scribe", "poet"};
bool is_kind(std::string_view word);

// Messages: "USER TEXT".
inline constexpr char kQueue[] = "chat";
inline constexpr char kSession[] = "agent";
inline constexpr std::size_t kTextMax = 200;  // of a message

// What a thread begins with, and what it hands to its next execution.
struct Thread {
  pawl::JsonText<64> owner;  // who began it
  pawl::JsonText<16> kind;   // of its agent
  // What its session is limited to: see settings_of().
  std::int64_t idle_ms = 1'800'000;
  std::int64_t age_ms_max = 86'400'000;
  std::int32_t messages_a_minute = 10;
  std::int32_t messages_max = 50;  // it is warned a little before; an agent's memory is finite, too
  bool is_open = false;
  std::int32_t asked = 0;  // of this agent
};
PAWL_JSON(Thread, owner, kind, idle_ms, age_ms_max, messages_a_minute, messages_max, is_open, asked)
inline constexpr std::size_t kThreadBytesMax = 1024;

// The input is a Thread. Completes with why it is over.
pawl::Poll broker(pawl::OrchestrationContext& ctx);

}  // namespace session_broker

#endif  // SESSION_BROKER_BROKER_HPP
