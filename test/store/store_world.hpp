// The world in which a storage is tested: one database, any number of processes with a connection
// each, a clock that the test moves, and direct access to the file for damage.
//
// A new storage takes part by a case in make_store() and in RawHandle. Every test of the suite runs
// on the simulated machine and on the real one; nothing sleeps.
#ifndef PAWL_TEST_STORE_WORLD_HPP
#define PAWL_TEST_STORE_WORLD_HPP

#include <sqlite3.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/arena.hpp"
#include "core/clock_rules.hpp"
#include "engine_beside.hpp"
#include "expect_ok.hpp"
#include "folder.hpp"
#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "pawl/port_sim.hpp"
#include "store/store.hpp"

namespace pawl::test {

enum class Ports { kSim, kPosix };
inline std::string ports_name(const ::testing::TestParamInfo<Ports>& info) {
  return info.param == Ports::kSim ? "sim" : "posix";
}

inline constexpr std::int64_t kWall2040 = 2'208'988'800'000;

// A clock that moves only when the test says so.
class TestClock final : public port::Clock {
 public:
  Status open(Diagnostic&) override { return Status::kOk; }
  [[nodiscard]] std::int64_t boot_ms() override { return boot; }
  [[nodiscard]] std::int64_t wall_ms() override { return wall; }
  [[nodiscard]] bool synced() override { return trusted; }
  [[nodiscard]] port::BootId boot_id() override { return id; }
  void random(void* out, std::size_t size) override;

  void advance(std::int64_t ms) {
    boot += ms;
    wall += ms;
  }
  // Switches the power off for `off_ms`. The wall clock of the new boot is not trusted until the
  // test says so.
  void reboot(std::int64_t off_ms);

  std::int64_t boot = 60'000;
  std::int64_t wall = kWall2040;
  bool trusted = true;
  port::BootId id{{1}, true};

 private:
  std::uint64_t state_ = 1;
};

// One process with its connection.
struct Site {
  std::unique_ptr<sim::Node> node;
  std::unique_ptr<posix::SystemPort> system;
  port::Port port;
  Store* store = nullptr;
  Diagnostic diagnostic;

  Store* operator->() const { return store; }
};

// The events of one turn, kept with their bytes.
class Events final : public EventSource {
 public:
  explicit Events(EventId first) : first_(first) {}
  Event& add(EventKind kind);
  [[nodiscard]] const Event& event(EventId id) const override { return *events_[id - first_]; }
  [[nodiscard]] bool is_open(EventId) const override { return open; }
  [[nodiscard]] EventId first() const { return first_; }
  bool open = true;  // false: the turn itself closes what it asks for
  [[nodiscard]] EventId last() const { return first_ + static_cast<EventId>(events_.size()) - 1; }

 private:
  EventId first_;
  std::vector<std::unique_ptr<Event>> events_;
};

// A copy of an event that also keeps the texts of its views.
struct KeptEvent {
  explicit KeptEvent(const Event& event)
      : is(event),
        name(event.name),
        session(event.session),
        version(event.version),
        payload(event.payload) {}
  Event is;  // its own views are invalid
  std::string name, session, version, payload;
};

class KeepEvents final : public EventSink {
 public:
  Status on_event(const Event& event) override {
    kept.emplace_back(event);
    return status;
  }
  std::vector<KeptEvent> kept;
  Status status = Status::kOk;
};

struct Item {
  Item() : block(64 * 1024), arena(block.data(), block.size()) {}
  std::vector<unsigned char> block;
  Arena arena;
  OrchestrationItem is;
  [[nodiscard]] std::vector<MessageId> ids() const;
  [[nodiscard]] std::vector<std::string> kinds() const;
};

// How an execution ends.
struct Ending {
  std::size_t more_events = 0;  // before its last one
  std::string_view output = {};
  ErrorKind error = ErrorKind::kNone;
  std::int64_t keep_executions = 0;
  Removed* removed = nullptr;
};

class StoreWorld : public ::testing::TestWithParam<Ports> {
 protected:
  StoreWorld();
  ~StoreWorld() override;

  // process(): a process that has not opened the database; site(): one that has.
  Site& process();
  Site& site(const StoreOptions* options = nullptr);
  Status open(Site& at);
  Status open(Site& at, StoreOptions options);
  void close(Site& at);
  // Makes a closed storage in memory of the caller.
  Store* make_store(std::vector<std::uint64_t>& place);
  [[nodiscard]] bool is_sim() const { return GetParam() == Ports::kSim; }
  [[nodiscard]] const char* path() const { return path_.c_str(); }

  // Runs statements without the storage, on a separate connection.
  void raw(const std::string& sql);
  std::int64_t raw_number(const std::string& sql);
  std::string raw_text(const std::string& sql);
  // Returns every row of every table, to check that nothing changed.
  std::string dump();
  std::string dump_schema();
  // Closes the storage and removes its files.
  void drop_database(Site& at);
  void damage_file(std::int64_t offset, std::string_view bytes);

  // Runs one call between begin() and commit(); returns its status.
  template <typename Call>
  Status batch(Site& at, Call&& call, Incarnation me = 0) {
    BatchInfo info;
    PAWL_TRY(at->batch().begin(me, &info));
    const Status status = call();
    if (status != Status::kOk) {
      at->batch().rollback();
      return status;
    }
    return at->batch().commit();
  }

  // ---- usual steps: each fails the test at the line that made it ----
  // The same for a call that must succeed.
  template <typename Call>
  void must_batch(Site& at, Call&& call, Incarnation me = 0, Here here = {}) {
    must(at, batch(at, call, me), "the batch", here);
  }
  BatchInfo touch(Site& at, Here here = {});  // an empty batch, which reads the clock
  InstanceKey create(Site& at, std::string_view id, std::string_view input = "in", Here here = {});
  InstanceKey create(Site& at, const NewInstance& instance, Here here = {});
  InstanceKey key_of(const std::string& id);  // 0: there is none
  Incarnation worker(Site& at, std::string_view node, Here here = {});
  Incarnation register_with(Site& at, std::string_view node,
                            const std::optional<MailboxLimits>& mailbox, Here here);
  // One that runs turns.
  Incarnation turn_worker(Site& at, std::string_view node, Here here = {});
  std::vector<InstanceKey> ready(Site& at, Incarnation me = 0, std::int64_t grace_ms = 2000,
                                 Here here = {});
  InstanceStatus status(Site& at, std::string_view id, Here here = {});
  std::vector<std::string> list(Site& at, const InstanceFilter& filter = {}, Here here = {});
  void cancel(Site& at, std::string_view id, std::string_view reason = "r", Here here = {});
  void park(Site& at, InstanceKey key, std::int64_t revision, Parking parking,
            ErrorKind error = ErrorKind::kNone, std::string_view text = "", Here here = {});
  // Each returns how many instances it woke, of `most` at most.
  std::size_t wake_delayed(Site& at, std::size_t most = 10, Here here = {});
  std::size_t retry_stopped(Site& at, std::size_t most = 10, Here here = {});

  // ---- turns ----
  Status fetch(Site& at, InstanceKey key, Item& out, std::size_t messages_max = 16);
  // Fetches into an item that is kept, since a turn points into it.
  Item& fetched(Site& at, InstanceKey key, std::size_t messages_max = 16, Here here = {});
  // The events of a first turn, which begin with its start.
  static Events begun(std::string_view name = "irrigate");
  // A commit for a fetched item: takes all its messages, and appends `events` if given.
  TurnCommit turn(const Item& item, const Events* events = nullptr);
  Status ack(Site& at, const TurnCommit& turn) {
    return batch(at, [&] { return at->instance().turns.ack_orchestration_item(turn); });
  }
  void acked(Site& at, const TurnCommit& turn, Here here = {}) {
    must(at, ack(at, turn), "ack_orchestration_item", here);
  }
  // Commits the first turn of a fresh instance: started, and one command event for each timer and
  // work item.
  void start(Site& at, InstanceKey key, const std::vector<NewTimer>& timers = {},
             const std::vector<NewWork>& work = {}, Here here = {});
  // Commits a turn that ends the execution; if it is the first one, it begins it, too.
  void end(Site& at, InstanceKey key, EndKind kind, const Ending& how = {}, Here here = {});
  // Hands over to `at`: an activity of a fresh instance, or the first one ready (item 0: none).
  WorkDone hand_over(Site& at, InstanceKey key, Here here = {});
  WorkDone take_work(Site& at, Incarnation me = 0, Here here = {});  // 0: registers a worker

  sim::Machine machine{7};
  TestClock clock;
  char output[4096] = {};

 private:
  static void must(Site& at, Status status, std::string_view call, Here here) {
    expect_ok(status, call, at->diagnostic().text(), here);
  }
  struct RawHandle;
  RawHandle& raw_handle();
  void close_raw();

  EngineBeside::OfWorld beside_;
  std::optional<Folder> folder_;  // on the real machine
  std::string path_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::deque<std::vector<std::uint64_t>> places_;
  std::unique_ptr<RawHandle> raw_;
  // The ids that turns point at.
  std::deque<std::vector<MessageId>> taken_;
  std::deque<Item> items_;
};

// A world with a process that has opened the database.
class OpenStore : public StoreWorld {
 protected:
  Site& at = site();
};

}  // namespace pawl::test

#endif  // PAWL_TEST_STORE_WORLD_HPP
