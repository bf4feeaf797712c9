// Goal: an index that disagrees with its table ends a call with an error that names the table, and
// never makes the call endless. Each of these calls walks along an index, or empties what the index
// shows.
#include "store/walk.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

class Damage : public OpenStore {
 protected:
  // Builds the index with the content of `as`, and gives it its old definition again.
  void lie(const std::string& index, const std::string& as) {
    const std::string define = "UPDATE sqlite_schema SET sql='CREATE INDEX " + index + " ON " + as +
                               "' WHERE name='" + index + "';";
    const std::string before =
        raw_text("SELECT quote(sql) FROM sqlite_schema WHERE name='" + index + "'");
    raw("PRAGMA writable_schema=ON;" + define + "PRAGMA writable_schema=RESET;REINDEX " + index +
        ";PRAGMA writable_schema=ON;UPDATE sqlite_schema SET sql=" + before + " WHERE name='" +
        index + "';PRAGMA writable_schema=RESET");
    ASSERT_NE(raw_text("PRAGMA integrity_check"), "ok") << index;
  }
  void expect_named(Site& by, Status status, const char* table) {
    EXPECT_EQ(status, Status::kCorrupt) << table;
    const std::string text(by->diagnostic().text());
    EXPECT_NE(text.find(std::string("table ") + table), std::string::npos) << text;
    EXPECT_NE(text.find("integrity_check"), std::string::npos) << text;
  }
  Status try_to_register(Site& by, std::string_view node) {
    Vector<Evidence::Seen> none;
    Evidence evidence(*by.port.storage, path(), Evidence::Options(), none);
    NewWorker worker;
    worker.node = node;
    worker.lease_ms = 30'000;
    Incarnation out = 0;
    return batch(
        by, [&] { return by->worker().register_worker(worker, evidence, CrashLimits(), &out); });
  }
  Status bury(Site& by, Incarnation worker) {
    return batch(by,
                 [&] { return by->worker().bury_worker(worker, 0, nullptr, 0, CrashLimits()); });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, Damage, ::testing::Values(Ports::kSim), ports_name);

// This is the start of a Runtime, which holds the write lock meanwhile.
TEST_P(Damage, WorkersOfAnEarlierBoot) {
  worker(at, "old");
  clock.reboot(5'000);
  raw("UPDATE workers SET pid=1000");
  lie("w_living", "workers(pid) WHERE buried=0");
  expect_named(at, try_to_register(at, "new"), "workers");
}

TEST_P(Damage, WorkersOfTheSameNode) {
  worker(at, "me");
  clock.advance(1'000'000);
  raw("UPDATE workers SET pid=1000");
  lie("w_living", "workers(pid) WHERE buried=0");
  const Status status = try_to_register(at, "me");
  EXPECT_TRUE(status == Status::kCorrupt || status == Status::kNodeIdInUse) << status_name(status);
}

TEST_P(Damage, SessionsOfADeadWorker) {
  const Incarnation dead = worker(at, "dead");
  start(at, create(at, "a"), {}, {{2, "s", ""}});
  lie("s_owner", "sessions((" + std::to_string(dead) + "),hard)");
  expect_named(at, bury(at, dead), "sessions");
}

TEST_P(Damage, LocksOfADeadWorker) {
  const Incarnation dead = worker(at, "dead");
  start(at, create(at, "a"), {}, {{2, "", ""}});
  raw("UPDATE worker_queue SET inc=" + std::to_string(dead));
  lie("wq_locked", "worker_queue(locked_until)");
  expect_named(at, bury(at, dead), "worker_queue");
}

TEST_P(Damage, LocksOfASessionThatChangesItsOwner) {
  const Incarnation me = worker(at, "me");
  start(at, create(at, "a"), {}, {{2, "s", ""}});
  lie("wq_session", "worker_queue(sid,(1),id) WHERE sid IS NOT NULL");
  expect_named(at,
               batch(at, [&] { return at->session().moves.claim_session(me, "s", WorkerTerms()); }),
               "worker_queue");
}

TEST_P(Damage, IdleSessions) {
  const Incarnation me = worker(at, "me");
  start(at, create(at, "a"), {}, {{2, "s", ""}});
  raw("DELETE FROM worker_queue; UPDATE sessions SET head_id=NULL");
  lie("s_owner", "sessions((" + std::to_string(me) + "),hard)");
  clock.advance(1'000'000);
  std::size_t renewed = 0;
  std::size_t released = 0;
  expect_named(at,
               batch(at,
                     [&] {
                       return at->session().owners.renew_session_lock(me, WorkerTerms(), &renewed,
                                                                      &released);
                     }),
               "sessions");
}

TEST_P(Damage, ParentsThatAreTheirOwnChildren) {
  const InstanceKey a = create(at, "a");
  create(at, "b");
  raw("UPDATE instances SET state=1,parent=3-key,parent_execution=1,parent_event=2,root=1;"
      "UPDATE instances SET execution=2 WHERE key=1;"
      "INSERT OR REPLACE INTO executions VALUES(1,1,3,0,NULL,0,0),(1,2,0,0,NULL,0,NULL)");
  Removed removed;
  bool more = false;
  expect_named(at,
               batch(at,
                     [&] {
                       return at->instance().removal.prune_executions(a, PruneLimits(), 100,
                                                                      &removed, &more);
                     }),
               "instances");
}

TEST_P(Damage, DeletedTrees) {
  const InstanceKey key = create(at, "a");
  must_batch(at, [&] { return at->instance().removal.delete_instance(key, true); });
  lie("i_tree", "instances((1))");
  Removed removed;
  bool more = true;
  Status status = Status::kOk;
  for (int i = 0; i < 10 && more && status == Status::kOk; ++i)
    status = batch(at, [&] { return at->instance().removal.sweep_deleted(100, &removed, &more); });
  EXPECT_TRUE(status == Status::kCorrupt || !more) << status_name(status);
}

TEST(WalkAlongAnIndex, GoesOnlyForward) {
  store::Walk walk;
  EXPECT_TRUE(walk.rises(-5, 3));
  EXPECT_TRUE(walk.rises(-5, 4));
  EXPECT_TRUE(walk.rises(0, 1));
  EXPECT_FALSE(walk.rises(0, 1));
  EXPECT_FALSE(walk.rises(-1, 9));
}

TEST(WalkAlongAnIndex, MeetsARowOnceForEachReason) {
  store::Walk walk;
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(walk.changes(7));
  EXPECT_FALSE(walk.changes(7));
  EXPECT_TRUE(walk.changes(3));
}

}  // namespace
}  // namespace pawl::test
