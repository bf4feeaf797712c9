#include "runtime/others.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kLookDelaysMs[] = {10, 100, 1'000, 5'000};
constexpr int kLookSteps = sizeof kLookDelaysMs / sizeof kLookDelaysMs[0];

}  // namespace

void Others::look() {
  const Result<std::int64_t> version = loop_.transaction().data_version();
  if (version.ok() && version.value() == data_version_) return;
  if (version.ok()) data_version_ = version.value();
  loop_.look_for_all();
  if (slots_.in_hand() > 0) loop_.agenda.do_now(Job::kCheckHeld);
  look_soon();
}

void Others::look_soon() {
  look_step_ = 0;
  plan_next_look();
}

void Others::plan_next_look() {
  if (look_step_ == kLookSteps) return loop_.agenda.clear(Job::kLook);
  loop_.agenda.plan(Job::kLook, loop_.boot_ms() + kLookDelaysMs[look_step_++]);
}

}  // namespace pawl
