// session_folder: the name of a session's folder.
//
// Purpose: one place makes the name, since the runtime creates the folder and the directory of
// sessions shows its path. Rules: docs/rules/session-work.md, S42.
// Ownership: plain values. Thread rule: any.
#ifndef PAWL_STORE_SESSION_FOLDER_HPP
#define PAWL_STORE_SESSION_FOLDER_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/port.hpp"

namespace pawl {

using FolderName = FixedText<port::Folders::kNameBytesMax>;
// A path below SessionOptions::work_root.
inline constexpr std::size_t kFolderPathBytesMax =
    port::Folders::kRootBytesMax + 1 + port::Folders::kNameBytesMax;

// Pawl alone chooses the name, so no session's id leads out of the root.
[[nodiscard]] inline FolderName folder_name(std::string_view database_id, SessionKey session,
                                            std::int64_t generation) {
  FolderName name;
  const bool fits = name.append(database_id) == Status::kOk && name.append('-') == Status::kOk &&
                    name.append_number(session) == Status::kOk && name.append('.') == Status::kOk &&
                    name.append_number(generation) == Status::kOk;
  PAWL_CHECK("runtime-60", fits);  // 32 digits and two numbers
  return name;
}

}  // namespace pawl

#endif  // PAWL_STORE_SESSION_FOLDER_HPP
