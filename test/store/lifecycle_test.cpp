// Goal: a database is opened only where it may be, is made once, and is private; a foreign file is
// refused by name and left as it was.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "store_world.hpp"

namespace pawl::test {
namespace {

using Lifecycle = StoreWorld;
INSTANTIATE_TEST_SUITE_P(Ports, Lifecycle, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

StoreOptions no_create() {
  StoreOptions options;
  options.create = false;
  return options;
}

bool names(const Diagnostic& diagnostic, std::string_view what) {
  return diagnostic.text().find(what) != std::string_view::npos;
}

TEST_P(Lifecycle, MakesADatabaseAndFindsItAgain) {
  Site& first = site();
  const std::string id(first->database_id());
  EXPECT_EQ(id.size(), 32U);
  create(first, "a");
  close(first);
  Site& second = process();
  ASSERT_EQ(open(second, no_create()), Status::kOk) << second.diagnostic.text();
  EXPECT_EQ(second->database_id(), id);
  EXPECT_EQ(status(second, "a").state, InstanceState::kRunning);
}

// The file is written in one piece. A log has its header flushed first, and then its first frames.
TEST_P(Lifecycle, NewDatabaseTakesOneFlush) {
  Site& first = site();
  EXPECT_EQ(first->io_use().flushes, 1U);
  EXPECT_EQ(first->io_use().bytes % 512, 0U);
  EXPECT_LT(first->io_use().bytes, 128U * 1024);
  create(first, "a");
  EXPECT_EQ(first->io_use().flushes, 3U);
  create(first, "b");
  EXPECT_EQ(first->io_use().flushes, 4U);
  EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok");
}

TEST_P(Lifecycle, TwoProcessesShareADatabase) {
  Site& first = site();
  Site& second = site();
  EXPECT_EQ(first->database_id(), second->database_id());
  create(first, "a");
  EXPECT_EQ(status(second, "a").state, InstanceState::kRunning);
}

TEST_P(Lifecycle, MissingDatabaseIsNotMade) {
  Site& at = process();
  EXPECT_EQ(open(at, no_create()), Status::kCannotOpen);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
  EXPECT_FALSE(!is_sim() && std::filesystem::exists(path()));
}

TEST_P(Lifecycle, EmptyFileIsNoDatabaseUnlessItMayBecomeOne) {
  damage_file(0, "");
  Site& at = process();
  EXPECT_EQ(open(at, no_create()), Status::kCannotOpen);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
  close(at);
  EXPECT_EQ(open(at), Status::kOk) << at.diagnostic.text();
}

TEST_P(Lifecycle, BadOptionsAreRefused) {
  Site& at = process();
  StoreOptions options;
  options.cache_pages = -1;
  EXPECT_EQ(open(at, options), Status::kInvalidArgument);
  close(at);
  const std::string longer(4000, 'x');
  options = StoreOptions();
  options.path = longer.c_str();
  EXPECT_EQ(open(at, options), Status::kInvalidArgument);
}

TEST_P(Lifecycle, DatabaseOfAnotherProgramIsRefusedAndUntouched) {
  raw("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(42)");
  Site& at = process();
  EXPECT_EQ(open(at), Status::kForeignDatabase);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
  EXPECT_EQ(raw_text("SELECT name FROM sqlite_schema"), "theirs");
  EXPECT_EQ(raw_text("PRAGMA journal_mode"), "delete");
}

TEST_P(Lifecycle, AnotherApplicationIdIsRefused) {
  raw("PRAGMA application_id=12345");
  Site& at = process();
  EXPECT_EQ(open(at), Status::kForeignDatabase);
  EXPECT_TRUE(names(at.diagnostic, "12345")) << at.diagnostic.text();
}

TEST_P(Lifecycle, NewerDatabaseIsRefusedWithBothVersions) {
  close(site());
  raw("PRAGMA user_version=7");
  Site& at = process();
  EXPECT_EQ(open(at), Status::kNewerDatabase);
  EXPECT_TRUE(names(at.diagnostic, "format 7")) << at.diagnostic.text();
  EXPECT_TRUE(names(at.diagnostic, "up to 2")) << at.diagnostic.text();
}

TEST_P(Lifecycle, OlderDatabaseIsRefusedWithBothVersions) {
  close(site());
  raw("PRAGMA user_version=1");
  const std::string before = raw_text("SELECT database_id FROM meta");
  Site& at = process();
  EXPECT_EQ(open(at), Status::kOlderDatabase);
  EXPECT_TRUE(names(at.diagnostic, "format 1")) << at.diagnostic.text();
  EXPECT_TRUE(names(at.diagnostic, "only 2")) << at.diagnostic.text();
  EXPECT_EQ(raw_text("PRAGMA user_version"), "1");
  EXPECT_EQ(raw_text("SELECT database_id FROM meta"), before);
}

// ---- foreign objects in the schema ----

struct Plant {
  const char* sql;
  const char* what;  // text that the diagnostic has
};
const Plant kPlants[] = {
    {"CREATE TRIGGER evil AFTER UPDATE ON meta BEGIN SELECT RAISE(IGNORE); END",
     "trigger \"evil\""},
    {"CREATE VIEW evil AS SELECT 1", "view \"evil\""},
    {"CREATE TABLE evil(x)", "table \"evil\""},
    {"CREATE INDEX evil ON kv(value)", "index \"evil\""},
    {"CREATE TABLE evil(x UNIQUE)", "table \"evil\""},
    {"ANALYZE", "table \"sqlite_stat1\""},
    {"DROP INDEX wq_event", "index \"wq_event\" is missing"},
    {"DROP TABLE kv", "table \"kv\" is missing"},
    {"ALTER TABLE kv ADD COLUMN x DEFAULT 5", "table \"kv\" is another one"},
    {"DROP INDEX i_tree; CREATE INDEX i_tree ON instances(root)",
     "index \"i_tree\" is another one"},
    {"DROP INDEX i_tree; CREATE INDEX i_tree ON instances(parent) WHERE root IS NOT NULL",
     "index \"i_tree\" is another one"},
    {"DROP INDEX i_tree; CREATE VIEW i_tree AS SELECT 1", "view \"i_tree\" is another one"},
};

TEST_P(Lifecycle, SchemaThatIsNotOursIsRefusedByName) {
  for (const Plant& plant : kPlants) {
    Site& made = site();
    create(made, "a");
    close(made);
    raw(plant.sql);
    const std::string before = dump_schema();
    Site& at = process();
    EXPECT_EQ(open(at), Status::kCorrupt) << plant.sql;
    EXPECT_TRUE(names(at.diagnostic, plant.what)) << at.diagnostic.text();
    EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
    EXPECT_EQ(dump_schema(), before) << "untouched";
    drop_database(at);
  }
}

// Another process plants the object while the storage is open: no batch and no read begins.
TEST_P(Lifecycle, SchemaThatChangesMeanwhileStopsBatchesAndReads) {
  for (const Plant& plant : kPlants) {
    Site& at = site();
    create(at, "a");
    raw(plant.sql);
    BatchInfo info;
    EXPECT_EQ(at->batch().begin(0, &info), Status::kCorrupt) << plant.sql;
    EXPECT_TRUE(names(at->diagnostic(), plant.what)) << at->diagnostic().text();
    EXPECT_EQ(at->batch().begin(0, &info), Status::kCorrupt) << "and again: " << plant.sql;
    EXPECT_EQ(at->batch().begin_read(), Status::kCorrupt) << plant.sql;
    EXPECT_FALSE(at->batch().data_version().ok()) << plant.sql;
    drop_database(at);
  }
}

TEST_P(Lifecycle, PlantedTriggerThatIsRemovedAgainLetsWorkGoOn) {
  Site& at = site();
  create(at, "a");
  raw("CREATE TRIGGER evil AFTER INSERT ON instances BEGIN SELECT RAISE(IGNORE); END");
  BatchInfo info;
  EXPECT_EQ(at->batch().begin(0, &info), Status::kCorrupt);
  raw("DROP TRIGGER evil");
  create(at, "b");
  EXPECT_EQ(status(at, "b").state, InstanceState::kRunning);
}

// VACUUM renumbers the rows of the schema, and changes its version.
TEST_P(Lifecycle, VacuumedDatabaseIsStillOurs) {
  Site& at = site();
  create(at, "a");
  raw("VACUUM");
  create(at, "b");
  close(at);
  EXPECT_EQ(open(at), Status::kOk) << at.diagnostic.text();
}

// The statements are in the order of .dump in SQLite's shell: tables by name, indices after them.
TEST_P(Lifecycle, DatabaseMadeFromItsDumpIsStillOurs) {
  Site& made = site();
  std::string sql = raw_text(
      "SELECT sql||';' FROM sqlite_schema WHERE sql NOT NULL AND name NOT LIKE "
      "'sqlite_%' ORDER BY type='index',name");
  sql += raw_text(
      "SELECT 'INSERT INTO meta "
      "VALUES(1,'||quote(database_id)||',1,1,NULL,0,0,0,NULL,0,0,0,0,0,0,0,0,64,86400000);' "
      "FROM meta");
  drop_database(made);
  raw("PRAGMA application_id=0x5061776c;PRAGMA user_version=2;" + sql);
  Site& at = site();
  create(at, "a");
  EXPECT_EQ(status(at, "a").state, InstanceState::kRunning);
}

TEST_P(Lifecycle, FileThatIsNoDatabaseIsRefused) {
  damage_file(0, std::string(8192, 'z'));
  Site& at = process();
  EXPECT_EQ(open(at), Status::kForeignDatabase);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
}

TEST_P(Lifecycle, DamagedFirstPageIsReported) {
  close(site());
  // The bytes after the header are the tree of the schema.
  damage_file(100, std::string(64, '\xff'));
  Site& at = process();
  const Status opened = open(at);
  EXPECT_TRUE(opened == Status::kCorrupt || opened == Status::kForeignDatabase)
      << status_name(opened);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
}

TEST_P(Lifecycle, DamagedHeaderIsReported) {
  close(site());
  damage_file(0, "Not a header now");
  Site& at = process();
  EXPECT_EQ(open(at), Status::kForeignDatabase);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
}

TEST_P(Lifecycle, KeepsALog) {
  site();
  EXPECT_EQ(raw_text("PRAGMA journal_mode"), "wal");
}

TEST_P(Lifecycle, MissingFolderIsRefused) {
  if (is_sim()) GTEST_SKIP() << "the simulated machine has no folders";
  Site& at = process();
  StoreOptions options;
  options.path = "no/such/folder/test.db";
  EXPECT_EQ(open(at, options), Status::kCannotOpen);
  EXPECT_TRUE(names(at.diagnostic, "no/such/folder")) << at.diagnostic.text();
}

TEST_P(Lifecycle, ReadOnlyFileIsRefused) {
  if (is_sim()) GTEST_SKIP() << "the simulated machine has no permissions";
  close(site());
  // Root may write everything, so the test changes to another user for a moment.
  constexpr uid_t kOtherUser = 65534;
  const bool was_root = ::geteuid() == 0;
  const std::string folder = std::filesystem::path(path()).parent_path();
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path(), 0444), 0);
  if (was_root && ::seteuid(kOtherUser) != 0) GTEST_SKIP() << "cannot be another user";
  Site& at = process();
  const Status opened = open(at);
  ASSERT_TRUE(!was_root || ::seteuid(0) == 0);
  EXPECT_EQ(opened, Status::kReadOnly);
  EXPECT_TRUE(names(at.diagnostic, path())) << at.diagnostic.text();
}

TEST_P(Lifecycle, FilesArePrivateWhateverTheMask) {
  if (is_sim()) GTEST_SKIP() << "the simulated machine has no permissions";
  const mode_t before = ::umask(0);
  Site& at = site();
  create(at, "a");
  ::umask(before);
  for (const char* ending : {"", "-wal", "-shm", "-bell"}) {
    struct stat info {};
    ASSERT_EQ(::stat((std::string(path()) + ending).c_str(), &info), 0) << ending;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << ending;
  }
}

TEST_P(Lifecycle, AnyNameWillDo) {
  if (is_sim()) GTEST_SKIP() << "a name is a key there";
  const std::string odd = std::string(path()) + " 100%?#&=+.db";
  StoreOptions options;
  options.path = odd.c_str();
  Site& at = site(&options);
  create(at, "a");
  EXPECT_TRUE(std::filesystem::exists(odd));
  close(at);
  options.create = false;
  EXPECT_EQ(open(at, options), Status::kOk) << at.diagnostic.text();
}

TEST_P(Lifecycle, ManyThatCreateAtOnceAllSucceed) {
  if (is_sim()) GTEST_SKIP() << "one thread drives the simulated machine";
  constexpr int kThreads = 4;
  for (int round = 0; round < 5; ++round) {
    const std::string file = std::string(path()) + std::to_string(round);
    std::vector<Site*> all;
    for (int i = 0; i < kThreads; ++i)
      all.push_back(&process());
    // Each thread has its own storage and clock; the threads share only the file.
    std::vector<std::vector<std::uint64_t>> places(kThreads);
    std::vector<TestClock> clocks(kThreads);
    std::vector<Status> opened(kThreads, Status::kIo);
    std::vector<std::string> ids(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      const auto at = static_cast<std::size_t>(i);
      threads.emplace_back([&, at] {
        StoreOptions options;
        options.path = file.c_str();
        options.busy_ms_max = 20'000;
        all[at]->port.clock = &clocks[at];
        all[at]->store = make_store(places[at]);
        opened[at] = (*all[at])->open(options, all[at]->port, all[at]->diagnostic);
        ids[at] = std::string((*all[at])->database_id());
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    for (std::size_t i = 0; i < kThreads; ++i) {
      EXPECT_EQ(opened[i], Status::kOk) << all[i]->diagnostic.text();
      EXPECT_EQ(ids[i], ids[0]);
      close(*all[i]);
    }
  }
}

TEST_P(Lifecycle, ClosingInABatchRollsBack) {
  Site& at = site();
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(0, &info), Status::kOk);
  NewInstance instance;
  instance.id = "a";
  instance.name = "n";
  InstanceKey key = 0;
  ASSERT_EQ(at->instance().deliveries.start_orchestration(instance, &key), Status::kOk);
  close(at);
  ASSERT_EQ(open(at), Status::kOk);
  InstanceStatus out;
  EXPECT_EQ(at->instance().directory.get_status("a", &out, output, sizeof(output)),
            Status::kNotFound);
}

}  // namespace
}  // namespace pawl::test
