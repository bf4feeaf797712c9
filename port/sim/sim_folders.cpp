// Folders of the simulated machine: names without contents.
#include "port/sim/sim_machine.hpp"

namespace pawl::sim {
namespace {

std::string joined(const char* root, const char* name) { return std::string(root) + "/" + name; }

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

}  // namespace

void Machine::put_entry(const char* path, Entry entry) {
  const std::string name = path;
  if (entry == Entry::kNone) {
    auto& all = impl_->entries;
    for (auto at = all.begin(); at != all.end();)
      at = at->first == name || is_below(at->first, name) ? all.erase(at) : std::next(at);
    return;
  }
  for (std::size_t at = name.find('/', 1); at != std::string::npos; at = name.find('/', at + 1))
    impl_->entries[name.substr(0, at)] = true;
  impl_->entries[name] = entry == Entry::kFolder;
}

Machine::Entry Machine::entry(const char* path) const {
  const auto found = impl_->entries.find(path);
  if (found == impl_->entries.end()) return Entry::kNone;
  return found->second ? Entry::kFolder : Entry::kFile;
}

std::size_t Machine::entries_below(const char* path) const {
  std::size_t count = 0;
  for (const auto& [name, is_folder] : impl_->entries)
    count += is_below(name, path) ? 1U : 0U;
  return count;
}

void Machine::fail_folders(Status status) { impl_->folders_failure = status; }

Status NodeFolders::failure(const std::string& path, Diagnostic& diagnostic) const {
  const Status status = node_.killed ? Status::kIo : node_.machine.folders_failure;
  if (status != Status::kOk) diagnostic.format("%s: %s", path.c_str(), status_name(status));
  return status;
}

Status NodeFolders::check_root(const char* root, Diagnostic& diagnostic) {
  const std::string path = root;
  if (path.empty() || path[0] != '/' || path.size() > kRootBytesMax) {
    diagnostic.format("%s: no absolute path, or longer than %zu bytes", root, kRootBytesMax);
    return Status::kInvalidArgument;
  }
  const auto found = node_.machine.entries.find(path);
  if (found != node_.machine.entries.end() && found->second) return failure(path, diagnostic);
  diagnostic.format("%s: no such folder", root);
  return Status::kCannotOpen;
}

Status NodeFolders::make(const char* root, const char* name, Diagnostic& diagnostic) {
  const std::string path = joined(root, name);
  PAWL_TRY(failure(path, diagnostic));
  auto& all = node_.machine.entries;
  if (all.count(root) == 0) {
    diagnostic.format("%s: no such folder", root);
    return Status::kCannotOpen;
  }
  const auto [at, made] = all.emplace(path, true);
  if (made || at->second) return Status::kOk;
  diagnostic.format("%s: something else is in the folder's place", path.c_str());
  return Status::kAlreadyExists;
}

// Entries sort after the folder that holds them, so the last entry is a file or an empty folder.
Status NodeFolders::remove_some(const char* root, const char* name, std::size_t steps_max,
                                bool* more, Diagnostic& diagnostic) {
  const std::string path = joined(root, name);
  *more = false;
  auto& all = node_.machine.entries;
  if (all.count(path) == 0) return Status::kOk;
  PAWL_TRY(failure(path, diagnostic));
  for (std::size_t step = 0; step < steps_max; ++step) {
    // '0' follows '/'.
    auto last = all.lower_bound(path + '0');
    --last;
    if (!is_below(last->first, path)) {
      all.erase(path);
      return Status::kOk;
    }
    all.erase(last);
  }
  *more = true;
  return Status::kOk;
}

Status NodeFolders::begin_list(const char* root, Diagnostic& diagnostic) {
  if (node_.killed || node_.machine.entries.count(root) == 0) {
    diagnostic.format("%s: no such folder", root);
    return node_.killed ? Status::kIo : Status::kCannotOpen;
  }
  listed_ = std::string(root) + "/";
  last_ = listed_;
  return Status::kOk;
}

Result<std::string_view> NodeFolders::next_name() {
  if (node_.killed || listed_.empty()) return Status::kIo;
  const auto& all = node_.machine.entries;
  for (auto at = all.upper_bound(last_); at != all.end(); ++at) {
    const std::string& path = at->first;
    if (path.compare(0, listed_.size(), listed_) != 0) break;
    if (path.find('/', listed_.size()) != std::string::npos) continue;
    last_ = path;
    return std::string_view(last_).substr(listed_.size());
  }
  return std::string_view();
}

}  // namespace pawl::sim
