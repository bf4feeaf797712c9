// pawl: shows and changes a database. Its manual is docs/tool.md.
#include "apps/pawl/tool_commands.hpp"

int main(int argc, char** argv) {
  pawl::tool::Tool tool;
  pawl::tool::add_all(tool);
  return tool.run(argc, argv);
}
