// The agents: programs of their own that know nothing of Pawl, and keep their knowledge in the
// folder that they work in.
#ifndef SESSION_BROKER_AGENTS_HPP
#define SESSION_BROKER_AGENTS_HPP

#include <string>

namespace session_broker {

// Answers "prompt NUMBER TEXT" and "summary" with one line each, until its input ends. A prompt
// that comes again is answered again, but noted once. The file "summary", if there is one, is what
// another agent left for this one.
int run_agent(const std::string& kind);

}  // namespace session_broker

#endif  // SESSION_BROKER_AGENTS_HPP
