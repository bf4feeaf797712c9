// Routes of activities that are completed from outside.
#include "parts/endpoint/routes.hpp"

namespace pawl::http {

void complete_activity(Call& call) {
  call.done(call.client().complete_activity(call.segment(2), call.exchange().body().text()));
}

void fail_activity(Call& call) {
  call.done(call.client().fail_activity(call.segment(2), call.exchange().body().text(),
                                        call.flag("permanent")));
}

void heartbeat_activity(Call& call) {
  call.done(call.client().heartbeat_activity(call.segment(2), call.exchange().body().text()));
}

}  // namespace pawl::http
