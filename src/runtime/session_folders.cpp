#include "runtime/session_folders.hpp"

#include "core/check.hpp"
#include "store/session/folder.hpp"

namespace pawl {
namespace {

// Limits of one tick: each name costs a query, and each removal a write to the disk.
constexpr std::size_t kFolderNamesMax = 32;
constexpr std::size_t kFolderStepsMax = 64;

// Takes a number off the beginning of the text. Returns -1 if there is none or it is too large.
std::int64_t take_number(std::string_view* text) {
  std::int64_t number = text->empty() ? -1 : 0;
  std::size_t digits = 0;
  for (; digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9'; ++digits) {
    if (number > (INT64_MAX - 9) / 10) return -1;
    number = number * 10 + ((*text)[digits] - '0');
  }
  text->remove_prefix(digits);
  return digits == 0 ? -1 : number;
}

// Is the name one of a folder of this database?
bool read_name(std::string_view name, std::string_view database_id, SessionKey* session,
               std::int64_t* generation) {
  if (name.substr(0, database_id.size()) != database_id) return false;
  std::string_view rest = name.substr(database_id.size());
  if (rest.empty() || rest[0] != '-') return false;
  rest.remove_prefix(1);
  *session = take_number(&rest);
  if (rest.empty() || rest[0] != '.') return false;
  rest.remove_prefix(1);
  *generation = take_number(&rest);
  if (*session < 0 || *generation < 0) return false;
  return folder_name(database_id, *session, *generation) == name;  // to the byte
}

}  // namespace

Status SessionFolders::check_root(Diagnostic& diagnostic) const {
  if (!loop_.options.sessions.work_root.has_value()) return Status::kOk;
  if (loop_.port.folders == nullptr) {
    diagnostic.format("work_root is set, and the port has no folders");
    return Status::kUnsupported;
  }
  return loop_.port.folders->check_root(loop_.options.sessions.work_root->c_str(), diagnostic);
}

void SessionFolders::put_path(const WorkItem& item, Text* path) const {
  if (!loop_.options.sessions.work_root.has_value() || item.session == 0) return;
  const FolderName name =
      folder_name(loop_.store->database_id(), item.session, item.session_info.generation);
  const bool fits = path->append(loop_.options.sessions.work_root->view()) == Status::kOk &&
                    path->append('/') == Status::kOk && path->append(name.view()) == Status::kOk;
  PAWL_CHECK("runtime-61", fits);  // check_root() measured the path
}

void SessionFolders::stop() {
  if (loop_.agenda.wants(Job::kListFolders)) loop_.port.folders->end_list();
}

// Made with each hand-over and not once a session: a person may have cleaned up the root, and the
// activities of the session must not fail then. An activity without its folder does not run, and is
// put back: only people can repair the disk, and an orchestration can do nothing about such an
// error.
void SessionFolders::committed() {
  if (!loop_.options.sessions.work_root.has_value()) return;
  slots_.for_each([&](internal::Slot& slot) {
    if (!slot.in_batch.fetched || slot.item.session == 0) return;
    const FolderName name = folder_name(loop_.store->database_id(), slot.item.session,
                                        slot.item.session_info.generation);
    Diagnostic why;
    const Status made =
        loop_.port.folders->make(loop_.options.sessions.work_root->c_str(), name.c_str(), why);
    if (made == Status::kOk) return;
    slot.lacks_folder = true;
    slot.state = internal::Slot::State::kFinished;
    ++loop_.stats.session_folders_failed;
    loop_.log(LogLevel::kError, "session_folder_failed",
              {{"session", slot.item.session_info.name},
               {"activity", slot.item.activity_name},
               {"instance", slot.item.instance_id},
               {"status", status_name(made)},
               {"text", why.text()}});
  });
}

void SessionFolders::plan(std::int64_t in_ms) {
  if (!loop_.options.sessions.work_root.has_value()) return;
  const std::int64_t due = loop_.boot_ms() + in_ms;
  loop_.agenda.plan_earlier(Job::kFolders, due);
}

// One tick looks at a few names, or removes a part of one folder.
void SessionFolders::sweep() {
  if (!loop_.agenda.wants(Job::kListFolders) && !begin_list()) return;
  for (std::size_t looked = 0; looked < kFolderNamesMax && removing_.empty(); ++looked) {
    const Result<std::string_view> name = loop_.port.folders->next_name();
    if (!name.ok())
      log_folder(LogLevel::kWarning, "session_folders_not_listed", {}, name.status(), {});
    if (name.value().empty()) {
      loop_.port.folders->end_list();
      loop_.agenda.clear(Job::kListFolders);
      return;
    }
    if (is_of_the_past(name.value())) removing_.assign_cut(name.value());
  }
  if (!removing_.empty() && !remove_some()) removing_.clear();
}

bool SessionFolders::begin_list() {
  if (!loop_.agenda.is_due(Job::kFolders, loop_.boot_ms())) return false;
  loop_.agenda.clear(Job::kFolders);
  Diagnostic why;
  const Status begun =
      loop_.port.folders->begin_list(loop_.options.sessions.work_root->c_str(), why);
  loop_.agenda.set(Job::kListFolders, begun == Status::kOk);
  if (begun != Status::kOk)
    log_folder(LogLevel::kWarning, "session_folders_not_listed", {}, begun, why.text());
  return begun == Status::kOk;
}

// A session that has a slot here keeps its folder, even if it has ended. The release of the slot
// plans a new look.
bool SessionFolders::is_of_the_past(std::string_view name) {
  SessionKey session = 0;
  std::int64_t generation = 0;
  if (!read_name(name, loop_.store->database_id(), &session, &generation)) return false;
  bool in_use = false;
  slots_.for_each([&](const internal::Slot& slot) {
    in_use =
        in_use || (slot.item.session == session && slot.item.session_info.generation == generation);
  });
  bool lives = true;
  const Status read =
      in_use ? Status::kOk : loop_.session().rows.session_lives(session, generation, &lives);
  if (read != Status::kOk) loop_.log_status(LogLevel::kWarning, "session_folder_kept", read);
  return !in_use && read == Status::kOk && !lives;
}

// True: a part of the folder is left.
bool SessionFolders::remove_some() {
  bool more = false;
  Diagnostic why;
  const Status status = loop_.port.folders->remove_some(
      loop_.options.sessions.work_root->c_str(), removing_.c_str(), kFolderStepsMax, &more, why);
  if (status == Status::kOk && more) return true;
  if (status == Status::kOk) {
    ++loop_.stats.session_folders_removed;
    log_folder(LogLevel::kInfo, "session_folder_removed", removing_.view(), status, {});
  } else {
    ++loop_.stats.session_folders_failed;
    log_folder(LogLevel::kWarning, "session_folder_not_removed", removing_.view(), status,
               why.text());
  }
  return false;
}

void SessionFolders::log_folder(LogLevel level, const char* event, std::string_view name,
                                Status status, std::string_view text) const {
  loop_.log(level, event,
            {{"folder", name},
             {"root", loop_.options.sessions.work_root->view()},
             {"status", status_name(status)},
             {"text", text}});
}

}  // namespace pawl
