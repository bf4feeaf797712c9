// export: all data of one instance, or of all instances, as JSON lines.
#include "apps/pawl/tool_commands.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

// Each line is an object with one member, whose name says what it holds.
// Returns the first failure; kNotFound: the instance was removed meanwhile. An execution that was
// removed meanwhile is skipped.
Status export_one(Tool& tool, const std::string& id) {
  Client& client = tool.client();
  InstanceInfo info;
  PAWL_TRY(client.get_instance_info(id, &info));
  tool.print_json_as("instance", info);
  OrchestrationStatus status;
  PAWL_TRY(client.get_status(id, &status));
  tool.print_json_as("status", status);
  std::vector<std::int64_t> executions;
  PAWL_TRY(client.list_executions(id, visit([&](const ExecutionInfo& one) {
                                    executions.push_back(one.execution_id);
                                    tool.print_json_as("execution", one);
                                  })));
  for (const std::int64_t execution : executions) {
    tool.out().begin_object().number("history_of", execution).end_object().end_line();
    const Status read = client.read_history(id, execution, visit([&tool](const HistoryEvent& one) {
                                              tool.print_json_as("event", one);
                                            }));
    if (read != Status::kNotFound) PAWL_TRY(read);
  }
  KvPage page;
  do {
    PAWL_TRY(client.get_all_kv_values(
        id, &page, visit([&tool](const KvEntry& one) { tool.print_json_as("value", one); })));
  } while (page.more);
  return Status::kOk;
}

// A damaged instance does not end the export of the others.
bool export_whole(Tool& tool, const std::string& id) {
  const Status status = export_one(tool, id);
  if (status == Status::kOk || status == Status::kNotFound) return true;
  if (status != Status::kCorrupt) tool.must(status);
  tool.out()
      .begin_object()
      .begin_object("damaged")
      .text("id", id)
      .text("text", tool.client().error_text())
      .end_object()
      .end_object()
      .end_line();
  return false;
}

int export_all(Tool& tool, const InstanceFilter& filter) {
  bool whole = true;
  Page page;
  do {
    std::vector<std::string> ids;
    tool.must(tool.client().list_instances(
        filter, &page, visit([&ids](const InstanceInfo& info) { ids.emplace_back(info.id); })));
    for (const std::string& id : ids)
      whole = export_whole(tool, id) && whole;
    tool.flush();
  } while (page.more);
  return whole ? kDone : kBad;
}

}  // namespace

void add_export(Tool& tool) {
  struct Given {
    std::string id;
    InstanceChoice choice;
  };
  auto given = std::make_shared<Given>();
  CLI::App* const command =
      tool.add("export", "Writes everything of one, or of all that pass, as JSON lines",
               [&tool, given]() -> int {
                 if (given->id.empty()) return export_all(tool, given->choice.filter());
                 InstanceInfo info;
                 tool.must(tool.client().get_instance_info(given->id, &info));
                 return export_whole(tool, given->id) ? kDone : kBad;
               });
  command->add_option("ID", given->id, "The instance; else all that pass")->type_name("");
  add_choice_of_instances(command, &given->choice);
}

}  // namespace pawl::tool
