// What the crash tests stand on: child processes with a pipe, folders of their own, and a checker
// of databases that links nothing of Pawl.
#ifndef PAWL_TEST_CRASH_DRIVER_HPP
#define PAWL_TEST_CRASH_DRIVER_HPP

#include <sqlite3.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace crash_test {

[[nodiscard]] std::int64_t now_ms();  // CLOCK_MONOTONIC
[[nodiscard]] std::int64_t now_ns();

// A new folder below the current one; removed with all in it, unless the test has failed by then. Errors
// in the logs of Children that were started meanwhile fail the test, unless it has announced them.
class Folder {
 public:
  Folder();
  ~Folder();
  void announce(const std::string& event, std::size_t least, std::size_t most);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  void look_at_errors();
  struct Range {
    std::size_t least = 0;
    std::size_t most = 0;
  };
  std::map<std::string, Range> announced_;
  std::string path_;
};

// The preloaded killer: test/shim/crash_at.cpp.
struct CrashAt {
  std::string prefix;
  std::string suffix;
  long at = 0;
  bool before = false;
  std::string report;
};
[[nodiscard]] std::vector<std::string> environment_of(const CrashAt& crash);

// A program, or else crash_program, with these arguments. What still runs at the end is killed.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {}, const char* program = nullptr);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Takes in what it said, waiting at most so long for something. False: it will say nothing more.
  bool listen(std::int64_t wait_ms);
  // Until it has said a line that begins so.
  bool listen_for(const std::string& beginning, std::int64_t wait_ms);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  // The ids of its lines "WORD ID ...".
  void collect(const std::string& word, std::set<std::string>* ids) const;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send_signal(int signal) const;
  // Listens to its last word, then its wait status; killed after `wait_ms`, which is no SIGKILL of
  // its own but -1.
  int wait(std::int64_t wait_ms);

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::string rest_;
  std::vector<std::string> lines_;
};
[[nodiscard]] bool exited_well(int wait_status);
[[nodiscard]] bool killed_by(int wait_status, int signal);
[[nodiscard]] std::string describe(int wait_status);

// A read-only look at a database that others may be writing.
class Database {
 public:
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // The first column of the first row; `otherwise` if there is none or the database is not ready.
  [[nodiscard]] std::int64_t number(const std::string& sql, std::int64_t otherwise = -1);
  [[nodiscard]] std::vector<std::vector<std::string>> rows(const std::string& sql);
  [[nodiscard]] std::int64_t running();  // instances; -1: unknown
  bool wait_until_all_ended(std::int64_t wait_ms);

  // What is not as it must be when everything has ended; `acknowledged` must be there, and nothing
  // but `tried` may be.
  [[nodiscard]] std::vector<std::string> problems(const std::set<std::string>& acknowledged,
                                                  const std::set<std::string>& tried);

 private:
  sqlite3* handle_ = nullptr;
};

// Lets a fresh process finish what is there, adding instance `number` to it, and checks everything.
// A failed expectation of the running test says what was wrong; `what` names the case.
void finish_and_check(const std::string& database, const std::string& node, int number,
                      std::set<std::string> acknowledged, std::set<std::string> tried,
                      const std::string& what);

}  // namespace crash_test

#endif  // PAWL_TEST_CRASH_DRIVER_HPP
