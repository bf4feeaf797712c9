#include "port/posix/posix_file_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>

#include "port/posix/posix_storage.hpp"

namespace pawl::posix {
namespace {

constexpr std::uint32_t kFileEvents = IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW;
// The folder is watched for new names, since the last connection that closes removes the log and
// the next one makes it anew. IN_MODIFY on the folder would need no watch of the files, but would
// wake a sleeping runtime for every write to any other file there.
constexpr std::uint32_t kFolderEvents = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR;

const char* last_part(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace

Status FileWatch::open(const char* database_path) {
  close();
  char folder[kPathBytes];
  if (!folder_of(folder, database_path) || !join_path(bell_.path, database_path, "-bell") ||
      !join_path(log_.path, database_path, "-wal")) {
    return Status::kInvalidArgument;
  }
  bell_.name = last_part(bell_.path);
  log_.name = last_part(log_.path);
  {
    const Descriptor bell(open_bell(bell_.path, mode_beside(database_path)));
    if (!bell.valid()) return status_of_errno(errno);
  }
  inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.valid()) return Status::kUnsupported;
  folder_watch_ = ::inotify_add_watch(inotify_.get(), folder, kFolderEvents);
  if (folder_watch_ < 0 || !watch_again(bell_) || !watch_again(log_)) {
    close();
    return Status::kUnsupported;
  }
  return Status::kOk;
}

void FileWatch::close() {
  inotify_.reset(-1);
  folder_watch_ = -1;
  broken_ = false;
  bell_.watch = -1;
  log_.watch = -1;
}

bool FileWatch::watch_again(Watched& file) {
  const int before = file.watch;
  file.watch = ::inotify_add_watch(inotify_.get(), file.path, kFileEvents);
  const bool known =
      file.watch >= 0 || errno == ENOENT;  // absent: the folder's watch reports when it comes
  if (before >= 0 && before != file.watch) ::inotify_rm_watch(inotify_.get(), before);
  return known;
}

bool FileWatch::concerns(Watched& file, int watch, std::uint32_t mask, const char* name) {
  const bool named = watch == folder_watch_ && std::strcmp(name, file.name) == 0;
  if (!named && watch != file.watch) return false;
  if (named || (mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) {
    if (!watch_again(file)) broken_ = true;
  }
  return true;
}

void FileWatch::everything_changed(port::WakeReasons& reasons) {
  reasons.bell = true;
  reasons.log = true;
  if (!watch_again(bell_) || !watch_again(log_)) broken_ = true;
}

void FileWatch::drain(port::WakeReasons& reasons) {
  alignas(inotify_event) char buffer[2048];
  for (;;) {
    const ssize_t got = retried([&] { return ::read(inotify_.get(), buffer, sizeof(buffer)); });
    if (got <= 0) return;  // EAGAIN: empty
    std::size_t at = 0;
    while (at + sizeof(inotify_event) <= static_cast<std::size_t>(got)) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof(event));
      const char* name = event.len == 0 ? "" : buffer + at + sizeof(event);
      at += sizeof(event) + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        everything_changed(reasons);
      } else if (event.wd == folder_watch_ && (event.mask & IN_IGNORED) != 0) {
        broken_ = true;  // the folder itself is gone
        everything_changed(reasons);
      } else {
        if (concerns(bell_, event.wd, event.mask, name)) reasons.bell = true;
        if (concerns(log_, event.wd, event.mask, name)) reasons.log = true;
      }
    }
  }
}

}  // namespace pawl::posix
