// Orchestrations: the deterministic code that runs the configured definitions.
//
// Purpose: one function for all definitions. The first step of each execution records the
// definition's text by an activity (pawld.definition); that text, the input and recorded results
// decide everything after it. So the configuration may change under an instance: the instance goes
// on with the text that it began with, and takes the new one when it continues as new.
// Ownership: the Orchestrations outlive the Runtime, and their Config outlives them. Thread rule:
// the Runtime's thread. Units: ms.
#ifndef PAWL_APPS_PAWLD_ORCHESTRATIONS_HPP
#define PAWL_APPS_PAWLD_ORCHESTRATIONS_HPP

#include <vector>

#include "apps/pawld/config.hpp"
#include "pawl/pawl.hpp"

namespace pawld {

// Gets the definitions of replayed instances; for --replay-check.
class DefinitionListener {
 public:
  virtual void on_definition(const Definition& definition) noexcept = 0;

 protected:
  ~DefinitionListener() = default;
};

class Orchestrations {
 public:
  // `listener` may be null.
  Orchestrations(const Config& config, DefinitionListener* listener)
      : config_(config), listener_(listener) {}

  // Requires: one call at most; the registry keeps a pointer to the limits.
  [[nodiscard]] pawl::Status add_to(pawl::Registry& registry);

 private:
  static pawl::Poll run(pawl::OrchestrationContext& ctx);
  static pawl::ActivityResult give_definition(pawl::ActivityContext& ctx);

  const Config& config_;
  DefinitionListener* listener_;
  std::vector<pawl::Registry::TimeLimit> limits_;
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_ORCHESTRATIONS_HPP
