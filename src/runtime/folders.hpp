// Folders: of sessions (SessionOptions::work_root). They are made before an activity of the session
// begins, and removed when the session has ended. Rules: docs/rules/session-work.md.
//
// A folder is made only when the hand-over is committed. So a folder whose session has no row
// belongs to the past, and its name never comes again. That is all that removing needs to know: no
// list of what is to be removed can be lost in a crash, and none can be wrong.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_FOLDERS_HPP
#define PAWL_RUNTIME_FOLDERS_HPP

#include <cstdint>
#include <string_view>

#include "loop_context.hpp"
#include "slots.hpp"
#include "text.hpp"

namespace pawl {

class Folders {
 public:
  static constexpr std::int64_t kFolderLookDelayMs = 1'000;  // what ends together is one look

  Folders(LoopContext& loop, Slots& slots) : loop_(loop), slots_(slots) {}

  // At the start: can work_root be used?
  Status check_root(Diagnostic& diagnostic) const;
  void stop();

  // Of the item's session; empty without a session, or without folders.
  void put_path(const WorkItem& item, Text* path) const;
  // Those of the activities that the last batch handed over.
  void committed();
  // Folders of ended sessions are looked for in so long, if not earlier.
  void plan(std::int64_t in_ms);
  // Removes a few, outside of any batch.
  void sweep();

 private:
  bool begin_list();
  [[nodiscard]] bool is_of_the_past(std::string_view name);
  bool remove_some();
  void log_folder(LogLevel level, const char* event, std::string_view name, Status status,
                  std::string_view text) const;

  LoopContext& loop_;
  Slots& slots_;
  FixedText<port::Folders::kNameBytesMax> removing_;  // empty: none
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_FOLDERS_HPP
