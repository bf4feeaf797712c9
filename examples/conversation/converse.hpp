// converse: the orchestration of one conversation.
//
// What is said lives in its history, what the agent makes of it in the agent, a child process of
// the worker that owns the session. The agent's memory is written down every few turns. When the
// worker dies the session is lost: it is opened again, on whatever worker takes it, an agent is
// made from what was written down last, and the turns since then are said to it once more. No
// process who talks to it notices.
#ifndef CONVERSATION_CONVERSE_HPP
#define CONVERSATION_CONVERSE_HPP

#include <optional>

#include "pawl/pawl.hpp"

namespace conversation {

// With what the agent says of it, within payload_bytes_max.
inline constexpr std::size_t kTextMax = 400;

// What is said. The answer is the value under the key `request`, for a minute at least. The text
// "/pause MS" ends the agent for so long, "/bye" the conversation.
struct Message {
  pawl::JsonText<60> request;
  pawl::JsonText<kTextMax> text;
};
PAWL_JSON(Message, request, text)

// What goes from one execution to the next.
struct Progress {
  std::optional<std::int64_t> written_down;  // turns in the checkpoint, whose agent is there
};
PAWL_JSON(Progress, written_down)

struct Turns {
  std::int64_t turns = 0;
};
PAWL_JSON(Turns, turns)

struct Said {
  std::int64_t number = 0;  // of the turn
  pawl::JsonText<kTextMax> text;
};
PAWL_JSON(Said, number, text)

inline constexpr pawl::QueueType<Message> kQueue{"said"};
inline constexpr pawl::OrchestrationType<Progress, Turns> kConverse{"converse"};
// Answers with the turns that the new agent knows. A SessionRecovery names it, too.
inline constexpr char kHydrateName[] = "hydrate";
// Asking twice for one turn gives one answer.
inline constexpr pawl::ActivityType<Said, std::string_view> kTurn{"turn"};
// These take the turns that must be in it.
inline constexpr pawl::ActivityType<Turns, pawl::Nothing> kCheckpoint{"checkpoint"};
inline constexpr pawl::ActivityType<Turns, pawl::Nothing> kDehydrate{"dehydrate"};

pawl::PollOf<Progress, Turns> converse(pawl::OrchestrationContext& ctx, const Progress& input);

}  // namespace conversation

#endif  // CONVERSATION_CONVERSE_HPP
