// Last, and only if sessions are to have folders: a port without them leaves port::Port::folders
// null.
#include "template_port.hpp"

namespace pawl::port_template {

// Everything that can be known before the first folder is needed, so that a wrong path is an error
// of the start.
Status TemplateFolders::check_root(const char* root, Diagnostic& diagnostic) {
  diagnostic.format("%s: TemplateFolders::check_root() is not written", root);
  return Status::kUnsupported;
}

// One step, and another look if the name is taken: a folder of ours is good, a link to one is not.
Status TemplateFolders::make(const char*, const char*, Diagnostic&) { return Status::kUnsupported; }

// Links are removed, never followed. Not by recursion: applications make deep trees. A folder that
// its owner may not write is opened up first. When nothing could be removed and something is left,
// say what, instead of *more.
Status TemplateFolders::remove_some(const char*, const char*, std::size_t, bool* more,
                                    Diagnostic&) {
  *more = false;
  return Status::kUnsupported;
}

// The list goes on over many calls, and other calls come between.
Status TemplateFolders::begin_list(const char*, Diagnostic&) { return Status::kUnsupported; }

// Without "." and "..".
Result<std::string_view> TemplateFolders::next_name() { return Status::kUnsupported; }

// Also when none was begun.
void TemplateFolders::end_list() {}

}  // namespace pawl::port_template
