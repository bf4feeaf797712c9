// Databases in which every table has rows, made by runtimes in a simulated machine, and the code of
// the instances in them.
//
// Purpose: the sweep damages them (sweep_case.hpp). Ownership: the machine is the caller's. Thread
// rule: one thread; the code of instances and activities reads globals of image.cpp.
#ifndef PAWL_TEST_HOSTILE_IMAGE_HPP
#define PAWL_TEST_HOSTILE_IMAGE_HPP

#include <string>
#include <vector>

#include "pawl/pawl.hpp"
#include "pawl/port_sim.hpp"
#include "pawl/testing.hpp"

namespace pawl::hostile {

inline constexpr char kPath[] = "/data/pawl.db";
inline constexpr char kDevice[] = "valve";

// How the workers of the image ended.
enum class Ending : std::uint8_t {
  kStopped,   // in order
  kKilled,    // in the middle of their work
  kRebooted,  // killed with the machine, whose wall clock says 1970 afterwards
};
[[nodiscard]] const char* ending_name(Ending ending);

// Options of a worker of the image, and of the worker that meets the damage.
Options options_of(const char* node);

// Makes the database. Without damage, a worker with known_code() lets nearly all of it end.
void make_image(Ending ending, Process& process, sim::Machine& machine);

// The tokens of activities that are completed from outside: one was.
std::vector<std::string> outside_tokens();

// From this call on, held activities return, and failing ones succeed.
void let_work_end();

// The code that the image asks for, except names that no worker knows; and the healthy neighbours,
// "n-...".
const Registry& known_code();

// Orchestrations of the healthy neighbours.
inline constexpr char kTaking[] = "n-queue";      // waits for a message of "q"
inline constexpr char kPiggybacked[] = "n-ride";  // is to be started on the Runtime's own thread
inline constexpr const char* kNeighbours[] = {"n-activity",  "n-timer",  "n-retry",   "n-session",
                                              "n-opened",    kTaking,    "n-child",   "n-tag",
                                              "n-exclusive", "n-values", kPiggybacked};

}  // namespace pawl::hostile

#endif  // PAWL_TEST_HOSTILE_IMAGE_HPP
