// SessionFolders: the working folders of sessions (SessionOptions::work_root). A folder is made
// before an activity of its session begins, and removed when the session has ended.
// Rules: docs/rules/session-work.md.
//
// A folder is made only after the hand-over is committed, and a folder's name is never used again.
// A folder whose session has no row therefore belongs to an ended session. Removing needs nothing
// else: no list of folders to remove can be lost in a crash, or be wrong.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_SESSION_FOLDERS_HPP
#define PAWL_RUNTIME_SESSION_FOLDERS_HPP

#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/slots.hpp"

namespace pawl {

class SessionFolders {
 public:
  static constexpr std::int64_t kFolderLookDelayMs = 1'000;  // ends in this time share one look

  SessionFolders(LoopContext& loop, Slots& slots) : loop_(loop), slots_(slots) {}

  // At the start: can work_root be used?
  Status check_root(Diagnostic& diagnostic) const;
  void stop();

  // Appends the folder of the item's session; nothing without a session, or without work_root.
  void put_path(const WorkItem& item, Text* path) const;
  // Makes the folders for the activities that the last batch handed over.
  void committed();
  // Plans a look for folders of ended sessions in `in_ms`; an earlier plan stays.
  void plan(std::int64_t in_ms);
  // Removes a few folders, outside of any batch.
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

#endif  // PAWL_RUNTIME_SESSION_FOLDERS_HPP
