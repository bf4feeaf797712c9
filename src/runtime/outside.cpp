#include "runtime/outside.hpp"

#include "pawl/registry.hpp"

namespace pawl {
namespace {

constexpr internal::OutsideSteps kSteps = {&store::OutsideWork::draw, &store::OutsideWork::leave};

}  // namespace

Status Registry::allow_complete_later(std::string_view activity_name) {
  for (std::size_t i = 0; i < activity_count_; ++i) {
    if (activities_[i].name != activity_name) continue;
    activities_[i].outside = &kSteps;
    return Status::kOk;
  }
  return Status::kNotFound;
}

}  // namespace pawl
