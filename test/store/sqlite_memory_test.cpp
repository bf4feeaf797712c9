// Goal: SQLite lives only in the block that it was given; running out is a status and not a crash;
// an installed block can be removed. This is its own program, because SQLite's memory belongs to
// the process.
#include <sqlite3.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/store_factory.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

class Memory : public StoreWorld {
 protected:
  // SQLite must have its heap until the world's connections close. So the block is kept after a
  // test, and only the next test removes it.
  Status install(std::size_t bytes, int pages, std::size_t payload_bytes = 0) {
    block_.resize(bytes);
    return StoreFactory::install_memory(block_.data(), bytes, {pages, payload_bytes, false},
                                        diagnostic_);
  }
  Status install_shared(std::size_t bytes, int pages) {
    block_.resize(bytes);
    return StoreFactory::install_memory(block_.data(), bytes, {pages, 0, true}, diagnostic_);
  }
  [[nodiscard]] bool holds(const void* pointer) const {
    const auto* const at = static_cast<const unsigned char*>(pointer);
    return at >= block_.data() && at < block_.data() + block_.size();
  }
  void TearDown() override {
    for (Site* one : open_)
      close(*one);
    EXPECT_TRUE(StoreFactory::remove_memory());
  }
  Site& opened() {
    open_.push_back(&site());
    return *open_.back();
  }
  Diagnostic diagnostic_;

 private:
  std::vector<unsigned char> block_;
  std::vector<Site*> open_;
};
INSTANTIATE_TEST_SUITE_P(Ports, Memory, ::testing::Values(Ports::kSim, Ports::kPosix), ports_name);

TEST_P(Memory, ComesFromTheBlock) {
  ASSERT_EQ(install(1 << 20, 32), Status::kOk) << diagnostic_.text();
  void* const piece = sqlite3_malloc(100);
  EXPECT_TRUE(holds(piece));
  EXPECT_GE(StoreFactory::heap_use().used, 100U);
  sqlite3_free(piece);
  Site& at = opened();
  create(at, "a", std::string(20'000, 'x'));
  start(at, 1);
  const StoreFactory::HeapUse use = StoreFactory::heap_use();
  EXPECT_GT(use.used, 10'000U);
  EXPECT_GE(use.high_water, use.used);
  EXPECT_EQ(use.failures, 0U);
}

TEST_P(Memory, AllOfItComesBack) {
  ASSERT_EQ(install(1 << 20, 32), Status::kOk);
  Site& at = opened();
  create(at, "a");
  start(at, 1);
  close(at);
  // SQLite keeps a little memory until it is shut down.
  EXPECT_LT(StoreFactory::heap_use().used, 8192U);
}

// Memory planned for many pages is not touched before it is needed, and never more than the cache
// may keep.
TEST_P(Memory, SlotsOfPagesAreTouchedWhenTheyAreNeeded) {
  ASSERT_EQ(install(8 << 20, 4'000), Status::kOk);
  EXPECT_EQ(StoreFactory::heap_use().pages_touched, 0U);
  Site& at = opened();
  create(at, "a");
  start(at, 1);
  const std::size_t at_first = StoreFactory::heap_use().pages_touched;
  EXPECT_GT(at_first, 10U);
  EXPECT_LT(at_first, 200U);
  for (int i = 0; i < 40; ++i)
    create(at, "b" + std::to_string(i), std::string(20'000, 'x'));
  const std::size_t later = StoreFactory::heap_use().pages_touched;
  EXPECT_GT(later, at_first);
  EXPECT_LT(later, 400U)
      << "of cache_pages = 256 and what a checkpoint or a statement takes besides";
}

// Without slots, or with too few, pages come from the heap, and are returned to where they came
// from.
TEST_P(Memory, PagesBeyondTheSlotsComeFromTheHeap) {
  ASSERT_EQ(install(4 << 20, 20), Status::kOk);
  Site& at = opened();
  for (int i = 0; i < 40; ++i)
    create(at, "b" + std::to_string(i), std::string(20'000, 'x'));
  EXPECT_EQ(StoreFactory::heap_use().pages_touched, 20U);
  EXPECT_GT(StoreFactory::heap_use().used, 2048U * 100);
  close(at);
  EXPECT_LT(StoreFactory::heap_use().used, 8192U);
  EXPECT_EQ(StoreFactory::heap_use().failures, 0U);
}

// A piece of the size of a page takes a slot, also one that grows or shrinks to it.
TEST_P(Memory, PiecesMoveBetweenSlotsAndHeap) {
  ASSERT_EQ(install(1 << 20, 8), Status::kOk);
  ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);
  auto* text = static_cast<char*>(sqlite3_malloc(600));
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(StoreFactory::heap_use().pages_touched, 1U);
  EXPECT_GE(sqlite3_msize(text), 600U);
  std::memset(text, 'x', 600);
  text = static_cast<char*>(sqlite3_realloc(text, 5'000));
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(std::string(text, 600), std::string(600, 'x'));
  text = static_cast<char*>(sqlite3_realloc(text, 550));
  EXPECT_EQ(std::string(text, 550), std::string(550, 'x'));
  sqlite3_free(text);
  void* const again = sqlite3_malloc(620);
  EXPECT_EQ(StoreFactory::heap_use().pages_touched, 1U) << "a slot that came back is taken first";
  sqlite3_free(again);
}

// Only a piece too large for the pool is in a slot for rows, and the slot is used again.
TEST_P(Memory, LargeRowsHaveSlotsOfTheirOwn) {
  constexpr std::size_t kPayload = 200'000;
  const std::size_t rows = StoreFactory::row_slots_memory(kPayload);
  ASSERT_EQ(install((64 << 10) + rows, 0, kPayload), Status::kOk) << diagnostic_.text();
  ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);
  std::vector<char*> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(static_cast<char*>(sqlite3_malloc(static_cast<int>(kPayload) + 2'500)));
    ASSERT_NE(all.back(), nullptr) << i;
    EXPECT_TRUE(holds(all.back()));
    std::memset(all.back(), 'a' + i, kPayload);
  }
  EXPECT_EQ(StoreFactory::heap_use().failures, 0U);
  EXPECT_EQ(sqlite3_malloc(static_cast<int>(kPayload)), nullptr) << "that was all of them";
  EXPECT_EQ(StoreFactory::heap_use().failures, 1U);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(std::string(all[i], kPayload), std::string(kPayload, static_cast<char>('a' + i)));
  sqlite3_free(all[1]);
  // Small pieces never take these slots, however full the pool is.
  std::vector<void*> small;
  while (void* const piece = sqlite3_malloc(4'000))
    small.push_back(piece);
  void* grown = sqlite3_realloc(small.back(), static_cast<int>(kPayload));
  EXPECT_EQ(grown, all[1]) << "what grows moves into it";
  small.pop_back();
  EXPECT_EQ(sqlite3_realloc(grown, static_cast<int>(2 * kPayload)), nullptr);
  sqlite3_free(grown);
  for (void* const piece : small)
    sqlite3_free(piece);
  sqlite3_free(all[0]);
  sqlite3_free(all[2]);
  EXPECT_LT(StoreFactory::heap_use().used, 8192U);
}

TEST_P(Memory, IsInstalledOnceAndBeforeAnyUse) {
  ASSERT_EQ(install(1 << 20, 8), Status::kOk);
  std::vector<unsigned char> other(1 << 20);
  EXPECT_EQ(StoreFactory::install_memory(other.data(), other.size(), {8, 0, false}, diagnostic_),
            Status::kAlreadyExists);
  EXPECT_TRUE(StoreFactory::remove_memory());
  ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);  // the host has initialised SQLite first
  EXPECT_EQ(StoreFactory::install_memory(other.data(), other.size(), {8, 0, false}, diagnostic_),
            Status::kSqliteAlreadyInitialised);
  EXPECT_NE(diagnostic_.text().find("sqlite_memory = host"), std::string_view::npos);
  EXPECT_EQ(StoreFactory::heap_use().used, 0U);
  void* const piece = sqlite3_malloc(100);
  EXPECT_NE(piece, nullptr);
  EXPECT_FALSE(holds(piece));
  sqlite3_free(piece);
  ASSERT_EQ(sqlite3_shutdown(), SQLITE_OK);
  EXPECT_EQ(StoreFactory::install_memory(other.data(), other.size(), {8, 0, false}, diagnostic_),
            Status::kOk);
  EXPECT_TRUE(StoreFactory::remove_memory());
}

// A host that uses SQLite itself may take as much as it likes, and is refused nothing.
TEST_P(Memory, SharedWithAHost_GoesOnInTheHostsAllocator) {
  ASSERT_EQ(install_shared(256 << 10, 8), Status::kOk) << diagnostic_.text();
  sqlite3* host = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &host), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(host,
                   "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
                   " FROM n WHERE i < 2000) INSERT INTO t SELECT zeroblob(1000) FROM n",
                   nullptr, nullptr, nullptr),
      SQLITE_OK)
      << sqlite3_errmsg(host);
  StoreFactory::HeapUse use = StoreFactory::heap_use();
  EXPECT_GT(use.overflow_bytes, 1'000'000U);
  EXPECT_GT(use.used, use.overflow_bytes);
  EXPECT_EQ(use.failures, 0U) << "what the host's allocator served is no failure";
  // Pawl's storage works beside it, though the block is full.
  Site& at = opened();
  create(at, "a", std::string(20'000, 'x'));
  start(at, 1);
  close(at);
  ASSERT_EQ(sqlite3_close(host), SQLITE_OK);
  use = StoreFactory::heap_use();
  EXPECT_EQ(use.overflow_bytes, 0U) << "each piece went back to where it is from";
  EXPECT_LT(use.used, 8192U);
}

TEST_P(Memory, PiecesMoveBetweenBlockAndHost) {
  ASSERT_EQ(install_shared(64 << 10, 0), Status::kOk);
  ASSERT_EQ(sqlite3_initialize(), SQLITE_OK);
  auto* text = static_cast<char*>(sqlite3_malloc(2'000));
  ASSERT_TRUE(holds(text));
  std::memset(text, 'x', 2'000);
  text = static_cast<char*>(sqlite3_realloc(text, 100'000));
  ASSERT_NE(text, nullptr);
  EXPECT_FALSE(holds(text));
  EXPECT_EQ(StoreFactory::heap_use().overflow_bytes, sqlite3_msize(text));
  EXPECT_EQ(std::string(text, 2'000), std::string(2'000, 'x'));
  text = static_cast<char*>(sqlite3_realloc(text, 200'000));
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(StoreFactory::heap_use().overflow_bytes, sqlite3_msize(text));
  EXPECT_EQ(std::string(text, 2'000), std::string(2'000, 'x'));
  sqlite3_free(text);
  EXPECT_EQ(StoreFactory::heap_use().overflow_bytes, 0U);
}

// SQLite must not be shut down under a connection of the host: that would crash the host.
TEST_P(Memory, SharedMemoryStaysUnderOpenConnectionsOfTheHost) {
  ASSERT_EQ(install_shared(256 << 10, 8), Status::kOk);
  sqlite3* host = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &host), SQLITE_OK);
  EXPECT_FALSE(StoreFactory::remove_memory());
  EXPECT_EQ(sqlite3_exec(host, "CREATE TABLE t(a)", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(StoreFactory::install_memory(nullptr, 0, {8, 0, false}, diagnostic_),
            Status::kAlreadyExists)
      << "a heap of its own cannot begin in what the host uses";
  EXPECT_EQ(StoreFactory::install_memory(nullptr, 0, {8, 0, true}, diagnostic_), Status::kOk)
      << "the next one goes on with the block that is there";
  ASSERT_EQ(sqlite3_close(host), SQLITE_OK);
}

TEST_P(Memory, TooSmallABlockIsRefused) {
  EXPECT_EQ(install(100, 0), Status::kResourceExhausted);
  EXPECT_FALSE(diagnostic_.text().empty());
  EXPECT_EQ(install(64 * 1024, 1000), Status::kResourceExhausted);
  EXPECT_EQ(install(4096, -1), Status::kResourceExhausted);
  EXPECT_EQ(StoreFactory::install_memory(nullptr, 0, {}, diagnostic_), Status::kResourceExhausted);
  EXPECT_EQ(install(1 << 20, 8), Status::kOk) << "and a right one is not, after them";
}

// With less and less memory every call answers with a status, and with more memory it works.
TEST_P(Memory, RunningOutIsAnAnswer) {
  bool worked = false;
  int refused = 0;
  for (std::size_t bytes = 48 * 1024; bytes < (1U << 20) && !worked; bytes += 12 * 1024) {
    ASSERT_EQ(install(bytes, 0), Status::kOk);
    Site& at = process();
    Status status = open(at);
    if (status == Status::kOk) {
      NewInstance instance;
      instance.id = "a";
      instance.name = "n";
      const std::string input(4000, 'x');
      instance.input = input;
      InstanceKey key = 0;
      status =
          batch(at, [&] { return at->instance().deliveries.start_orchestration(instance, &key); });
      InstanceStatus out;
      const Status found = at->instance().directory.get_status("a", &out, output, sizeof(output));
      EXPECT_TRUE(found == Status::kResourceExhausted ||
                  found == (status == Status::kOk ? Status::kOk : Status::kNotFound))
          << status_name(found) << " after " << status_name(status);
    }
    EXPECT_TRUE(status == Status::kOk || status == Status::kResourceExhausted)
        << bytes << ": " << status_name(status) << ", " << at->diagnostic().text() << ", "
        << at.diagnostic.text();
    worked = status == Status::kOk;
    refused += worked ? 0 : 1;
    EXPECT_TRUE(worked || StoreFactory::heap_use().failures > 0);
    close(at);
    EXPECT_TRUE(StoreFactory::remove_memory());
  }
  EXPECT_TRUE(worked);
  EXPECT_GT(refused, 0);
}

TEST_P(Memory, IsSharedByThreads) {
  if (is_sim()) GTEST_SKIP() << "one thread drives the simulated machine";
  ASSERT_EQ(install(2 << 20, 64), Status::kOk);
  constexpr std::size_t kThreads = 3;
  std::vector<Site*> all;
  std::vector<TestClock> clocks(kThreads);
  StoreOptions options;
  options.busy_ms_max = 60'000;
  options.synchronous_full = false;
  for (std::size_t i = 0; i < kThreads; ++i) {
    all.push_back(&process());
    all[i]->port.clock = &clocks[i];
    ASSERT_EQ(open(*all[i], options), Status::kOk);
  }
  std::vector<Status> answers(kThreads, Status::kOk);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 30 && answers[i] == Status::kOk; ++n) {
        const std::string id = std::to_string(i) + "-" + std::to_string(n);
        NewInstance instance;
        instance.id = id;
        instance.name = "n";
        InstanceKey key = 0;
        BatchInfo info;
        Store& store = *all[i]->store;
        answers[i] = store.batch().begin(0, &info);
        if (answers[i] == Status::kOk)
          answers[i] = store.instance().deliveries.start_orchestration(instance, &key);
        if (answers[i] == Status::kOk) answers[i] = store.batch().commit();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(answers[i], Status::kOk) << (*all[i])->diagnostic().text();
    close(*all[i]);
  }
}

}  // namespace
}  // namespace pawl::test
