#include "apps/pawl/session_look.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "pawl/port_posix.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

constexpr std::size_t kRootsMax = 64;
constexpr std::size_t kFoldersMax = 100'000;  // names kept at a time: some 10 MB
// A folder is made right after the commit that names it; the row then shows a recent use.
constexpr std::int64_t kSettledMs = 5'000;
// Time for removal: a living worker looks for folders of ended sessions within a second.
constexpr int kRemovalMs = 2'000;

using Roots = std::set<std::string>;
using Paths = std::multimap<std::string, std::string>;  // by name; one session may be in two roots

std::string root_of(std::string_view folder) {
  return std::string(folder.substr(0, folder.rfind('/')));
}
std::string name_of(std::string_view folder) {
  return std::string(folder.substr(folder.rfind('/') + 1));
}

bool take_digits(std::string_view* text, const char* digits, std::size_t most) {
  std::size_t taken = text->find_first_not_of(digits);
  if (taken == std::string_view::npos) taken = text->size();
  if (taken == 0 || taken > most) return false;
  text->remove_prefix(taken);
  return true;
}

bool take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// A name as in docs/rules/session-work.md, S42: <database>-<session>.<generation>.
bool is_folder_name(std::string_view name) {
  constexpr std::size_t kIdDigits = 32;
  constexpr std::size_t kNumberDigits = 19;
  return take_digits(&name, "0123456789abcdef", kIdDigits) && take(&name, '-') &&
         take_digits(&name, "0123456789", kNumberDigits) && take(&name, '.') &&
         take_digits(&name, "0123456789", kNumberDigits) && name.empty();
}

using Nodes = std::set<std::string, std::less<>>;

class LookAtRows final : public SessionVisitor {
 public:
  // `folders`: null: they are on other machines, too, and none is looked at.
  LookAtRows(SessionLook* look, const Nodes& living, Paths* folders)
      : look_(look), living_(living), folders_(folders) {}
  void on_session(const SessionInfo& one) noexcept override {
    if (one.device) look_at_device(one);
    if (folders_ == nullptr || one.folder.empty()) return;
    folders_->erase(name_of(one.folder));
    if (one.quiet_for_ms >= kSettledMs) look_at_folder(std::string(one.folder));
  }

 private:
  void look_at_device(const SessionInfo& one) {
    const bool is_unowned = one.waits_for_ms.has_value();
    const bool is_left = one.state == SessionState::kActive && !one.node.empty() &&
                         living_.find(std::string_view(one.node)) == living_.end();
    if (is_unowned) ++look_->unowned;
    if (is_unowned || is_left) look_->waiting_devices.add(std::string(one.name));
  }
  void look_at_folder(std::string path) {
    struct stat is = {};
    if (::lstat(path.c_str(), &is) == 0) {
      if (!S_ISDIR(is.st_mode)) look_->missing_folders.add(std::move(path));
    } else if (errno == ENOENT) {
      look_->missing_folders.add(std::move(path));
    }
  }

  SessionLook* look_;
  const Nodes& living_;
  Paths* folders_;
};

void list_sessions(Tool& tool, SessionVisitor& visitor) {
  Page page;
  page.rows_max = 1'000;
  do {
    tool.must(tool.client().list_sessions(SessionFilter(), &page, visitor));
  } while (page.more);
}

// Lists the folders of this database. Must run before the rows are read: a folder is made after its
// row.
void list_folders(port::Folders& port, const std::string& root, const std::string& database_id,
                  SessionLook* look, Paths* out) {
  Diagnostic why;
  const Status begun = port.begin_list(root.c_str(), why);
  if (begun != Status::kOk) return look->unread_roots.add(std::string(why.text()));
  while (true) {
    const Result<std::string_view> name = port.next_name();
    if (!name.ok()) look->unread_roots.add(root + ": " + status_name(name.status()));
    if (!name.ok() || name.value().empty()) break;
    if (!is_folder_name(name.value())) continue;
    if (name.value().substr(0, database_id.size()) != database_id)
      ++look->foreign_folders;
    else if (out->size() < kFoldersMax)
      out->emplace(name.value(), root + '/' + std::string(name.value()));
    else
      look->complete = false;
  }
  port.end_list();
}

// A folder that a living worker is about to remove is no finding, so removal gets time first.
void add_orphans(const Paths& folders, bool has_workers, SessionLook* look) {
  if (!folders.empty() && has_workers) ::poll(nullptr, 0, kRemovalMs);
  for (const auto& [name, path] : folders) {
    struct stat is = {};
    if (::lstat(path.c_str(), &is) == 0) look->orphaned_folders.add(path);
  }
}

}  // namespace

SessionLook look_at_sessions(Tool& tool, const std::string& path, const std::string& database_id,
                             const std::vector<std::string>& roots) {
  SessionLook look;
  posix::SystemPort port;
  Roots all(roots.begin(), roots.end());
  auto of_rows = visit([&all](const SessionInfo& one) {
    if (!one.folder.empty() && all.size() < kRootsMax) all.insert(root_of(one.folder));
  });
  const bool sees_folders = !tool.is_on_server();
  if (sees_folders) list_sessions(tool, of_rows);
  look.roots = static_cast<std::int64_t>(all.size());
  Paths folders;
  for (const std::string& root : all)
    list_folders(*port.port().folders, root, database_id, &look, &folders);
  // Tests the lock, which ends with its process, or the connection to the server; a lease outlives
  // both.
  Nodes living;
  tool.must(tool.client().list_workers(visit([&](const WorkerInfo& one) {
    const port::Held held = sees_folders
                                ? port.port().storage->worker_test(path.c_str(), one.incarnation)
                                : port::Held::kUntestable;
    if (held == port::Held::kHeld ||
        (held == port::Held::kUntestable && !one.disconnected && one.lease_ends_in_ms > 0))
      living.emplace(one.node);
  })));
  LookAtRows rows(&look, living, sees_folders ? &folders : nullptr);
  list_sessions(tool, rows);
  add_orphans(folders, !living.empty(), &look);
  return look;
}

}  // namespace pawl::tool
