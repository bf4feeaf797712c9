// converse: the orchestration of one conversation.
//
// What is said lives in its history, what the agent makes of it in the agent, a child process of
// the worker that owns the session. The agent's memory is written down every few turns. When the
// worker dies the session is lost: it is opened again, on whatever worker takes it, an agent is
// made from what was written down last, and the turns since then are said to it once more. No
// process who talks to it notices.
#ifndef CONVERSATION_CONVERSE_HPP
#define CONVERSATION_CONVERSE_HPP

#include "pawl/pawl.hpp"

namespace conversation {

// Its queue. A message is "REQUEST TEXT"; the answer is the value under the key REQUEST, for a
// minute at least. The text "/pause MS" ends the agent for so long, "/bye" the conversation.
inline constexpr char kQueue[] = "said";

// The input is empty, or how many turns are written down.
pawl::Poll converse(pawl::OrchestrationContext& ctx);

}  // namespace conversation

#endif  // CONVERSATION_CONVERSE_HPP
