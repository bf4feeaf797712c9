// The cost of a fetch, counted in steps of SQLite's virtual machine and not in time: seeks, never
// scans, with 100,000 rows of any kind in the way.
#include <gtest/gtest.h>

#include "session_world.hpp"
#include "store/sql/schema.hpp"
#include "store/work/work_sql.hpp"

namespace pawl::test {
namespace {

// An emulated board is slow, so it gets fewer rows. The counts do not depend on their number.
constexpr int kMany = sizeof(void*) == 4 ? 10'000 : 100'000;

std::string text_of(sql::QueryRef query) {
  char text[sql::kTextBytesMax];
  return {text, sql::expand(query.encoded(), text)};
}

class Plan : public ::testing::Test {
 protected:
  Plan() {
    EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    run(store::kSchema);
  }
  ~Plan() override { sqlite3_close(db_); }

  void run(const char* sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, &error), SQLITE_OK) << error;
  }
  std::string plan(const std::string& sql) {
    const std::string explain = "EXPLAIN QUERY PLAN " + sql;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, explain.c_str(), -1, &statement, nullptr), SQLITE_OK);
    std::string all;
    while (sqlite3_step(statement) == SQLITE_ROW)
      all += std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, 3))) + "\n";
    sqlite3_finalize(statement);
    return all;
  }
  // Returns the steps of one fetch by worker 1; `id` is set to the id found.
  int steps(bool may_claim, std::int64_t* id) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, text_of(store::kFetchSql).c_str(), -1, &statement, nullptr),
              SQLITE_OK);
    sqlite3_bind_int64(statement, 1, 1);
    sqlite3_bind_int64(statement, 2, may_claim ? 1 : 0);
    for (int i = 3; i <= 5; ++i)
      sqlite3_bind_int64(statement, i, 0);
    for (int i = 6; i <= 8; ++i)
      sqlite3_bind_int64(statement, i, INT64_MAX);
    sqlite3_bind_int64(statement, 9, 1);
    *id = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const std::int64_t head = sqlite3_column_int64(statement, 1);
      if (head != 0 && (*id == 0 || head < *id)) *id = head;
    }
    const int count = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    return count;
  }

  sqlite3* db_ = nullptr;
};

constexpr char kManySessions[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100000)"
    " INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,owner,epoch,epoch_used,"
    "locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,activities,head_id)"
    " SELECT 0,'s'||i,1,0,0,0,0,0,CASE WHEN i%2=0 THEN 2 END,0,0,0,1,0,0,0,0,0,i FROM n";
constexpr char kManyItems[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100000)"
    " INSERT INTO "
    "worker_queue(id,instance,execution,event,sid,state,attempt,crashes,strikes,reboots,"
    "unregistered,event_row) SELECT 1152921504606846976+i,1,1,i,CASE i%3 WHEN 0 THEN 7 END,"
    "CASE i%3 WHEN 1 THEN 1 ELSE 0 END,0,0,0,0,0,i FROM n";

TEST_F(Plan, every_branch_of_the_fetch_is_one_seek) {
  const std::string all = plan(text_of(store::kFetchSql));
  for (const char* seek :
       {"SEARCH worker_queue USING INDEX wq_free (id>? AND id<?)",
        "SEARCH sessions USING INDEX s_owned (owner=? AND head_id>? AND head_id<?)",
        "SEARCH sessions USING INDEX s_claim (head_id>? AND head_id<?)"})
    EXPECT_NE(all.find(seek), std::string::npos) << all;
  EXPECT_EQ(all.find("SCAN worker_queue"), std::string::npos) << all;
  EXPECT_EQ(all.find("SCAN sessions"), std::string::npos) << all;
}

TEST_F(Plan, every_tag_is_one_seek) {
  EXPECT_NE(plan(text_of(store::kFetchTagSql))
                .find("SEARCH worker_queue USING INDEX wq_tag (tag=? AND id>? AND id<?)"),
            std::string::npos)
      << plan(text_of(store::kFetchTagSql));
  EXPECT_NE(plan(text_of(store::kFetchTaggedSql)).find("USING INDEX wq_tagged (id>? AND id<?)"),
            std::string::npos)
      << plan(text_of(store::kFetchTaggedSql));
}

TEST_F(Plan, its_steps_do_not_depend_on_the_rows) {
  run("INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,owner,epoch,epoch_used,"
      "locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,activities,head_"
      "id)"
      " VALUES(0,'mine',1,0,0,0,0,0,1,0,0,0,1,0,0,0,0,0,500000)");
  std::int64_t id = 0;
  const int few = steps(true, &id);
  EXPECT_EQ(id, 500000);
  run(kManySessions);
  run(kManyItems);
  EXPECT_LE(steps(true, &id), few + 60);
  EXPECT_EQ(id, 1);
  // A worker at capacity does not even look at the claimable branch.
  run("DELETE FROM worker_queue WHERE sid IS NULL AND state=0");
  EXPECT_LE(steps(false, &id), few + 60);
  EXPECT_EQ(id, 500000);
}

// Counts the steps of whole calls to the storage, over all of their statements.
class Flat : public ::testing::Test {
 protected:
  static int on_step(void* counter) {
    ++*static_cast<std::int64_t*>(counter);
    return 0;
  }
  // Returns the steps of a call.
  template <typename Call>
  static std::int64_t steps_of(Worker& worker, Call&& call) {
    std::int64_t steps = 0;
    sqlite3_progress_handler(worker.handle(), 1, on_step, &steps);
    call();
    sqlite3_progress_handler(worker.handle(), 0, nullptr, nullptr);
    return steps;
  }
  // Steps of a fetch on an owned session; the item is acknowledged afterwards.
  std::int64_t cost_of_a_round(Worker& worker, Here here = {}) {
    world_.schedule("a", "mine");
    Job job;
    const std::int64_t steps = steps_of(worker, [&] { job = worker.take(here); });
    EXPECT_EQ(job.session, "mine");
    worker.acked(job, "done", here);
    return steps;
  }
  // Steps of a fetch that claims the session.
  std::int64_t cost_of_a_claim(Worker& worker, std::string_view session, Here here = {}) {
    world_.schedule("a", session);
    Job job;
    const std::int64_t steps = steps_of(worker, [&] { job = worker.take(here); });
    EXPECT_TRUE(job.item.claimed_now);
    return steps;
  }
  void insert_items(InstanceKey instance, const std::string& session, int count) {
    world_.execute(
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<" +
         std::to_string(count) +
         ") INSERT INTO worker_queue(id,instance,execution,event,sid,gen,state,attempt,"
         "crashes,strikes,reboots,unregistered,event_row) SELECT 1152921504606846976+(SELECT "
         "next_token FROM meta)+i," +
         std::to_string(instance) +
         ",1,2,s.sid,s.gen,0,0,0,0,0,0,(SELECT row_number FROM history"
         " WHERE instance=" +
         std::to_string(instance) + " AND id=2) FROM n,sessions s" + " WHERE s.name='" + session +
         "'")
            .c_str());
    world_.execute(("UPDATE meta SET next_token=next_token+1+" + std::to_string(count)).c_str());
  }
  // Adds sessions without work that were used just now. Owner 0: no owner.
  void insert_sessions(Incarnation owner, int count) {
    const std::string whose = std::to_string(owner);
    world_.execute(
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<" +
         std::to_string(count) +
         ") INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,owner,epoch,"
         "epoch_used,locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,"
         "activities)"
         " SELECT 0,'" +
         whose + "/'||i,1,0,0,0,0,0,nullif(" + whose + ",0),0,0," +
         std::to_string(world_.now() + 30'000) + ",1," + std::to_string(world_.now()) +
         ",0,0,0,0 FROM n")
            .c_str());
  }

  World world_;
};

TEST_F(Flat, at_capacity_behind_many_unclaimed_items) {
  Worker a(world_);
  a.options.max_sessions_per_worker = 1;
  a.join("A");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  world_.schedule("a", "others", kMany);
  EXPECT_LE(cost_of_a_round(a), 2 * few);
}

TEST_F(Flat, behind_many_items_of_the_same_session) {
  Worker a(world_, "A");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  world_.schedule("a", "mine", kMany);
  EXPECT_LE(cost_of_a_round(a), 2 * few);
}

// The items have a tag that no worker here serves, so no look is spent on them.
TEST_F(Flat, behind_many_items_of_a_foreign_tag) {
  Worker a(world_);
  a.tags = TagFilter::default_and({"gpu", "radio"});
  a.join("A");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  ASSERT_EQ(world_.schedule("a", {}, 1, {}, "disk"), 3);
  world_.execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100000)"
      " INSERT INTO worker_queue(id,instance,execution,event,state,attempt,crashes,strikes,reboots,"
      "unregistered,tag,event_row) SELECT 1152921504606846976+(SELECT next_token FROM "
      "meta)+i,3,1,2,0,0,0,0,0,0,'disk',(SELECT row_number FROM history WHERE instance=3 AND "
      "id=2) FROM n");
  world_.execute("UPDATE meta SET next_token=next_token+100001");
  EXPECT_EQ(world_.rows("worker_queue"), 100'001);
  EXPECT_LE(cost_of_a_round(a), few + few / 4);
  world_.schedule("a", {}, 1, {}, "radio");
  Job job;
  const std::int64_t steps = steps_of(a, [&] { job = a.take(); });
  EXPECT_EQ(job.tag, "radio");
  EXPECT_LE(steps, few + few / 4);
}

// The work of a device that no worker has declared is not looked at.
TEST_F(Flat, behind_many_items_of_an_absent_device) {
  Worker a(world_, "A");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  const InstanceKey instance = world_.schedule("a", "bed", 1, "device=1");
  insert_items(instance, "bed", 100'000);
  EXPECT_FALSE(a.fetch());
  const std::int64_t many = cost_of_a_round(a);
  RecordProperty("steps_before", std::to_string(few));
  RecordProperty("steps_behind_100000", std::to_string(many));
  EXPECT_LE(many, few + few / 20);
}

// Work over the rate of its session is stored as delayed, out of the way.
TEST_F(Flat, behind_many_items_that_come_too_fast) {
  Worker a(world_, "A");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  const InstanceKey instance = world_.instance();
  std::vector<World::Command> turn = {
      {EventKind::kSessionOpen, "own", {}, "rate_interval_ms=60000,rate_wait_ms=31536000000"}};
  for (int i = 0; i < kMany / 100; ++i)
    turn.push_back({EventKind::kActivity, "a", "own", "own_session=1"});
  world_.commit(instance, turn);
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue WHERE state=2"), kMany / 100 - 1);
  const Job first = a.take();
  EXPECT_EQ(first.session, "own");
  a.acked(first);
  EXPECT_FALSE(a.fetch());
  EXPECT_LE(cost_of_a_round(a), few + few / 20);
}

// Idle sessions of this worker, of another one and without an owner; none of them has work to hand
// over.
TEST_F(Flat, with_many_sessions) {
  Worker a(world_);
  a.options.max_sessions_per_worker = 5'000;
  a.join("A");
  Worker b(world_, "B");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  const std::int64_t claim = cost_of_a_claim(a, "one");
  for (const Incarnation owner : {a.me(), b.me(), Incarnation{0}})
    insert_sessions(owner, 1'000);
  const std::int64_t many = cost_of_a_round(a);
  const std::int64_t claim_among_many = cost_of_a_claim(a, "two");
  RecordProperty("steps_before", std::to_string(few));
  RecordProperty("steps_with_1000", std::to_string(many));
  RecordProperty("claim_before", std::to_string(claim));
  RecordProperty("claim_with_1000", std::to_string(claim_among_many));
  EXPECT_LE(many, few + few / 20);
  // A claim counts the owned sessions, at most up to the limit, to see if there is room: so many
  // steps for each owned session.
  EXPECT_LE(claim_among_many, claim + 1'000 * 9);
}

// Each item is met once, 64 in a call; after that no look is spent on them.
TEST_F(Flat, behind_many_items_of_a_name_that_no_worker_has) {
  Worker a(world_);
  a.handlers = {"a"};
  a.join("A");
  cost_of_a_round(a);
  const std::int64_t few = cost_of_a_round(a);
  world_.schedule("nobody", {}, kMany / 10);
  int calls = 0;
  do {
    EXPECT_FALSE(a.fetch());
    ++calls;
  } while (a.look_again() && calls < kMany);
  EXPECT_LE(calls, kMany / 10 / 64 + 2);
  EXPECT_LE(cost_of_a_round(a), few + few / 20);
}

TEST_F(Flat, behind_many_items_of_an_unregistered_handler) {
  Worker a(world_);
  a.handlers = {"a"};
  a.join("A");
  Worker b(world_);
  b.handlers = {"b"};
  b.join("B");
  cost_of_a_round(a);
  world_.schedule("b", {}, kMany);
  // The owned session is another branch. Whatever stands in front, the number of looks is bounded.
  const std::int64_t first = cost_of_a_round(a);
  const std::int64_t second = cost_of_a_round(a);
  EXPECT_LT(first, 20'000);
  EXPECT_LT(second, 20'000);
  // A free item behind all of them is reached in several calls, each of bounded cost.
  world_.schedule("a");
  int calls = 0;
  std::int64_t most = 0;
  std::optional<Job> job;
  while (!job && calls < kMany / 3) {
    ++calls;
    most = std::max(most, steps_of(a, [&] { job = a.fetch(); }));
    ASSERT_TRUE(job || a.look_again()) << calls;
  }
  EXPECT_TRUE(job);
  EXPECT_LT(most, 20'000);
  // After that a new item is found at once.
  for (int i = 0; i < 3; ++i) {
    world_.schedule("a");
    world_.schedule("b", {}, 2);
    EXPECT_TRUE(a.fetch());
  }
}

}  // namespace
}  // namespace pawl::test
