#include "runtime/session_watch.hpp"

#include <algorithm>
#include <utility>

namespace pawl {

Status SessionWatch::begin() {
  Epoch epoch = 0;
  PAWL_TRY(loop_.session().rows.last_epoch(&epoch));
  others_claimed_ = epoch != epoch_seen_;
  return Status::kOk;
}

// Counts only after a change of an owner, and with each renewal. Work that comes and goes between
// is not counted, because that would cost a query every tick.
Status SessionWatch::write() {
  Epoch last = 0;
  PAWL_TRY(loop_.session().rows.last_epoch(&last));
  if (last != epoch_seen_ || loop_.agenda.is_due(Job::kRenew, loop_.boot_ms())) PAWL_TRY(count());
  return look();
}

Status SessionWatch::count() {
  return loop_.session().rows.count_sessions(loop_.me, &active_, &idle_);
}

void SessionWatch::committed() {
  epoch_seen_ = epoch_of_batch_;
  loop_.stats.sessions_active = active_;
  loop_.stats.sessions_idle = idle_;
}

Status SessionWatch::claim_at_start() {
  for (std::size_t i = 0; i < loop_.options.sessions.claim_at_start_count; ++i)
    PAWL_TRY(loop_.session().moves.claim_session(loop_.me, loop_.options.sessions.claim_at_start[i],
                                                 loop_.terms));
  return Status::kOk;
}

void SessionWatch::announce_stop() {
  if (loop_.options.sessions.listener != nullptr) {
    for (std::size_t i = 0; i < known_count_; ++i)
      loop_.options.sessions.listener->on_session_ending(name_of(memory_.known[i]).view(),
                                                         memory_.known[i].epoch);
  }
  Status status =
      loop_.me == 0 ? Status::kBuried : loop_.transaction().begin(loop_.me, &loop_.batch);
  if (status != Status::kOk) return;
  std::size_t notified = 0;
  status = loop_.session().owners.announce_stop(loop_.me, &notified);
  if (status == Status::kOk && notified > 0) status = loop_.transaction().commit();
  if (status != Status::kOk || notified == 0) loop_.transaction().rollback();
  if (status != Status::kOk) loop_.log_status(LogLevel::kWarning, "announce_stop_failed", status);
}

Status SessionWatch::look() {
  if (loop_.options.sessions.listener == nullptr) return Status::kOk;
  Epoch last = 0;
  PAWL_TRY(loop_.session().rows.last_epoch(&last));
  is_changed_ = last != known_epoch_ || known_of_ != loop_.me;
  if (!is_changed_) return Status::kOk;
  next_epoch_ = last;
  return loop_.session().rows.owned_sessions(loop_.me, memory_.next, memory_.capacity,
                                             &next_count_);
}

FixedText<kNameBytesMax> SessionWatch::name_of(const OwnedSession& one) const {
  SessionLabels labels;
  const Status status = loop_.session().rows.read_labels(one.session, &labels);
  if (status != Status::kOk || labels.name.empty())
    labels.name.assign_cut(notices_.session_of(one.session));
  return labels.name;
}

// Compares the two lists. Both are in the order of their epochs, and no two sessions share an
// epoch.
void SessionWatch::notify() {
  if (!is_changed_) return;
  is_changed_ = false;
  SessionListener& listener = *loop_.options.sessions.listener;
  OwnedSession* const known = memory_.known;
  OwnedSession* const now = memory_.next;
  const std::size_t count = next_count_;
  const auto is_earlier = [](const OwnedSession& a, const OwnedSession& b) {
    return a.epoch < b.epoch;
  };
  // Smaller than std::sort() by a KiB, and as good here: the list is short, and seldom changes.
  std::make_heap(now, now + count, is_earlier);
  std::sort_heap(now, now + count, is_earlier);
  const auto for_each_other = [this](const OwnedSession* of, std::size_t of_count,
                                     const OwnedSession* than, std::size_t than_count, auto call) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < of_count; ++i) {
      while (at < than_count && than[at].epoch < of[i].epoch)
        ++at;
      if (at == than_count || than[at].epoch != of[i].epoch) call(name_of(of[i]), of[i].epoch);
    }
  };
  for_each_other(known, known_count_, now, count, [&](const auto& name, Epoch epoch) {
    listener.on_session_lost(name.view(), epoch);
  });
  for_each_other(now, count, known, known_count_, [&](const auto& name, Epoch epoch) {
    listener.on_session_claimed(name.view(), epoch);
  });
  std::swap(memory_.known, memory_.next);
  known_count_ = count;
  known_of_ = loop_.me;
  known_epoch_ = next_epoch_;
}

void SessionWatch::lose_all() {
  active_ = idle_ = 0;
  loop_.stats.sessions_active = loop_.stats.sessions_idle = 0;
  if (loop_.options.sessions.listener == nullptr) return;
  next_count_ = 0;
  next_epoch_ = 0;
  is_changed_ = true;
  notify();
}

}  // namespace pawl
