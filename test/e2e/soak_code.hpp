// The orchestrations and activities of a soak. soak_plan.hpp says what must come of them.
#ifndef PAWL_TEST_SOAK_CODE_HPP
#define PAWL_TEST_SOAK_CODE_HPP

#include <chrono>
#include <string>
#include <type_traits>

#include "pawl/pawl.hpp"
#include "soak_plan.hpp"

namespace soak {

// Records what a process has run. Called on pool threads too.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void on_run(const std::string& line) = 0;
  // Waits for a while, as slow work does.
  virtual void pause() = 0;
  // True if all messages of this instance have been acknowledged.
  virtual bool is_sent(const std::string& instance) = 0;
  [[nodiscard]] virtual std::string worker() const = 0;
};

constexpr const char* kDevices[] = {"pump", "valve"};
// The most messages of one instance that may wait.
constexpr std::uint32_t kQueueMessages = 40;

// `witness` must outlive the registry.
pawl::Status fill(pawl::Registry& registry, Witness& witness);

// Makes the call of a server, or makes it again. kOk, kTimeout: it is there; kCorrupt: its answer
// is another one than it must be; else as Client::call().
[[nodiscard]] pawl::Status ask(pawl::Client& client, const std::string& id,
                               const std::string& token, std::chrono::milliseconds timeout);

// Completes activities of an instance that wait for an answer from outside, with their input. Says
// what no client may hear; else empty.
[[nodiscard]] std::string answer_from_outside(pawl::Client& client, const std::string& id);

// The queue or event to which a call of this verb is sent.
[[nodiscard]] const char* queue_of(Kind kind, Verb verb);

// Makes the call: on a Client, or on a Runtime with where its answer goes. A call that waits for an
// answer waits `call_ms`; kCorrupt: it got a wrong one.
template <typename Target, typename... Rest>
pawl::Status make(Target& target, const Call& call, std::chrono::milliseconds call_ms,
                  Rest... rest) {
  const std::string& id = call.of->id;
  const Kind kind = call.of->kind;
  switch (call.verb) {
    case Verb::kStart:
      return target.start_orchestration(name_of(kind), pawl::InstanceId(id), "",
                                        pawl::StartOptions(), rest...);
    case Verb::kCancel: return target.cancel_instance(id, "by the plan", rest...);
    case Verb::kLimitTime:
      return target.change_time_limit(id, std::chrono::milliseconds(1), rest...);
    case Verb::kSuspend: return target.suspend_instance(id, rest...);
    case Verb::kResume: return target.resume_instance(id, rest...);
    case Verb::kSend:
    case Verb::kEnd: break;
  }
  const char* const queue = queue_of(kind, call.verb);
  pawl::SendOptions how;
  if (has_keys(kind)) how.key = call.token;
  if (kind == Kind::kThread) how.start_if_ended = pawl::StartIfEnded{name_of(kind), ""};
  if constexpr (std::is_same_v<Target, pawl::Client>)
    if (kind == Kind::kServer && call.verb == Verb::kSend)
      return ask(target, id, call.token, call_ms);
  return kind == Kind::kRaised ? target.raise_event(id, queue, call.token, how, rest...)
                               : target.enqueue_event(id, queue, call.token, how, rest...);
}

// The custom status of an instance that has received `received` raised events and waits for the
// next one.
[[nodiscard]] std::string status_of_wait(std::size_t received);
// True if an instance with this custom status takes the raised event of this action, or has taken
// it already.
[[nodiscard]] bool is_waited_for(const Instance& instance, std::size_t action,
                                 std::string_view custom_status);

// Raises the options to what the plan needs to end within an hour. More for the first worker: it
// takes the work that other workers may leave to others for ever.
void raise_to_the_plan(pawl::Options& options, bool is_first);

// The answer that `status` means: it says if the caller knows that nothing was written.
[[nodiscard]] Answer answer_of(Verb verb, pawl::Status status);

}  // namespace soak

#endif  // PAWL_TEST_SOAK_CODE_HPP
