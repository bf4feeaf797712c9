// complete, fail, heartbeat: answers to activities that are completed from outside.
#include <memory>

#include "apps/pawl/tool_commands.hpp"

namespace pawl::tool {
namespace {

struct Answered {
  std::string token;
  std::string text;
  bool permanent = false;
};

int complete(Tool& tool, const Answered& given) {
  tool.must(tool.client().complete_activity(given.token, read_payload(given.text)));
  tool.done("complete", given.token);
  return kDone;
}

int fail_activity(Tool& tool, const Answered& given) {
  tool.must(tool.client().fail_activity(given.token, given.text, given.permanent));
  tool.done("fail", given.token);
  return kDone;
}

int heartbeat(Tool& tool, const Answered& given) {
  tool.must(tool.client().heartbeat_activity(given.token, given.text));
  tool.done("heartbeat", given.token);
  return kDone;
}

CLI::App* add_answer(Tool& tool, const std::string& name, const std::string& help,
                     const std::shared_ptr<Answered>& given, int (*run)(Tool&, const Answered&)) {
  CLI::App* const command = tool.add(name, help, [&tool, given, run] { return run(tool, *given); });
  command->add_option("TOKEN", given->token, "Its completion token")->required()->type_name("");
  return command;
}

}  // namespace

void add_answering(Tool& tool) {
  auto completed = std::make_shared<Answered>();
  CLI::App* command =
      add_answer(tool, "complete", "Completes an activity from outside", completed, complete);
  add_payload(command, "RESULT", &completed->text, "Its result; else empty");

  auto failed = std::make_shared<Answered>();
  command = add_answer(tool, "fail", "Fails an activity from outside; another attempt may follow",
                       failed, fail_activity);
  command->add_option("ERROR", failed->text, "The text of its error")->required()->type_name("");
  command->add_flag("--permanent", failed->permanent, "No other attempt follows");

  auto alive = std::make_shared<Answered>();
  command = add_answer(tool, "heartbeat", "Says that work goes on that is completed from outside",
                       alive, heartbeat);
  command->add_option("PROGRESS", alive->text, "How far it has come")->type_name("");
}

}  // namespace pawl::tool
