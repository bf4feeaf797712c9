// Client: manages sessions, devices and workers.
#include "pawl/activity_options.hpp"
#include "pawl/session.hpp"
#include "pawl/visit.hpp"
#include "runtime/client_core.hpp"
#include "store/session/folder.hpp"

namespace pawl {
Status Client::list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor) {
  return enter([&](ClientCore& core) {
    return core.in_batch({}, [&](Store& store) {
      return store.session().directory.list_sessions(filter, page, visitor);
    });
  });
}

Status Client::get_session(std::string_view instance, std::string_view session, SessionInfo* out) {
  return enter([&](ClientCore& core) {
    const auto names = {&out->name, &out->instance_id, &out->node};
    const auto labels = {&out->owner_label, &out->kind};
    static_assert(3 * kNameBytesMax + 2 * kSessionLabelBytesMax + kFolderPathBytesMax <=
                  kErrorTextBytesMax + kCustomStatusBytesMax);
    auto keep = visit([&](const SessionInfo& is) {
      *out = is;
      char* at = core.buffer();
      for (CallText* text : names)
        at = keep_text(at, text, kNameBytesMax);
      for (CallText* text : labels)
        at = keep_text(at, text, kSessionLabelBytesMax);
      keep_text(at, &out->folder, kFolderPathBytesMax);
    });
    const Status read = core.in_batch({session, "session"}, [&](Store& store) {
      return store.session().directory.get_session(instance, session, keep);
    });
    core.lend(names);
    core.lend(labels);
    core.lend({&out->folder});
    return read;
  });
}

Status Client::close_session(std::string_view instance, std::string_view session,
                             std::string_view owner_label) {
  return enter([&](ClientCore& core) {
    return core.in_batch({session, "session"}, [&](Store& store) {
      return store.session().expiry.close_session(instance, session, owner_label);
    });
  });
}

Status Client::hold_session(std::string_view instance, std::string_view session,
                            std::chrono::milliseconds hold) {
  return enter([&](ClientCore& core) {
    if (hold.count() < 0 || hold > kDurationMax)
      return core.explain(Status::kInvalidArgument, {session});
    return core.in_batch({session, "session"}, [&](Store& store) {
      return store.session().verbs.hold_session(instance, session, hold.count());
    });
  });
}

Status Client::handoff_session(std::string_view instance, std::string_view session,
                               std::string_view tag, std::string_view summary) {
  return enter([&](ClientCore& core) {
    if ((!tag.empty() && !is_valid_name(tag)) || summary.size() > kSessionSummaryBytesMax)
      return core.explain(Status::kInvalidArgument, {session});
    return core.in_batch({session, "session"}, [&](Store& store) {
      return store.session().verbs.handoff_session(instance, session, tag, summary);
    });
  });
}

Status Client::change_session(std::string_view instance, std::string_view session,
                              const SessionUpdate& update) {
  return enter([&](ClientCore& core) {
    return core.in_batch({session, "session"}, [&](Store& store) {
      return store.session().verbs.change_session(instance, session, update);
    });
  });
}

Status Client::transfer_session(std::string_view session, std::string_view node,
                                const TransferOptions& options) {
  return enter([&](ClientCore& core) {
    if (options.stop_timeout.count() < 0) return core.explain(Status::kInvalidArgument, {session});
    return core.in_batch({session, "session"}, [&](Store& store) {
      return store.session().moves.transfer_session(options.instance, session, node,
                                                    options.stop_timeout.count(), options.force);
    });
  });
}

Status Client::forget_device(std::string_view device) {
  return enter([&](ClientCore& core) {
    return core.in_batch({device, "device"},
                         [&](Store& store) { return store.session().moves.forget_device(device); });
  });
}

// ---- workers ----

namespace {

Status list_workers(ClientCore& core, Store& store, WorkerVisitor& visitor) {
  WorkerRow* const workers = core.workers();
  std::size_t count = 0;
  PAWL_TRY(store.worker().list_workers(workers, ClientCore::kWorkersMax, &count));
  const std::int64_t now = store.place().pawl_now();
  for (std::size_t i = 0; i < count; ++i) {
    WorkerInfo info;
    info.incarnation = workers[i].incarnation;
    info.node = workers[i].node.view();
    info.pid = workers[i].pid;
    info.lease_ends_in_ms = workers[i].locked_until - now;
    info.draining = workers[i].draining;
    PAWL_TRY(store.worker().describe_worker(info.incarnation, core.buffer(), core.buffer_bytes(),
                                            &info));
    visitor.on_worker(info);
  }
  return Status::kOk;
}

}  // namespace

Status Client::list_workers(WorkerVisitor& visitor) {
  return enter([&](ClientCore& core) {
    // Needs a batch: Pawl time is known only there.
    return core.in_batch({},
                         [&](Store& store) { return pawl::list_workers(core, store, visitor); });
  });
}

Status Client::drain_worker(std::string_view node, const TransferOptions& options) {
  return enter([&](ClientCore& core) {
    if (options.stop_timeout.count() < 0) return core.explain(Status::kInvalidArgument, {node});
    return core.in_batch({node, "living worker"}, [&](Store& store) {
      return store.session().moves.drain_worker(node, options.stop_timeout.count());
    });
  });
}

Status Client::undrain_worker(std::string_view node) {
  return enter([&](ClientCore& core) {
    return core.in_batch({node, "living worker"},
                         [&](Store& store) { return store.session().moves.undrain_worker(node); });
  });
}

}  // namespace pawl
