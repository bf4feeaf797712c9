// Goal: whatever is killed, every message, child, detached start and result of an activity counts
// exactly once. Method: three workers and a sender, processes on one database, are killed by
// SIGKILL at times that a seed determines, and started again with other options, over a plan of
// mixed instances (soak_plan.hpp).
//
// With SOAK_ON_SERVER the database is on a server (PAWL_POSTGRES), and is moved to a file for the
// comparison.
//
// Afterwards each instance's own count is compared with the sender's journal, and each repeated run
// of an activity with the kills; the checker links nothing of Pawl. PAWL_SOAK=1 runs 220 instances
// with 660 messages and 200 kills; PAWL_SEED=n begins with that seed, and PAWL_RUNS=n runs so many
// seeds.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>

#include "crash_driver.hpp"
#include "gtest/gtest.h"
#include "soak_plan.hpp"

namespace crash_test {
namespace {

constexpr std::int64_t kPatienceMs = 60'000;
constexpr std::size_t kWorkers = 3;
constexpr int kBusyStatus = 75;  // exit code: the worker could not get the write lock
constexpr int kStartsMax = 20;

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Size {
  std::size_t instances;
  std::size_t messages;
  std::size_t kills;
  int gap_ms;
};

class Soak {
 public:
  Soak(std::uint64_t seed, Size size)
      : seed_(seed),
        size_(size),
        plan_(seed, size.instances, size.messages),
        random_(seed),
        database_(folder_.file("pawl.db")) {
#ifdef SOAK_ON_SERVER
    EXPECT_EQ(std::system("psql -X -q -d \"$PAWL_POSTGRES\" -c 'SET client_min_messages=error' -c "
                          "'DROP SCHEMA IF EXISTS soak CASCADE'"),
              0);
#endif
  }

  void run() {
    // A stalled disk keeps one process in its commit, and so keeps the lock from the others.
    folder_.announce("write_lock_is_held", 0, kWorkers * (size_.kills + 1));
    for (std::size_t worker = 0; worker < kWorkers; ++worker)
      start_worker(worker);
    start_driver();
    while (!testing::Test::HasFailure() && (!is_sent() || kills_ < size_.kills))
      kill_one();
    if (!testing::Test::HasFailure()) {
      EXPECT_TRUE(wait_for_the_end()) << unfinished() << " still run";
    }
    for (Process& worker : workers_)
      worker.child->send_signal(SIGTERM);
    for (Process& worker : workers_) {
      const int status = worker.child->wait(kPatienceMs);
      EXPECT_TRUE(exited_well(status)) << describe(status);
    }
    fetch_rows();
    Database look(database_);
    check(look);
  }

 private:
  struct Process {
    std::unique_ptr<Child> child;
    std::string name;
    int starts = 0;
  };

  // Files beside the database begin with it; on a server its own file is made later.
  std::string beside() {
#ifdef SOAK_ON_SERVER
    return folder_.file("beside");
#else
    return database_;
#endif
  }

  // One worker keeps its name over all its lives, and so gets its sessions back at once.
  void start_worker(std::size_t number) {
    Process& worker = workers_[number];
    worker.name = "w" + std::to_string(number) + "." + std::to_string(++worker.starts);
    std::vector<std::string> words = {"serve",
                                      beside(),
                                      worker.name,
                                      folder_.file("runs"),
                                      folder_.file("journal"),
                                      std::to_string(seed_),
                                      std::to_string(size_.instances),
                                      std::to_string(size_.messages)};
    if (number == 0) words.emplace_back("gateway");
    for (int starts = 0; starts < kStartsMax; ++starts) {
      worker.child = std::make_unique<Child>(words, std::vector<std::string>(), SOAK_PROGRAM);
      if (worker.child->listen_for("ready", kPatienceMs)) return;
      const int status = worker.child->wait(kPatienceMs);
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kBusyStatus)
          << worker.name << ": " << describe(status);
      std::printf("%s: %s\n", worker.name.c_str(), worker.child->lines().front().c_str());
      ++busy_starts_;
    }
    FAIL() << worker.name << " does not start";
  }

  void start_driver() {
    const std::vector<std::string> words = {"drive",
                                            beside(),
                                            folder_.file("journal"),
                                            std::to_string(seed_),
                                            std::to_string(size_.instances),
                                            std::to_string(size_.messages),
                                            std::to_string(size_.gap_ms),
                                            std::to_string(++driver_.starts)};
    driver_.child = std::make_unique<Child>(words, std::vector<std::string>(), SOAK_PROGRAM);
  }

  void write_run(const std::string& line) {
    std::ofstream(folder_.file("runs"), std::ios::app) << line << "\n";
  }

  // Kills once after each share of the plan, so that a slow machine gets as many kills as a fast
  // one.
  void kill_one() {
    ::usleep(static_cast<useconds_t>(random_() % 100'000));
    if (kills_ * plan_.actions() > answers() * size_.kills) return;
    ++kills_;
    if (random_() % 8 == 0 && !is_sent_) {
      driver_.child->send_signal(SIGKILL);
      const int status = driver_.child->wait(kPatienceMs);
      ASSERT_TRUE(killed_by(status, SIGKILL) || exited_well(status)) << describe(status);
      if (killed_by(status, SIGKILL)) start_driver();
      return;
    }
    // Sometimes two workers are killed at once.
    const std::size_t first = random_() % kWorkers;
    const std::size_t count = random_() % 5 == 0 ? 2 : 1;
    for (std::size_t i = 0; i < count; ++i) {
      Process& worker = workers_[(first + i) % kWorkers];
      // Written before it dies: another worker may run its work again at once.
      write_run("killed " + worker.name);
      worker.child->send_signal(SIGKILL);
      ASSERT_TRUE(killed_by(worker.child->wait(kPatienceMs), SIGKILL));
    }
    kills_ += count - 1;
    ::usleep(static_cast<useconds_t>(random_() % 60'000));
    for (std::size_t i = 0; i < count; ++i)
      start_worker((first + i) % kWorkers);
  }

  // The sender ends when the whole plan is done; on a fast machine before the last kill.
  bool is_sent() {
    if (is_sent_ || driver_.child->listen(0)) return is_sent_;
    is_sent_ = true;
    const int status = driver_.child->wait(kPatienceMs);
    EXPECT_TRUE(exited_well(status)) << "the sender: " << describe(status);
    return true;
  }

  std::size_t answers() {
    for (std::string line; std::getline(journal_, line);)
      answers_ += line.rfind("answer", 0) == 0 ? 1U : 0U;
    journal_.clear();
    if (!journal_.is_open()) journal_.open(folder_.file("journal"));
    return answers_;
  }

#ifdef SOAK_ON_SERVER
  static std::int64_t unfinished() {
    std::FILE* const said = ::popen(
        "psql -X -At -d \"$PAWL_POSTGRES\" -c "
        "'SELECT count(*) FROM soak.instances WHERE state NOT IN (1,2)'",
        "r");
    long long count = -1;
    if (said == nullptr || std::fscanf(said, "%lld", &count) != 1) ADD_FAILURE() << "psql";
    if (said != nullptr) ::pclose(said);
    return count;
  }
  void fetch_rows() {
    const std::string address = std::getenv("PAWL_POSTGRES");
    const std::size_t host = address.find("host=") + 5;
    const std::string command = SOAK_TOOL " --db 'postgresql://pawl@/postgres?host=" +
                                address.substr(host, address.find(' ', host) - host) +
                                "' --schema soak move " + database_;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
#else
  std::int64_t unfinished() {
    return Database(database_).number("SELECT count(*) FROM instances WHERE state NOT IN (1,2)");
  }
  void fetch_rows() {}
#endif

  bool wait_for_the_end() {
    const std::int64_t until = now_ms() + kPatienceMs;
    while (unfinished() != 0) {
      if (now_ms() >= until) return false;
      ::usleep(20'000);
    }
    return true;
  }

  void check(Database& look) {
    soak::Journal journal(plan_);
    std::ifstream tries(folder_.file("journal"));
    for (std::string line; std::getline(tries, line);)
      journal.apply(line);
    soak::Runs runs;
    std::ifstream ran(folder_.file("runs"));
    for (std::string line; std::getline(ran, line);)
      runs.apply(line);
    std::map<std::string, soak::Ended> ends;
    for (const std::vector<std::string>& row :
         look.rows("SELECT i.id, i.state, h.payload FROM instances i LEFT JOIN executions e ON"
                   " e.instance=i.key AND e.execution=i.execution LEFT JOIN history h ON"
                   " h.instance=i.key AND h.execution=i.execution AND h.kind=50"))
      if (row.size() == 3) ends[row[0]] = {true, row[1] == "1", row[2], {}};
    for (const std::vector<std::string>& row :
         look.rows("SELECT i.id, q.payload FROM orchestrator_queue q JOIN instances i ON"
                   " i.key=q.instance WHERE q.waiting=3 AND q.name IN('in','bell','go')"))
      ends[row[0]].unread.push_back(row[1]);
    const auto find = [&ends](const std::string& id) {
      const auto found = ends.find(id);
      return found == ends.end() ? soak::Ended() : found->second;
    };
    const std::vector<std::string> counts = soak::wrong_counts(plan_, journal, find);
    for (const std::string& problem : counts)
      ADD_FAILURE() << problem;
    for (const std::string& problem : runs.unexplained())
      ADD_FAILURE() << "ran again without a kill: " << problem;
    for (const std::vector<std::string>& row : look.rows("PRAGMA integrity_check"))
      EXPECT_EQ(row.front(), "ok");
    EXPECT_EQ(look.number("SELECT count(*) FROM worker_queue"), 0);
    EXPECT_EQ(look.number("SELECT count(*) FROM orchestrator_queue WHERE waiting<>3"), 0);
    std::printf(
        "seed %llu: instances %zu (ended %zu), messages %zu, kills %zu, runs %zu, repeated %zu, "
        "busy starts %zu, wrong counts %zu\n",
        static_cast<unsigned long long>(seed_), size_.instances, ends.size(), size_.messages,
        kills_, runs.runs(), runs.repeated(), busy_starts_, counts.size());
    std::fflush(stdout);
  }

  std::uint64_t seed_;
  Size size_;
  soak::Plan plan_;
  std::mt19937 random_;
  Folder folder_;
  std::string database_;
  Process workers_[kWorkers];
  Process driver_;
  std::ifstream journal_;
  std::size_t answers_ = 0;
  bool is_sent_ = false;
  std::size_t kills_ = 0;
  std::size_t busy_starts_ = 0;
};

TEST(Soak, EverythingCountsOnceOverKills) {
  const bool is_long = std::getenv("PAWL_SOAK") != nullptr;
  const Size size = is_long ? Size{220, 660, 200, 45} : Size{48, 144, 20, 20};
  const std::uint64_t first = number_of("PAWL_SEED", 1);
  const std::uint64_t runs = number_of("PAWL_RUNS", 3);
  for (std::uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) {
    SCOPED_TRACE("PAWL_SEED=" + std::to_string(seed));
    Soak soak(seed, size);
    soak.run();
  }
}

}  // namespace
}  // namespace crash_test
