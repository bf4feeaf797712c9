// FilePlace: files that come into being whole, and a database that is taken away from others.
//
// Purpose: what backup and restore do with names of files; what is in them the library does.
// Ownership: a FilePlace removes the file that it made unless that was put in place. Thread rule: one
// thread.
#ifndef PAWL_TOOL_FILE_PLACE_HPP
#define PAWL_TOOL_FILE_PLACE_HPP

#include <cstdint>
#include <string>

#include "pawl/files.hpp"

namespace pawl::tool {

// A new, empty file beside `path`, of mode 0600. Where one of the two is a file of `source`, a database
// that is read, or where a process has it locked or writes it, the constructor throws, and so does what
// puts it in place.
class FilePlace {
 public:
  FilePlace(std::string path, const std::string& source);
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  // Flushes it, and gives it the name, also where a file has that. Then the folder is flushed.
  void put_in_place();
  // As put_in_place(), where no file has the name: throws if one has it meanwhile.
  void put_in_free_place();
  // As put_in_place(), and the file that has the name gets the name `kept`, and this one its mode
  // and owner. At each moment one of the two has the name. Where this throws, it is the old one.
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
[[nodiscard]] std::int64_t bytes_of(const std::string& path);           // 0: not there
[[nodiscard]] std::int64_t free_bytes_beside(const std::string& path);  // that this user may take
void flush_folder_of(const std::string& path);
void rename_file(const std::string& from, const std::string& to);
void remove_file(const std::string& path);  // also if it is not there

// SQLite's lock of the whole file, while it lives. No other process has the database open then. One
// that comes waits, and refuses the file if that has another name by then.
class WholeLock {
 public:
  // Throws if a process has it open, and names it.
  explicit WholeLock(const std::string& path);
  ~WholeLock();
  WholeLock(const WholeLock&) = delete;
  WholeLock& operator=(const WholeLock&) = delete;

 private:
  int file_;
};

}  // namespace pawl::tool

#endif  // PAWL_TOOL_FILE_PLACE_HPP
