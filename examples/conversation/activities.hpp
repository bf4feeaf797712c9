// The activities of conversations. Each session has an agent, a child process of its worker.
#ifndef CONVERSATION_ACTIVITIES_HPP
#define CONVERSATION_ACTIVITIES_HPP

#include <string>

#include "agent.hpp"
#include "pawl/pawl.hpp"

namespace conversation {

// More than the sessions that a worker claims, so no agent ever has to make room for another.
inline constexpr std::size_t kAgentsMax = 16;
using Agents = pawl::SessionCache<example::Agent, kAgentsMax>;

struct Worker {
  Agents& agents;
  std::string agent_command;
  std::string store;  // folder of the checkpoints
};

// Adds hydrate, turn, checkpoint and dehydrate. They run in steps on the loop, which agents that
// take their time do not block.
pawl::Status add_activities(pawl::Registry& registry, Worker& worker);
// Bytes of state that the largest of these activities needs.
std::size_t scratch_bytes();

}  // namespace conversation

#endif  // CONVERSATION_ACTIVITIES_HPP
