// The activities of a worker of the broker: to ask agents, and to post into threads.
#ifndef SESSION_BROKER_ACTIVITIES_HPP
#define SESSION_BROKER_ACTIVITIES_HPP

#include <string>

#include "agent.hpp"
#include "pawl/pawl.hpp"

namespace session_broker {

inline constexpr std::size_t kAgentsMax = 16;
using Agents = pawl::SessionCache<example::Agent, kAgentsMax>;

struct Worker {
  Agents& agents;
  std::string agent_command;
  std::string kind;
  std::string chat;  // the file that stands for the chat
};

pawl::Status add_activities(pawl::Registry& registry, Worker& worker);
// Bytes of state that the largest of these activities needs.
std::size_t scratch_bytes();

}  // namespace session_broker

#endif  // SESSION_BROKER_ACTIVITIES_HPP
