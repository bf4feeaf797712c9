// Last step, and only if sessions are to have folders: a port without them leaves
// port::Port::folders null.
#include "port/template/template_port.hpp"

namespace pawl::port_template {

// Check everything that can be known before the first folder is needed, so that a wrong path is an
// error at the start.
Status TemplateFolders::check_root(const char* root, Diagnostic& diagnostic) {
  diagnostic.format("%s: TemplateFolders::check_root() is not written", root);
  return Status::kUnsupported;
}

// One step; if the name is taken, look again: our own folder is good, a link to a folder is not.
Status TemplateFolders::make(const char*, const char*, Diagnostic&) { return Status::kUnsupported; }

// Remove links, never follow them. Do not recurse: applications make deep trees. Give the owner its
// rights to a folder that it may not write. If nothing could be removed and something is left,
// report what, instead of setting *more.
Status TemplateFolders::remove_some(const char*, const char*, std::size_t, bool* more,
                                    Diagnostic&) {
  *more = false;
  return Status::kUnsupported;
}

// The list goes on over many calls, and other calls come between.
Status TemplateFolders::begin_list(const char*, Diagnostic&) { return Status::kUnsupported; }

// Leave out "." and "..".
Result<std::string_view> TemplateFolders::next_name() { return Status::kUnsupported; }

// May be called when no list was begun.
void TemplateFolders::end_list() {}

}  // namespace pawl::port_template
