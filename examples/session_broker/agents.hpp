// The agents: programs of their own that know nothing of Pawl, and keep what they know in the
// folder they work in.
#ifndef SESSION_BROKER_AGENTS_HPP
#define SESSION_BROKER_AGENTS_HPP

#include <string>

namespace session_broker {

// "prompt NUMBER TEXT" and "summary"; each is answered with one line, a prompt that was answered
// before likewise. Until its input ends. The file "summary", if there is one, is what another agent
// left for this.
int run_agent(const std::string& kind);

}  // namespace session_broker

#endif  // SESSION_BROKER_AGENTS_HPP
