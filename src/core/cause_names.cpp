// Apart from the other names: a program that explains nothing does not contain these.
#include "pawl/cause.hpp"

namespace pawl {
namespace {

struct Words {
  const char* name;
  const char* help;
};

// In the order of the kinds.
constexpr Words kWords[] = {
    {"ended", "Nothing is left to do; a restart runs it again."},
    {"stopped", "Mend what the error says, then restart it."},
    {"suspended", "Resume it."},
    {"unknown", "Read its history."},
    {"no_worker", "Start a worker: none lives."},
    {"no_orchestration", "Start a worker that has registered this name and version."},
    {"pause", "It runs again by itself; the log of the worker says why it ended the process."},
    {"turn", "It runs next by itself; if this lasts, the workers are busy or hang."},
    {"timer", "It goes on by itself."},
    {"no_clock", "Give the machine a trusted clock."},
    {"event", "Raise the event."},
    {"queue", "Send a message to the queue."},
    {"child", "Look at the child."},
    {"answer", "It goes on by itself."},
    {"runs",
     "Nothing, unless it takes too long: then look at its program, or cancel the instance."},
    {"ending", "It ends by itself; if this lasts, look at its program."},
    {"outside", "Complete it by its token."},
    {"retry", "It is tried again by itself; the error says why it failed."},
    {"no_activity", "Start a worker that has registered this name."},
    {"no_tag", "Start a worker that takes this tag."},
    {"no_device", "Connect the device, or start the worker that declares it."},
    {"moving", "It goes on by itself, when running work of its session has ended."},
    {"held", "Start the worker again, or wait until its lease is over."},
    {"paced", "It goes on by itself; its session has a limit."},
    {"behind", "It goes on by itself, when other work of its session has ended."},
    {"no_room", "It goes on by itself; if this lasts, give the workers more slots or sessions."},
    {"idle", "Nothing is left to do."},
    {"session_ended", "Open it again, if it is needed."},
};
static_assert(sizeof kWords / sizeof kWords[0] == kCauseKindCount);

const Words& words_of(CauseKind kind) {
  static constexpr Words kNone = {"unknown", ""};
  const auto at = static_cast<std::size_t>(kind);
  return at < kCauseKindCount ? kWords[at] : kNone;
}

}  // namespace

const char* cause_kind_name(CauseKind kind) { return words_of(kind).name; }
const char* cause_help(CauseKind kind) { return words_of(kind).help; }

}  // namespace pawl
