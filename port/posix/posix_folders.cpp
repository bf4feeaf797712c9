// A folder is removed without recursion and without "..". A folder two levels down is moved up to
// the first level, where its turn comes. So a tree of any depth needs only a few descriptors, and
// each folder is moved once.
#include "port/posix/posix_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace pawl::posix {
namespace {

constexpr int kOpenFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kMoveTriesMax = 16;

int open_root(const char* root) {
  return retried([&] { return ::open(root, kOpenFolder); });
}

// Gives the owner its rights to a folder. Works also on a folder without any rights.
bool allow_owner(int parent, const char* name) {
  const Descriptor folder(retried(
      [&] { return ::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
  if (!folder.valid()) return false;
  // The descriptor refers to the folder itself, even if another file has its name by now.
  char path[40];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", folder.get());
  return ::chmod(path, S_IRWXU) == 0;
}

int open_below(int parent, const char* name) {
  const auto open = [&] {
    return retried([&] { return ::openat(parent, name, kOpenFolder | O_NOFOLLOW); });
  };
  int folder = open();
  if (folder < 0 && errno == EACCES && allow_owner(parent, name)) folder = open();
  struct stat info {};
  if (folder >= 0 && ::fstat(folder, &info) == 0 && (info.st_mode & S_IRWXU) != S_IRWXU) {
    // If this is refused, the calls that follow are refused too, and report it.
    static_cast<void>(::fchmod(folder, S_IRWXU));
  }
  return folder;
}

enum class Taken { kGone, kHasEntries, kRefused };

// The kernel answers EBUSY for a mount point before it checks for emptiness, so no call enters one.
Taken take(int parent, const char* name) {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return Taken::kGone;
  const int why = errno;
  if (why != EISDIR && why != EPERM) return Taken::kRefused;
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return Taken::kGone;
  if (errno == ENOTEMPTY || errno == EEXIST) return Taken::kHasEntries;
  if (errno == ENOTDIR) errno = why;
  return Taken::kRefused;
}

// Moves the folder to a name of its own, made from its inode number, which no other folder has.
bool move_up(int from, const char* name, std::uint64_t inode, int to) {
  for (int tries = 0; tries < kMoveTriesMax; ++tries) {
    char moved[48];
    std::snprintf(moved, sizeof moved, ".pawl-%" PRIx64 "-%d", inode, tries);
    if (::renameat(from, name, to, moved) == 0 || errno == ENOENT) return true;
    // A new parent is a write to the folder itself, so its owner needs the rights to it.
    if (errno == EACCES && tries == 0 && Descriptor(open_below(from, name)).valid()) continue;
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR && errno != EACCES) return false;
  }
  return false;
}

// One removal: takes at most `steps` steps, and reports what it could not remove.
class Removal {
 public:
  Removal(const char* root, const char* name, std::size_t steps, Diagnostic& diagnostic)
      : root_(root), name_(name), left_(steps), diagnostic_(diagnostic) {}

  Status run(int root, bool* more) {
    const Taken taken = take(root, name_);
    if (taken == Taken::kRefused) return refuse("", "");
    if (taken == Taken::kGone) return Status::kOk;
    const Descriptor top(open_below(root, name_));
    if (!top.valid()) return errno == ENOENT ? Status::kOk : refuse("", "");
    PAWL_TRY(clear_top(top.get()));
    *more = left_ == 0;
    if (*more) return Status::kOk;
    if (::unlinkat(root, name_, AT_REMOVEDIR) == 0 || errno == ENOENT) return Status::kOk;
    if (errno != ENOTEMPTY && errno != EEXIST) return refuse("", "");
    // Entries are left: folders that were moved up, or files that another process made meanwhile.
    *more = removed_ > 0;
    return *more ? Status::kOk : refuse("", "");
  }

 private:
  Status clear_top(int top) {
    NameReader names;
    while (left_ > 0 && names.next(top)) {
      --left_;
      const Taken taken = take(top, names.name());
      if (taken == Taken::kRefused) return refuse("/", names.name());
      if (taken == Taken::kGone)
        ++removed_;
      else
        PAWL_TRY(clear_below(top, names.name()));
    }
    return left_ == 0 || errno == 0 ? Status::kOk : refuse("", "");
  }

  Status clear_below(int top, const char* name) {
    const Descriptor folder(open_below(top, name));
    if (!folder.valid()) return errno == ENOENT ? Status::kOk : refuse("/", name);
    NameReader names;
    while (left_ > 0 && names.next(folder.get())) {
      --left_;
      const Taken taken = take(folder.get(), names.name());
      if (taken == Taken::kRefused ||
          (taken == Taken::kHasEntries && !move_up(folder.get(), names.name(), names.inode(), top)))
        return refuse("/", name, "/", names.name());
      ++removed_;
    }
    if (left_ == 0) return Status::kOk;
    if (errno != 0) return refuse("/", name);
    if (::unlinkat(top, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTEMPTY ||
        errno == EEXIST)
      return Status::kOk;
    return refuse("/", name);
  }

  Status refuse(const char* separator, const char* below, const char* second_separator = "",
                const char* deepest = "") {
    const int why = errno;
    diagnostic_.format("%s/%s%s%s%s%s: cannot be removed (errno %d)", root_, name_, separator,
                       below, second_separator, deepest, why);
    const Status status = status_of_errno(why);
    return status == Status::kOk ? Status::kIo : status;
  }

  const char* root_;
  const char* name_;
  std::size_t left_;
  std::size_t removed_ = 0;  // entries removed or moved
  Diagnostic& diagnostic_;
};

Status cannot(const char* what, const char* root, const char* name, Diagnostic& diagnostic) {
  const int why = errno;
  diagnostic.format("%s%s%s: %s (errno %d)", root, *name == 0 ? "" : "/", name, what, why);
  return status_of_errno(why);
}

}  // namespace

bool NameReader::next(int folder) {
  // struct linux_dirent64: ino, offset, size of the record, type, name.
  constexpr std::size_t kSizeAt = 16;
  constexpr std::size_t kNameAt = 19;
  while (true) {
    if (at_ == size_) {
      const auto got =
          retried([&] { return ::syscall(SYS_getdents64, folder, buffer_, kBufferBytes); });
      if (got == 0) errno = 0;
      if (got <= 0) return false;
      size_ = static_cast<std::size_t>(got);
      at_ = 0;
    }
    const char* const entry = buffer_ + at_;
    std::uint16_t bytes = 0;
    std::memcpy(&inode_, entry, sizeof inode_);
    std::memcpy(&bytes, entry + kSizeAt, sizeof bytes);
    at_ += bytes;
    name_ = entry + kNameAt;
    if (std::strcmp(name_, ".") != 0 && std::strcmp(name_, "..") != 0) return true;
  }
}

Status SystemFolders::check_root(const char* root, Diagnostic& diagnostic) {
  if (root[0] != '/' || std::strlen(root) > kRootBytesMax) {
    diagnostic.format("%s: no absolute path, or longer than %zu bytes", root, kRootBytesMax);
    return Status::kInvalidArgument;
  }
  struct stat info {};
  if (::stat(root, &info) != 0 || !S_ISDIR(info.st_mode)) {
    diagnostic.format("%s: no such folder", root);
    return Status::kCannotOpen;
  }
  if (::faccessat(AT_FDCWD, root, R_OK | W_OK | X_OK, AT_EACCESS) == 0) return Status::kOk;
  diagnostic.format("%s: the folder cannot be read and written", root);
  return Status::kReadOnly;
}

Status SystemFolders::make(const char* root, const char* name, Diagnostic& diagnostic) {
  const Descriptor at(open_root(root));
  if (!at.valid()) return cannot("cannot be opened", root, "", diagnostic);
  if (::mkdirat(at.get(), name, S_IRWXU) == 0) return Status::kOk;
  if (errno != EEXIST) return cannot("cannot be made", root, name, diagnostic);
  struct stat info {};
  if (::fstatat(at.get(), name, &info, AT_SYMLINK_NOFOLLOW) != 0)
    return cannot("cannot be looked at", root, name, diagnostic);
  if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid()) return Status::kOk;
  diagnostic.format("%s/%s: %s", root, name,
                    S_ISDIR(info.st_mode) ? "the folder is another user's"
                                          : "something else is in the folder's place");
  return Status::kAlreadyExists;
}

Status SystemFolders::remove_some(const char* root, const char* name, std::size_t steps_max,
                                  bool* more, Diagnostic& diagnostic) {
  *more = false;
  const Descriptor at(open_root(root));
  if (!at.valid()) return cannot("cannot be opened", root, "", diagnostic);
  return Removal(root, name, steps_max, diagnostic).run(at.get(), more);
}

Status SystemFolders::begin_list(const char* root, Diagnostic& diagnostic) {
  end_list();
  listed_.reset(open_root(root));
  return listed_.valid() ? Status::kOk : cannot("cannot be listed", root, "", diagnostic);
}

Result<std::string_view> SystemFolders::next_name() {
  if (!listed_.valid()) return Status::kInvalidArgument;
  if (names_.next(listed_.get())) return std::string_view(names_.name());
  if (errno != 0) return status_of_errno(errno);
  return std::string_view();
}

void SystemFolders::end_list() {
  listed_.reset(-1);
  names_.clear();
}

}  // namespace pawl::posix
