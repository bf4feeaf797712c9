// pawl: looks into a database, and changes it. docs/tool.md is its manual.
#include "tool_commands.hpp"

int main(int argc, char** argv) {
  pawl::tool::Tool tool;
  pawl::tool::add_all(tool);
  return tool.run(argc, argv);
}
