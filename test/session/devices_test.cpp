// Devices, exclusive sessions and transfers: which worker may own a device, which worker is next,
// and what waits.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "codec/policy.hpp"
#include "pawl/session.hpp"
#include "session_world.hpp"

namespace pawl::test {
namespace {

constexpr char kDevice[] = "device=1,exclusive=1";
constexpr char kUnboundedDevice[] = "device=1";
constexpr char kExclusive[] = "exclusive=1";

class Devices : public TwoWorkers {
 protected:
  Incarnation owner(std::string_view session) { return world_.session_number("owner", session); }
};

// ---- who holds a device ----

TEST_F(Devices, work_waits_until_a_worker_declares_the_device) {
  world_.schedule("a", "bed", 1, kDevice);
  EXPECT_FALSE(a_.fetch());
  EXPECT_FALSE(b_.fetch());
  EXPECT_TRUE(b_.declared("bed"));
  EXPECT_FALSE(a_.fetch());
  const Job job = b_.take();
  EXPECT_TRUE(job.item.exclusive);
  EXPECT_EQ(owner("bed"), b_.me());
}

// Rules: S12.
TEST_F(Devices, a_device_declared_before_any_work_is_owned_at_once) {
  a_.declared("bed");
  EXPECT_EQ(owner("bed"), a_.me());
  EXPECT_TRUE(a_.logged("claimed bed@"));
  // Work scheduled without the policy's device mark still belongs to the device.
  world_.schedule("a", "bed");
  EXPECT_FALSE(b_.fetch());
  EXPECT_TRUE(a_.fetch());
}

// Rules: S12.
TEST_F(Devices, a_second_declarer_is_refused_with_the_holders_name) {
  EXPECT_EQ(a_.declare("bed"), Status::kOk);
  EXPECT_EQ(b_.declare("bed"), Status::kDeviceHeld);
  EXPECT_NE(b_.refusal().find("\"A\""), std::string::npos) << b_.refusal();
  EXPECT_EQ(a_.declare("bed"), Status::kOk) << "the holder again";
  EXPECT_EQ(owner("bed"), a_.me());
}

// Rules: S13.
TEST_F(Devices, a_standby_follows_a_dead_holder) {
  a_.declared("bed");
  EXPECT_FALSE(b_.declared("bed", true));
  world_.schedule("a", "bed", 2, kDevice);
  const Job at_a = a_.take();
  EXPECT_FALSE(b_.fetch());
  const Incarnation dead = a_.me();
  a_.kill();
  b_.bury(dead);
  EXPECT_EQ(owner("bed"), b_.me());
  EXPECT_TRUE(b_.logged("migrated bed@"));
  const Job again = b_.take();
  EXPECT_EQ(again.item.id, at_a.item.id) << "in order: the interrupted one first";
  EXPECT_GT(again.item.epoch, at_a.item.epoch);
  EXPECT_EQ(b_.declare("bed"), Status::kOk) << "it is the holder now";
}

TEST_F(Devices, a_device_of_a_dead_worker_waits_for_it_to_declare_again) {
  a_.declared("bed");
  world_.schedule("a", "bed", 1, kDevice);
  a_.take();
  const Incarnation before = a_.me();
  a_.kill();
  b_.bury(before);
  EXPECT_EQ(owner("bed"), -1);
  EXPECT_FALSE(b_.fetch());
  Worker again(world_, "A");
  EXPECT_FALSE(again.fetch()) << "having held it is not declaring it";
  again.declared("bed");
  const Job job = again.take();
  EXPECT_EQ(job.item.attempt, 2);
  EXPECT_TRUE(job.item.claimed_now);
}

// Rules: S13.
TEST_F(Devices, who_restarts_under_its_node_inherits_no_device_undeclared) {
  a_.declared("bed");
  world_.schedule("a", "soft");
  a_.take();
  a_.kill();
  Worker again(world_, "A");
  EXPECT_EQ(owner("soft"), again.me());
  EXPECT_EQ(owner("bed"), -1);
}

TEST_F(Devices, a_declaration_of_a_proved_dead_holder_does_not_refuse) {
  a_.declared("bed");
  world_.schedule("a", "bed", 1, kDevice);
  a_.take();
  a_.kill();
  EXPECT_EQ(b_.declare("bed"), Status::kOk) << b_.refusal();
  EXPECT_EQ(owner("bed"), b_.me());
  EXPECT_TRUE(b_.fetch());
}

TEST_F(Devices, a_frozen_holder_loses_to_its_standby_by_suspicion_only_after_an_interval) {
  a_.declared("bed");
  b_.declared("bed", true);
  world_.pass(29'000);
  b_.take_devices_over();
  EXPECT_EQ(owner("bed"), a_.me());
  world_.pass(2'000);  // the lease has ended but the lock is held: observation begins
  for (int i = 0; i < 4; ++i) {
    b_.take_devices_over();
    EXPECT_EQ(owner("bed"), a_.me());
    world_.pass(5'000);
  }
  world_.pass(5'000);
  b_.take_devices_over();
  EXPECT_EQ(owner("bed"), b_.me());
}

// ---- withdrawing ----

TEST_F(Devices, withdrawing_hands_over_to_a_standby_or_to_no_worker) {
  a_.declared("bed");
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  EXPECT_EQ(owner("bed"), -1);
  EXPECT_EQ(a_.withdraw("bed"), Status::kNotFound);
  a_.declared("bed");
  b_.declared("bed", true);
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  EXPECT_EQ(owner("bed"), b_.me());
  EXPECT_EQ(a_.declare("bed"), Status::kDeviceHeld);
}

TEST_F(Devices, withdrawing_waits_for_running_work) {
  a_.declared("bed");
  b_.declared("bed", true);
  world_.schedule("a", "bed", 2, kDevice);
  const Job running = a_.take();
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  EXPECT_EQ(owner("bed"), a_.me());
  EXPECT_EQ(b_.end_stops(), 0u);
  a_.acked(running);
  EXPECT_FALSE(a_.fetch()) << "nothing more is handed over";
  EXPECT_EQ(b_.end_stops(), 1u) << "any worker ends it";
  EXPECT_EQ(owner("bed"), b_.me());
  EXPECT_TRUE(b_.fetch());
}

TEST_F(Devices, a_withdrawal_that_takes_too_long_is_taken_back) {
  a_.declared("bed");
  world_.schedule("a", "bed", 2, kDevice);
  const Job running = a_.take();
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  world_.pass(kStopMs - 1);
  EXPECT_EQ(a_.end_stops(), 0u);
  world_.pass(1);
  EXPECT_EQ(a_.end_stops(), 1u);
  EXPECT_TRUE(a_.logged("stop failed bed"));
  EXPECT_EQ(b_.declare("bed"), Status::kDeviceHeld);
  a_.acked(running);
  EXPECT_TRUE(a_.fetch());
}

// ---- a session that becomes a device ----

TEST_F(Devices, a_session_that_others_own_softly_moves_to_who_declares_it) {
  world_.schedule("a", "bed", 2);
  const Job running = a_.take();
  b_.declared("bed");
  EXPECT_EQ(owner("bed"), a_.me()) << "its work still runs";
  EXPECT_FALSE(a_.fetch());
  EXPECT_FALSE(b_.fetch());
  a_.acked(running);
  EXPECT_EQ(a_.end_stops(), 1u);
  EXPECT_EQ(owner("bed"), b_.me());
  EXPECT_TRUE(b_.fetch());
}

// Rules: S11.
TEST_F(Devices, scheduling_for_a_device_ends_a_soft_ownership) {
  world_.schedule("a", "bed");
  const Job soft = a_.take();
  world_.schedule("a", "bed", 1, kUnboundedDevice);
  a_.acked(soft);
  a_.end_stops();
  EXPECT_EQ(owner("bed"), -1);
  EXPECT_FALSE(a_.fetch());
}

// ---- absent devices ----

// Rules: S14.
TEST_F(Devices, an_absent_device_fails_work_after_its_own_limit) {
  const InstanceKey instance = world_.schedule("a", "bed", 1, "device=1,unavailable_ms=60000");
  const InstanceKey patient = world_.schedule("a", "bed", 1, kDevice);
  world_.pass(59'999);
  EXPECT_EQ(a_.wake(), 0u);
  world_.pass(1);
  EXPECT_EQ(a_.wake(), 1u);
  const Message done = world_.completion(instance);
  EXPECT_EQ(done.error, ErrorKind::kSessionUnavailable);
  EXPECT_NE(done.payload.find("\"bed\""), std::string::npos) << done.payload;
  EXPECT_TRUE(world_.completions(patient).empty());
}

TEST_F(Devices, a_device_that_is_there_makes_no_work_unavailable) {
  a_.declared("bed");
  const InstanceKey instance = world_.schedule("a", "bed", 1, "device=1,unavailable_ms=60000");
  world_.pass(60'000);
  EXPECT_EQ(a_.wake(), 0u);
  EXPECT_TRUE(world_.completions(instance).empty());
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  world_.pass(60'000);
  EXPECT_EQ(a_.wake(), 1u);
  EXPECT_EQ(world_.completions(instance).size(), 1u);
}

// ---- the row of a device ----

// Rules: S2.
TEST_F(Devices, count_for_no_capacity) {
  a_.options.max_sessions_per_worker = 1;
  a_.declared("bed");
  a_.declared("bank");
  world_.schedule("a", "soft");
  EXPECT_TRUE(a_.fetch());
}

TEST_F(Devices, are_never_idle_nor_swept) {
  a_.declared("bed");
  world_.pass(400'000);
  std::size_t released = 0;
  a_.renew_sessions(&released);
  EXPECT_EQ(released, 0u);
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  EXPECT_EQ(a_.cleanup(), 0u);
  EXPECT_EQ(world_.rows("sessions"), 1);
}

TEST_F(Devices, can_be_forgotten_when_undeclared_and_nothing_waits) {
  a_.declared("bed");
  const auto forget = [&] {
    return a_.batch([](Store& store) { return store.session().moves.forget_device("bed"); });
  };
  EXPECT_EQ(forget(), Status::kStillRunning);
  EXPECT_EQ(a_.withdraw("bed"), Status::kOk);
  const InstanceKey waiting = world_.schedule("a", "bed", 1, kDevice);
  EXPECT_EQ(forget(), Status::kStillRunning);
  world_.end(waiting);
  world_.execute("INSERT INTO session_summaries SELECT sid,x'00',0 FROM sessions");
  EXPECT_EQ(forget(), Status::kOk);
  EXPECT_EQ(world_.rows("session_summaries"), 0);
  EXPECT_EQ(world_.rows("sessions"), 0);
  EXPECT_EQ(forget(), Status::kNotFound);
}

TEST_F(Devices, leave_with_an_orderly_stop) {
  a_.declared("bed");
  a_.declared("bank");
  b_.declared("bank", true);
  a_.leave();
  EXPECT_EQ(owner("bed"), -1);
  EXPECT_EQ(owner("bank"), b_.me());
  b_.declared("bed");
  EXPECT_EQ(world_.rows("devices"), 2);
}

TEST_F(Devices, after_a_reboot_have_no_owner_until_declared) {
  a_.declared("bed");
  world_.schedule("a", "bed", 1, kDevice);
  world_.reboot(10'000);
  Worker again(world_, "A");
  EXPECT_EQ(owner("bed"), -1);
  EXPECT_EQ(world_.rows("devices"), 0);
  again.declared("bed");
  EXPECT_TRUE(again.fetch());
}

// ---- exclusive sessions ----

// Rules: S15.
TEST_F(Devices, exclusive_work_runs_one_at_a_time_and_in_order) {
  world_.schedule("a", "s", 3, kExclusive);
  WorkItemId last = 0;
  for (int i = 0; i < 3; ++i) {
    const Job job = a_.take();
    EXPECT_GT(job.item.id, last);
    last = job.item.id;
    a_.running = {job};
    EXPECT_FALSE(a_.fetch());
    EXPECT_FALSE(b_.fetch());
    a_.running.clear();
    a_.acked(job);
  }
}

TEST_F(Devices, exclusive_order_holds_while_the_first_backs_off) {
  world_.schedule("a", "s", 2, kExclusive);
  const Job first = a_.take();
  a_.abandoned(first, 5'000);
  EXPECT_FALSE(a_.fetch());
  world_.pass(5'000);
  a_.wake();
  const Job again = a_.take();
  EXPECT_EQ(again.item.id, first.item.id);
}

// Rules: S11.
TEST_F(Devices, a_session_becomes_exclusive_for_all_its_work) {
  world_.schedule("a", "s", 2);
  const Job first = a_.take();
  const Job second = a_.take();
  world_.schedule("a", "s", 1, kExclusive);
  EXPECT_FALSE(a_.fetch());
  a_.acked(first);
  EXPECT_FALSE(a_.fetch());
  a_.acked(second);
  EXPECT_TRUE(a_.fetch());
}

// ---- transfers ----

// Rules: S16.
TEST_F(Devices, a_session_is_transferred_to_a_named_worker) {
  world_.schedule("a", "s", 2);
  const Job running = a_.take();
  EXPECT_EQ(a_.transfer("s", "B"), Status::kOk);
  EXPECT_FALSE(a_.fetch());
  a_.acked(running);
  EXPECT_EQ(a_.end_stops(), 1u);
  EXPECT_EQ(owner("s"), b_.me());
  EXPECT_TRUE(a_.logged("migrated s@2 from A to B"));
  EXPECT_TRUE(b_.fetch());
}

TEST_F(Devices, a_transfer_names_who_cannot_take_it) {
  world_.schedule("a", "s");
  a_.take();
  EXPECT_EQ(a_.transfer("s", "C"), Status::kNoEligibleTarget);
  EXPECT_EQ(a_.transfer("none", "B"), Status::kNotFound);
  EXPECT_EQ(a_.transfer("s", "A"), Status::kOk) << "it is there";
  a_.declared("bed");
  EXPECT_EQ(a_.transfer("bed", "B"), Status::kNoEligibleTarget) << "B does not declare it";
  b_.declared("bed", true);
  EXPECT_EQ(a_.transfer("bed", "B"), Status::kOk);
  EXPECT_EQ(owner("bed"), b_.me());
  EXPECT_EQ(a_.transfer("bed", "A"), Status::kOk) << "who had it stands by";
  EXPECT_EQ(owner("bed"), a_.me());
}

// Rules: S17.
TEST_F(Devices, a_transfer_goes_to_none_that_drains_or_is_full) {
  world_.schedule("a", "s");
  a_.take();
  Worker full(world_);
  full.options.max_sessions_per_worker = 1;
  full.join("full");
  world_.schedule("b", "t");
  full.take();
  EXPECT_EQ(a_.transfer("s", "full"), Status::kNoEligibleTarget);
  EXPECT_NE(a_.refusal().find("is full"), std::string::npos) << a_.refusal();
  b_.declared("bed", true);
  b_.drain();
  EXPECT_EQ(a_.transfer("s", "B"), Status::kNoEligibleTarget);
  EXPECT_NE(a_.refusal().find("is draining"), std::string::npos) << a_.refusal();
  EXPECT_EQ(owner("s"), a_.me());
}

// Rules: S16.
TEST_F(Devices, a_late_transfer_of_exclusive_work_fails_and_a_forced_one_refuses_the_result) {
  world_.schedule("a", "s", 1, kExclusive);
  const Job running = a_.take();
  EXPECT_EQ(a_.transfer("s", "B"), Status::kOk);
  world_.pass(kStopMs);
  EXPECT_EQ(a_.renew(running), Status::kOk);
  a_.end_stops();
  EXPECT_EQ(owner("s"), a_.me());
  EXPECT_TRUE(a_.logged("stop failed s"));
  EXPECT_EQ(a_.transfer("s", "B", true), Status::kOk);
  world_.pass(kStopMs);
  EXPECT_EQ(a_.renew(running), Status::kOk);
  a_.end_stops();
  EXPECT_EQ(owner("s"), b_.me());
  EXPECT_EQ(a_.ack(running), Status::kStale);
  EXPECT_TRUE(b_.fetch());
}

// A stop takes a session from its owner, or gives it to a target. A stop with neither would wait
// for a change that never comes.
TEST_F(Devices, a_stop_of_a_session_without_an_owner_ends) {
  ASSERT_EQ(world_
                .commit(world_.instance(),
                        {{EventKind::kSessionSettings, "bus", {}, "exclusive=1,max_age_ms=60000"},
                         {EventKind::kActivity, "a", "bus", "exclusive=1"}})
                .size(),
            0U);
  const Job job = a_.take();
  world_.machine.advance(60'000);
  a_.wake();
  EXPECT_EQ(world_.session_number("state", "bus"), 5)
      << "its only work was that of who set its age";
  world_.schedule("a", "bus");
  EXPECT_EQ(world_.session_number("state", "bus"), 0);
  ASSERT_EQ(a_.transfer("bus", ""), Status::kOk);
  EXPECT_EQ(world_.session_number("state", "bus"), 1) << "what was cancelled still runs";
  a_.acked(job);
  a_.end_stops();
  EXPECT_EQ(world_.session_number("state", "bus"), 0);
  EXPECT_TRUE(a_.fetch());
}

TEST_F(Devices, a_transfer_ends_with_the_death_of_the_owner) {
  world_.schedule("a", "s");
  a_.take();
  EXPECT_EQ(b_.transfer("s", "B"), Status::kOk);
  const Incarnation dead = a_.me();
  a_.kill();
  b_.bury(dead);
  EXPECT_EQ(world_.session_number("state", "s"), 0);
  EXPECT_TRUE(b_.fetch());
}

// Rules: S17.
TEST_F(Devices, draining_moves_a_device_only_to_a_standby) {
  a_.declared("bed");
  a_.declared("bank");
  b_.declared("bank", true);
  a_.drain();
  EXPECT_EQ(owner("bank"), b_.me());
  EXPECT_EQ(owner("bed"), a_.me());
  world_.schedule("a", "bed", 1, kDevice);
  EXPECT_TRUE(a_.fetch()) << "nobody else can";
}

// ---- reasons ----

// A reason for which a session leaves A, and the call of A that gives it.
struct Leaving {
  const char* reason;
  std::function<void(const std::string& session, InstanceKey instance, const Job& job)> call;
  bool makes_device = false;
};

class Reasons : public Devices {
 protected:
  std::vector<Leaving> leavings() {
    return {
        {"transferred", [this](const std::string& session, InstanceKey,
                               const Job&) { EXPECT_EQ(a_.transfer(session, ""), Status::kOk); }},
        {"handoff",
         [this](const std::string& session, InstanceKey instance, const Job&) {
           world_.commit(instance, {{EventKind::kSessionHandoff, session, "", ""}});
         }},
        {"hung",
         [this](const std::string&, InstanceKey, const Job& job) {
           bool moves = false;
           const Status evicted = a_.batch([&](Store& store) {
             return store.session().moves.evict_session(job.done(), job.item.session, a_.me(),
                                                        &moves);
           });
           EXPECT_EQ(evicted, Status::kOk);
           EXPECT_TRUE(moves);
         }},
        {"device",
         [this](const std::string& session, InstanceKey, const Job&) {
           world_.schedule("a", session, 1, kUnboundedDevice);
         },
         true},
        {"withdrawn",
         [this](const std::string& session, InstanceKey, const Job&) {
           a_.declared(session);
           EXPECT_EQ(a_.withdraw(session), Status::kOk);
         },
         true},
        {"drained",
         [this](const std::string&, InstanceKey, const Job&) {
           a_.drain();
           a_.draining = false;
           const auto undrain = [](Store& store) {
             return store.session().moves.undrain_worker("A");
           };
           EXPECT_EQ(a_.batch(undrain), Status::kOk);
         }},
    };
  }
  // The change that the instance is notified of, such as "released drained", after `leaving` moved
  // its session while an activity of it ran or had ended.
  std::string heard(const Leaving& leaving, bool runs, bool fails_on_loss) {
    const std::string session = std::string(leaving.reason) + (runs ? " at work" : " at rest") +
                                (fails_on_loss ? ", or lost" : "");
    const InstanceKey instance = world_.schedule("a", session);
    const Job job = a_.take();
    world_.execute(("UPDATE sessions SET notify=" + std::to_string(instance) +
                    ",fail=" + (fails_on_loss ? "1" : "0") + " WHERE name='" + session + "'")
                       .c_str());
    if (!runs) a_.acked(job);
    leaving.call(session, instance, job);
    if (runs) {
      EXPECT_EQ(changes(instance), "") << "it waits for its activity";
      a_.acked(job);
      EXPECT_EQ(a_.end_stops(), 1U);
    }
    return changes(instance);
  }
  std::string changes(InstanceKey instance) {
    std::string all;
    for (const Message& message : world_.completions(instance)) {
      SessionEvent event;
      if (from_json(message.payload, &event) != Status::kOk) continue;
      all += std::string(event.change.view()) + " " + std::string(event.reason.view());
    }
    return all;
  }
};

// Rules: S16.
TEST_F(Reasons, of_a_move_are_the_same_whether_work_was_running_or_not) {
  for (const Leaving& leaving : leavings())
    for (const bool runs : {false, true})
      EXPECT_EQ(heard(leaving, runs, false), std::string("released ") + leaving.reason);
}

// A device is not lost, so it is left out (S16, S22).
TEST_F(Reasons, of_a_loss_are_the_same_whether_work_was_running_or_not) {
  for (const Leaving& leaving : leavings()) {
    if (leaving.makes_device) continue;
    for (const bool runs : {false, true})
      EXPECT_EQ(heard(leaving, runs, true), std::string("lost ") + leaving.reason);
  }
}

// Work that ran beyond the limit has its result refused, and the reason stays the same (S16).
TEST_F(Reasons, of_a_late_move_is_that_of_the_stop) {
  const InstanceKey instance = world_.schedule("a", "s");
  const Job job = a_.take();
  world_.execute("UPDATE sessions SET notify=1 WHERE name='s'");
  EXPECT_EQ(a_.transfer("s", ""), Status::kOk);
  world_.pass(kStopMs);
  EXPECT_EQ(a_.renew(job), Status::kOk);
  EXPECT_EQ(a_.end_stops(), 1U);
  EXPECT_EQ(changes(instance), "released transferred");
  EXPECT_EQ(a_.ack(job), Status::kStale);
}

}  // namespace
}  // namespace pawl::test
