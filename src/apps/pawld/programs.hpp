// Programs: configured programs, each run as a cooperative activity.
//
// Purpose: input on standard input, the result on standard output, standard error to the log, the
// exit code as the outcome. All of it in steps on the Runtime's loop: no thread waits for a child.
// The number at the same time is bounded by the cooperative slots, and each start takes a buffer
// for its result.
// Ownership: outlives the Runtime; its Config and PluggedDevices outlive it. Thread rule: the
// Runtime's thread. Units: ms.
#ifndef PAWL_APPS_PAWLD_PROGRAMS_HPP
#define PAWL_APPS_PAWLD_PROGRAMS_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "apps/pawld/child.hpp"
#include "apps/pawld/config.hpp"
#include "apps/pawld/plugged_devices.hpp"
#include "pawl/pawl.hpp"

namespace pawld {

class Programs {
 public:
  Programs(const Config& config, PluggedDevices& devices);

  // Registers one activity for each program of the configuration.
  [[nodiscard]] pawl::Status add_to(pawl::Registry& registry);
  // Bytes of scratch for a slot: SlotOptions::cooperative_scratch_bytes.
  [[nodiscard]] static std::size_t scratch_bytes();
  // Takes the exit status of killed programs that ended late.
  void reap() { leftovers_.reap(); }

 private:
  friend class ProgramRun;
  struct Entry {
    Programs* programs;
    const ProgramActivity* activity;
  };
  [[nodiscard]] char* take_buffer();
  void give_back(const char* buffer);

  PluggedDevices& devices_;
  std::vector<std::string> inherited_;  // parts of the environment
  std::vector<Entry> entries_;
  std::size_t buffer_bytes_ = 0;
  std::vector<char> memory_;
  std::vector<bool> taken_;
  Leftovers leftovers_;
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_PROGRAMS_HPP
