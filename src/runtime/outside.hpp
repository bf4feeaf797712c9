// OutsideSteps: the steps of a loop that only activities completed from outside need.
//
// Purpose: Registry::allow_complete_later() alone names them, so a program that does not call it
// links none of them. Ownership: a constant. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_OUTSIDE_HPP
#define PAWL_RUNTIME_OUTSIDE_HPP

#include "pawl/registry.hpp"
#include "store/work/outside.hpp"

namespace pawl::internal {

struct OutsideSteps {
  void (*draw)(port::Clock& clock, WorkItemId item, store::OutsideWork::Secret* secret,
               Sha256* hash);
  Status (store::OutsideWork::*leave)(const WorkDone& done, WhileOutside session);
};

}  // namespace pawl::internal

#endif  // PAWL_RUNTIME_OUTSIDE_HPP
