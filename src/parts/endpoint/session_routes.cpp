#include "parts/endpoint/routes.hpp"
#include "pawl/session.hpp"

namespace pawl::http {
namespace {

constexpr std::int64_t kMsMax = std::chrono::milliseconds(kDurationMax).count();

class SessionRows final : public SessionVisitor {
 public:
  explicit SessionRows(Buffer& out) : rows(out) {}
  void on_session(const SessionInfo& one) noexcept override {
    if (rows.add(one)) last = one.key;
  }
  Rows rows;
  std::int64_t last = 0;
};

class WorkerRows final : public WorkerVisitor {
 public:
  explicit WorkerRows(Buffer& out) : rows(out) {}
  void on_worker(const WorkerInfo& one) noexcept override { static_cast<void>(rows.add(one)); }
  Rows rows;
};

TransferOptions transfer_options(Call& call) {
  TransferOptions options;
  options.stop_timeout = std::chrono::milliseconds(
      call.number("stop_timeout_ms", 0, kMsMax, options.stop_timeout.count()));
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
  const std::size_t state =
      call.one_of("state", words_of<kSessionStateCount>(session_state_name).data(),
                  kSessionStateCount, kSessionStateCount);
  filter.any_state = state == kSessionStateCount;
  if (!filter.any_state) filter.state = static_cast<SessionState>(state);
  filter.open_for_ms = call.number("open_for_ms", 0, kMsMax, 0);
  filter.unused_for_ms = call.number("unused_for_ms", 0, kMsMax, 0);
  Page page = call.page();
  if (!call.good()) return;
  static_cast<void>(call.out().write("{\"sessions\":["));
  SessionRows visitor(call.out());
  const Status status = call.client().list_sessions(filter, &page, visitor);
  call.end_rows(status, visitor.rows, visitor.last, page);
}

void get_session(Call& call) {
  SessionInfo info;
  const Status status = call.client().get_session(call.text("instance"), call.segment(2), &info);
  if (status == Status::kOk) {
    JsonOut out(call.out());
    write_json(info, out);
  }
  call.end(status);
}

void close_session(Call& call) {
  call.done(call.client().close_session(call.text("instance"), call.segment(2),
                                        call.text("owner_label")));
}

void transfer_session(Call& call) {
  TransferOptions options = transfer_options(call);
  options.instance = Name(call.text("instance"));
  if (!call.good()) return;
  call.done(call.client().transfer_session(call.segment(2), call.text("node"), options));
}

void hold_session(Call& call) {
  static_cast<void>(call.required("hold_ms"));
  const std::chrono::milliseconds hold(call.number("hold_ms", 0, kMsMax, 0));
  if (!call.good()) return;
  call.done(call.client().hold_session(call.text("instance"), call.segment(2), hold));
}

void handoff_session(Call& call) {
  call.done(call.client().handoff_session(call.text("instance"), call.segment(2), call.text("tag"),
                                          call.exchange().body().text()));
}

void list_workers(Call& call) {
  static_cast<void>(call.out().write("{\"workers\":["));
  WorkerRows visitor(call.out());
  const Status status = call.client().list_workers(visitor);
  static_cast<void>(
      call.out().write(visitor.rows.full() ? "],\"more\":true}" : "],\"more\":false}"));
  call.end(status);
}

void drain_worker(Call& call) {
  const TransferOptions options = transfer_options(call);
  if (!call.good()) return;
  call.done(call.client().drain_worker(call.segment(2), options));
}

void undrain_worker(Call& call) { call.done(call.client().undrain_worker(call.segment(2))); }
void forget_device(Call& call) { call.done(call.client().forget_device(call.segment(2))); }

}  // namespace pawl::http
