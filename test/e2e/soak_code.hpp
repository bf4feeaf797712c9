// The orchestrations and activities of a soak: soak_plan.hpp says what must come of them.
#ifndef PAWL_TEST_SOAK_CODE_HPP
#define PAWL_TEST_SOAK_CODE_HPP

#include <string>

#include "pawl/pawl.hpp"
#include "soak_plan.hpp"

namespace soak {

// Where a process keeps what it ran; on pool threads too.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void on_run(const std::string& line) = 0;
  // What takes its time.
  virtual void pause() = 0;
  // Whether all messages of this instance have been acknowledged.
  virtual bool is_sent(const std::string& instance) = 0;
  [[nodiscard]] virtual std::string worker() const = 0;
};

constexpr const char* kDevices[] = {"pump", "valve"};
// Waiting of one instance, at most.
constexpr std::uint32_t kQueueMessages = 40;

// `witness` outlives the registry.
pawl::Status fill(pawl::Registry& registry, Witness& witness);

// The queue or event that a call of this verb is sent to.
[[nodiscard]] const char* queue_of(Kind kind, Verb verb);

// The custom status of an instance that has received so many raised events and waits for the next
// one.
[[nodiscard]] std::string status_of_wait(std::size_t received);
// Whether an instance with this custom status takes the raised event of this action, or has taken
// it before.
[[nodiscard]] bool is_waited_for(const Instance& instance, std::size_t action,
                                 std::string_view custom_status);

// What the plan needs, so that it comes to its end within an hour. Of the first worker more: what
// a worker may leave to others for ever it takes.
void raise_to_the_plan(pawl::Options& options, bool is_first);

// Whether the caller knows that nothing was written.
[[nodiscard]] Answer answer_of(Verb verb, pawl::Status status);

}  // namespace soak

#endif  // PAWL_TEST_SOAK_CODE_HPP
