// converse: the orchestration of one conversation.
//
// The history of the orchestration holds what users say. The agent, a child process of the worker
// that owns the session, holds what it makes of it; its memory is written down every few turns.
// When the worker dies, the session is lost. The orchestration opens it again on any worker, makes
// an agent from the last checkpoint, and says the turns since then to it once more. A client does
// not notice.
#ifndef CONVERSATION_CONVERSE_HPP
#define CONVERSATION_CONVERSE_HPP

#include <optional>

#include "pawl/pawl.hpp"

namespace conversation {

// Small enough that a text and the agent's answer to it stay within payload_bytes_max.
inline constexpr std::size_t kTextMax = 400;

// A message of a user. The answer is the value under the key `request`, for a minute at least. The
// text "/pause MS" ends the agent and pauses for MS milliseconds; "/bye" ends the conversation.
struct Message {
  pawl::JsonText<60> request;
  pawl::JsonText<kTextMax> text;
};
PAWL_JSON(Message, request, text)

// The input of an execution, from the one before it.
struct Progress {
  // Turns in the checkpoint; the agent still lives. None: a new conversation.
  std::optional<std::int64_t> written_down;
};
PAWL_JSON(Progress, written_down)

struct Turns {
  std::int64_t turns = 0;
};
PAWL_JSON(Turns, turns)

struct Said {
  std::int64_t number = 0;  // the number of the turn
  pawl::JsonText<kTextMax> text;
};
PAWL_JSON(Said, number, text)

inline constexpr pawl::QueueType<Message> kQueue{"said"};
inline constexpr pawl::OrchestrationType<Progress, Turns> kConverse{"converse"};
// The activity that makes a new agent. Its result is the turns that the agent knows. A
// SessionRecovery takes this name, too.
inline constexpr char kHydrateName[] = "hydrate";
// Says a turn to the agent. A turn that is said twice gets the same answer.
inline constexpr pawl::ActivityType<Said, std::string_view> kTurn{"turn"};
// Both write a checkpoint, and take the number of turns that must be in it.
inline constexpr pawl::ActivityType<Turns, pawl::Nothing> kCheckpoint{"checkpoint"};
inline constexpr pawl::ActivityType<Turns, pawl::Nothing> kDehydrate{"dehydrate"};

pawl::PollOf<Progress, Turns> converse(pawl::OrchestrationContext& ctx, const Progress& input);

}  // namespace conversation

#endif  // CONVERSATION_CONVERSE_HPP
