// The orchestrations and activities of a soak. soak_plan.hpp says what must come of them.
#ifndef PAWL_TEST_SOAK_CODE_HPP
#define PAWL_TEST_SOAK_CODE_HPP

#include <string>

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

// The queue or event to which a call of this verb is sent.
[[nodiscard]] const char* queue_of(Kind kind, Verb verb);

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
