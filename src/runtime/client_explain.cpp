// Client: says why something does not go on.
#include "runtime/client_core.hpp"

namespace pawl {

Status Client::explain(std::string_view id, CauseVisitor& visitor) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().causes().explain_instance(id, visitor), {id});
  });
}

Status Client::explain_session(std::string_view instance, std::string_view session,
                               CauseVisitor& visitor) {
  return enter([&](ClientCore& core) {
    return core.explain(core.store().causes().explain_session(instance, session, visitor),
                        {session});
  });
}

}  // namespace pawl
