// The template is no port yet, and its first call says so.
#include <gtest/gtest.h>

#include <vector>

#include "pawl/client.hpp"
#include "port/template/template_port.hpp"

namespace pawl {
namespace {

TEST(TemplatePort, IsOfOurVersionAndRefusesInOrder) {
  port_template::TemplatePort machine;
  const port::Port port = machine.port();
  EXPECT_EQ(port.clock->version(), port::kPortVersion);
  EXPECT_EQ(port.storage->version(), port::kPortVersion);
  EXPECT_EQ(port.threads->version(), port::kPortVersion);
  Diagnostic diagnostic;
  EXPECT_EQ(port.clock->open(diagnostic), Status::kUnsupported);
  EXPECT_EQ(port.storage->check_place("/x.db", diagnostic), Status::kUnsupported);
  EXPECT_NE(diagnostic.text().find("/x.db"), std::string_view::npos) << diagnostic.text();
  EXPECT_EQ(port.storage->open("/x.db", {}).status(), Status::kUnsupported);
  EXPECT_EQ(port.storage->worker_create("/x.db", 1, 8).status(), Status::kUnsupported);
  EXPECT_EQ(port.storage->worker_test("/x.db", 1), port::Held::kUntestable);
  EXPECT_EQ(port.threads->open("/x.db", diagnostic), Status::kUnsupported);
  EXPECT_TRUE(port.threads->wait({}).due) << "what cannot sleep polls";
  EXPECT_EQ(port.threads->executor_start(0, 4096), Status::kOk);
  EXPECT_EQ(port.threads->executor_start(1, 4096), Status::kUnsupported);
  EXPECT_EQ(port.folders->version(), port::kPortVersion);
  EXPECT_EQ(port.folders->check_root("/dirs", diagnostic), Status::kUnsupported);
  EXPECT_NE(diagnostic.text().find("/dirs"), std::string_view::npos) << diagnostic.text();
  EXPECT_EQ(port.folders->next_name().status(), Status::kUnsupported);
}

TEST(TemplatePort, ClientOnIt_IsRefusedWithTheFunctionToWrite) {
  ProcessOptions process_options;
  std::vector<unsigned char> for_process(Process::required_memory(process_options));
  Process process;
  Diagnostic diagnostic;
  ASSERT_EQ(process.start(process_options, for_process.data(), for_process.size(), diagnostic),
            Status::kOk)
      << diagnostic.text();
  ClientOptions options;
  options.database_path = "/x.db";
  std::vector<unsigned char> memory(Client::required_memory(options));
  port_template::TemplatePort machine;
  Client client;
  EXPECT_EQ(client.open(process, options, machine.port(), memory.data(), memory.size(), diagnostic),
            Status::kUnsupported);
  EXPECT_NE(diagnostic.text().find("TemplateClock::open()"), std::string_view::npos)
      << diagnostic.text();
}

}  // namespace
}  // namespace pawl
