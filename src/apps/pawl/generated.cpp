// completion, man: texts made from the parser's own data, so they always agree with it.
#include "apps/pawl/tool_commands.hpp"

namespace pawl::tool {
namespace {

void put(const std::string& text) { StdoutSink().write(text); }

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

std::string options_of(const CLI::App& command) {
  std::string all;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      all.append(all.empty() ? "" : " ").append("--").append(name);
  return all;
}

int bash(const CLI::App& app) {
  std::string commands;
  for (const CLI::App* command : shown_commands(app))
    commands.append(commands.empty() ? "" : " ").append(command->get_name());
  put("# bash completion of pawl; made by `pawl completion bash`.\n"
      "_pawl() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} command= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      --db|--schema|--beside) ((i++)) ;;\n"
      "      -*) ;;\n"
      "      *) command=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  local before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [[ $before == --db || $before == --beside ]]; then\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  local words=\n"
      "  case $command in\n"
      "    '') words=\"" +
      commands + " " + options_of(app) + "\" ;;\n");
  for (const CLI::App* command : shown_commands(app))
    put("    " + command->get_name() + ") words=\"" + options_of(*command) + "\" ;;\n");
  put("  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ -z $command || $word == -* ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "}\n"
      "complete -o filenames -F _pawl pawl\n");
  return kDone;
}

// zsh takes bash completions through a module of its own.
int zsh(const CLI::App& app) {
  put("#compdef pawl\n"
      "autoload -U +X bashcompinit && bashcompinit\n");
  return bash(app);
}

// In roff a minus is a hyphen, and a dot at the beginning of a line is a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out.append("\\e");
    else if (c == '-')
      out.append("\\-");
    else if ((c == '.' || c == '\'') && out.empty())
      out.append("\\&").push_back(c);
    else
      out.push_back(c);
  }
  return out;
}

void put_options(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_name(false, true) == "--help") continue;
    std::string name =
        option->get_positional() ? option->get_name(true) : option->get_name(false, true);
    if (!option->get_positional() && !option->get_type_name().empty() &&
        option->get_items_expected_max() > 0)
      name += " " + option->get_type_name();
    put(".TP\n.B " + roff(name) + "\n" + roff(option->get_description()) + "\n");
  }
}

int man(const CLI::App& app) {
  put(".TH PAWL 1 \"\" \"Pawl\" \"User Commands\"\n"
      ".SH NAME\npawl \\- looks into a Pawl database, and changes it\n"
      ".SH SYNOPSIS\n.B pawl\n[\\fB\\-\\-db\\fR \\fIFILE\\fR] [\\fB\\-\\-json\\fR] "
      "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGS\\fR]\n"
      ".SH DESCRIPTION\nWorks on the database, with or without a running process.\n"
      ".SH OPTIONS\n");
  put_options(app);
  put(".SH COMMANDS\n");
  for (const CLI::App* command : shown_commands(app)) {
    put(".SS " + roff(command->get_name()) + "\n" + roff(command->get_description()) + "\n");
    put_options(*command);
  }
  put(".SH EXIT STATUS\n" + roff(app.get_footer()) +
      "\n.SH ENVIRONMENT\n.TP\n.B PAWL_DB\n"
      "The database, where \\-\\-db is not given.\n"
      ".TP\n.B PAWL_SCHEMA, PAWL_BESIDE\n"
      "On a server, where \\-\\-schema or \\-\\-beside is not given.\n");
  return kDone;
}

}  // namespace

void add_generated(Tool& tool) {
  auto shell = std::make_shared<std::optional<std::size_t>>();
  CLI::App* const completion =
      tool.add("completion", "Prints the completion of a shell",
               [&tool, shell] { return **shell == 0 ? bash(tool.app()) : zsh(tool.app()); });
  add_choice(completion, "SHELL", {"bash", "zsh"}, shell.get(), "The shell")->required();
  completion->group("");
  tool.add("man", "Prints the manual page", [&tool] { return man(tool.app()); })->group("");
}

void add_all(Tool& tool) {
  tool.begin_group("Look");
  add_instance_lists(tool);
  add_directory_lists(tool);
  tool.begin_group("Start, send, answer");
  add_sending(tool);
  add_answering(tool);
  tool.begin_group("Change instances");
  add_instance_changes(tool);
  add_removals(tool);
  tool.begin_group("Workers and sessions");
  add_session_changes(tool);
  tool.begin_group("The database");
  add_backup(tool);
  add_check(tool);
  add_doctor(tool);
  add_export(tool);
  add_top(tool);
  add_upgrade(tool);
  add_move(tool);
  add_generated(tool);
}

}  // namespace pawl::tool
