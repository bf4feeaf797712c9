// broker: the orchestration of one chat thread and its agent.
//
// The agent is a child process of the worker that owns the thread's session. The broker decides
// when there is an agent, of which kind, who may use it how often, and when it ends. The agent's
// knowledge lies in its working folder.
#ifndef SESSION_BROKER_BROKER_HPP
#define SESSION_BROKER_BROKER_HPP

#include "pawl/pawl.hpp"

namespace session_broker {

// A worker serves one kind of agent. The kind is the tag of the work for these agents.
inline constexpr const char* kKinds[] = {"scribe", "poet"};
bool is_kind(std::string_view word);

// The queue of messages: "USER TEXT".
inline constexpr char kQueue[] = "chat";
inline constexpr char kSession[] = "agent";
inline constexpr std::size_t kTextMax = 200;  // bytes of a message

// The state of a thread: its first input, and the one that it hands to its next execution.
struct Thread {
  pawl::JsonText<64> owner;  // the user who began it
  pawl::JsonText<16> kind;   // the kind of its agent
  // The limits of its session: see settings_of().
  std::int64_t idle_ms = 1'800'000;
  std::int64_t age_ms_max = 86'400'000;
  std::int32_t messages_a_minute = 10;
  std::int32_t messages_max = 50;  // warned shortly before; an agent's memory is finite
  bool is_open = false;
  std::int32_t asked = 0;  // prompts that this agent answered
};
PAWL_JSON(Thread, owner, kind, idle_ms, age_ms_max, messages_a_minute, messages_max, is_open, asked)
inline constexpr std::size_t kThreadBytesMax = 1024;

// The input is a Thread. Completes with the reason for its end.
pawl::Poll broker(pawl::OrchestrationContext& ctx);

}  // namespace session_broker

#endif  // SESSION_BROKER_BROKER_HPP
