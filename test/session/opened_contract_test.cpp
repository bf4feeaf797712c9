// The contract of sessions that an instance opens: each check of test/build/seed_tests.txt for the
// storage of explicit sessions has its name here. The checks have two calls for fetching, with
// sessions and without. In Pawl a worker with room for no session fetches without them.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "codec/policy.hpp"
#include "session_world.hpp"

namespace pawl::test {
namespace {

class OpenedContract : public TwoWorkers {
 protected:
  void open(const char* name) {
    world_.commit(instance_, {{EventKind::kSessionOpen, name, {}, {}}});
  }
  void close(const char* name) {
    world_.commit(instance_, {{EventKind::kSessionClose, name, {}, {}}});
  }
  void schedule_on(const char* name) {
    world_.commit(instance_, {{EventKind::kActivity, "a", name, own()}});
  }
  static std::string own() {
    ActivityPolicy options;
    options.session = "x";
    options.own_session = true;
    PolicyText text;
    EXPECT_TRUE(encode_policy(options, &text));
    return std::string(text.view());
  }
  std::int64_t of(const char* column) {
    const std::string sql =
        "SELECT coalesce(max(" + std::string(column) + "),-1) FROM sessions WHERE scope=?1";
    return world_.number(sql.c_str(), {instance_});
  }

  std::int64_t lease() { return of(World::kLease); }

  InstanceKey instance_ = world_.instance();
};

// A summary was given to a handoff, for any session. It must go with the session's row, whatever
// removes the row.
constexpr char kSummaries[] = "INSERT INTO session_summaries SELECT sid,x'00',0 FROM sessions";
constexpr char kLeftBehind[] =
    "SELECT count(*) FROM session_summaries WHERE sid NOT IN (SELECT sid FROM sessions)";

// ---- summaries ----

TEST_F(OpenedContract, a_summary_goes_when_its_session_is_closed) {
  open("X");
  world_.execute(kSummaries);
  close("X");
  EXPECT_EQ(world_.rows("sessions"), 0);
  EXPECT_EQ(world_.number(kLeftBehind), 0);
}

TEST_F(OpenedContract, a_summary_goes_when_the_last_work_of_a_closed_session_has_ended) {
  SessionSettings settings;
  settings.exclusive = true;
  PolicyText text;
  ASSERT_TRUE(encode_settings(settings, &text));
  world_.commit(instance_, {{EventKind::kSessionOpen, "X", {}, std::string(text.view())}});
  schedule_on("X");
  const Job job = a_.take();
  world_.execute(kSummaries);
  close("X");
  ASSERT_EQ(world_.rows("sessions"), 1) << "until its work has ended";
  a_.acked(job);
  ASSERT_EQ(world_.rows("sessions"), 0);
  EXPECT_EQ(world_.number(kLeftBehind), 0);
}

TEST_F(OpenedContract, a_summary_goes_with_a_swept_session) {
  a_.run_one("s");
  world_.execute(kSummaries);
  a_.leave();
  ASSERT_GT(b_.cleanup(), 0u);
  ASSERT_EQ(world_.rows("sessions"), 0);
  EXPECT_EQ(world_.number(kLeftBehind), 0);
}

// ---- who gets the work ----

TEST_F(OpenedContract, fetch_work_item_skips_session_items) {
  a_.options.max_sessions_per_worker = 0;
  open("X");
  schedule_on("X");
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(job.session, "");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(OpenedContract, fetch_session_work_item_returns_both) {
  open("X");
  schedule_on("X");
  world_.schedule("a");
  EXPECT_EQ(a_.take().session, "X");
  EXPECT_EQ(a_.take().session, "");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(OpenedContract, fetch_session_claims_unclaimed) {
  open("X");
  schedule_on("X");
  EXPECT_EQ(of("owner"), -1);
  const Job job = a_.take();
  EXPECT_TRUE(job.item.claimed_now);
  EXPECT_EQ(of("owner"), a_.me());
  EXPECT_EQ(lease(), world_.now() + kLease);
}

TEST_F(OpenedContract, fetch_session_skips_other_workers_session) {
  open("X");
  schedule_on("X");
  schedule_on("X");
  a_.take();
  EXPECT_FALSE(b_.fetch());
}

TEST_F(OpenedContract, fetch_session_reclaims_expired_lock) {
  lease_alone();
  open("X");
  schedule_on("X");
  schedule_on("X");
  a_.take();
  world_.pass(kLease);
  b_.take();
  EXPECT_EQ(of("owner"), b_.me());
}

// ---- renewal ----

TEST_F(OpenedContract, renew_session_lock_extends) {
  open("X");
  schedule_on("X");
  a_.take();
  const std::int64_t before = lease();
  world_.pass(kInterval);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(lease(), before + kInterval);
}

// The list expects an error. Pawl renews the sessions that exist, here none.
TEST_F(OpenedContract, renew_session_lock_fails_if_deleted) {
  open("X");
  schedule_on("X");
  const Job job = a_.take();
  close("X");
  EXPECT_EQ(a_.renew_sessions(), 0u);
  EXPECT_EQ(a_.renew(job), Status::kStale);
  EXPECT_EQ(world_.rows("sessions"), 0);
}

TEST_F(OpenedContract, renew_session_lock_fails_if_stolen) {
  lease_alone();
  open("X");
  schedule_on("X");
  schedule_on("X");
  const Job job = a_.take();
  world_.pass(kLease);
  b_.take();
  const std::int64_t until = lease();
  EXPECT_EQ(a_.renew_sessions(), 0u);
  EXPECT_EQ(a_.renew(job), Status::kStale);
  EXPECT_EQ(lease(), until);
}

// ---- releasing ----

// Releases all sessions of a worker at once, when it leaves.
TEST_F(OpenedContract, release_session_lock_clears_attachment) {
  open("X");
  schedule_on("X");
  const Job job = a_.take();
  a_.acked(job);
  ASSERT_GT(lease(), world_.now());
  a_.leave();
  EXPECT_EQ(of("owner"), -1);
  EXPECT_EQ(lease(), world_.now()) << "nothing is left of the lease";
  EXPECT_EQ(world_.rows("sessions"), 1) << "it stays open";
  schedule_on("X");
  b_.take();
  EXPECT_EQ(of("owner"), b_.me());
}

TEST_F(OpenedContract, release_session_lock_noop_if_not_owner) {
  open("X");
  schedule_on("X");
  a_.take();
  b_.leave();
  EXPECT_EQ(of("owner"), a_.me());
}

// ---- what a turn writes ----

// Rules: S18.
TEST_F(OpenedContract, ack_orchestration_creates_session_row) {
  EXPECT_EQ(world_.rows("sessions"), 0);
  open("X");
  EXPECT_EQ(world_.rows("sessions"), 1);
  EXPECT_EQ(of("owner"), -1);
  open("X");
  EXPECT_EQ(world_.rows("sessions"), 1) << "idempotent";
}

TEST_F(OpenedContract, ack_orchestration_deletes_session_row) {
  open("X");
  close("X");
  EXPECT_EQ(world_.rows("sessions"), 0);
  close("X");
  EXPECT_EQ(world_.rows("sessions"), 0) << "idempotent";
}

TEST_F(OpenedContract, ack_orchestration_stores_session_id_on_workitem) {
  open("X");
  schedule_on("X");
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
                          " WHERE s.name='X' AND s.scope=?1",
                          {instance_}),
            1);
}

// In the contract the renewal of a work item renews its session, too. In Pawl one row renews both.
TEST_F(OpenedContract, renew_work_item_lock_piggybacks_session) {
  open("X");
  schedule_on("X");
  const Job job = a_.take();
  world_.pass(kInterval);
  EXPECT_EQ(a_.renew(job), Status::kOk);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(lease(), world_.now() + kLease);
}

// ---- two workers at once ----

TEST_F(OpenedContract, two_workers_race_to_claim_same_session) {
  // Each session still has work when the other worker looks.
  for (const char* name : {"X", "Y", "Z"}) {
    open(name);
    for (int i = 0; i < 4; ++i)
      schedule_on(name);
  }
  std::map<std::string, std::set<const Worker*>> owners;
  for (int i = 0; i < 12; ++i)
    for (Worker* const worker : {&a_, &b_})
      if (const auto job = worker->fetch()) owners[job->session].insert(worker);
  ASSERT_EQ(owners.size(), 3U);
  for (const auto& [name, workers] : owners)
    EXPECT_EQ(workers.size(), 1U) << name;
  EXPECT_EQ(world_.number("SELECT count(DISTINCT owner) FROM sessions"), 2) << "both claimed";
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue WHERE state<>1"), 0);
}

}  // namespace
}  // namespace pawl::test
