#include "runtime/client_management.hpp"

#include <cstring>

#include "core/version.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/session.hpp"
#include "runtime/options_check.hpp"
#include "store/session/folder.hpp"

namespace pawl {
namespace {

constexpr std::size_t kKeysMax =
    64;  // instances in one call of cancel_, delete_ or prune_instances()

// Copies a text to `at` and makes it a view of the copy. Returns the end of the copy.
char* keep_text(char* at, CallText* text, std::size_t bytes_max) {
  const std::string_view kept = text->view().substr(0, bytes_max);
  if (!kept.empty()) std::memcpy(at, kept.data(), kept.size());
  *text = std::string_view(at, kept.size());
  return at + kept.size();
}

// Copies the instance that it is shown into the Client's buffer.
class KeepInfo final : public InstanceVisitor {
 public:
  KeepInfo(char* buffer, InstanceInfo* out) : at_(buffer), out_(out) {}
  // The buffer has room for at least an error text and a custom status.
  static_assert(4 * kNameBytesMax + kTraceIdBytesMax <= kErrorTextBytesMax + kCustomStatusBytesMax);
  void on_instance(const InstanceInfo& instance) noexcept override {
    *out_ = instance;
    for (CallText* text : {&out_->id, &out_->name, &out_->version, &out_->parent_id})
      at_ = keep_text(at_, text, kNameBytesMax);
    at_ = keep_text(at_, &out_->trace_id, kTraceIdBytesMax);
  }

 private:
  char* at_;
  InstanceInfo* out_;
};

// Copies the session that it is shown into the Client's buffer.
class KeepSession final : public SessionVisitor {
 public:
  KeepSession(char* buffer, SessionInfo* out) : at_(buffer), out_(out) {}
  static_assert(3 * kNameBytesMax + 2 * kSessionLabelBytesMax + kFolderPathBytesMax <=
                kErrorTextBytesMax + kCustomStatusBytesMax);
  void on_session(const SessionInfo& session) noexcept override {
    *out_ = session;
    keep(&out_->name, kNameBytesMax);
    keep(&out_->instance_id, kNameBytesMax);
    keep(&out_->node, kNameBytesMax);
    keep(&out_->owner_label, kSessionLabelBytesMax);
    keep(&out_->kind, kSessionLabelBytesMax);
    keep(&out_->folder, kFolderPathBytesMax);
  }

 private:
  void keep(CallText* text, std::size_t bytes_max) { at_ = keep_text(at_, text, bytes_max); }
  char* at_;
  SessionInfo* out_;
};

class Collect final : public InstanceVisitor {
 public:
  enum class Which : std::uint8_t { kAll, kEnded, kNotEnded };
  explicit Collect(Which which) : which_(which) {}
  void on_instance(const InstanceInfo& instance) noexcept override {
    const bool has_ended = instance.state == OrchestrationState::kCompleted ||
                           instance.state == OrchestrationState::kFailed;
    if (which_ == Which::kAll || has_ended == (which_ == Which::kEnded))
      keys[count++] = instance.key;
  }
  InstanceKey keys[kKeysMax] = {};
  std::size_t count = 0;

 private:
  Which which_;
};

class EventVisitor final : public EventSink {
 public:
  // With a page, the visitor stops the reading at the page's end. is_over() is true then, and the
  // status of the reading means nothing.
  EventVisitor(HistoryVisitor& visitor, Page* page) : visitor_(visitor), page_(page) {}
  Status on_begin(std::int64_t last) override {
    last_ = last;
    any = last > 0;
    if (page_ == nullptr || page_->after < last) return Status::kOk;
    over_ = true;
    return Status::kStale;
  }
  Status on_event(const Event& event) override {
    if (page_ != nullptr && rows_ == page_->rows_max) {
      over_ = true;
      return Status::kStale;
    }
    HistoryEvent reported;
    reported.id = event.id;
    reported.kind = event_kind_name(event.kind);
    reported.branch = event.branch;
    reported.ordinal = event.ordinal;
    reported.ref = event.ref;
    reported.time_ms = event.time_ms;
    reported.number = event.number;
    reported.error = event.error;
    reported.name = event.name;
    reported.session = event.session;
    reported.tag = event.tag;
    reported.version = event.version;
    reported.payload = event.payload;
    visitor_.on_event(reported);
    ++rows_;
    if (page_ != nullptr) page_->after = event.id;
    return Status::kOk;
  }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] bool has_more() const { return page_ != nullptr && page_->after < last_; }
  bool any = false;

 private:
  HistoryVisitor& visitor_;
  Page* page_;
  std::int64_t last_ = 0;
  std::size_t rows_ = 0;
  bool over_ = false;
};

}  // namespace

const char* activity_state_name(ActivityState state) {
  switch (state) {
    case ActivityState::kReady: return "ready";
    case ActivityState::kRunning: return "running";
    case ActivityState::kDelayed: return "delayed";
  }
  return "unknown";
}

const char* session_state_name(SessionState state) {
  switch (state) {
    case SessionState::kIdle: return "idle";
    case SessionState::kActive: return "active";
    case SessionState::kLost: return "lost";
    case SessionState::kClosed: return "closed";
    case SessionState::kRefused: return "refused";
    case SessionState::kExpired: return "expired";
  }
  return "unknown";
}

const char* execution_state_name(ExecutionState state) {
  switch (state) {
    case ExecutionState::kRunning: return "running";
    case ExecutionState::kCompleted: return "completed";
    case ExecutionState::kFailed: return "failed";
    case ExecutionState::kContinuedAsNew: return "continued_as_new";
  }
  return "unknown";
}

Status ClientManagement::terminate_instance(std::string_view id, std::string_view reason) {
  return in_batch(id, [&] { return store_->instance().verbs.terminate_instance(id, reason); });
}

// Asks in one transaction: all instances, or none.
Status ClientManagement::ask(const InstanceKey* keys, std::size_t count, std::string_view reason,
                             std::int64_t* asked) {
  if (count == 0) return Status::kOk;
  std::int64_t fresh = 0;
  const Status status = in_batch({}, [&] {
    fresh = 0;  // in_batch() may run this twice
    for (std::size_t i = 0; i < count; ++i) {
      bool is_new = false;
      PAWL_TRY(store_->instance().deliveries.cancel_instance(keys[i], reason, &is_new));
      if (is_new) ++fresh;
    }
    return Status::kOk;
  });
  if (status == Status::kOk) *asked += fresh;
  return status;
}

Status ClientManagement::cancel_instances(const InstanceFilter& filter, Page* page,
                                          std::string_view reason, std::int64_t* asked) {
  *asked = 0;
  if (reason.size() > options_.payload_bytes_max) {
    diagnostic_.format("the reason has %zu bytes; payload_bytes_max is %zu", reason.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  Page bounded = *page;
  if (bounded.rows_max > kKeysMax) bounded.rows_max = kKeysMax;
  Collect running(Collect::Which::kNotEnded);
  PAWL_TRY(list_instances(filter, &bounded, running));
  std::int64_t count = 0;
  Status status = ask(running.keys, running.count, reason, &count);
  // Damaged instances are left out: each instance gets a transaction of its own.
  if (status == Status::kCorrupt) {
    status = Status::kOk;
    for (std::size_t i = 0; i < running.count && status == Status::kOk; ++i) {
      const Status one = ask(running.keys + i, 1, reason, &count);
      if (one != Status::kCorrupt) status = one;
    }
  }
  PAWL_TRY(status);
  *asked = count;
  page->after = bounded.after;
  page->more = bounded.more;
  return Status::kOk;
}

Status ClientManagement::restart_instance(std::string_view id, RestartFrom from,
                                          const RestartOptions& options) {
  Restart how;
  how.id = id;
  how.from = from;
  how.by = options.by.empty() ? "operator" : options.by.view();
  if (options.version.has_value()) how.version = options.version->view();
  if (options.version.has_value() &&
      (from != RestartFrom::kStart || !is_valid_version(how.version))) {
    diagnostic_.format(
        "a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE, and is for RestartFrom::kStart");
    return Status::kInvalidArgument;
  }
  if (!is_valid_name(how.by)) {
    diagnostic_.format("`by` is 1 to %zu bytes without control characters", kNameBytesMax);
    return Status::kInvalidArgument;
  }
  const Status status =
      in_batch(id, [&] { return store_->instance().verbs.restart_instance(how); });
  // The storage has the text that says which reason it was.
  if (status != Status::kOk && status != Status::kNotFound) diagnostic_ = store_->diagnostic();
  return status;
}

Status ClientManagement::suspend_instance(std::string_view id) {
  return in_batch(id, [&] { return store_->instance().verbs.suspend_instance(id); });
}

Status ClientManagement::resume_instance(std::string_view id) {
  return in_batch(id, [&] { return store_->instance().verbs.resume_instance(id); });
}

Status ClientManagement::list_instances(const InstanceFilter& filter, Page* page,
                                        InstanceVisitor& visitor) {
  return explain(store_->instance().directory.list_instances(filter, page, visitor), {});
}

Status ClientManagement::get_instance_info(std::string_view id, InstanceInfo* out) {
  KeepInfo keep(buffer_, out);
  const Status read = store_->instance().directory.read_instance_info(id, keep);
  for (CallText* text : {&out->id, &out->name, &out->version, &out->parent_id, &out->trace_id})
    text->live_until_next(&calls_);
  return explain(read, id);
}

Status ClientManagement::get_instance_stats(std::string_view id, InstanceStats* out) {
  return explain(store_->instance().directory.read_instance_stats(id, out), id);
}

Status ClientManagement::list_executions(std::string_view id, ExecutionVisitor& visitor) {
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  return explain(store_->instance().directory.list_executions(info.key, visitor), id);
}

Status ClientManagement::list_activities(std::string_view id, ActivityVisitor& visitor) {
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  return explain(store_->instance().directory.list_activities(info.key, info.execution_id, visitor),
                 id);
}

Status ClientManagement::list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) {
  return explain(store_->work().items.list_work(filter, page, visitor), {});
}

Status ClientManagement::list_messages(std::string_view id, Page* page, MessageVisitor& visitor) {
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  return explain(store_->instance().directory.list_messages(info.key, page, visitor), id);
}

Status ClientManagement::read_history(std::string_view id, std::int64_t execution_id, Page* page,
                                      HistoryVisitor& visitor) {
  if (page != nullptr && (page->rows_max == 0 || page->after < 0)) {
    diagnostic_.format("a page has 1 or more rows, and goes on after 0 or more");
    return Status::kInvalidArgument;
  }
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  if (execution_id == 0) execution_id = info.execution_id;
  EventVisitor events(visitor, page);
  const EventId after = static_cast<EventId>(page == nullptr ? 0 : page->after);
  const Status read =
      store_->instance().history.load_history(info.key, execution_id, after, events);
  if (!events.is_over()) PAWL_TRY(explain(read, id));
  if (page != nullptr) page->more = events.has_more();
  if (events.any) return Status::kOk;
  diagnostic_.format("execution %lld has no history", static_cast<long long>(execution_id));
  return Status::kNotFound;
}

Status ClientManagement::get_metrics(Metrics* out) {
  return explain(store_->instance().directory.read_metrics(out), {});
}

Status ClientManagement::set_quota(std::int64_t bytes) {
  if (bytes != 0 && (bytes < kQuotaLeast || bytes > kQuotaMost)) {
    diagnostic_.format("a quota is 0 or %lld..%lld bytes", static_cast<long long>(kQuotaLeast),
                       static_cast<long long>(kQuotaMost));
    return Status::kInvalidArgument;
  }
  return in_batch({}, [&] { return store_->place().set_space(bytes, std::nullopt); });
}

Status ClientManagement::list_workers(WorkerVisitor& visitor) {
  // Needs a batch: Pawl time is known only there.
  return in_batch({}, [&] { return list_all_workers(visitor); });
}

Status ClientManagement::list_all_workers(WorkerVisitor& visitor) {
  std::size_t count = 0;
  PAWL_TRY(store_->worker().list_workers(workers_, kWorkersMax, &count));
  const std::int64_t now = store_->place().pawl_now();
  for (std::size_t i = 0; i < count; ++i) {
    WorkerInfo info;
    info.incarnation = workers_[i].incarnation;
    info.node = workers_[i].node.view();
    info.pid = workers_[i].pid;
    info.lease_ends_in_ms = workers_[i].locked_until - now;
    info.draining = workers_[i].draining;
    PAWL_TRY(store_->worker().describe_worker(
        info.incarnation, buffer_, status_buffer_bytes(options_.payload_bytes_max), &info));
    visitor.on_worker(info);
  }
  return Status::kOk;
}

Status ClientManagement::list_sessions(const SessionFilter& filter, Page* page,
                                       SessionVisitor& visitor) {
  return in_batch({},
                  [&] { return store_->session().directory.list_sessions(filter, page, visitor); });
}

Status ClientManagement::get_session(std::string_view instance, std::string_view session,
                                     SessionInfo* out) {
  KeepSession keep(buffer_, out);
  const Status read = in_batch(
      session, [&] { return store_->session().directory.read_session(instance, session, keep); });
  for (CallText* text :
       {&out->name, &out->instance_id, &out->owner_label, &out->kind, &out->node, &out->folder})
    text->live_until_next(&calls_);
  return explain_of("session", session, read);
}

Status ClientManagement::close_session(std::string_view instance, std::string_view session,
                                       std::string_view owner_label) {
  return explain_of("session", session, in_batch(session, [&] {
                      return store_->session().expiry.end_session(instance, session, owner_label);
                    }));
}

Status ClientManagement::hold_session(std::string_view instance, std::string_view session,
                                      std::chrono::milliseconds hold) {
  if (hold.count() < 0 || hold > kDurationMax) return explain(Status::kInvalidArgument, session);
  return explain_of("session", session, in_batch(session, [&] {
                      return store_->session().verbs.hold_session(instance, session, hold.count());
                    }));
}

Status ClientManagement::handoff_session(std::string_view instance, std::string_view session,
                                         std::string_view tag, std::string_view summary) {
  if ((!tag.empty() && !is_valid_name(tag)) || summary.size() > kSessionSummaryBytesMax)
    return explain(Status::kInvalidArgument, session);
  return explain_of("session", session, in_batch(session, [&] {
                      return store_->session().verbs.handoff_session(instance, session, tag,
                                                                     summary);
                    }));
}

Status ClientManagement::change_session(std::string_view instance, std::string_view session,
                                        const SessionUpdate& update) {
  return explain_of("session", session, in_batch(session, [&] {
                      return store_->session().verbs.change_session(instance, session, update);
                    }));
}

Status ClientManagement::transfer_session(std::string_view session, std::string_view node,
                                          const TransferOptions& options) {
  if (options.stop_timeout.count() < 0) return explain(Status::kInvalidArgument, session);
  return explain_of("session", session, in_batch(session, [&] {
                      return store_->session().moves.transfer_session(
                          options.instance, session, node, options.stop_timeout.count(),
                          options.force);
                    }));
}

Status ClientManagement::drain_worker(std::string_view node, const TransferOptions& options) {
  if (options.stop_timeout.count() < 0) return explain(Status::kInvalidArgument, node);
  return explain_of("living worker", node, in_batch(node, [&] {
                      return store_->session().moves.drain_worker(node,
                                                                  options.stop_timeout.count());
                    }));
}

Status ClientManagement::undrain_worker(std::string_view node) {
  return explain_of("living worker", node,
                    in_batch(node, [&] { return store_->session().moves.undrain_worker(node); }));
}

Status ClientManagement::forget_device(std::string_view device) {
  return explain_of("device", device, in_batch(device, [&] {
                      return store_->session().moves.forget_device(device);
                    }));
}

Status ClientManagement::list_tree(std::string_view id, bool children_only, Page* page,
                                   InstanceVisitor& visitor) {
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  return explain(store_->instance().directory.list_tree(info.key, children_only, page, visitor),
                 id);
}

// The first transaction deletes the instance. Each further one sweeps a part of its rows, so that
// the write lock is free in between. A failed step is left to the next sweep.
Status ClientManagement::remove(InstanceKey key, std::string_view id, bool force,
                                Removed* removed) {
  bool more = false;
  const auto sweep = [&] {
    return store_->instance().removal.sweep_deleted(kSweepEventsMax, &step_, &more);
  };
  PAWL_TRY(in_counted_batch(id, removed, [&] {
    const Status status = store_->instance().removal.delete_instance(key, force);
    return status == Status::kOk ? sweep() : status;
  }));
  while (more)
    PAWL_TRY(in_counted_batch(id, removed, sweep));
  return Status::kOk;
}

Status ClientManagement::delete_instance(std::string_view id, bool force, Removed* removed) {
  *removed = Removed();
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  return remove(info.key, id, force, removed);
}

Status ClientManagement::delete_instances(const InstanceFilter& filter, Page* page,
                                          Removed* removed) {
  *removed = Removed();
  InstanceFilter roots = filter;
  roots.roots_only = true;
  Page bounded = *page;
  if (bounded.rows_max > kKeysMax) bounded.rows_max = kKeysMax;
  Collect ended(Collect::Which::kEnded);
  PAWL_TRY(list_instances(roots, &bounded, ended));
  for (std::size_t i = 0; i < ended.count; ++i) {
    const Status status = remove(ended.keys[i], {}, false, removed);
    // Another caller was faster, or a child of the instance runs.
    if (status != Status::kNotFound && status != Status::kStillRunning) PAWL_TRY(status);
  }
  page->after = bounded.after;
  page->more = bounded.more;
  return Status::kOk;
}

Status ClientManagement::prune(InstanceKey key, std::string_view id, const PruneLimits& limits,
                               Removed* removed) {
  bool more = true;
  while (more) {
    PAWL_TRY(in_counted_batch(id, removed, [&] {
      return store_->instance().removal.prune_executions(key, limits, kSweepEventsMax, &step_,
                                                         &more);
    }));
  }
  return Status::kOk;
}

Status ClientManagement::prune_executions(std::string_view id, std::int64_t keep_last,
                                          std::int64_t ended_before_ms, Removed* removed) {
  *removed = Removed();
  InstanceInfo info;
  PAWL_TRY(get_instance_info(id, &info));
  return prune(info.key, id, {keep_last, ended_before_ms}, removed);
}

Status ClientManagement::prune_instances(const InstanceFilter& filter, Page* page,
                                         std::int64_t keep_last, std::int64_t ended_before_ms,
                                         Removed* removed) {
  *removed = Removed();
  Page bounded = *page;
  if (bounded.rows_max > kKeysMax) bounded.rows_max = kKeysMax;
  Collect all(Collect::Which::kAll);
  PAWL_TRY(list_instances(filter, &bounded, all));
  for (std::size_t i = 0; i < all.count; ++i) {
    const Status status = prune(all.keys[i], {}, {keep_last, ended_before_ms}, removed);
    if (status != Status::kNotFound) PAWL_TRY(status);
  }
  page->after = bounded.after;
  page->more = bounded.more;
  return Status::kOk;
}

}  // namespace pawl
