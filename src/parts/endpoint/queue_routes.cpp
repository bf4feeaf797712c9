// Routes of the queues: work of workers, and messages of instances.
#include "parts/endpoint/routes.hpp"

namespace pawl::http {

void list_queue(Call& call) {
  WorkListFilter filter;
  filter.name = Name(call.text("name"));
  filter.tag = Name(call.text("tag"));
  filter.session = Name(call.text("session"));
  filter.instance_id = Name(call.text("instance"));
  if (const auto state = call.word("state")) filter.state = static_cast<ActivityState>(*state);
  answer_page(call, &WorkInfo::key, [&](Page* page, WorkVisitor& visitor) {
    return call.client().list_work(filter, page, visitor);
  });
}

void list_messages(Call& call) {
  answer_page(call, &MessageInfo::number, [&](Page* page, MessageVisitor& visitor) {
    return call.client().list_messages(call.segment(2), page, visitor);
  });
}

}  // namespace pawl::http
