// The path of a branch: a hash over its awaits, selects and reads since its last command (R9.4).
//
// Thread rule: plain values.
#ifndef PAWL_REPLAY_AWAIT_PATH_HPP
#define PAWL_REPLAY_AWAIT_PATH_HPP

#include <cstdint>
#include <string_view>

#include "core/hash.hpp"
#include "replay/run.hpp"

namespace pawl::internal {

// The hash is recorded, and these numbers with it: never reuse a number.
enum PathMark : std::uint64_t {
  kPathCommand = 1,
  kPathJoin = 2,
  kPathSelect = 3,
  kPathRead = 4,
  kPathCancelled = 5  // the cancel request's answer, after what was awaited
};

inline void add_to_path(BranchRun& branch, std::uint64_t number) {
  branch.path_hash = Hash64().add(branch.path_hash).add(number).value();
}

inline void add_read_to_path(BranchRun& branch, std::string_view key) {
  branch.path_hash = Hash64().add(branch.path_hash).add(std::uint64_t{kPathRead}).add(key).value();
}

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_AWAIT_PATH_HPP
