#include "runtime/slots.hpp"

#include <cstring>
#include <new>

#include "core/check.hpp"
#include "core/clock_rules.hpp"
#include "pawl/activity_options.hpp"

namespace pawl {
namespace internal {

// Words are released one by one after the odd version, and acquired one by one before the version
// is read again: a reader that saw a new word sees the new version too.
bool Progress::report(std::string_view text, std::int64_t boot_ms) {
  const std::uint32_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_relaxed);
  const auto time = static_cast<std::uint64_t>(boot_ms);
  boot_ms_[0].store(static_cast<std::uint32_t>(time), std::memory_order_release);
  boot_ms_[1].store(static_cast<std::uint32_t>(time >> 32), std::memory_order_release);
  if (!text.empty()) {
    size_.store(static_cast<std::uint32_t>(text.size()), std::memory_order_release);
    for (std::size_t at = 0, i = 0; at < text.size(); at += sizeof(std::uint32_t), ++i) {
      std::uint32_t word = 0;
      const std::string_view part = text.substr(at, sizeof word);
      std::memcpy(&word, part.data(), part.size());
      words_[i].store(word, std::memory_order_release);
    }
  }
  version_.store(version + 2, std::memory_order_release);
  return has_update_.exchange(1, std::memory_order_acq_rel) == 0;
}

bool Progress::read(char* text, std::size_t* size, std::int64_t* boot_ms) const {
  const std::uint32_t version = version_.load(std::memory_order_acquire);
  const std::uint64_t low = boot_ms_[0].load(std::memory_order_acquire);
  const std::uint64_t high = boot_ms_[1].load(std::memory_order_acquire);
  *boot_ms = static_cast<std::int64_t>(high << 32 | low);
  *size = size_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t word = words_[i].load(std::memory_order_acquire);
    std::memcpy(text + i * sizeof word, &word, sizeof word);
  }
  return version % 2 == 0 && version_.load(std::memory_order_relaxed) == version;
}

void Progress::clear() {
  size_.store(0, std::memory_order_relaxed);
  has_update_.store(0, std::memory_order_relaxed);
  numbers_ = 0;
}

void Slot::answer(ErrorKind kind, std::string_view text) {
  const std::size_t room =
      kind == ErrorKind::kNone
          ? shared->payload_bytes_max
          : (kErrorTextBytesMax < shared->payload_bytes_max ? kErrorTextBytesMax
                                                            : shared->payload_bytes_max);
  const std::string_view kept =
      kind == ErrorKind::kNone ? text.substr(0, room) : cut_text(text, room);
  // Copied, because the text may be a view of the activity's input. A typed result is there
  // already.
  if (!kept.empty() && kept.data() != result.bytes)
    std::memcpy(result.bytes, kept.data(), kept.size());
  result.size = kept.size();
  result.error = kind;
  result.answered = true;
  hands_back = false;  // the last answer counts
  result.outside.reset();
}

void Slot::call(Slot& slot) {
  ActivityContext context(slot);
  const ActivityResult outcome = slot.entry->code(context);
  static_cast<void>(outcome);  // ok(), fail() and the others kept the answer already
}

void Slot::lose(CancelReason why) {
  refused = true;
  if (!loss.since_boot_ms.has_value()) loss.since_boot_ms = shared->clock->boot_ms();
  // The first reason stays.
  if (asked.reason.load(std::memory_order_relaxed) == CancelReason::kNone)
    asked.reason.store(why, std::memory_order_relaxed);
}

// The loop may be waiting for the server, and would say it later.
bool Slot::lease_is_over() const {
  return item.session_info.ends_with_lease &&
         session_lease_boot_ms.load() <= shared->clock->boot_ms();
}

bool Slot::become_ready() {
  const bool may_begin = !refused || !lease_is_over();
  state = may_begin ? State::kReady : State::kFinished;
  return may_begin;
}

// Code that asks only is_cancelled() returns anything then, because no result of a cancelled
// activity counts. At a stop it would count: an orchestration would go on with half a result, or
// fail, only because a worker was restarted. So such an answer is taken as a hand-back.
void Slot::take_as_hand_back() {
  using KnowsStop = Asked::KnowsStop;
  const KnowsStop known = asked.knows_stop.load(std::memory_order_relaxed);
  const bool gave_up = result.error == ErrorKind::kApplication && !result.permanent;
  if (known == KnowsStop::kByFlag || (known == KnowsStop::kByReason && gave_up))
    hands_back = !aborts_session;
  if (hands_back) result.outside.reset();
}

void Slot::run() {
  note->item.store(item.id);
  const std::int64_t begun = shared->clock->boot_ms();
  call(*this);
  took_ms = shared->clock->boot_ms() - begun;
  note->item.store(0);
  if (!result.answered)
    answer(ErrorKind::kApplication, "the activity returned a result of another context");
  take_as_hand_back();
}

// An attempt whose result is not wanted shows nothing: the next attempt may be under way.
void Slot::show_progress(std::string_view text) {
  ProgressRing* const ring = shared->progress.load(std::memory_order_acquire);
  if (ring == nullptr || asked.reason.load(std::memory_order_relaxed) != CancelReason::kNone)
    return;
  ProgressEntry report;
  report.instance = item.instance;
  report.execution = item.execution;
  report.event = item.event;
  report.attempt = item.attempt;
  report.number = progress.next_number();
  report.size = static_cast<std::uint32_t>(text.size());
  std::memcpy(report.text, text.data(), text.size());
  ring->put(report);
}

OptionalMs Slot::progress_due() const {
  if (refused || in_batch.writes_progress || !progress.has_update()) return {};
  // The next attempt begins with this progress, and a heartbeat from outside goes on from it. An
  // activity that ended for good leaves none.
  if (state == State::kFinished) return has_outcome() ? OptionalMs() : OptionalMs(0);
  OptionalMs due = add_saturating(written_boot_ms, shared->heartbeat_interval_ms);
  if (silent_boot_ms.has_value())
    due.keep_earlier(subtract_saturating(silent_boot_ms.value(), item.silence_ms / 4));
  return due;
}

bool Slot::step() {
  const internal::CooperativeCode& code = entry->cooperative;
  result.answered = false;
  result.size = 0;
  steps.had_last_step = refused;
  note->item.store(item.id);
  ActivityContext context(*this);
  const ActivityStep next = code.run(code, context, steps.scratch, &steps.has_state);
  if (next.ended_) drop_state();
  note->item.store(0);
  if (next.ended_ && !result.answered)
    answer(ErrorKind::kApplication, "the activity returned a result of another context");
  if (next.ended_) take_as_hand_back();
  steps.wait_fd = next.fd_;
  steps.due_boot_ms = shared->clock->boot_ms() + next.wait_ms_;
  return next.ended_;
}

void Slot::drop_state() {
  if (steps.has_state) entry->cooperative.destroy(steps.scratch);
  steps.has_state = false;
}

}  // namespace internal

namespace {

// A descriptor that when_readable() refuses; -1 is a step that waits for time alone.
constexpr int kBadDescriptor = -2;

std::int64_t bounded_wait(std::chrono::milliseconds wait) {
  const std::int64_t ms = wait.count();
  return ms < 0 ? 0 : ms < kDurationMax.count() ? ms : kDurationMax.count();
}

void run_slot(void* slot) { static_cast<internal::Slot*>(slot)->run(); }

}  // namespace

void Slots::start(const internal::SlotShared& shared) {
  shared_ = &shared;
  pool_.attach(pool_block_, pool_bytes_);
  for (std::size_t i = 0; i < count_; ++i) {
    Slot* const slot = ::new (static_cast<void*>(&slots_[i])) Slot();
    slot->shared = shared_;
    slot->result.bytes = inline_result_;
  }
  const Range threads = range_of(ActivityMode::kThreaded);
  for (std::size_t i = threads.begin; i < threads.end; ++i)
    slots_[i].mode = ActivityMode::kThreaded;
  const Range steps = range_of(ActivityMode::kCooperative);
  for (std::size_t i = steps.begin; i < steps.end; ++i) {
    slots_[i].mode = ActivityMode::kCooperative;
    slots_[i].steps.scratch = scratches_ + (i - steps.begin) * scratch_bytes_;
  }
}

void Slots::set_notes(NotesPage* notes) {
  notes_ = notes;
  for (std::size_t i = 0; i < count_; ++i)
    if (slots_[i].state != Slot::State::kRunning) slots_[i].note = note_of(slots_[i]);
}

NoteEntry* Slots::note_of(const Slot& slot) {
  return &notes_->entries[slot.mode == ActivityMode::kThreaded ? 1 + slot.thread : 0];
}

std::size_t Slots::rooms(ActivityMode mode) const {
  if (pool_.largest_free() < buffer_bytes_) return 0;
  const Range range = range_of(mode);
  std::size_t in_hand = 0;
  std::size_t leaving = 0;
  for_each_of(mode, [&](const Slot& slot) { ++(slot.in_batch.leaving ? leaving : in_hand); });
  const std::size_t places = range.end - range.begin;
  if (in_hand >= slots_of(mode) || in_hand + leaving >= places) return 0;
  return std::min(slots_of(mode) - in_hand, places - in_hand - leaving);
}

// Each activity in hand has its own thread; the thread of a leaving one is idle.
unsigned Slots::free_thread() const {
  const Range range = range_of(ActivityMode::kThreaded);
  for (unsigned thread = 0; thread < slots_of(ActivityMode::kThreaded); ++thread) {
    bool is_free = true;
    for (std::size_t i = range.begin; i < range.end && is_free; ++i)
      is_free = slots_[i].state == Slot::State::kFree || slots_[i].in_batch.leaving ||
                slots_[i].thread != thread;
    if (is_free) return thread;
  }
  PAWL_CHECK("runtime-8", false);
  return 0;
}

void Slots::renew_session_leases(std::int64_t until_boot_ms) {
  begin_session_leases(until_boot_ms);
  for_each([until_boot_ms](Slot& slot) {
    if (!slot.refused) slot.session_lease_boot_ms.store(until_boot_ms);
  });
}

Slots::Slot& Slots::take(const WorkItem& item, const Registry::ActivityEntry& entry,
                         std::string_view database_id) {
  const Range range = range_of(entry.mode);
  std::size_t index = range.begin;
  while (index < range.end && slots_[index].state != Slot::State::kFree)
    ++index;
  PAWL_CHECK("runtime-1", index < range.end);
  Slot& slot = slots_[index];
  std::string_view* const views[] = {&slot.item.instance_id,
                                     &slot.item.orchestration_name,
                                     &slot.item.orchestration_version,
                                     &slot.item.trace,
                                     &slot.item.activity_name,
                                     &slot.item.session_info.name,
                                     &slot.item.tag,
                                     &slot.item.input,
                                     &slot.item.last_progress,
                                     &slot.item.session_info.summary,
                                     &slot.item.session_info.folder};
  slot.item = item;
  slot.session_lease_boot_ms.store(session_lease_boot_ms_);
  std::size_t bytes = 1;
  for (const std::string_view* view : views)
    bytes += view->size();
  slot.texts = pool_.allocate(bytes);
  PAWL_CHECK("runtime-2", slot.texts != nullptr);
  char* at = static_cast<char*>(slot.texts);
  for (std::string_view* view : views) {
    if (!view->empty()) std::memcpy(at, view->data(), view->size());
    *view = std::string_view(at, view->size());
    at += view->size();
  }
  *at = '\0';  // after the last text
  slot.entry = &entry;
  const bool is_threaded = slot.mode == ActivityMode::kThreaded;
  if (is_threaded) slot.thread = free_thread();
  slot.note = note_of(slot);
  slot.state = Slot::State::kTaken;
  slot.refused = false;
  slot.in_batch.fetched = false;
  slot.in_batch.was_finished = false;
  slot.in_batch.stored = false;
  slot.in_batch.leaving = false;
  slot.result.answered = false;
  slot.took_ms = 0;
  slot.result.permanent = false;
  slot.commit_immediately = false;
  slot.lacks_folder = false;
  slot.deadline_boot_ms.clear();
  slot.loss = {};
  slot.progress.clear();
  slot.in_batch.writes_progress = false;
  slot.written_boot_ms = shared_->clock->boot_ms();
  slot.silent_boot_ms.clear();
  slot.aborts_session = false;
  slot.result.error = ErrorKind::kNone;
  slot.result.size = 0;
  slot.result.block = nullptr;
  slot.result.bytes =
      is_threaded ? thread_results_ + slot.thread * payload_bytes_max_ : inline_result_;
  slot.steps.is_readable = false;
  slot.steps.wait_fd = -1;
  slot.steps.had_last_step = false;
  slot.hands_back = false;
  slot.result.outside.reset();
  slot.asked.reason.store(CancelReason::kNone, std::memory_order_relaxed);
  slot.asked.knows_stop.store(Slot::Asked::KnowsStop::kNo, std::memory_order_relaxed);
  // 32 hex digits and three numbers always fit.
  slot.idempotency_key.clear();
  Text& key = slot.idempotency_key;
  const bool fits = key.append(database_id) == Status::kOk && key.append('/') == Status::kOk &&
                    key.append_number(item.instance) == Status::kOk &&
                    key.append('/') == Status::kOk &&
                    key.append_number(item.execution) == Status::kOk &&
                    key.append('/') == Status::kOk && key.append_number(item.event) == Status::kOk;
  PAWL_CHECK("runtime-3", fits);
  taken_[index] = ++sequence_;
  ++in_hand_;
  ++in_hand_of_[static_cast<int>(slot.mode)];
  return slot;
}

void Slots::release(Slot& slot) {
  PAWL_CHECK("runtime-4", slot.state != Slot::State::kFree && slot.state != Slot::State::kRunning);
  PAWL_CHECK("runtime-6", !slot.steps.has_state);
  if (slot.result.bytes == inline_result_ && slot.state == Slot::State::kFinished &&
      slot.result.size > 0)
    inline_result_held_ = false;
  pool_.release(slot.texts);
  pool_.release(slot.result.block);
  slot.texts = nullptr;
  slot.result.block = nullptr;
  slot.state = Slot::State::kFree;
  slot.note = note_of(slot);
  --in_hand_;
  --in_hand_of_[static_cast<int>(slot.mode)];
}

Slots::Slot* Slots::next_inline() {
  if (inline_result_held_) return nullptr;
  Slot* oldest = nullptr;
  for_each_of(ActivityMode::kInline, [&](Slot& slot) {
    if (slot.state != Slot::State::kReady) return;
    if (oldest == nullptr || taken_[&slot - slots_] < taken_[oldest - slots_]) oldest = &slot;
  });
  return oldest;
}

void Slots::run_inline(Slot& slot) {
  slot.state = Slot::State::kRunning;
  slot.run();
  keep_result(slot);
}

// Inline and cooperative activities share one place for a result while they run. A finished result
// moves to the pool.
void Slots::keep_result(Slot& slot) {
  slot.state = Slot::State::kFinished;
  if (slot.result.size == 0) return;
  slot.result.block = pool_.allocate(slot.result.size);
  if (slot.result.block == nullptr) {
    inline_result_held_ = true;  // no further inline run or step until it is committed
    return;
  }
  std::memcpy(slot.result.block, slot.result.bytes, slot.result.size);
  slot.result.bytes = static_cast<char*>(slot.result.block);
}

std::size_t Slots::start_threaded(port::Threads& threads) {
  std::size_t started = 0;
  for_each_of(ActivityMode::kThreaded, [&](Slot& slot) {
    if (slot.state != Slot::State::kReady) return;
    slot.state = Slot::State::kRunning;
    threads.executor_submit(slot.thread, run_slot, &slot);
    ++started;
  });
  return started;
}

void Slots::find_readable(port::Threads& threads) {
  const Range range = range_of(ActivityMode::kCooperative);
  for (std::size_t i = range.begin; i < range.end; ++i) {
    Slot& slot = slots_[i];
    if (slot.steps.wait_fd >= 0 && threads.descriptor_ready(slot.steps.wait_fd))
      slot.steps.is_readable = true;
  }
  // A descriptor stays readable until the step has run. It must not keep the loop from sleeping.
  for (std::size_t i = range.begin; i < range.end; ++i)
    if (slots_[i].steps.is_readable) forget_descriptor(slots_[i], threads);
}

void Slots::forget_descriptor(Slot& slot, port::Threads& threads) {
  if (slot.steps.wait_fd < 0) return;
  const int fd = slot.steps.wait_fd;
  slot.steps.wait_fd = -1;
  const Range range = range_of(ActivityMode::kCooperative);
  for (std::size_t i = range.begin; i < range.end; ++i)
    if (slots_[i].steps.wait_fd == fd) return;  // another activity waits for it too
  threads.remove_descriptor(fd);
}

void Slots::step(Slot& slot, port::Threads& threads) {
  forget_descriptor(slot, threads);
  slot.state = Slot::State::kRunning;
  if (slot.step()) {
    keep_result(slot);
    return;
  }
  slot.state = Slot::State::kWaiting;
  slot.steps.is_readable = false;
  if (slot.steps.wait_fd == -1) return;
  const Status added = slot.steps.wait_fd == kBadDescriptor
                           ? Status::kInvalidArgument
                           : threads.add_descriptor(slot.steps.wait_fd);
  if (added == Status::kOk) return;
  FixedText<160> text;
  const bool fits = text.append("the descriptor cannot be waited for: ") == Status::kOk &&
                    text.append(status_name(added)) == Status::kOk;
  PAWL_CHECK("runtime-7", fits);
  slot.steps.wait_fd = -1;
  slot.drop_state();
  slot.answer(ErrorKind::kInvalidArgument, text.view());
  keep_result(slot);
}

void Slots::end_by_force(Slot& slot, port::Threads& threads) {
  forget_descriptor(slot, threads);
  slot.note->item.store(slot.item.id);
  slot.drop_state();
  slot.note->item.store(0);
  slot.result.size = 0;
  slot.state = Slot::State::kFinished;
}

void Slots::collect(port::Threads& threads) {
  for_each_of(ActivityMode::kThreaded, [&](Slot& slot) {
    if (slot.state == Slot::State::kRunning && threads.executor_idle(slot.thread))
      slot.state = Slot::State::kFinished;
  });
}

Slots::Slot* Slots::find(WorkItemId id) {
  Slot* found = nullptr;
  for_each([&](Slot& slot) {
    if (!slot.in_batch.leaving && slot.item.id == id) found = &slot;
  });
  return found;
}

bool Slots::holds_session(InstanceKey scope, std::string_view name) const {
  bool holds = false;
  for_each([&](const Slot& slot) {
    holds = holds || (!slot.in_batch.leaving && slot.item.session_info.scope == scope &&
                      slot.item.session_info.name == name);
  });
  return holds;
}

std::size_t Slots::finished() const {
  std::size_t count = 0;
  for_each([&](const Slot& slot) { count += slot.state == Slot::State::kFinished; });
  return count;
}

bool Slots::full_of_results() const {
  return inline_result_held_ || is_full_of_results(ActivityMode::kInline) ||
         is_full_of_results(ActivityMode::kThreaded) ||
         is_full_of_results(ActivityMode::kCooperative);
}

bool Slots::is_full_of_results(ActivityMode mode) const {
  bool any = false;
  bool all = true;
  for_each_of(mode, [&](const Slot& slot) {
    all = all && slot.state == Slot::State::kFinished;
    any = true;
  });
  return any && all && !room(mode);
}

std::size_t Slots::running_threads() const {
  std::size_t count = 0;
  for_each_of(ActivityMode::kThreaded,
              [&](const Slot& slot) { count += slot.state == Slot::State::kRunning; });
  return count;
}

void Slots::crashed_in_hand(std::size_t* count, std::int32_t* highest) const {
  *count = 0;
  *highest = 0;
  for_each([&](const Slot& slot) {
    if (slot.state == Slot::State::kFinished || slot.item.crashes == 0) return;
    ++*count;
    if (slot.item.crashes > *highest) *highest = slot.item.crashes;
  });
}

std::string_view ActivityContext::input() const { return slot_.item.input; }
std::string_view ActivityContext::activity_name() const { return slot_.item.activity_name; }
std::string_view ActivityContext::instance_id() const { return slot_.item.instance_id; }
std::int64_t ActivityContext::execution_id() const { return slot_.item.execution; }
std::string_view ActivityContext::orchestration_name() const {
  return slot_.item.orchestration_name;
}
std::string_view ActivityContext::orchestration_version() const {
  return slot_.item.orchestration_version;
}
std::int64_t ActivityContext::activity_id() const { return slot_.item.event; }
std::string_view ActivityContext::session_id() const { return slot_.item.session_info.name; }
std::string_view ActivityContext::tag() const { return slot_.item.tag; }
std::int64_t ActivityContext::session_epoch() const { return slot_.item.epoch; }
bool ActivityContext::claimed_now() const { return slot_.item.claimed_now; }
std::int64_t ActivityContext::attempt() const { return slot_.item.attempt; }
std::int64_t ActivityContext::retry_attempt() const { return slot_.item.retry_attempt; }
std::string_view ActivityContext::trace_id() const { return slot_.item.trace; }
std::string_view ActivityContext::idempotency_key() const { return slot_.idempotency_key.view(); }
std::string_view ActivityContext::worker_id() const { return slot_.shared->worker_id; }
void* ActivityContext::user() const { return slot_.entry->user; }

std::string_view ActivityContext::session_folder() const { return slot_.item.session_info.folder; }
std::string_view ActivityContext::session_summary() const {
  return slot_.item.session_info.summary;
}
std::int64_t ActivityContext::session_lease_left_ms() const {
  if (slot_.item.session == 0) return 0;
  const std::int64_t left = slot_.session_lease_boot_ms.load() - slot_.shared->clock->boot_ms();
  return left > 0 ? left : 0;
}

OptionalMs ActivityContext::time_left_ms() const {
  OptionalMs end = slot_.deadline_boot_ms;
  const internal::StopNotice& stop = slot_.shared->stop;
  if (stop.is_announced()) end.keep_earlier(stop.end_boot_ms());
  if (!end.has_value()) return {};
  const std::int64_t left = subtract_saturating(end.value(), slot_.shared->clock->boot_ms());
  return left > 0 ? left : 0;
}

bool ActivityContext::is_cancelled() const {
  if (slot_.asked.reason.load(std::memory_order_relaxed) != CancelReason::kNone) return true;
  if (slot_.lease_is_over()) return true;
  if (!slot_.shared->stop.is_announced()) return false;
  using Knows = internal::Slot::Asked::KnowsStop;
  Knows none = Knows::kNo;
  slot_.asked.knows_stop.compare_exchange_strong(none, Knows::kByFlag, std::memory_order_relaxed);
  return true;
}

CancelReason ActivityContext::cancel_reason() const {
  CancelReason why = slot_.asked.reason.load(std::memory_order_relaxed);
  if (why == CancelReason::kNone && slot_.lease_is_over()) why = CancelReason::kLost;
  if (why != CancelReason::kNone || !slot_.shared->stop.is_announced()) return why;
  slot_.asked.knows_stop.store(internal::Slot::Asked::KnowsStop::kByReason,
                               std::memory_order_relaxed);
  return CancelReason::kShutdown;
}

std::string_view ActivityContext::last_progress() const { return slot_.item.last_progress; }

Status ActivityContext::heartbeat(std::string_view progress) {
  if (progress.size() > kProgressBytesMax) return Status::kResourceExhausted;
  const bool is_new = slot_.progress.report(progress, slot_.shared->clock->boot_ms());
  if (!progress.empty()) slot_.show_progress(progress);
  // The loop may sleep, and must wake to plan when to write this. An activity on the loop's own
  // thread needs no wake-up.
  if (is_new && slot_.mode == ActivityMode::kThreaded) slot_.shared->threads->wake();
  return Status::kOk;
}

void ActivityContext::commit_now() { slot_.commit_immediately = true; }
void ActivityContext::abort_session() { slot_.aborts_session = true; }

void ActivityContext::trace(LogLevel level, std::string_view text) {
  if (slot_.shared->log == nullptr) return;
  const LogField fields[] = {
      {"instance", slot_.item.instance_id}, {"execution", slot_.item.execution},
      {"event", slot_.item.event},          {"activity", slot_.item.activity_name},
      {"attempt", slot_.item.attempt},      {"session", slot_.item.session_info.name},
      {"worker", slot_.shared->worker_id},  {"text", text},
      {"trace", slot_.item.trace},
  };
  const std::size_t count = sizeof fields / sizeof fields[0] - (slot_.item.trace.empty() ? 1 : 0);
  slot_.shared->log->write(level, "activity_trace", fields, count);
}

internal::TypedBytes ActivityContext::typed_bytes() {
  return {slot_.result.bytes, slot_.shared->payload_bytes_max};
}

// NOLINTNEXTLINE(readability-const-return-type): pawl/typed_code.hpp
const ActivityResult ActivityContext::ok(std::string_view result) {
  if (result.size() > slot_.shared->payload_bytes_max) {
    FixedText<160> text;
    const bool fits = text.append("the result has ") == Status::kOk &&
                      text.append_number(result.size()) == Status::kOk &&
                      text.append(" bytes; payload_bytes_max is ") == Status::kOk &&
                      text.append_number(slot_.shared->payload_bytes_max) == Status::kOk;
    PAWL_CHECK("runtime-5", fits);
    slot_.answer(ErrorKind::kLimit, text.view());
    return ActivityResult(ActivityResult::State::kFailed);
  }
  slot_.answer(ErrorKind::kNone, result);
  return ActivityResult(ActivityResult::State::kOk);
}

ActivityResult ActivityContext::fail(std::string_view text) {
  slot_.answer(ErrorKind::kApplication, text);
  slot_.result.permanent = false;
  return ActivityResult(ActivityResult::State::kFailed);
}

// The text of an exception may have any length; an error text is cut.
ActivityResult internal::fail_with_exception(ActivityContext& context, const char* what) {
  FixedText<kErrorTextBytesMax> text;
  bool fits = text.append("an exception left the activity: ") == Status::kOk;
  if (what == nullptr) what = "not a std::exception";
  // strnlen() is no function of standard C.
  const void* const end = std::memchr(what, 0, kErrorTextBytesMax);
  const std::size_t size = end == nullptr ? kErrorTextBytesMax : std::strlen(what);
  const std::string_view all(what, size);
  fits = fits && text.append(cut_text(all, kErrorTextBytesMax - text.size())) == Status::kOk;
  PAWL_CHECK("runtime-96", fits);
  return context.fail(text.view());
}

ActivityResult ActivityContext::fail_permanently(std::string_view text) {
  slot_.answer(ErrorKind::kApplication, text);
  slot_.result.permanent = true;
  return ActivityResult(ActivityResult::State::kFailed);
}

ActivityResult ActivityContext::hand_back() {
  slot_.answer(ErrorKind::kApplication, {});
  slot_.result.permanent = false;
  slot_.hands_back = true;
  return ActivityResult(ActivityResult::State::kFailed);
}

CompletionToken ActivityContext::completion_token() const {
  if (slot_.entry->outside == nullptr) return {};
  return store::OutsideWork::token_of(slot_.item.id, slot_.result.secret);
}

ActivityResult ActivityContext::complete_later(WhileOutside session) {
  if (slot_.entry->outside == nullptr) {
    slot_.answer(ErrorKind::kInvalidArgument,
                 "the activity is not one of Registry::allow_complete_later()");
    return ActivityResult(ActivityResult::State::kFailed);
  }
  slot_.answer(ErrorKind::kNone, {});
  slot_.result.outside = session;
  return ActivityResult(ActivityResult::State::kOk);
}

ActivityStep ActivityContext::again_after(std::chrono::milliseconds wait) {
  return {-1, bounded_wait(wait)};
}

ActivityStep ActivityContext::when_readable(int fd, std::chrono::milliseconds limit) {
  return {fd < 0 ? kBadDescriptor : fd, bounded_wait(limit)};
}

bool ActivityContext::is_readable() const { return slot_.steps.is_readable; }

}  // namespace pawl
