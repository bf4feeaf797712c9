// The bare-metal port on a flash whose power fails, under the conformance suite and under a
// Runtime.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nor_flash_sim.hpp"
#include "pawl/pawl.hpp"
#include "port/bare_metal/bare_metal_port.hpp"
#include "port_conformance.hpp"

namespace pawl::port_test {
namespace {

using bare_metal::BareMetalPort;
using bare_metal::Layout;
using bare_metal::Machine;

class SimBoard final : public bare_metal::Board {
 public:
  [[nodiscard]] std::int64_t boot_ms() override { return now_ms_; }
  [[nodiscard]] std::int64_t wall_ms() override { return 1'700'000'000'000 + now_ms_; }
  [[nodiscard]] bool is_wall_trusted() override { return true; }
  void random(void* out, std::size_t size) override {
    auto* const bytes = static_cast<unsigned char*>(out);
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<unsigned char>(random_());
  }
  void sleep(OptionalMs until) override { now_ms_ = until.value_or(now_ms_ + 1); }

 private:
  std::int64_t now_ms_ = 5;
  std::mt19937 random_{std::random_device{}()};
};

// A layout for this machine's SQLite, which asks for 32 KiB at a time.
Layout with_large_pieces() {
  Layout layout;
  layout.index_piece_bytes = std::size_t{32} * 1024;
  return layout;
}

// One boot of a machine.
class Boot {
 public:
  explicit Boot(NorFlashSim& flash, const Layout& layout = with_large_pieces())
      : memory_(Machine::required_memory(flash.geometry(), layout, 3) / 8 + 1) {
    status_ = machine_.start(board_, flash, layout, memory_.data(), memory_.size() * 8, why_);
  }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] std::string why() const { return std::string(why_.text()); }
  port::Port add() {
    ports_.push_back(std::make_unique<BareMetalPort>(machine_));
    return ports_.back()->port();
  }

 private:
  SimBoard board_;
  std::vector<std::uint64_t> memory_;
  Machine machine_;
  std::vector<std::unique_ptr<BareMetalPort>> ports_;
  Diagnostic why_;
  Status status_;
};

// ---- conformance ----

class BareMetalHost {
 public:
  BareMetalHost() : boot_(flash_, layout()) { EXPECT_EQ(boot_.status(), Status::kOk); }
  const char* root() { return nullptr; }
  const char* database() { return "pawl.db"; }
  port::Port add() { return boot_.add(); }

 private:
  static Layout layout() {
    Layout layout;
    layout.log_sectors = 300;  // two pieces of the log's index
    return layout;
  }
  NorFlashSim flash_{16'384, 64};
  Boot boot_;
};

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(BareMetal, PortConformance, BareMetalHost, );

namespace {

// ---- memory of the machine ----

// Pieces of the index for a log of this many sectors.
std::size_t pieces(std::uint32_t log_sectors, std::size_t piece_bytes) {
  const NorFlashSim flash{16'384, 64};
  Layout none;
  none.log_sectors = 0;
  none.index_piece_bytes = Layout().index_piece_bytes;
  Layout layout;
  layout.log_sectors = log_sectors;
  layout.index_piece_bytes = piece_bytes;
  return (Machine::required_memory(flash.geometry(), layout) -
          Machine::required_memory(flash.geometry(), none) + none.index_piece_bytes) /
         piece_bytes;
}

TEST(BareMetalMachine, IndexHasRoomForEveryPageOfTheLog) {
  constexpr std::size_t kSmall = std::size_t{4} * 1024;
  EXPECT_EQ(pieces(1, kSmall), 1U);
  EXPECT_EQ(pieces(250, kSmall), 1U);  // 477 pages and a head of the size of 34
  EXPECT_EQ(pieces(251, kSmall), 2U);
  EXPECT_EQ(pieces(10'000, kSmall), 38U);
  EXPECT_EQ(pieces(2'126, 8 * kSmall), 1U);
  EXPECT_EQ(pieces(2'127, 8 * kSmall), 2U);
}

TEST(BareMetalMachine, PieceOfTheIndexIsOneThatSqliteAsksFor) {
  NorFlashSim flash{16'384, 64};
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{2'048}, std::size_t{5'000}, std::size_t{65'536}}) {
    Layout layout;
    layout.index_piece_bytes = bytes;
    const Boot boot(flash, layout);
    EXPECT_EQ(boot.status(), Status::kInvalidArgument) << bytes;
    EXPECT_NE(boot.why().find("index_piece_bytes"), std::string::npos) << boot.why();
  }
}

// ---- a Runtime ----

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll three_steps(OrchestrationContext& ctx) {
  for (int step = 0; step < 3; ++step) {
    PAWL_AWAIT(echoed, ctx.schedule_activity("echo", ctx.input()));
    if (!echoed.ok()) return ctx.fail(echoed.error());
  }
  return ctx.complete(ctx.input());
}

// A Runtime on one boot. Acknowledged instances stay in the caller's set after a power cut.
class Node {
 public:
  explicit Node(NorFlashSim& flash, const ProcessOptions& wanted = ProcessOptions::small(),
                Options options = Options::small())
      : boot_(flash) {
    EXPECT_EQ(registry_.add_orchestration("three_steps", three_steps), Status::kOk);
    EXPECT_EQ(registry_.add_activity("echo", echo), Status::kOk);
    ProcessOptions of_process = wanted;
    of_process.sqlite_memory = SqliteMemory::kOwn;
    for_sqlite_.resize(Process::required_memory(of_process));
    options.database_path = "pawl.db";
    options.worker_node_id = "board";
    options.slots.threads = 0;
    options.space.reserve_bytes = 0;
    options.space.checkpoint_pages = 40;
    options.verify_turns = false;
    for_pawl_.resize(Runtime::required_memory(options));
    status_ = boot_.status();
    if (status_ == Status::kOk)
      status_ = process_.start(of_process, for_sqlite_.data(), for_sqlite_.size(), why_);
    if (status_ == Status::kOk)
      status_ = runtime_.start(process_, registry_, options, boot_.add(), for_pawl_.data(),
                               for_pawl_.size(), why_);
  }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] std::string why() const {
    return std::string(why_.text()) + std::string(boot_.why());
  }
  Runtime& runtime() { return runtime_; }
  [[nodiscard]] MemoryUse sqlite_use() const { return process_.memory_use(); }

  // Starts instances one after another, each when the one before has ended.
  void work(int first, int count, std::set<std::string>* acknowledged) {
    if (status_ != Status::kOk) return;
    for (int i = first; i < first + count; ++i) {
      struct Started {
        std::set<std::string>* acknowledged;
        std::string id;
      } started = {acknowledged, "i" + std::to_string(i)};
      const Answer answer = [](void* user, Status status) noexcept {
        Started& of = *static_cast<Started*>(user);
        if (status == Status::kOk) of.acknowledged->insert(of.id);
      };
      if (runtime_.start_orchestration("three_steps", InstanceId(started.id), started.id,
                                       StartOptions(), answer, &started) != Status::kOk)
        return;
      if (!run_until_ended(started.id)) return;
    }
  }
  // False: the power failed, or the instance did not end.
  bool run_until_ended(const std::string& id) {
    for (int i = 0; i < 60; ++i) {
      const Result<bool> ticked = runtime_.tick(std::chrono::milliseconds(20));
      if (!ticked.ok()) return false;
      OrchestrationStatus now;
      if (runtime_.get_status(id, &now) != Status::kOk) continue;
      if (now.state == OrchestrationState::kCompleted) return now.output == id;
    }
    return false;
  }

 private:
  Boot boot_;
  Registry registry_;
  std::vector<unsigned char> for_sqlite_;
  std::vector<unsigned char> for_pawl_;
  Process process_;
  Runtime runtime_;
  Diagnostic why_;
  Status status_;
};

TEST(BareMetalRuntime, WorksAndIsThereAfterABoot) {
  NorFlashSim flash(16'384, 64);
  std::set<std::string> acknowledged;
  {
    Node node(flash);
    ASSERT_EQ(node.status(), Status::kOk) << node.why();
    node.work(0, 20, &acknowledged);
    EXPECT_EQ(acknowledged.size(), 20U);
    EXPECT_EQ(node.runtime().stop(std::chrono::seconds(1)), Status::kOk);
  }
  Node node(flash);
  ASSERT_EQ(node.status(), Status::kOk) << node.why();
  for (const std::string& id : acknowledged)
    EXPECT_TRUE(node.run_until_ended(id)) << id;
  EXPECT_EQ(flash.misuses(), 0U);
}

// If a request of SQLite did not fit, the database would be made page by page, with the log.
TEST(BareMetalRuntime, TheSmallestOptionsMakeTheDatabaseInOnePiece) {
  NorFlashSim flash(16'384, 64);
  Node node(flash, ProcessOptions::smallest(), Options::smallest());
  ASSERT_EQ(node.status(), Status::kOk) << node.why();
  EXPECT_EQ(node.sqlite_use().failures, 0U);
}

// Cuts the power at operation after operation. Afterwards the database opens, acknowledged
// instances exist and run to their end, and any other instance exists as a whole or not at all.
class BareMetalCuts : public testing::TestWithParam<Cut> {
 protected:
  static constexpr int kInstances = 3;
  static std::uint32_t first() { return 1 + static_cast<std::uint32_t>(GetParam()) * 2; }

  // The flash of a machine that has worked for a while.
  static std::vector<std::uint8_t> worked_before() {
    NorFlashSim flash(4'096, kBlocks);
    std::set<std::string> acknowledged;
    Node node(flash);
    node.work(100, 12, &acknowledged);
    EXPECT_EQ(acknowledged.size(), 12U);
    return flash.bytes();
  }

  // False: no power cut, since the work was done before.
  bool cut_and_look(const std::vector<std::uint8_t>& before, std::uint32_t operation,
                    bool is_blank = false) {
    NorFlashSim flash(4'096, kBlocks);
    flash.bytes() = before;
    std::set<std::string> acknowledged;
    flash.cut_at(operation, GetParam(), operation);
    {
      Node node(flash);
      node.work(0, kInstances, &acknowledged);
    }
    const bool was_cut = flash.is_off();
    flash.power_on();
    Node node(flash);
    EXPECT_EQ(node.status(), Status::kOk) << node.why();
    if (node.status() != Status::kOk) return false;
    look(node, acknowledged, !is_blank);
    EXPECT_EQ(flash.misuses(), 0U);
    return was_cut && !HasFailure();
  }

 private:
  static constexpr std::uint32_t kBlocks = 240;

  static void look(Node& node, const std::set<std::string>& acknowledged, bool is_old) {
    for (int i = 0; i < kInstances; ++i) {
      const std::string id = "i" + std::to_string(i);
      OrchestrationStatus now;
      const Status found = node.runtime().get_status(id, &now);
      if (acknowledged.count(id) != 0) {
        ASSERT_EQ(found, Status::kOk) << id << " is lost";
      }
      ASSERT_TRUE(found == Status::kOk || found == Status::kNotFound) << id;
      if (found == Status::kOk) {
        EXPECT_TRUE(node.run_until_ended(id)) << id;
      }
    }
    if (is_old) {
      EXPECT_TRUE(node.run_until_ended("i100"));
    }
    std::set<std::string> more;
    node.work(500, 1, &more);
    EXPECT_EQ(more.size(), 1U) << "it does not go on";
  }
};

// The tests of the sectors cut at every operation in every way. Here a short run leaves most
// operations out, and each way begins at another one. Odd, since writes of a slot's bytes and its
// head alternate.
std::uint32_t stride() { return std::getenv("PAWL_SOAK") == nullptr ? 31 : 1; }

TEST_P(BareMetalCuts, WhileItWorks) {
  const std::vector<std::uint8_t> before = worked_before();
  std::uint32_t cuts = 0;
  for (std::uint32_t operation = first(); cut_and_look(before, operation); operation += stride()) {
    SCOPED_TRACE(operation);
    ++cuts;
  }
  EXPECT_GT(cuts, 150U / stride());
}

TEST_P(BareMetalCuts, WhileTheFlashIsFormattedAndTheDatabaseMade) {
  const std::vector<std::uint8_t> blank(std::size_t{4'096} * 240, 0xff);
  std::uint32_t cuts = 0;
  const std::uint32_t step = stride() == 1 ? 1 : 5 * stride();
  for (std::uint32_t operation = first(); cut_and_look(blank, operation, true); operation += step)
    ++cuts;
  EXPECT_GT(cuts, 1'500U / step);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, BareMetalCuts, testing::ValuesIn(kCuts));

}  // namespace
}  // namespace pawl::port_test
