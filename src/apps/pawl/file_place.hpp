// FilePlace: makes files that appear under their name as a whole, and locks a database against
// others.
//
// Purpose: the file names of backup and restore; the library handles the contents.
// Ownership: a FilePlace removes the file that it made unless it was put in place. Thread rule: one
// thread.
#ifndef PAWL_APPS_PAWL_FILE_PLACE_HPP
#define PAWL_APPS_PAWL_FILE_PLACE_HPP

#include <cstdint>
#include <string>

#include "pawl/files.hpp"

namespace pawl::tool {

// A new, empty file beside `path`, of mode 0600. The constructor and the put functions throw if one
// of the two is a file of `source`, a database that is read, or if a process has it locked or
// writes it.
class FilePlace {
 public:
  FilePlace(std::string path, const std::string& source);
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  // Flushes the file and gives it the name, replacing a file of that name. Then flushes the folder.
  void put_in_place();
  // The same for a free name: throws if a file has it meanwhile.
  void put_in_free_place();
  // Does what put_in_place() does, but the file that has the name is renamed to `kept`, and the new
  // one gets its mode and owner. At each moment one of the two has the name; after an exception the
  // old one.
  // Requires: no file is called `kept`.
  void change_places(const std::string& kept);

 private:
  void flush();
  void exchange(const std::string& kept);
  std::string path_;
  std::string temporary_;
  posix::NewFile file_;
};

// Throws if `path` is a file of `database`, or one that a process has locked or writes.
void check_output(const std::string& path, const std::string& database);

[[nodiscard]] bool exists(const std::string& path);
[[nodiscard]] std::int64_t bytes_of(const std::string& path);           // 0: no such file
[[nodiscard]] std::int64_t free_bytes_beside(const std::string& path);  // for this user
void flush_folder_of(const std::string& path);
void rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);  // no error if there is none

// SQLite's lock of the whole file, held while this lives. No other process has the database open
// then. A process that opens it waits, and refuses the file if it has another name by then.
class WholeLock {
 public:
  // Throws if a process has the database open, and names that process.
  explicit WholeLock(const std::string& path);
  ~WholeLock();
  WholeLock(const WholeLock&) = delete;
  WholeLock& operator=(const WholeLock&) = delete;

 private:
  int file_;
};

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_FILE_PLACE_HPP
