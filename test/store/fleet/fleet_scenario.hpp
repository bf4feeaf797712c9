// A scenario of a fleet in trouble, and the counts of its worlds (fleet_world.hpp).
// Units: ms of true time.
#ifndef PAWL_TEST_FLEET_SCENARIO_HPP
#define PAWL_TEST_FLEET_SCENARIO_HPP

#include <vector>

#include "removable_rules.hpp"

namespace pawl::fleet_test {

// How often each trouble comes, in parts of all.
struct Trouble {
  int cut = 0;
  int freeze = 0;
  int crash = 0;  // the process; its machine stays up
  int reboot = 0;
  int failover = 0;
  int step = 0;  // of the server's wall clock
  int clone = 0;
  int dark = 0;      // no machine has power
  int long_cut = 0;  // no node reaches the server, and perhaps one reboots
  int alone = 0;     // one works on behind a cut, the others reboot, and the server's clock steps
  int upgrade = 0;   // for a while the schema is one that no node knows
};

struct Scenario {
  Trouble trouble;
  Ms length_ms = 2'400'000;
  Ms trouble_every_ms = 60'000;
  Ms cut_min_ms = 1'000;
  Ms cut_max_ms = 100'000;
  std::vector<Ms> lost_ms = {0, 300, 2'000};  // by a failover; one of these for each world
  Ms tick_ms = 1'200;                         // at most, between two looks of a loop
  Ms trip_max_ms = 150;
  int slow_answers_percent = 0;            // of those, some take seconds
  int doubts_permille = 20;                // batches whose answer is lost
  int halves_permille = 1;                 // batches of which half arrives
  bool is_quiet = false;                   // nodes do little but renew
  bool cuts_at_failover = false;           // one node for longer
  int failovers_after_claims_percent = 0;  // with which the new owner is cut off
  bool has_long_work = false;
  bool has_opposed_clocks = false;       // each is as far off as the bound allows
  bool has_client = false;               // the last of the nodes is one, and answers no request
  bool has_siblings = false;             // the last two nodes are on one machine
  Ms boot_clock_max_ms = 1'000'000'000;  // at most so much when a machine starts
};

// Promises that were broken, and how often.
struct Violations {
  int overlap = 0;     // exclusive work ran in two places at one true time
  int twice = 0;       // two results of one item were accepted
  int wrong_word = 0;  // a caller was answered the contrary of what happened to its batch
  int lost = 0;        // an acknowledged batch is not there, and its node goes on unaware
  int early = 0;       // a timer fired too early by true time
  int fast = 0;        // store time counted more than what passed, and kApartMs
  int apart = 0;       // two nodes that may write count more than kApartMs apart
  int back = 0;        // store time went back
  int reused = 0;      // an epoch or token was given out twice
  int stuck = 0;       // a node waited for the lock for 10 s and more
  int foreign = 0;     // a node took another server for the store, or a schema it does not know
  int disorder = 0;    // a batch met another one of its worker in doubt

  [[nodiscard]] int all() const {
    return overlap + twice + wrong_word + lost + early + fast + apart + back + reused + stuck +
           foreign + disorder;
  }
  void add(const Violations& other);
};
// That there was something to violate.
struct Activity {
  int batches = 0;
  int moves = 0;  // of sessions
  int failovers = 0;
  int doubts = 0;
  int segments = 0;
  int credits = 0;
  int timers = 0;
  int results = 0;
  int losses_reported = 0;
  int holders_ended = 0;
  int refused_servers = 0;
  int refused_batches = 0;  // late ones
  int siblings_taken = 0;   // anchors of other nodes of the same boot

  void add(const Activity& other);
};

}  // namespace pawl::fleet_test

#endif  // PAWL_TEST_FLEET_SCENARIO_HPP
