// Goal: work that another process commits is served at once, even when that process dies before it
// rings the bell, and no process polls. Method: 1,000 single messages at random gaps. Every 50th
// writer is killed at its write to the bell, after its commit has returned; no process writes until
// that message has been served. The test sees the ends of the instances in the database, from
// outside. Afterwards the runtime must not wake at all, by its own count and by the kernel's.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "crash_driver.hpp"
#include "crash_work.hpp"
#include "gtest/gtest.h"

namespace crash_test {
namespace {

constexpr int kMessages = 1'000;
constexpr int kMessagesAWriter = 50;
constexpr std::int64_t kPatienceMs = 30'000;

// When instances ended, seen by a look each millisecond.
class Ends {
 public:
  explicit Ends(const std::string& path) : database_(path) {}

  void look() {
    const std::int64_t version = database_.number("PRAGMA data_version");
    if (version == version_) return;
    version_ = version;
    const auto rows = database_.rows("SELECT key, id, state FROM instances WHERE key>" +
                                     std::to_string(ended_up_to_) + " ORDER BY key");
    bool all_so_far = true;
    for (const std::vector<std::string>& row : rows) {
      if (row.size() != 3) return;
      const bool ended = row[2] != "0";
      if (ended) ends_.emplace(row[1], now_ns());
      all_so_far = all_so_far && ended;
      if (all_so_far) ended_up_to_ = std::stoll(row[0]);
    }
  }
  // None: the instance has not ended yet.
  [[nodiscard]] std::optional<std::int64_t> seen_ns(const std::string& id) const {
    const auto found = ends_.find(id);
    if (found == ends_.end()) return std::nullopt;
    return found->second;
  }
  Database& database() { return database_; }

 private:
  Database database_;
  std::int64_t version_ = -1;
  std::int64_t ended_up_to_ = 0;
  std::map<std::string, std::int64_t> ends_;
};

// "try ID NANOSECONDS" lines: when each call of start_orchestration began.
std::map<std::string, std::int64_t> begins_of(const Child& writer) {
  std::map<std::string, std::int64_t> begins;
  for (const std::string& line : writer.lines()) {
    std::istringstream words(line);
    std::string word;
    std::string id;
    std::int64_t at = 0;
    if (words >> word >> id >> at && word == "try") begins[id] = at;
  }
  return begins;
}

class SharedWakeups {
 public:
  explicit SharedWakeups(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    memory_ = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
  }
  ~SharedWakeups() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, 4096);
  }
  SharedWakeups(const SharedWakeups&) = delete;
  SharedWakeups& operator=(const SharedWakeups&) = delete;
  [[nodiscard]] bool valid() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] std::uint64_t read() const {
    return static_cast<const std::atomic<std::uint64_t>*>(memory_)->load();
  }

 private:
  void* memory_ = MAP_FAILED;
};

// How often the threads of a process went to sleep, by the kernel's count.
std::uint64_t sleeps_of(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/";
  std::uint64_t sum = 0;
  DIR* tasks = ::opendir(folder.c_str());
  if (tasks == nullptr) return 0;
  while (const dirent* task = ::readdir(tasks)) {
    std::ifstream status(folder + task->d_name + "/status");
    std::string word;
    while (status >> word) {
      std::uint64_t count = 0;
      if (word == "voluntary_ctxt_switches:" && status >> count) sum += count;
    }
  }
  ::closedir(tasks);
  return sum;
}

using LatenciesMs = std::vector<double>;

// One writer with its 50 messages, the last one without a bell.
void write_and_watch(const std::string& path, int first, Ends* ends, LatenciesMs* rung,
                     LatenciesMs* unrung) {
  const int last = first + kMessagesAWriter - 1;
  CrashAt crash;
  crash.prefix = path;
  crash.suffix = "-bell";
  crash.before = true;
  Child writer({"send", path, std::to_string(first), std::to_string(last), "--gap-ms", "25",
                std::to_string(first), "--lose-last-bell"},
               environment_of(crash));
  const std::string last_id = crash_work::id_of(last);
  const std::int64_t patience_until = now_ms() + kPatienceMs;
  while (!ends->seen_ns(last_id).has_value() && now_ms() < patience_until) {
    static_cast<void>(writer.listen(0));
    ends->look();
    ::usleep(1'000);
  }
  const int status = writer.wait(10'000);
  ASSERT_TRUE(killed_by(status, SIGKILL)) << describe(status);
  const std::map<std::string, std::int64_t> begins = begins_of(writer);
  ASSERT_EQ(begins.size(), static_cast<std::size_t>(kMessagesAWriter));
  std::set<std::string> acknowledged;
  writer.collect("ack", &acknowledged);
  EXPECT_EQ(acknowledged.size(), begins.size() - 1);
  EXPECT_EQ(acknowledged.count(last_id), 0U);
  for (const auto& [id, begin] : begins) {
    const std::optional<std::int64_t> end = ends->seen_ns(id);
    ASSERT_TRUE(end.has_value()) << id << " was never served";
    (id == last_id ? unrung : rung)->push_back(static_cast<double>(*end - begin) / 1e6);
  }
}

void print(const char* what, LatenciesMs values) {
  std::sort(values.begin(), values.end());
  std::printf("%s: %zu messages, median %.1f ms, 99%% %.1f ms, longest %.1f ms\n", what,
              values.size(), values[values.size() / 2], values[values.size() * 99 / 100],
              values.back());
}

TEST(CrashBell, SingleMessagesOfAnotherProcess_AreServedAtOnceAndNothingPolls) {
  const Folder folder;
  const std::string path = folder.file("pawl.db");
  // The leases are so long that no renewal falls into the test.
  Child runtime({"serve", path, "--stats", folder.file("stats"), "--long-leases"});
  ASSERT_TRUE(runtime.listen_for("ready", 10'000)) << describe(runtime.wait(0));
  const SharedWakeups wakeups(folder.file("stats"));
  ASSERT_TRUE(wakeups.valid());
  Ends ends(path);
  LatenciesMs rung;
  LatenciesMs unrung;
  for (int i = 0; i < kMessages && !HasFatalFailure(); i += kMessagesAWriter)
    write_and_watch(path, crash_work::kFirstHello + i, &ends, &rung, &unrung);
  ASSERT_FALSE(HasFatalFailure());
  print("with bell", rung);
  print("without bell", unrung);

  // The second looks come after 10 ms, 100 ms, 1 s and 5 s; none may come after them.
  ::usleep(7'000'000);
  const std::uint64_t wakeups_before = wakeups.read();
  const std::uint64_t sleeps_before = sleeps_of(runtime.pid());
  EXPECT_GT(wakeups_before, 0U);
  ::usleep(5'000'000);
  EXPECT_EQ(wakeups.read(), wakeups_before);
  EXPECT_EQ(sleeps_of(runtime.pid()), sleeps_before);
  std::printf("%llu wake-ups for %d messages, then none\n",
              static_cast<unsigned long long>(wakeups_before), kMessages);

  runtime.send_signal(SIGTERM);
  const int status = runtime.wait(10'000);
  EXPECT_TRUE(exited_well(status)) << describe(status);
}

}  // namespace
}  // namespace crash_test
