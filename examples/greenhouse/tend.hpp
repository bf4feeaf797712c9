// The orchestrations. They run in the process `greenhouse`; their activities run where the hardware
// is.
#ifndef GREENHOUSE_TEND_HPP
#define GREENHOUSE_TEND_HPP

#include "garden.hpp"

namespace greenhouse {

// Version 1 of kTend gives a dry bed a splash, version 2 as much as it lacks. A bed stays with the
// version that it began with.
pawl::PollOf<Tending, Tending> tend_1(pawl::OrchestrationContext& ctx, const Tending& input);
pawl::PollOf<Tending, Tending> tend_2(pawl::OrchestrationContext& ctx, const Tending& input);

// One watering. The pump is off when it ends, however it ends.
pawl::PollOf<Watering, Watering> water(pawl::OrchestrationContext& ctx, const Watering& wanted);

// Measures several beds side by side. It fails if not all answer within 20 s.
pawl::PollOf<Survey, Readings> survey(pawl::OrchestrationContext& ctx, const Survey& wanted);

}  // namespace greenhouse

#endif  // GREENHOUSE_TEND_HPP
