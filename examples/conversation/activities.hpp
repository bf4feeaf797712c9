// What a worker does for conversations: each session has an agent, a child process of this worker.
#ifndef CONVERSATION_ACTIVITIES_HPP
#define CONVERSATION_ACTIVITIES_HPP

#include <string>

#include "agent.hpp"
#include "pawl/pawl.hpp"

namespace conversation {

// More than sessions that a worker claims, so that none of its agents ever has to make room.
inline constexpr std::size_t kAgentsMax = 16;
using Agents = pawl::SessionCache<example::Agent, kAgentsMax>;

struct Worker {
  Agents& agents;
  std::string agent_command;
  std::string store;  // folder of the checkpoints
};

// hydrate, turn, checkpoint, dehydrate: all in steps on the loop, while agents take their time.
pawl::Status add_activities(pawl::Registry& registry, Worker& worker);
// The state that the largest of them needs.
std::size_t scratch_bytes();

}  // namespace conversation

#endif  // CONVERSATION_ACTIVITIES_HPP
