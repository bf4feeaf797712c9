// Client: manages instances.
#include "core/version.hpp"
#include "runtime/client_core.hpp"
#include "runtime/options_check.hpp"

namespace pawl {
namespace {

constexpr std::size_t kKeysMax =
    64;  // instances in one call of cancel_, delete_ or prune_instances()

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

// Lists the next page for a call that works on at most kKeysMax instances.
Status collect(ClientCore& core, const InstanceFilter& filter, const Page& page, Page* next,
               Collect& keys) {
  *next = page;
  if (next->rows_max > kKeysMax) next->rows_max = kKeysMax;
  return core.explain(core.store().instance().directory.list_instances(filter, next, keys), {});
}

void move_to(const Page& next, Page* page) {
  page->after = next.after;
  page->more = next.more;
}

}  // namespace

Status Client::terminate_instance(std::string_view id, std::string_view reason) {
  return enter([&](ClientCore& core) {
    return core.in_batch(
        {id}, [&](Store& store) { return store.instance().verbs.terminate_instance(id, reason); });
  });
}

namespace {

// Asks in one transaction: all instances, or none.
Status cancel(ClientCore& core, const InstanceKey* keys, std::size_t count, std::string_view reason,
              std::int64_t* asked) {
  if (count == 0) return Status::kOk;
  std::int64_t fresh = 0;
  const Status status = core.in_batch({}, [&](Store& store) {
    fresh = 0;  // in_batch() may run this twice
    for (std::size_t i = 0; i < count; ++i) {
      bool is_new = false;
      PAWL_TRY(store.instance().deliveries.cancel_instance(keys[i], reason, &is_new));
      if (is_new) ++fresh;
    }
    return Status::kOk;
  });
  if (status == Status::kOk) *asked += fresh;
  return status;
}

}  // namespace

Status Client::cancel_instances(const InstanceFilter& filter, Page* page, std::string_view reason,
                                std::int64_t* asked) {
  return enter([&](ClientCore& core) {
    *asked = 0;
    PAWL_TRY(core.check_size("reason", reason));
    Page next;
    Collect running(Collect::Which::kNotEnded);
    PAWL_TRY(collect(core, filter, *page, &next, running));
    std::int64_t count = 0;
    Status status = cancel(core, running.keys, running.count, reason, &count);
    // Damaged instances are left out: each instance gets a transaction of its own.
    if (status == Status::kCorrupt) {
      status = Status::kOk;
      for (std::size_t i = 0; i < running.count && status == Status::kOk; ++i) {
        const Status one = cancel(core, running.keys + i, 1, reason, &count);
        if (one != Status::kCorrupt) status = one;
      }
    }
    PAWL_TRY(status);
    *asked = count;
    move_to(next, page);
    return Status::kOk;
  });
}

Status Client::restart_instance(std::string_view id, RestartFrom from,
                                const RestartOptions& options) {
  return enter([&](ClientCore& core) {
    Restart how;
    how.id = id;
    how.from = from;
    how.by = options.by.empty() ? "operator" : options.by.view();
    if (options.version.has_value()) how.version = options.version->view();
    if (options.version.has_value() &&
        (from != RestartFrom::kStart || !is_valid_version(how.version))) {
      core.diagnostic().format(
          "a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE, and is for "
          "RestartFrom::kStart");
      return Status::kInvalidArgument;
    }
    if (!is_valid_name(how.by)) {
      core.diagnostic().format("`by` is 1 to %zu bytes without control characters", kNameBytesMax);
      return Status::kInvalidArgument;
    }
    const Status status = core.in_batch(
        {id}, [&](Store& store) { return store.instance().verbs.restart_instance(how); });
    // The storage has the text that says which reason it was.
    if (status != Status::kOk && status != Status::kNotFound)
      core.diagnostic() = core.store().diagnostic();
    return status;
  });
}

Status Client::suspend_instance(std::string_view id) {
  return enter([&](ClientCore& core) {
    return core.in_batch({id},
                         [&](Store& store) { return store.instance().verbs.suspend_instance(id); });
  });
}

Status Client::resume_instance(std::string_view id) {
  return enter([&](ClientCore& core) {
    return core.in_batch({id},
                         [&](Store& store) { return store.instance().verbs.resume_instance(id); });
  });
}

Status Client::change_time_limit(std::string_view id,
                                 std::optional<std::chrono::milliseconds> limit) {
  return enter([&](ClientCore& core) {
    OptionalMs limit_ms;
    if (limit.has_value()) limit_ms = limit->count();
    if (limit_ms.has_passed(0)) {
      core.diagnostic().format("a time limit is above 0");
      return Status::kInvalidArgument;
    }
    const Status status = core.in_batch(
        {id}, [&](Store& store) { return store.instance().verbs.change_time_limit(id, limit_ms); });
    if (status == Status::kStale) core.diagnostic() = core.store().diagnostic();
    return status;
  });
}

// ---- lists and counts ----

Status Client::list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().instance().directory.list_instances(filter, page, visitor),
                        {});
  });
}

Status Client::get_instance_info(std::string_view id, InstanceInfo* out) {
  return enter([&](ClientCore& core) { return core.get_instance_info(id, out); });
}

Status Client::get_instance_stats(std::string_view id, InstanceStats* out) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().instance().directory.get_instance_stats(id, out), {id});
  });
}

namespace {

Status list_tree(ClientCore& core, std::string_view id, bool children_only, Page* page,
                 InstanceVisitor& visitor) {
  InstanceInfo info;
  PAWL_TRY(core.get_instance_info(id, &info));
  return core.explain(
      core.store().instance().directory.list_tree(info.key, children_only, page, visitor), {id});
}

}  // namespace

Status Client::list_children(std::string_view id, Page* page, InstanceVisitor& visitor) {
  return enter([&](ClientCore& core) { return list_tree(core, id, true, page, visitor); });
}

Status Client::get_instance_tree(std::string_view id, Page* page, InstanceVisitor& visitor) {
  return enter([&](ClientCore& core) { return list_tree(core, id, false, page, visitor); });
}

Status Client::list_executions(std::string_view id, ExecutionVisitor& visitor) {
  return enter([&](ClientCore& core) {
    InstanceInfo info;
    PAWL_TRY(core.get_instance_info(id, &info));
    return core.explain(core.store().instance().directory.list_executions(info.key, visitor), {id});
  });
}

Status Client::list_activities(std::string_view id, ActivityVisitor& visitor) {
  return enter([&](ClientCore& core) {
    InstanceInfo info;
    PAWL_TRY(core.get_instance_info(id, &info));
    return core.explain(
        core.store().instance().directory.list_activities(info.key, info.execution_id, visitor),
        {id});
  });
}

Status Client::list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().work().items.list_work(filter, page, visitor), {});
  });
}

Status Client::list_messages(std::string_view id, Page* page, MessageVisitor& visitor) {
  return enter([&](ClientCore& core) {
    InstanceInfo info;
    PAWL_TRY(core.get_instance_info(id, &info));
    return core.explain(core.store().instance().directory.list_messages(info.key, page, visitor),
                        {id});
  });
}

namespace {

// Shows all events of an execution; with a page, those after page->after.
Status show_history(ClientCore& core, std::string_view id, std::int64_t execution_id, Page* page,
                    HistoryVisitor& visitor) {
  if (page != nullptr && (page->rows_max == 0 || page->after < 0)) {
    core.diagnostic().format("a page has 1 or more rows, and goes on after 0 or more");
    return Status::kInvalidArgument;
  }
  InstanceInfo info;
  PAWL_TRY(core.get_instance_info(id, &info));
  if (execution_id == 0) execution_id = info.execution_id;
  EventVisitor events(visitor, page);
  const EventId after = static_cast<EventId>(page == nullptr ? 0 : page->after);
  // Events that a broken link hides are shown, too, up to the one that cannot be read.
  const Status read = core.store().instance().history.read_history(
      info.key, execution_id, after, events, store::InstanceHistory::AtBreak::kSearch);
  if (!events.is_over()) PAWL_TRY(core.explain(read, {id}));
  if (page != nullptr) page->more = events.has_more();
  // The current execution has none until its first turn.
  if (events.any || execution_id == info.execution_id) return Status::kOk;
  core.diagnostic().format("execution %lld has no history", static_cast<long long>(execution_id));
  return Status::kNotFound;
}

}  // namespace

Status Client::read_history(std::string_view id, std::int64_t execution_id,
                            HistoryVisitor& visitor) {
  return enter(
      [&](ClientCore& core) { return show_history(core, id, execution_id, nullptr, visitor); });
}

Status Client::read_history(std::string_view id, std::int64_t execution_id, Page* page,
                            HistoryVisitor& visitor) {
  return enter(
      [&](ClientCore& core) { return show_history(core, id, execution_id, page, visitor); });
}

Status Client::get_metrics(Metrics* out) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().instance().directory.get_metrics(out), {});
  });
}

Status Client::set_quota(std::int64_t bytes) {
  return enter([&](ClientCore& core) {
    if (bytes != 0 && (bytes < kQuotaLeast || bytes > kQuotaMost)) {
      core.diagnostic().format("a quota is 0 or %lld..%lld bytes",
                               static_cast<long long>(kQuotaLeast),
                               static_cast<long long>(kQuotaMost));
      return Status::kInvalidArgument;
    }
    return core.in_batch(
        {}, [&](Store& store) { return store.place().set_quota_and_reserve(bytes, std::nullopt); });
  });
}

// ---- removal ----

namespace {

// The first transaction deletes the instance. Each further one sweeps a part of its rows, so that
// the write lock is free in between. A failed step is left to the next sweep.
Status remove(ClientCore& core, InstanceKey key, std::string_view id, bool force,
              Removed* removed) {
  bool more = false;
  const auto sweep = [&](Store& store, Removed* step) {
    return store.instance().removal.sweep_deleted(kSweepEventsMax, step, &more);
  };
  PAWL_TRY(core.in_counted_batch({id}, removed, [&](Store& store, Removed* step) {
    const Status status = store.instance().removal.delete_instance(key, force);
    return status == Status::kOk ? sweep(store, step) : status;
  }));
  while (more)
    PAWL_TRY(core.in_counted_batch({id}, removed, sweep));
  return Status::kOk;
}

Status prune(ClientCore& core, InstanceKey key, std::string_view id, const PruneLimits& limits,
             Removed* removed) {
  bool more = true;
  while (more) {
    PAWL_TRY(core.in_counted_batch({id}, removed, [&](Store& store, Removed* step) {
      return store.instance().removal.prune_executions(key, limits, kSweepEventsMax, step, &more);
    }));
  }
  return Status::kOk;
}

}  // namespace

Status Client::delete_instance(std::string_view id, bool force, Removed* removed) {
  return enter([&](ClientCore& core) {
    Removed own;
    Removed* const out = removed == nullptr ? &own : removed;
    *out = Removed();
    InstanceInfo info;
    PAWL_TRY(core.get_instance_info(id, &info));
    return remove(core, info.key, id, force, out);
  });
}

Status Client::delete_instances(const InstanceFilter& filter, Page* page, Removed* removed) {
  return enter([&](ClientCore& core) {
    Removed own;
    Removed* const out = removed == nullptr ? &own : removed;
    *out = Removed();
    InstanceFilter roots = filter;
    roots.roots_only = true;
    Page next;
    Collect ended(Collect::Which::kEnded);
    PAWL_TRY(collect(core, roots, *page, &next, ended));
    for (std::size_t i = 0; i < ended.count; ++i) {
      const Status status = remove(core, ended.keys[i], {}, false, out);
      // Another caller was faster, or a child of the instance runs.
      if (status != Status::kNotFound && status != Status::kStillRunning) PAWL_TRY(status);
    }
    move_to(next, page);
    return Status::kOk;
  });
}

Status Client::prune_executions(std::string_view id, std::int64_t keep_last,
                                std::int64_t ended_before_ms, Removed* removed) {
  return enter([&](ClientCore& core) {
    Removed own;
    Removed* const out = removed == nullptr ? &own : removed;
    *out = Removed();
    InstanceInfo info;
    PAWL_TRY(core.get_instance_info(id, &info));
    return prune(core, info.key, id, {keep_last, ended_before_ms}, out);
  });
}

Status Client::prune_instances(const InstanceFilter& filter, Page* page, std::int64_t keep_last,
                               std::int64_t ended_before_ms, Removed* removed) {
  return enter([&](ClientCore& core) {
    Removed own;
    Removed* const out = removed == nullptr ? &own : removed;
    *out = Removed();
    Page next;
    Collect all(Collect::Which::kAll);
    PAWL_TRY(collect(core, filter, *page, &next, all));
    for (std::size_t i = 0; i < all.count; ++i) {
      const Status status = prune(core, all.keys[i], {}, {keep_last, ended_before_ms}, out);
      if (status != Status::kNotFound) PAWL_TRY(status);
    }
    move_to(next, page);
    return Status::kOk;
  });
}

}  // namespace pawl
