#include "store/worker/evidence_rules.hpp"

namespace pawl {

namespace {

// An entry that no call asked about for this many renewal intervals was taken, renewed or deleted
// meanwhile.
constexpr std::int64_t kForgottenAfterIntervals = 4;

}  // namespace

void Evidence::observe_tick(std::int64_t now) {
  const bool overslept = last_tick_.has_value() && now - last_tick_.value() > options_.oversleep_ms;
  // A live owner may have slept together with this process: what was observed before proves
  // nothing.
  if (!last_tick_.has_value() || overslept) {
    running_since_ = now;
    seen_.clear();
  }
  last_tick_ = now;
  const std::int64_t forget = now - kForgottenAfterIntervals * options_.renewal_interval_ms;
  for (std::size_t i = seen_.size(); i-- > 0;)
    if (seen_[i].asked < forget) seen_.erase_at(i);
}

Gone Evidence::gone(const Claim& claim, Incarnation me, std::int64_t now, std::int64_t boot_seq) {
  if (claim.holder == me) return Gone::kNo;
  bool is_proved = claim.buried || (others_ == nullptr && claim.boot_seq < boot_seq);
  port::Held held = port::Held::kUntestable;
  if (!is_proved && (others_ == nullptr || claim.boot_seq == boot_seq)) held = test(claim);
  is_proved = is_proved || held == port::Held::kFree;
  if (others_ != nullptr) {
    const Gone gone = others_->judge(claim, is_proved, now);
    if (gone != Gone::kSuspicion) return gone;
  } else if (is_proved) {
    return Gone::kProof;
  }
  if (claim.locked_until > now || !running_since_.has_value()) return Gone::kNo;
  // Records the claim in either case, so that watching() is true and the caller keeps ticking.
  const std::int64_t since = expired_since(claim, now);
  const std::int64_t undisturbed =
      held == port::Held::kHeld ? now - since : now - running_since_.value();
  return undisturbed >= options_.renewal_interval_ms ? Gone::kSuspicion : Gone::kNo;
}

bool has_file_here(port::Storage& storage, const char* path, Incarnation worker) {
  char note = 0;
  return storage.worker_notes(path, worker, 0, &note, sizeof note) > 0;
}

// A lock that is not here is free, and proves nothing.
port::Held Evidence::test(const Claim& claim) const {
  const bool asks = options_.fast_handoff || claim.is_own_node;
  if (!asks || !claim.lock_visible) return port::Held::kUntestable;
  const port::Held held = storage_.worker_test(path_, claim.holder);
  if (others_ == nullptr || held != port::Held::kFree) return held;
  return has_file_here(storage_, path_, claim.holder) ? held : port::Held::kUntestable;
}

std::int64_t Evidence::expired_since(const Claim& claim, std::int64_t now) {
  for (Seen& seen : seen_) {
    if (seen.subject != claim.subject || seen.version != claim.version) continue;
    seen.asked = now;
    // The owner has renewed it since: this lease is a new one.
    if (seen.locked_until != claim.locked_until) {
      seen.locked_until = claim.locked_until;
      seen.since = now;
    }
    return seen.since;
  }
  // A claim that finds the table full waits. If it took the place of the oldest, and there were one
  // more claim than places, none would ever be watched for the whole interval.
  static_cast<void>(
      seen_.push_back(Seen{claim.subject, claim.version, claim.locked_until, now, now}));
  return now;
}

}  // namespace pawl
