#include "world.hpp"

#include <gtest/gtest.h>

namespace pawl::testing {

Process& shared_process() {
  Process* process = nullptr;
  Diagnostic diagnostic;
  const Status status = shared_process(&process, diagnostic);
  EXPECT_EQ(status, Status::kOk) << diagnostic.text();
  return *process;
}

TestClient::TestClient(sim::Machine& machine, const char* path, ClientOptions options)
    : node(machine), memory(Client::required_memory(options)) {
  options.database_path = path;
  Diagnostic diagnostic;
  const Status status = client.open(shared_process(), options, node.port(), memory.data(),
                                    memory.bytes(), diagnostic);
  EXPECT_EQ(status, Status::kOk) << diagnostic.text();
}

OrchestrationStatus TestClient::status(std::string_view id) {
  OrchestrationStatus out;
  const Status status = client.get_status(id, &out);
  EXPECT_EQ(status, Status::kOk) << client.error_text();
  return out;
}

}  // namespace pawl::testing
