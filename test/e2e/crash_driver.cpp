#include "crash_driver.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "crash_work.hpp"
#include "gtest/gtest.h"

extern char** environ;

namespace crash_test {

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}
std::int64_t now_ms() { return now_ns() / 1'000'000; }

// ---- Folder ----

Folder::Folder() {
  char name[] = "crash-XXXXXX";
  char canonical[PATH_MAX];
  if (::mkdtemp(name) == nullptr || ::realpath(name, canonical) == nullptr) std::abort();
  path_ = canonical;
  ::setenv("PAWL_TEST_ERRORS", file("errors").c_str(), 1);
}

void Folder::announce(const std::string& event, std::size_t least, std::size_t most) {
  announced_[event] = {least, most};
}

void Folder::look_at_errors() {
  std::map<std::string, std::size_t> counts;
  std::map<std::string, std::string> first;
  std::ifstream log(file("errors"));
  for (std::string line; std::getline(log, line);) {
    std::istringstream words(line);
    std::string level;
    std::string event;
    words >> level >> event;
    if (++counts[event] == 1) first[event] = line;
  }
  for (const auto& [event, range] : announced_)
    EXPECT_GE(counts[event], range.least) << event;
  for (const auto& [event, count] : counts)
    EXPECT_LE(count, announced_[event].most) << first[event];
}

Folder::~Folder() {
  look_at_errors();
  if (testing::Test::HasFailure()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// ---- Child ----

std::vector<std::string> environment_of(const CrashAt& crash) {
  return {std::string("LD_PRELOAD=") + CRASH_AT_LIBRARY, "PAWL_CRASH_PREFIX=" + crash.prefix,
          "PAWL_CRASH_SUFFIX=" + crash.suffix, "PAWL_CRASH_AT=" + std::to_string(crash.at),
          std::string("PAWL_CRASH_WHEN=") + (crash.before ? "before" : "after"),
          "PAWL_CRASH_REPORT=" + crash.report,
          // A sanitizer's runtime wants to be the first library, but the killer defines none of its
          // functions.
          "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"};
}

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
             const char* program) {
  if (program == nullptr) program = CRASH_PROGRAM;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  for (char** one = environ; *one != nullptr; ++one)
    variables.emplace_back(*one);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int failed = ::posix_spawn(&pid_, program, &actions, nullptr, pointers_to(words).data(),
                                   pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  pipe_ = ends[0];
  if (failed != 0) std::abort();
}

Child::~Child() {
  if (!reaped_) {
    send_signal(SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
  ::close(pipe_);
}

bool Child::listen(std::int64_t wait_ms) {
  pollfd wanted = {pipe_, POLLIN, 0};
  if (::poll(&wanted, 1, static_cast<int>(wait_ms)) <= 0) return true;
  char buffer[4096];
  const ssize_t size = ::read(pipe_, buffer, sizeof(buffer));
  if (size == 0) return false;
  if (size < 0) return errno == EINTR;
  rest_.append(buffer, static_cast<std::size_t>(size));
  for (std::size_t end = 0; (end = rest_.find('\n')) != std::string::npos;) {
    lines_.push_back(rest_.substr(0, end));
    rest_.erase(0, end + 1);
  }
  return true;
}

bool Child::listen_for(const std::string& beginning, std::int64_t wait_ms) {
  const std::int64_t until = now_ms() + wait_ms;
  std::size_t seen = 0;
  bool open = true;
  for (;;) {
    for (; seen < lines_.size(); ++seen) {
      if (lines_[seen].rfind(beginning, 0) == 0) return true;
    }
    const std::int64_t left = until - now_ms();
    if (!open || left <= 0) return false;
    open = listen(left);
  }
}

void Child::collect(const std::string& word, std::set<std::string>* ids) const {
  for (const std::string& line : lines_) {
    std::istringstream words(line);
    std::string first;
    std::string id;
    if (words >> first >> id && first == word) ids->insert(id);
  }
}

void Child::send_signal(int signal) const {
  if (!reaped_) ::kill(pid_, signal);
}

int Child::wait(std::int64_t wait_ms) {
  const std::int64_t until = now_ms() + wait_ms;
  bool open = true;
  bool given_up = false;
  while (open && !given_up) {
    const std::int64_t left = until - now_ms();
    given_up = left <= 0;
    if (!given_up) open = listen(left);
  }
  if (given_up) send_signal(SIGKILL);
  if (!reaped_) ::waitpid(pid_, &status_, 0);
  reaped_ = true;
  return given_up ? -1 : status_;
}

bool exited_well(int wait_status) {
  return wait_status >= 0 && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}
bool killed_by(int wait_status, int signal) {
  return wait_status >= 0 && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == signal;
}
std::string describe(int wait_status) {
  if (wait_status < 0) return "did not end in time";
  if (WIFSIGNALED(wait_status)) return "signal " + std::to_string(WTERMSIG(wait_status));
  return "exit status " + std::to_string(WEXITSTATUS(wait_status));
}

// ---- Database ----

Database::Database(const std::string& path) {
  if (::sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK) {
    ::sqlite3_busy_timeout(handle_, 1'000);
  }
}

Database::~Database() { ::sqlite3_close(handle_); }

std::vector<std::vector<std::string>> Database::rows(const std::string& sql) {
  std::vector<std::vector<std::string>> out;
  sqlite3_stmt* statement = nullptr;
  if (::sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    return {{"error", ::sqlite3_errmsg(handle_)}};
  }
  int result = 0;
  while ((result = ::sqlite3_step(statement)) == SQLITE_ROW) {
    std::vector<std::string> row;
    for (int column = 0; column < ::sqlite3_column_count(statement); ++column) {
      const void* bytes = ::sqlite3_column_blob(statement, column);
      const int size = ::sqlite3_column_bytes(statement, column);
      row.emplace_back(static_cast<const char*>(bytes == nullptr ? "" : bytes),
                       static_cast<std::size_t>(size));
    }
    out.push_back(row);
  }
  if (result != SQLITE_DONE) out.push_back({"error", ::sqlite3_errmsg(handle_)});
  ::sqlite3_finalize(statement);
  return out;
}

std::int64_t Database::number(const std::string& sql, std::int64_t otherwise) {
  sqlite3_stmt* statement = nullptr;
  std::int64_t value = otherwise;
  if (::sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
      ::sqlite3_step(statement) == SQLITE_ROW) {
    value = ::sqlite3_column_int64(statement, 0);
  }
  ::sqlite3_finalize(statement);
  return value;
}

std::int64_t Database::running() { return number("SELECT count(*) FROM instances WHERE state=0"); }

bool Database::wait_until_all_ended(std::int64_t wait_ms) {
  const std::int64_t until = now_ms() + wait_ms;
  while (running() != 0) {
    if (now_ms() >= until) return false;
    ::usleep(2'000);
  }
  return true;
}

namespace {

class Problems {
 public:
  explicit Problems(Database& database) : database_(database) {}
  // Adds one problem for each row of `sql`.
  void rows_of(const std::string& what, const std::string& sql) {
    for (const std::vector<std::string>& row : database_.rows(sql)) {
      std::string text = what + ":";
      for (const std::string& value : row)
        text += " " + value;
      add(text);
    }
  }
  void add(const std::string& text) { found_.push_back(text); }
  [[nodiscard]] const std::vector<std::string>& found() const { return found_; }

 private:
  Database& database_;
  std::vector<std::string> found_;
};

// Checks only the stored form, whatever the instances do. The numbers are those of
// docs/format/numbers.md: event kinds 1 started, 2 activity, 3 timer, 32 activity done, 33 timer
// fired, 50 ended.
void find_broken_histories(Problems* problems) {
  problems->rows_of("not numbered from 1 to the last event",
                    "SELECT i.id, e.execution, e.last_event, count(h.id), min(h.id), max(h.id)"
                    " FROM instances i JOIN executions e ON e.instance=i.key"
                    " LEFT JOIN history h ON h.instance=e.instance AND h.execution=e.execution"
                    " GROUP BY e.instance, e.execution"
                    " HAVING count(h.id)<>e.last_event OR min(h.id)<>1 OR max(h.id)<>e.last_event");
  problems->rows_of(
      "no event of its execution",
      "SELECT h.instance, h.execution, h.id FROM history h LEFT JOIN executions e"
      " ON e.instance=h.instance AND e.execution=h.execution WHERE e.instance IS NULL");
  problems->rows_of("does not begin with started and end with ended",
                    "SELECT e.instance, e.execution FROM executions e WHERE"
                    " (SELECT kind FROM history h WHERE h.instance=e.instance AND"
                    "  h.execution=e.execution AND h.id=1) IS NOT 1 OR"
                    " (SELECT kind FROM history h WHERE h.instance=e.instance AND"
                    "  h.execution=e.execution AND h.id=e.last_event) IS NOT 50");
  problems->rows_of(
      "a completion of no command of its kind",
      "SELECT h.instance, h.execution, h.id FROM history h LEFT JOIN history c"
      " ON c.instance=h.instance AND c.execution=h.execution AND c.id=h.ref"
      " WHERE h.kind IN (32,33) AND (c.id IS NULL OR c.id>=h.id OR c.kind<>h.kind-30)");
  problems->rows_of("completed twice",
                    "SELECT instance, execution, ref FROM history WHERE kind IN (32,33)"
                    " GROUP BY instance, execution, ref HAVING count(*)>1");
  problems->rows_of("executions with holes",
                    "SELECT i.id, i.execution, count(*) FROM instances i LEFT JOIN executions e"
                    " ON e.instance=i.key GROUP BY i.key HAVING count(e.execution)<>i.execution OR"
                    " max(e.execution)<>i.execution");
  problems->rows_of("work left", "SELECT instance, execution, event, state FROM worker_queue");
  problems->rows_of("messages left",
                    "SELECT instance, execution, kind, ref FROM orchestrator_queue");
}

void find_wrong_results(Database& database, Problems* problems) {
  const auto rows = database.rows(
      "SELECT i.id, i.state, i.execution, h.payload, json_extract(h.meta,'$.error')"
      " FROM instances i LEFT JOIN executions e ON e.instance=i.key AND e.execution=i.execution"
      " LEFT JOIN history h ON h.instance=i.key AND h.execution=i.execution AND h.id=e.last_event");
  for (const std::vector<std::string>& row : rows) {
    if (row.size() != 5) {
      problems->add("results: " + row.back());
      continue;
    }
    const int number = std::atoi(row[0].substr(row[0].rfind('-') + 1).c_str());
    const bool fails = crash_work::kind_of(number) == crash_work::Kind::kTurnAborts;
    const std::string state = fails ? "2" : "1";
    const std::string executions = std::to_string(crash_work::expected_executions(number));
    const bool right = row[0] == crash_work::id_of(number) && row[1] == state &&
                       row[2] == executions &&
                       (fails ? row[4] == "5" : row[3] == crash_work::expected_output(number));
    if (right) continue;
    problems->add(row[0] + ": state " + row[1] + ", execution " + row[2] + ", ended with '" +
                  row[3] + "' (error " + row[4] + "); expected state " + state + ", execution " +
                  executions + ", '" + crash_work::expected_output(number) + "'");
  }
}

}  // namespace

std::vector<std::string> Database::problems(const std::set<std::string>& acknowledged,
                                            const std::set<std::string>& tried) {
  Problems problems(*this);
  for (const std::vector<std::string>& row : rows("PRAGMA integrity_check")) {
    if (row.front() != "ok") problems.add("integrity: " + row.back());
  }
  std::set<std::string> stored;
  for (const std::vector<std::string>& row : rows("SELECT id FROM instances"))
    stored.insert(row.back());
  for (const std::string& id : acknowledged) {
    if (stored.count(id) == 0) problems.add("acknowledged and lost: " + id);
  }
  for (const std::string& id : stored) {
    if (tried.count(id) == 0) problems.add("nobody started it: " + id);
  }
  find_broken_histories(&problems);
  find_wrong_results(*this, &problems);
  return problems.found();
}

void finish_and_check(const std::string& database, const std::string& node, int number,
                      std::set<std::string> acknowledged, std::set<std::string> tried,
                      const std::string& what) {
  SCOPED_TRACE(what);
  const std::string own = std::to_string(number);
  std::vector<std::string> arguments = {"serve", database, "--own", own, own};
  if (!node.empty()) arguments.insert(arguments.end(), {"--node", node});
  Child survivor(arguments);
  constexpr std::int64_t kPatienceMs = 20'000;
  ASSERT_TRUE(survivor.listen_for("ack " + crash_work::id_of(number), kPatienceMs))
      << "the next process does not come up: " << describe(survivor.wait(0));
  survivor.collect("ack", &acknowledged);
  survivor.collect("try", &tried);
  Database look(database);
  EXPECT_TRUE(look.wait_until_all_ended(kPatienceMs)) << look.running() << " still run";
  survivor.send_signal(SIGTERM);
  const int status = survivor.wait(kPatienceMs);
  EXPECT_TRUE(exited_well(status)) << describe(status);
  for (const std::string& problem : look.problems(acknowledged, tried))
    ADD_FAILURE() << problem;
}

}  // namespace crash_test
