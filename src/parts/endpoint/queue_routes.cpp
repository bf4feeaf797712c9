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
  if (const auto state = call.word("state")) filter.state = static_cast<ActivityState>(*state);
  Page page = call.page();
  call.begin();
  call.begin_rows();
  WorkRows visitor(call.out());
  const Status status = call.client().list_work(filter, &page, visitor);
  call.finish_page(status, visitor.rows, visitor.last, page);
}

void list_messages(Call& call) {
  Page page = call.page();
  call.begin();
  call.begin_rows();
  MessageRows visitor(call.out());
  const Status status = call.client().list_messages(call.segment(2), &page, visitor);
  call.finish_page(status, visitor.rows, visitor.last, page);
}

}  // namespace pawl::http
