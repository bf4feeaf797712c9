// Routes of the queues: work of workers, and messages of instances.
#include "parts/endpoint/routes.hpp"

namespace pawl::http {
namespace {

class WorkRows final : public WorkVisitor {
 public:
  explicit WorkRows(Buffer& out) : rows(out) {}
  void on_work(const WorkInfo& one) noexcept override {
    if (rows.add(one)) last = one.key;
  }
  Rows rows;
  std::int64_t last = 0;
};

class MessageRows final : public MessageVisitor {
 public:
  explicit MessageRows(Buffer& out) : rows(out) {}
  void on_message(const MessageInfo& one) noexcept override {
    if (rows.add(one)) last = one.number;
  }
  Rows rows;
  std::int64_t last = 0;
};

}  // namespace

void list_queue(Call& call) {
  WorkListFilter filter;
  filter.name = Name(call.text("name"));
  filter.tag = Name(call.text("tag"));
  filter.session = Name(call.text("session"));
  filter.instance_id = Name(call.text("instance"));
  const std::size_t state =
      call.one_of("state", words_of<kActivityStateCount>(activity_state_name).data(),
                  kActivityStateCount, kActivityStateCount);
  if (state != kActivityStateCount) filter.state = static_cast<ActivityState>(state);
  Page page = call.page();
  if (!call.good()) return;
  static_cast<void>(call.out().write("{\"queue\":["));
  WorkRows visitor(call.out());
  const Status status = call.client().list_work(filter, &page, visitor);
  call.end_rows(status, visitor.rows, visitor.last, page);
}

void list_messages(Call& call) {
  Page page = call.page();
  if (!call.good()) return;
  static_cast<void>(call.out().write("{\"messages\":["));
  MessageRows visitor(call.out());
  const Status status = call.client().list_messages(call.segment(2), &page, visitor);
  call.end_rows(status, visitor.rows, visitor.last, page);
}

}  // namespace pawl::http
