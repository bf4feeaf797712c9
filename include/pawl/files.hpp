// Files on Linux whose path people gave, or beside which other users may write.
//
// Purpose: no pipe that another user put in a file's place blocks a program, no link leads a write
// elsewhere, and no write of a program goes over a database. Ownership: a descriptor that is
// returned belongs to the caller; NewFile owns its file until it is in place. Thread rule: plain
// calls; a NewFile belongs to one thread.
#ifndef PAWL_FILES_HPP
#define PAWL_FILES_HPP

#include "pawl/name.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl::posix {

// Opens a file without waiting for the other end of a pipe, through no symbolic link, and only if
// it is a regular file with one name: a file with a second name may be another user's, and a write
// or a cut would destroy it. `flags` are those of open(). O_CREAT creates the file with `mode`; if
// that has rights for the group, the file gets exactly these, whatever the umask.
// Returns the descriptor, closed at exec; -1, and errno says why: ENXIO: it is no regular file,
// EMLINK: it has a second name, ELOOP: it is a symbolic link.
[[nodiscard]] int open_own(const char* path, int flags, unsigned mode = 0600);

// Opens a file to read that decides what this process does. It does so as open_own() does, and only
// if the file belongs to root or to the user of this process, and has no right of `forbidden` (022:
// others may write it).
// Returns the descriptor; -1: `why` names the path and what is wrong.
[[nodiscard]] int open_trusted(const char* path, unsigned forbidden, Diagnostic& why);

// Checks whether a file may be made or replaced at `path`. Names, links and mounts do not matter:
// files are compared by device and inode. `database_path`: a database that is in use; empty: there
// is none.
// Returns kOk; kInvalidArgument: it is that database or a file beside it, or lies where such a
// file, or one of another database, would lie; kBusy: a process has a lock on it, as each has on a
// database that it uses; kCannotOpen: it is a link, has a second name, or is no file, or there is
// no such folder.
Status check_output(const char* path, const char* database_path, Diagnostic& why);
// Checks a stream that is already open, such as the standard output, in the same way.
// Returns kOk, also if it is no file; kInvalidArgument as above.
Status check_output(int descriptor, const char* database_path, Diagnostic& why);

// A file that gets its name when it is whole.
class NewFile {
 public:
  NewFile() = default;
  // Removes the file unless it is in place, with the files that SQLite left beside it.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // Makes an empty file called `path` with `ending` appended, in place of one that a killed run
  // left there. Neither may be a file of `database_path`, a database that is in use; empty: there
  // is none.
  // Returns kOk; the same as check_output() for either path; kAlreadyExists: it is made already;
  // kCannotOpen, kReadOnly, kFull, kIo.
  Status make(const char* path, const char* ending, unsigned mode, const char* database_path,
              Diagnostic& why);
  // The descriptor to write to while the file is made; -1: there is no file. It stays this
  // object's.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // The file's name until it is in place: the path with the ending.
  [[nodiscard]] const Path& name() const { return name_; }
  // Checks the open file again: it must still have the name and no other, and be no file of the
  // database.
  // Returns kOk; kInvalidArgument as check_output(); kBusy: another file has the name.
  Status check(Diagnostic& why) const;
  // Checks as check() does, and that `path` may still be replaced; then the file has that name, and
  // one that had it is gone. Nothing is flushed.
  // Returns the same as check() and check_output(); kReadOnly, kFull, kIo.
  Status put_in_place(Diagnostic& why);
  // Closes the file, which stays, since the caller has given it another name.
  void leave();

 private:
  Path path_;
  Path name_;
  Path database_;
  int descriptor_ = -1;
};

}  // namespace pawl::posix
#pragma GCC visibility pop

#endif  // PAWL_FILES_HPP
