#include "parts/endpoint/routes.hpp"

namespace pawl::http {
namespace {

TransferOptions transfer_options(Call& call) {
  TransferOptions options;
  options.stop_timeout = std::chrono::milliseconds(call.number("stop_timeout_ms"));
  options.force = call.flag("force");
  return options;
}

}  // namespace

void list_sessions(Call& call) {
  SessionFilter filter;
  filter.node = Name(call.text("node"));
  filter.instance_id = Name(call.text("instance"));
  filter.owner_label = Name(call.text("owner_label"));
  filter.kind = Name(call.text("kind"));
  if (const auto state = call.word("state")) {
    filter.any_state = false;
    filter.state = static_cast<SessionState>(*state);
  }
  filter.open_for_ms = call.number("open_for_ms");
  filter.unused_for_ms = call.number("unused_for_ms");
  answer_page(call, &SessionInfo::key, [&](Page* page, SessionVisitor& visitor) {
    return call.client().list_sessions(filter, page, visitor);
  });
}

void get_session(Call& call) {
  SessionInfo info;
  const Status status = call.client().get_session(call.text("instance"), call.segment(2), &info);
  if (status == Status::kOk) call.object(info);
  call.finish(status);
}

void explain_session(Call& call) {
  answer_list<Cause>(call, [&](CauseVisitor& visitor) {
    return call.client().explain_session(call.text("instance"), call.segment(2), visitor);
  });
}

void close_session(Call& call) {
  call.done(call.client().close_session(call.text("instance"), call.segment(2),
                                        call.text("owner_label")));
}

void transfer_session(Call& call) {
  TransferOptions options = transfer_options(call);
  options.instance = Name(call.text("instance"));
  call.done(call.client().transfer_session(call.segment(2), call.text("node"), options));
}

void hold_session(Call& call) {
  const std::chrono::milliseconds hold(call.number("hold_ms"));
  call.done(call.client().hold_session(call.text("instance"), call.segment(2), hold));
}

void handoff_session(Call& call) {
  call.done(call.client().handoff_session(call.text("instance"), call.segment(2), call.text("tag"),
                                          call.exchange().body().text()));
}

void list_workers(Call& call) {
  answer_list<WorkerInfo>(
      call, [&](WorkerVisitor& visitor) { return call.client().list_workers(visitor); });
}

void drain_worker(Call& call) {
  call.done(call.client().drain_worker(call.segment(2), transfer_options(call)));
}

void undrain_worker(Call& call) { call.done(call.client().undrain_worker(call.segment(2))); }
void forget_device(Call& call) { call.done(call.client().forget_device(call.segment(2))); }

}  // namespace pawl::http
