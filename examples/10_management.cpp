// A Client looks into a database from any process: here from the one that has just run.
#include <cstdio>

#include "pawl/host.hpp"
#include "pawl/visit.hpp"

pawl::Poll good(pawl::OrchestrationContext& ctx) { return ctx.complete("done"); }
pawl::Poll bad(pawl::OrchestrationContext& ctx) { return ctx.fail("no water"); }

int main() {
  pawl::Host host("10_management.db");
  host.add_orchestration("good", good).add_orchestration("bad", bad);
  host.start_once("bad", pawl::InstanceId("one"), "")
      .start_once("good", pawl::InstanceId("two"), "");
  if (host.run_until_done("two") != 0) return 1;

  pawl::HostClient client(host.process(), "10_management.db");
  auto print = pawl::visit([](const pawl::InstanceInfo& instance) {
    std::printf("%.*s is %s\n", PAWL_TEXT(instance.id),
                pawl::orchestration_state_name(instance.state));
  });
  pawl::Page page;
  return client.list_instances({}, &page, print) == pawl::Status::kOk ? 0 : 1;
}
// Prints:
// one is failed
// two is completed
