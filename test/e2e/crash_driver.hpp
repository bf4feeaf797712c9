// The base of the crash tests: child processes with a pipe, folders of their own, and a checker of
// databases that links nothing of Pawl.
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

// A new folder below the current one. It is removed with its contents, unless the test has failed
// by then. Errors in the logs of Children started meanwhile fail the test, unless it has announced
// them.
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

// Settings of the preloaded killer: test/shim/crash_at.cpp.
struct CrashAt {
  std::string prefix;
  std::string suffix;
  long at = 0;
  bool before = false;
  std::string report;
};
[[nodiscard]] std::vector<std::string> environment_of(const CrashAt& crash);

// Runs `program`, or else crash_program, with these arguments. The destructor kills it if it still
// runs.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment = {}, const char* program = nullptr);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Reads what the child has written, waiting at most `wait_ms` for something. False: no more will
  // come.
  bool listen(std::int64_t wait_ms);
  // Listens until the child has written a line that begins with `beginning`.
  bool listen_for(const std::string& beginning, std::int64_t wait_ms);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
  // Adds the ids of its lines "WORD ID ...".
  void collect(const std::string& word, std::set<std::string>* ids) const;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void send_signal(int signal) const;
  // Listens until the child has ended and returns its wait status. After `wait_ms` it is killed and
  // -1 is returned, so that this kill differs from a SIGKILL of the test.
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

// Reads a database that other processes may be writing.
class Database {
 public:
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // The first column of the first row, or `otherwise` if there is none or the database is not
  // ready.
  [[nodiscard]] std::int64_t number(const std::string& sql, std::int64_t otherwise = -1);
  [[nodiscard]] std::vector<std::vector<std::string>> rows(const std::string& sql);
  [[nodiscard]] std::int64_t running();  // number of running instances; -1: unknown
  bool wait_until_all_ended(std::int64_t wait_ms);

  // Returns what is wrong once everything has ended. `acknowledged` must be there, and only
  // instances in `tried` may be.
  [[nodiscard]] std::vector<std::string> problems(const std::set<std::string>& acknowledged,
                                                  const std::set<std::string>& tried);

 private:
  sqlite3* handle_ = nullptr;
};

// Lets a fresh process finish what is there, adds instance `number`, and checks everything. A
// failed expectation of the running test says what was wrong; `what` names the case.
void finish_and_check(const std::string& database, const std::string& node, int number,
                      std::set<std::string> acknowledged, std::set<std::string> tried,
                      const std::string& what);

}  // namespace crash_test

#endif  // PAWL_TEST_CRASH_DRIVER_HPP
