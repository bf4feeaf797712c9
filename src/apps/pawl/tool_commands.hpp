// Commands: each of these functions adds some to the tool.
//
// Purpose: one file for each group of commands. Ownership: the variables that options are parsed
// into live as long as the tool. Thread rule: one thread.
#ifndef PAWL_APPS_PAWL_TOOL_COMMANDS_HPP
#define PAWL_APPS_PAWL_TOOL_COMMANDS_HPP

#include <memory>
#include <optional>
#include <string>

#include "apps/pawl/tool.hpp"
#include "pawl/management.hpp"

namespace pawl::tool {

void add_instance_lists(Tool& tool);    // list, show, explain, children ..
void add_directory_lists(Tool& tool);   // workers, sessions, leaks, queue, metrics
void add_sending(Tool& tool);           // start, raise, enqueue, wait, watch
void add_answering(Tool& tool);         // complete, fail, heartbeat
void add_instance_changes(Tool& tool);  // cancel, terminate, suspend, resume, restart
void add_removals(Tool& tool);          // delete, delete-ended, prune, quota
void add_session_changes(Tool& tool);   // transfer, evict, close, hold, handoff ..
void add_generated(Tool& tool);         // completion, man
void add_backup(Tool& tool);            // backup, restore
void add_check(Tool& tool);
void add_doctor(Tool& tool);
void add_export(Tool& tool);
void add_move(Tool& tool);
void add_top(Tool& tool);
void add_upgrade(Tool& tool);
void add_all(Tool& tool);

// --name, --state, --prefix: a choice of instances.
struct InstanceChoice {
  std::string name;
  std::string prefix;
  std::optional<std::size_t> state;
  [[nodiscard]] bool any() const { return !name.empty() || !prefix.empty() || state.has_value(); }
  [[nodiscard]] InstanceFilter filter() const;
};
void add_choice_of_instances(CLI::App* app, InstanceChoice* choice);

// Adds the positional argument ID.
CLI::Option* add_id(CLI::App* app, std::string* id);

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_TOOL_COMMANDS_HPP
