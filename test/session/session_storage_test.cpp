// The storage and the work of sessions: which worker gets it, how the session's lease is renewed,
// when it is idle, how many sessions a worker has, and what the sweep removes. Each validation of
// test/build/seed_tests.txt has its name here. Pawl is stricter in places: an ended lease is no
// evidence that the owner is gone. There a test first kills the owner, or takes its ability to
// prove that it lives.
#include <gtest/gtest.h>

#include "session_world.hpp"

namespace pawl::test {
namespace {

class SessionStorage : public TwoWorkers {
 protected:
  // Stores the activity that `instance` scheduled again, with these texts.
  void store_meta(InstanceKey instance, const char* meta) {
    const auto column = [&](const char* name) {
      const std::string sql =
          "SELECT coalesce(" + std::string(name) + ",0) FROM history WHERE instance=?1 AND id=2";
      return world_.number(sql.c_str(), {instance});
    };
    Event event;
    event.id = 2;
    event.kind = EventKind::kActivity;
    event.branch = static_cast<BranchId>(column("branch"));
    event.ordinal = static_cast<Ordinal>(column("ordinal"));
    event.ref = static_cast<EventId>(column("ref"));
    event.time_ms = column("time");
    const std::string sql = "UPDATE history SET payload=NULL,meta='" + std::string(meta) +
                            "',crc=" + std::to_string(event_crc(instance, 1, {}, event, meta)) +
                            " WHERE id=2 AND instance=" + std::to_string(instance);
    world_.execute(sql.c_str());
  }
};

// ---- who gets the work ----

// Rules: S2.
TEST_F(SessionStorage, test_session_item_claimable_by_any_worker_initially) {
  world_.schedule("a", "s");
  const Job job = b_.take();
  EXPECT_EQ(job.session, "s");
  EXPECT_TRUE(job.item.claimed_now);
  EXPECT_EQ(world_.session_number("owner", "s"), b_.me());
}

TEST_F(SessionStorage, test_session_item_pinned_after_claim) {
  world_.schedule("a", "s", 2);
  a_.take();
  EXPECT_FALSE(b_.fetch());
}

TEST_F(SessionStorage, test_session_item_pinned_worker_can_fetch) {
  world_.schedule("a", "s", 2);
  const Job first = a_.take();
  const Job second = a_.take();
  EXPECT_LT(first.item.id, second.item.id);
  EXPECT_EQ(first.item.epoch, second.item.epoch);
  EXPECT_FALSE(second.item.claimed_now);
}

TEST_F(SessionStorage, test_non_session_item_unaffected) {
  world_.schedule("a", "s");
  a_.take();
  world_.schedule("a", {}, 2);
  const Job to_b = b_.take();
  a_.take();
  EXPECT_EQ(to_b.item.session, 0);
  EXPECT_EQ(to_b.item.epoch, 0);
}

TEST_F(SessionStorage, test_multiple_sessions_per_worker) {
  for (const char* name : {"s", "t", "u"})
    world_.schedule("a", name);
  std::set<Epoch> epochs;
  for (int i = 0; i < 3; ++i) {
    const Job job = a_.take();
    epochs.insert(job.item.epoch);
  }
  EXPECT_EQ(epochs.size(), 3u);
  EXPECT_EQ(world_.number("SELECT count(*) FROM sessions WHERE owner=?1", {a_.me()}), 3);
}

// Rules: S2.
TEST_F(SessionStorage, lowest_id_first_over_free_owned_and_claimable) {
  world_.schedule("a", "mine");
  a_.take();
  world_.schedule("a", "new");
  world_.schedule("a");
  world_.schedule("a", "mine");
  EXPECT_EQ(a_.take().session, "new");
  EXPECT_EQ(a_.take().session, "");
  EXPECT_EQ(a_.take().session, "mine");
}

// ---- claims ----

// Rules: S1.
TEST_F(SessionStorage, test_session_claim_creates_session_row) {
  world_.schedule("a", "s");
  EXPECT_EQ(world_.session_number("owner", "s"), -1);
  const Job job = a_.take();
  EXPECT_EQ(world_.session_number("owner", "s"), a_.me());
  EXPECT_EQ(world_.session_number("epoch", "s"), job.item.epoch);
  EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
  EXPECT_EQ(world_.session_number("last_activity_at", "s"), world_.now());
  EXPECT_EQ(world_.session_number("activities", "s"), 1);
  EXPECT_EQ(world_.rows("sessions"), 1);
  ASSERT_EQ(a_.events.size(), 1u);
  EXPECT_EQ(a_.events[0], "claimed s@" + std::to_string(job.item.epoch) + " by A");
}

TEST_F(SessionStorage, test_session_lock_expiry_allows_reclaim) {
  lease_alone();
  world_.schedule("a", "s", 2);
  a_.take();
  world_.pass(kLease - 1);
  EXPECT_FALSE(b_.fetch());
  world_.pass(1);
  b_.take();
  EXPECT_EQ(world_.session_number("owner", "s"), b_.me());
}

TEST_F(SessionStorage, test_session_reclaim_after_lock_expiry_upserts) {
  lease_alone();
  world_.schedule("a", "s", 2);
  const Job first = a_.take();
  world_.pass(kLease);
  const Job second = b_.take();
  EXPECT_EQ(world_.rows("sessions"), 1);
  EXPECT_GT(second.item.epoch, first.item.epoch);
  EXPECT_EQ(b_.events.back(), "migrated s@" + std::to_string(second.item.epoch) + " from A to B");
}

TEST_F(SessionStorage, test_session_idle_expiry_allows_reclaim) {
  a_.run_one("s");
  world_.pass(kIdle);
  std::size_t released = 0;
  EXPECT_EQ(a_.renew_sessions(&released), 0u);
  EXPECT_EQ(released, 1u);
  world_.schedule("a", "s");
  EXPECT_TRUE(b_.fetch());
  EXPECT_EQ(b_.events.back(), "migrated s@3 from A to B");
}

TEST_F(SessionStorage, each_worker_applies_its_own_settings) {
  lease_alone();
  a_.options.session_lock_timeout_ms = 5'000;
  a_.options.session_lock_renewal_buffer_ms = 1'000;
  a_.options.worker_lock_timeout_ms = 5'000;
  a_.options.worker_lock_renewal_buffer_ms = 1'000;
  b_.options.session_lock_timeout_ms = 60'000;
  world_.schedule("a", "s", 2);
  a_.take();
  world_.pass(kInterval);  // B has observed for one of its intervals
  b_.take();
  EXPECT_EQ(world_.session_lease("s"), world_.now() + 60'000);
}

// ---- leases ----

// Rules: S5.
TEST_F(SessionStorage, test_renew_session_lock_extends_all_owned) {
  world_.schedule("a", "s");
  world_.schedule("a", "t");
  a_.take();
  a_.take();
  world_.pass(kInterval);
  EXPECT_EQ(a_.renew_sessions(), 2u);
  EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
  EXPECT_EQ(world_.session_lease("t"), world_.now() + kLease);
}

TEST_F(SessionStorage, test_renew_session_lock_skips_idle_sessions) {
  world_.schedule("a", "s");
  world_.schedule("a", "t");
  const Job s = a_.take();
  const Job t = a_.take();
  a_.acked(s);
  a_.acked(t);
  world_.pass(kIdle - 1'000);
  a_.run_one("t");
  world_.pass(1'000);
  std::size_t released = 0;
  EXPECT_EQ(a_.renew_sessions(&released), 1u);
  EXPECT_EQ(released, 1u);
  EXPECT_EQ(world_.session_number("owner", "s"), -1);
  EXPECT_EQ(world_.session_number("owner", "t"), a_.me());
}

TEST_F(SessionStorage, test_renew_session_lock_skips_other_workers) {
  world_.schedule("a", "s");
  b_.take();
  const std::int64_t until = world_.session_lease("s");
  world_.pass(1'000);
  EXPECT_EQ(a_.renew_sessions(), 0u);
  EXPECT_EQ(world_.session_lease("s"), until);
}

// The validation of this name renews no expired lease, since another worker may have claimed the
// session. In Pawl such a claim ends the ownership, so an expired lease is renewed exactly if no
// other worker has taken the session.
// Rules: S5.
TEST_F(SessionStorage, test_renew_session_lock_skips_expired_locks_of_sessions_taken) {
  lease_alone();
  world_.schedule("a", "taken");
  world_.schedule("a", "kept");
  a_.take();
  a_.take();
  world_.pass(kLease);
  const Job job = b_.take();
  ASSERT_EQ(job.session, "taken");
  const std::int64_t until = world_.session_lease("taken");
  world_.pass(1'000);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(world_.session_number("owner", "taken"), b_.me());
  EXPECT_EQ(world_.session_lease("taken"), until);
  EXPECT_EQ(world_.session_number("owner", "kept"), a_.me());
  EXPECT_EQ(world_.session_lease("kept"), world_.now() + kLease);
}

// Rules: S5.
TEST_F(SessionStorage, original_worker_goes_on_with_an_expired_lease) {
  lease_alone();
  world_.schedule("a", "s", 2);
  const Job first = a_.take();
  a_.running.push_back(first);
  world_.pass(2 * kLease);
  const Job second = a_.take();
  EXPECT_EQ(second.item.epoch, first.item.epoch);
  EXPECT_EQ(a_.renew_sessions(), 1u);
  EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
  EXPECT_FALSE(b_.fetch());
  a_.acked(first);
}

// Rules: S4.
TEST_F(SessionStorage, leases_expired_and_untaken_ack_succeeds) {
  const InstanceKey instance = world_.schedule("a", "s");
  const Job job = a_.take();
  world_.pass(10 * kLease);
  a_.acked(job, "late");
  const Message ended = world_.completion(instance);
  EXPECT_EQ(ended.payload, "late");
  EXPECT_EQ(ended.ref, 2u);
}

// ---- last use ----

// The validation of this name expects that a renewal is noted as use of the session. In Pawl a
// session is in use while work of it is in hand, so its row need not be written.
// Rules: S5, S6.
TEST_F(SessionStorage, test_renew_work_item_lock_updates_last_activity_at) {
  world_.schedule("a", "s");
  const Job job = a_.take();
  for (std::int64_t passed = 0; passed < 3 * kIdle; passed += kInterval) {
    world_.pass(kInterval);
    EXPECT_EQ(a_.renew(job), Status::kOk);
    EXPECT_EQ(a_.renew_sessions(), 1u);
    EXPECT_EQ(world_.session_lease("s"), world_.now() + kLease);
    EXPECT_FALSE(b_.fetch());
  }
}

TEST_F(SessionStorage, test_ack_work_item_updates_last_activity_at) {
  world_.schedule("a", "s");
  const Job job = a_.take();
  world_.pass(1'000);
  a_.acked(job);
  EXPECT_EQ(world_.session_number("last_activity_at", "s"), world_.now());
}

TEST_F(SessionStorage, test_fetch_work_item_updates_last_activity_at) {
  world_.schedule("a", "s", 2);
  a_.take();
  world_.pass(1'000);
  a_.take();
  EXPECT_EQ(world_.session_number("last_activity_at", "s"), world_.now());
}

TEST_F(SessionStorage, last_activity_is_not_touched_by_who_lost_the_session) {
  lease_alone();
  world_.schedule("a", "s");
  const Job job = a_.take();
  world_.pass(kLease);
  b_.take();
  const std::int64_t at = world_.session_number("last_activity_at", "s");
  const std::int64_t until = world_.session_lease("s");
  world_.pass(1'000);
  EXPECT_EQ(a_.renew(job), Status::kStale);
  EXPECT_EQ(a_.ack(job), Status::kStale);
  EXPECT_EQ(a_.renew_sessions(), 0u);
  EXPECT_EQ(world_.session_number("last_activity_at", "s"), at);
  EXPECT_EQ(world_.session_lease("s"), until);
}

// ---- capacity ----

TEST_F(SessionStorage, test_max_sessions_capacity_respected) {
  a_.options.max_sessions_per_worker = 2;
  world_.schedule("a", "s");
  world_.schedule("a", "t");
  world_.schedule("a", "u");
  EXPECT_TRUE(a_.fetch());
  EXPECT_TRUE(a_.fetch());
  EXPECT_FALSE(a_.fetch());
  const Job job = b_.take();
  EXPECT_EQ(job.session, "u");
}

TEST_F(SessionStorage, test_max_sessions_allows_owned_session_items) {
  a_.options.max_sessions_per_worker = 1;
  world_.schedule("a", "s");
  a_.take();
  world_.schedule("a", "t");
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job owned = a_.take();
  EXPECT_EQ(owned.session, "s");
  const Job free = a_.take();
  EXPECT_EQ(free.session, "");
  EXPECT_FALSE(a_.fetch());
}

TEST_F(SessionStorage, zero_max_sessions_takes_no_session) {
  a_.options.max_sessions_per_worker = 0;
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job job = a_.take();
  EXPECT_EQ(job.session, "");
  EXPECT_FALSE(a_.fetch());
}

// ---- the sweep ----

// Rules: S10.
TEST_F(SessionStorage, test_cleanup_removes_expired_no_work) {
  a_.run_one("s");
  a_.kill();
  world_.pass(kLease);
  EXPECT_EQ(b_.cleanup(), 1u);
  EXPECT_EQ(world_.rows("sessions"), 0);
  ASSERT_EQ(b_.events.size(), 2u);
  EXPECT_EQ(b_.events[0], "released s@2 gone");
  EXPECT_EQ(b_.events[1], "swept s");
}

TEST_F(SessionStorage, test_cleanup_removes_idle_no_work) {
  a_.run_one("s");
  world_.pass(kIdle);
  a_.renew_sessions();
  EXPECT_EQ(b_.cleanup(), 1u);
}

// Rules: S10.
TEST_F(SessionStorage, test_cleanup_preserves_sessions_with_work) {
  world_.schedule("a", "ready");
  world_.schedule("a", "delayed");
  world_.schedule("a", "running", 2);
  const Job ready = a_.take();
  const Job delayed = a_.take();
  a_.take();
  a_.abandoned(ready);
  a_.abandoned(delayed, 10 * kIdle);
  a_.kill();
  world_.pass(2 * kIdle);
  EXPECT_EQ(b_.cleanup(), 0u);
  b_.bury(a_.me());
  EXPECT_EQ(b_.cleanup(), 0u);
  EXPECT_EQ(world_.rows("sessions"), 3);
}

TEST_F(SessionStorage, test_cleanup_preserves_active_sessions) {
  a_.run_one("s");
  EXPECT_EQ(b_.cleanup(), 0u);
  world_.pass(kLease);  // its lease ended, but A still holds its kernel lock
  EXPECT_EQ(b_.cleanup(), 0u);
}

TEST_F(SessionStorage, test_cleanup_returns_deleted_count) {
  for (const char* name : {"s", "t", "u"}) {
    a_.run_one(name);
  }
  a_.leave();
  EXPECT_EQ(b_.cleanup(2), 2u);
  EXPECT_EQ(b_.cleanup(2), 1u);
  EXPECT_EQ(b_.cleanup(2), 0u);
}

// ---- rows ----

TEST_F(SessionStorage, test_session_id_stored_on_worker_queue) {
  world_.schedule("a", "s");
  world_.schedule("a");
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
                          " WHERE s.name='s'"),
            1);
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue WHERE sid IS NULL"), 1);
}

// Reads a row that was stored before there were sessions, and a row with members that this version
// does not know.
TEST_F(SessionStorage, test_session_id_serde_backward_compat) {
  for (const char* meta : {R"({"name":"a"})", R"({"name":"a","later":{"member":1}})"}) {
    const InstanceKey instance = world_.schedule("a", "s");
    world_.execute("UPDATE worker_queue SET sid=NULL,gen=NULL");
    world_.execute("DELETE FROM sessions");
    store_meta(instance, meta);
    const Job job = a_.take();
    EXPECT_EQ(job.activity, "a");
    EXPECT_EQ(job.session, "");
    EXPECT_EQ(job.item.session, 0);
    a_.acked(job);
  }
}

// A work item has no text of its own: its row refers to the session and to the event.
TEST_F(SessionStorage, test_work_item_activity_execute_session_id_serde) {
  world_.schedule("a", "s");
  world_.schedule("a");
  const Job with = a_.take();
  const Job without = a_.take();
  EXPECT_EQ(with.session, "s");
  EXPECT_EQ(without.session, "");
}

TEST_F(SessionStorage, old_workitem_without_session_id_deserializes) {
  world_.schedule("a");
  EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue WHERE sid IS NULL AND gen IS NULL"),
            1);
  const Job job = a_.take();
  EXPECT_EQ(job.session, "");
}

}  // namespace
}  // namespace pawl::test
