#include "runtime/others.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kLookDelaysMs[] = {10, 100, 1'000, 5'000};
constexpr int kLookSteps = sizeof kLookDelaysMs / sizeof kLookDelaysMs[0];

}  // namespace

void Others::look() {
  const Result<std::int64_t> version = loop_.transaction().data_version();
  if (loop_.transaction().owes_commit()) loop_.agenda.plan(Job::kRenew, loop_.boot_ms());
  if (version.ok() && version.value() == data_version_) return;
  if (version.ok()) data_version_ = version.value();
  loop_.look_for_all();
  if (loop_.evidence.other_machines() != nullptr)
    loop_.agenda.plan_earlier(Job::kMachines, loop_.boot_ms() + kMachinesMs);
  if (slots_.in_hand() > 0) loop_.agenda.do_now(Job::kCheckHeld);
  look_soon();
}

// A machine without work has nothing that could wait for another one, and sends renewals only.
void Others::look_at_machines(std::int64_t now_boot_ms) {
  OtherMachines* const others = loop_.evidence.other_machines();
  if (others == nullptr || !loop_.agenda.is_due(Job::kMachines, now_boot_ms)) return;
  const OtherMachines::Look seen = others->look(loop_.me, loop_.place().pawl_now());
  if (seen.has_gone) loop_.agenda.do_now(Job::kBury);
  OptionalMs again;
  if ((seen.has_others && seen.has_work) || others->is_watching())
    again = now_boot_ms + kMachinesMs;
  loop_.agenda.plan(Job::kMachines, again);
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
