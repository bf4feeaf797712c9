// Goal: each rule of time does what docs/architecture/time.md says, case by case. Method: tables of
// rows and samples for the single rules; for the cases that take several boots a world with a
// hidden true time, which also checks every firing against the guarantees.
#include "core/clock_rules.hpp"

#include <cstdint>
#include <string>

#include "clock_world.hpp"
#include "gtest/gtest.h"

namespace pawl {
namespace {

using namespace testing_world;  // NOLINT(google-build-using-namespace): units of time

port::BootId id(std::uint8_t name) {
  port::BootId id;
  id.known = name != 0;
  id.bytes[0] = name;
  return id;
}

ClockSample at(Ms boot_ms, std::uint8_t name) {
  ClockSample sample;
  sample.boot_ms = boot_ms;
  sample.boot_id = id(name);
  return sample;
}

ClockSample synced_at(Ms boot_ms, Ms wall_ms) {
  ClockSample sample = at(boot_ms, 1);
  sample.wall_ms = wall_ms;
  sample.synced = true;
  return sample;
}

// Boot 3, with id 1, begun at P = 1000 s; its mark was made at boot time 100 s.
ClockRow row_of_boot_3(std::uint8_t name = 1) {
  ClockRow row;
  row.adopted = true;
  row.boot_id = id(name);
  row.boot_seq = 3;
  row.k = 1000 * kSecond;
  row.mark = 1100 * kSecond;
  row.off = k2027;
  row.off_known = true;
  row.off_seq = 3;
  return row;
}

// Expects that no guarantee was broken.
void expect_clean(const World& world) {
  for (const std::string& text : world.violations_)
    ADD_FAILURE() << text;
}

// ---- adopt (T1) ----

TEST(ClockAdopt, FirstEver_BeginsAtZero) {
  const AdoptResult result = adopt(ClockRow(), at(77 * kSecond, 1));
  EXPECT_EQ(result.kind, Adoption::kFirst);
  EXPECT_EQ(result.row.boot_seq, 1);
  EXPECT_EQ(result.row.mark, 0);
  EXPECT_EQ(pawl_time(result.row, 77 * kSecond), 0);
  EXPECT_TRUE(result.row.adopted);
  EXPECT_FALSE(result.row.off_known);
}

// Rules: T1.
TEST(ClockAdopt, Table) {
  struct Case {
    const char* name;
    std::uint8_t row_id;
    std::uint8_t sample_id;
    Ms boot_ms;
    Adoption kind;
    Ms p_s;
    bool known_after;
  };
  const Case cases[] = {
      {"other id, boot time earlier", 1, 2, 5, Adoption::kNewBoot, 1105, true},
      {"other id, boot time later", 1, 2, 500, Adoption::kNewBoot, 1600, true},
      {"equal id", 1, 1, 100, Adoption::kNone, 1100, true},
      {"equal id, later", 1, 1, 200, Adoption::kNone, 1200, true},
      {"equal id, boot time back: a snapshot put back", 1, 1, 99, Adoption::kNewBoot, 1100, true},
      {"row unknown, boot time goes on", 0, 1, 100, Adoption::kNone, 1100, false},
      {"row unknown, boot time back", 0, 1, 99, Adoption::kNewBoot, 1199, true},
      {"own unknown, boot time goes on", 1, 0, 100, Adoption::kSameBoot, 1100, false},
      {"own unknown, boot time back", 1, 0, 40, Adoption::kNewBoot, 1140, false},
      {"both unknown, boot time goes on", 0, 0, 300, Adoption::kNone, 1300, false},
      {"both unknown, boot time back", 0, 0, 0, Adoption::kNewBoot, 1100, false},
  };
  for (const Case& c : cases) {
    const Ms boot_ms = c.boot_ms * kSecond;
    const AdoptResult result = adopt(row_of_boot_3(c.row_id), at(boot_ms, c.sample_id));
    EXPECT_EQ(result.kind, c.kind) << c.name;
    EXPECT_EQ(pawl_time(result.row, boot_ms), c.p_s * kSecond) << c.name;
    EXPECT_EQ(result.row.boot_seq, c.kind == Adoption::kNewBoot ? 4 : 3) << c.name;
    EXPECT_EQ(result.row.boot_id.known, c.known_after) << c.name;
    EXPECT_EQ(result.row.mark, 1100 * kSecond) << c.name;
    const bool doubtful = c.kind == Adoption::kNewBoot && c.row_id == 0;
    EXPECT_EQ(result.row.off_seq, doubtful ? 2 : 3) << c.name;
    const AdoptResult again = adopt(result.row, at(boot_ms, c.sample_id));
    if (boot_ms >= boot_time(result.row, result.row.mark)) {
      EXPECT_EQ(again.kind, Adoption::kNone) << c.name;
    }
  }
}

// A database that was moved to this machine. P as it is right after, and what the boot number, the
// offset's boot and the mark are.
// Rules: T1.
TEST(ClockAdopt, Moved_Table) {
  struct Case {
    const char* name;
    std::uint8_t row_id;
    bool is_segment;
    std::uint8_t sample_id;
    Ms boot_ms;
    Ms p_s;
    std::int64_t boot_seq;
    std::int64_t off_seq;
  };
  const Case cases[] = {
      {"within the boot", 1, false, 1, 500, 1500, 3, 3},
      {"within it, but a snapshot was put back", 1, false, 1, 99, 1100, 4, 3},
      {"another boot, with any uptime", 1, false, 2, 90'000, 1100, 4, 3},
      {"of several machines", 0, true, 2, 90'000, 1100, 4, 3},
      {"of a boot without an id, which may be two", 0, false, 2, 90'000, 1100, 4, 2},
      {"to a machine without ids", 1, false, 0, 90'000, 1100, 4, 3},
  };
  for (const Case& c : cases) {
    const ClockSample now = at(c.boot_ms * kSecond, c.sample_id);
    const ClockRow row = adopt_moved(leave(row_of_boot_3(c.row_id), now), c.is_segment, now);
    EXPECT_EQ(pawl_time(row, now.boot_ms), c.p_s * kSecond) << c.name;
    EXPECT_EQ(row.mark, c.p_s * kSecond) << c.name << ": counted, or not lost";
    EXPECT_EQ(row.boot_seq, c.boot_seq) << c.name;
    EXPECT_EQ(row.off_seq, c.off_seq) << c.name;
    EXPECT_EQ(adopt(row, now).kind, Adoption::kNone) << c.name << ": time goes on from here";
  }
  EXPECT_FALSE(adopt_moved(leave(ClockRow(), at(5, 1)), false, at(5, 1)).adopted);
}

// Rules: T1.
TEST(ClockAdopt, KnownAndUnknownProcesses_CountTheUptimeOnce) {
  ClockRow row =
      adopt(row_of_boot_3(), at(10 * kSecond, 0)).row;  // a new boot, first seen in a container
  row = mark(row, pawl_time(row, 60 * kSecond));
  const AdoptResult result = adopt(row, at(61 * kSecond, 2));  // then on the host
  EXPECT_EQ(result.kind, Adoption::kNone);
  EXPECT_EQ(pawl_time(result.row, 61 * kSecond), (1100 + 61) * kSecond);
}

TEST(ClockAdopt, ContainerWithItsOwnBootId_Restarted30DaysUp) {
  ClockRow row = adopt(ClockRow(), at(30 * kDay, 0)).row;
  row = mark(row, pawl_time(row, 30 * kDay + kHour));
  const Ms later = 30 * kDay + 2 * kHour;
  const AdoptResult result = adopt(row, at(later, 0));
  EXPECT_EQ(result.kind, Adoption::kNone);
  EXPECT_EQ(pawl_time(result.row, later), 2 * kHour);
  // This is why the port must report such an id as unknown: if it were believed, 30 days would
  // count that never passed.
  ClockRow believed = row;
  believed.boot_id = id(1);
  EXPECT_GT(pawl_time(adopt(believed, at(later, 2)).row, later), 30 * kDay);
}

TEST(ClockAdopt, DamagedNumbers_SaturateAndDoNotOverflow) {
  ClockRow row = row_of_boot_3();
  row.mark = kNever;
  row.k = -kNever;
  row.boot_seq = kNever;
  row.off_seq = -kNever - 1;
  const AdoptResult result = adopt(row, at(kNever, 2));
  EXPECT_EQ(pawl_time(result.row, kNever), kNever);
  EXPECT_EQ(result.row.boot_seq, kNever);
  static_cast<void>(sync(result.row, synced_at(-kNever - 1, k2040), SyncLimits()));
  static_cast<void>(next_mark_boot_ms(-kNever - 1, kNever, kNever));
}

// ---- mark (T2) ----

// Rules: T2.
TEST(ClockMark, IsWrittenWhenOlderThanASecond) {
  const ClockRow row = row_of_boot_3();
  EXPECT_FALSE(needs_mark(row, row.mark));
  EXPECT_FALSE(needs_mark(row, row.mark + 1000));
  EXPECT_TRUE(needs_mark(row, row.mark + 1001));
  EXPECT_FALSE(needs_mark(row, row.mark - 5000));
  EXPECT_EQ(mark(row, row.mark + 7).mark, row.mark + 7);
  EXPECT_EQ(mark(row, row.mark - 7).mark, row.mark);
}

// Rules: T2.
TEST(ClockMark, Schedule_DoublesUpToTheLimit) {
  const Ms adopted = 12 * kSecond;
  Ms marked = adopted;
  for (const Ms age_s : {30, 90, 210, 450, 930, 1890, 3810, 7410, 11010}) {
    marked = next_mark_boot_ms(adopted, marked, kClockMarkMs);
    EXPECT_EQ(marked, adopted + age_s * kSecond);
  }
  EXPECT_EQ(next_mark_boot_ms(0, 0, 10 * kSecond), 10 * kSecond);
}

// Rules: T2.
TEST(ClockMark, Schedule_LosesAtMostTwoThirds) {
  for (Ms marked = 0; marked < 5 * kHour;
       marked += 777) {  // also after a mark that another commit carried
    const Ms next = next_mark_boot_ms(0, marked, kClockMarkMs);
    ASSERT_GT(next, marked);
    ASSERT_LE(next - marked, kClockMarkMs);
    if (next < kMinute) continue;
    ASSERT_LE(3 * (next - marked), 2 * next);
  }
}

// ---- sync (T3) ----

// Rules: T3.
TEST(ClockSync, Table) {
  struct Case {
    const char* name;
    Ms gap;
    bool credited;
    bool refused;
  };
  const Case cases[] = {
      {"no gap", 0, false, false},           {"a millisecond", 1, true, false},
      {"the limit", kMaxGapMs, true, false}, {"above the limit", kMaxGapMs + 1, false, true},
      {"negative", -1, false, true},
  };
  for (const Case& c : cases) {
    ClockRow row = row_of_boot_3();
    row.boot_seq = 5;
    const Ms wall = k2027 + pawl_time(row, kSecond) + c.gap;
    const SyncResult result = sync(row, synced_at(kSecond, wall), SyncLimits());
    EXPECT_EQ(result.credited, c.credited) << c.name;
    EXPECT_EQ(result.refused, c.refused) << c.name;
    EXPECT_EQ(result.gap, c.gap) << c.name;
    EXPECT_EQ(result.credit_seg_max, 3) << c.name;
    EXPECT_EQ(result.row.off, k2027 + c.gap) << c.name;
    EXPECT_EQ(result.row.off_seq, 5) << c.name;
    EXPECT_TRUE(result.worth_a_commit) << c.name;
    EXPECT_EQ(credited_due(result, kDay, 3), c.credited ? kDay - c.gap : kDay) << c.name;
    EXPECT_EQ(credited_due(result, kDay, 4), kDay) << c.name;
  }
}

TEST(ClockSync, FirstEver_CreditsNothing) {
  ClockRow row = adopt(ClockRow(), at(0, 1)).row;
  const SyncResult result = sync(row, synced_at(kMinute, k2040), SyncLimits());
  EXPECT_TRUE(result.changed);
  EXPECT_TRUE(result.worth_a_commit);
  EXPECT_FALSE(result.credited || result.refused);
  EXPECT_EQ(result.row.off, k2040 - kMinute);
}

// Rules: T3.
TEST(ClockSync, SameBoot_MovesTheOffsetAlone) {
  const ClockRow row = row_of_boot_3();
  const Ms wall = k2027 + pawl_time(row, kMinute);
  for (const Ms step : {Ms{-1000}, Ms{0}, Ms{1}, 10 * kHour, -400 * kDay + k2040 - k2027}) {
    const SyncResult result = sync(row, synced_at(kMinute, wall + step), SyncLimits());
    EXPECT_FALSE(result.credited || result.refused);
    EXPECT_EQ(result.step, step);
    EXPECT_EQ(result.changed, step != 0);
    EXPECT_EQ(result.worth_a_commit, step >= kStepMs || step <= -kStepMs);
    EXPECT_EQ(result.row.off, k2027 + step);
    EXPECT_EQ(result.row.k, row.k);
  }
}

// Rules: T3.
TEST(ClockSync, UntrustedWall_ChangesNothing) {
  ClockRow row = row_of_boot_3();
  row.boot_seq = 4;
  for (const Ms wall : {Ms{0}, k2000, kBuildDateMs - 1, kWallMsEnd, kNever}) {
    EXPECT_FALSE(sync(row, synced_at(0, wall), SyncLimits()).changed) << wall;
  }
  ClockSample unsynced = synced_at(0, k2040);
  unsynced.synced = false;
  EXPECT_FALSE(sync(row, unsynced, SyncLimits()).changed);
  EXPECT_FALSE(sync(ClockRow(), synced_at(0, k2040), SyncLimits()).changed);  // not adopted
  for (const Ms wall : {kBuildDateMs, k2040, k2099, kWallMsEnd - 1}) {
    EXPECT_TRUE(sync(row, synced_at(0, wall), SyncLimits()).changed) << wall;
  }
}

// Rules: T10.
TEST(ClockSync, CouldHelp_OnlyWhatCanGain) {
  ClockRow row = row_of_boot_3();
  EXPECT_FALSE(sync_could_help(row, 1, true));  // synced in this boot
  row.boot_seq = 4;
  EXPECT_TRUE(sync_could_help(row, 3, false));
  EXPECT_FALSE(sync_could_help(row, 4, false));
  EXPECT_FALSE(sync_could_help(row, kNever, false));
  EXPECT_TRUE(sync_could_help(row, kNever, true));
  row.off_known = false;
  EXPECT_FALSE(sync_could_help(row, 1, false));
  EXPECT_TRUE(sync_could_help(row, 1, true));
}

// Rules: T10.
TEST(ClockSync, Looks_DoubleUpTo300Seconds) {
  Ms wait = 0;
  for (const Ms expected : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}) {
    wait = next_sync_look_ms(wait);
    EXPECT_EQ(wait, expected * kSecond);
  }
}

// ---- due and stamps (T4, T5, T9) ----

// Rules: T4.
TEST(ClockDue, Bases) {
  ClockRow row = row_of_boot_3();
  EXPECT_TRUE(due(TimeBase::kPawl, 100, row, 100));
  EXPECT_FALSE(due(TimeBase::kPawl, 101, row, 100));
  EXPECT_TRUE(due(TimeBase::kUtc, k2027 + 100, row, 100));
  EXPECT_FALSE(due(TimeBase::kUtc, k2027 + 101, row, 100));
  EXPECT_EQ(due_in_pawl_time(TimeBase::kPawl, 100, row), 100);
  EXPECT_EQ(due_in_pawl_time(TimeBase::kUtc, k2027 + 100, row), 100);
  row.off_known = false;
  EXPECT_FALSE(due(TimeBase::kUtc, 0, row, kNever));
  EXPECT_EQ(due_in_pawl_time(TimeBase::kUtc, 0, row), kNever);
  EXPECT_EQ(boot_time(row, kNever), kNever);
  EXPECT_EQ(boot_time(row, row.mark), 100 * kSecond);
}

// Rules: T5.
TEST(ClockDue, Make_SaturatesAndNeverFires) {
  EXPECT_EQ(make_due(100, 5), 105);
  EXPECT_EQ(make_due(100, 0), 100);
  EXPECT_EQ(make_due(100, -5), 100);
  EXPECT_EQ(make_due(100, kNever), kNever);
  EXPECT_FALSE(due(TimeBase::kPawl, kNever, row_of_boot_3(), kNever));
}

// Rules: T9.
TEST(ClockStamp, Qualities) {
  ClockRow row = row_of_boot_3();
  ClockSample sample = at(5 * kSecond, 1);
  sample.wall_ms = 42;
  EXPECT_EQ(stamp(row, sample).utc_ms, k2027 + 1005 * kSecond);
  EXPECT_EQ(stamp(row, sample).quality, StampQuality::kSynced);
  row.boot_seq = 4;
  EXPECT_EQ(stamp(row, sample).quality, StampQuality::kEstimated);
  row.off_known = false;
  EXPECT_EQ(stamp(row, sample).quality, StampQuality::kUnset);
  EXPECT_EQ(stamp(row, sample).utc_ms, 42);
}

// ---- cases of several boots ----

class ClockCase : public testing::TestWithParam<Ms> {
 protected:
  ~ClockCase() override { expect_clean(world_); }
  Ms late(int item, Ms true_due) const { return world_.fired_at(item) - true_due; }

  World world_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Years, ClockCase, testing::Values(k2027, k2040, k2040 + 3650 * kDay));

TEST_P(ClockCase, SyncASecondBeforeAfterAndBetweenTwoMakes) {
  world_.boot();
  const int before = world_.make(10 * kHour);
  world_.run(kSecond);
  world_.sync_to_truth();
  world_.step_notice();
  world_.run(kSecond);
  const int after = world_.make(10 * kHour);
  world_.run(kMinute);
  world_.make(kDay);  // a commit that carries a mark
  world_.cut();
  world_.off(3 * kHour);
  world_.set_synced(false);
  world_.boot();
  const int second_before = world_.make(kHour);
  world_.run(kSecond);
  world_.sync_to_truth();
  world_.step_notice();
  world_.run(kSecond);
  const int second_after = world_.make(kHour);
  const Ms booted = world_.truth() - 2 * kSecond;
  EXPECT_EQ(world_.credits_, 1);
  world_.run(kDay);
  // Timers made in the first boot, before its sync or after, fire on time in spite of the cut.
  const Ms first_boot = GetParam();
  EXPECT_LE(late(before, first_boot + 10 * kHour), 1);
  EXPECT_LE(late(after, first_boot + 10 * kHour + 2 * kSecond), 1);
  // Timers made in the second boot get no credit for a gap before they were made.
  EXPECT_EQ(late(second_before, booted + kHour), 0);
  EXPECT_EQ(late(second_after, booted + kHour + 2 * kSecond), 0);
}

// Rules: T3.
TEST_P(ClockCase, TwoCutsWithAnUnsyncedBootBetween) {
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const int whole = world_.make(10 * kHour);
  world_.cut();
  world_.off(2 * kHour);
  world_.set_synced(false);
  world_.set_wall(k2000);
  world_.boot();
  const int none = world_.make(10 * kHour);
  const Ms none_due = world_.truth() + 10 * kHour;
  world_.run(kMinute);
  world_.cut();
  world_.off(3 * kHour);
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  world_.run(2 * kDay);
  EXPECT_LE(late(whole, GetParam() + 10 * kHour), 1);
  // How the five hours split between the two cuts is unknown: no credit, so it is late by the
  // second gap.
  EXPECT_GE(late(none, none_due), 3 * kHour);
  EXPECT_LE(late(none, none_due), 3 * kHour + kMinute);
}

TEST_P(ClockCase, CutBetweenAdoptionAndSync_CreditsBothGapsLater) {
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const int item = world_.make(10 * kHour);
  world_.cut();
  world_.off(kHour);
  world_.set_synced(false);
  world_.boot();  // adopted, not synced
  world_.cut();
  world_.off(kHour);
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  world_.run(kDay);
  EXPECT_EQ(world_.credits_, 1);
  EXPECT_LE(late(item, GetParam() + 10 * kHour), 1);
}

// Rules: T3.
TEST_P(ClockCase, CutInTheMiddleOfTheCredit_CreditsOnce) {
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const int item = world_.make(10 * kHour);
  world_.cut();
  world_.off(kHour);
  world_.set_synced(false);
  world_.boot();
  world_.sync_to_truth();
  world_.lose_next_commit();
  world_.step_notice();  // the credit is computed, then lost with its transaction
  EXPECT_EQ(world_.credits_, 0);
  world_.cut();
  world_.off(kHour);
  world_.boot();
  world_.run(kDay);
  EXPECT_EQ(world_.credits_, 1);
  EXPECT_LE(late(item, GetParam() + 10 * kHour), 1);
}

TEST_P(ClockCase, TwoProcessesSyncingAtOnce_OneCredit) {
  world_.processes_.resize(3);
  world_.processes_[2].blind = true;
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const int item = world_.make(10 * kHour);
  world_.cut();
  world_.off(kHour);
  world_.boot();  // all three processes see the synchronised flag at their first look
  world_.restart_process(0);
  EXPECT_EQ(world_.credits_, 1);
  world_.run(kDay);
  EXPECT_LE(late(item, GetParam() + 10 * kHour), 1);
}

TEST_P(ClockCase, OnFor60SecondsATime_200Times) {
  world_.boot(5 * kSecond);
  const int item = world_.make(kHour);
  for (int i = 0; i < 200 && !world_.fired(item); ++i) {
    world_.run(55 * kSecond);
    world_.cut();
    world_.off(kHour);
    world_.boot(5 * kSecond);
  }
  EXPECT_TRUE(world_.fired(item));
}

TEST_P(ClockCase, FirstBootIn1970_FirstSyncMuchLater) {
  world_.set_wall(0);
  world_.boot();
  const int duration = world_.make(kHour);
  const int past = world_.make_at(GetParam() - kDay);
  const int future = world_.make_at(GetParam() + 2 * kDay);
  const Ms made = world_.truth();
  world_.run(kDay);
  EXPECT_EQ(late(duration, made + kHour), 0);
  EXPECT_FALSE(world_.fired(past));  // UTC timers wait for an offset: off_known says so
  EXPECT_FALSE(world_.row_.off_known);
  world_.sync_to_truth();
  world_.step_notice();
  EXPECT_EQ(world_.fired_at(past), world_.truth());
  EXPECT_EQ(world_.credits_, 0);
  world_.run(3 * kDay);
  EXPECT_EQ(late(future, GetParam() + 2 * kDay), 0);
}

// Rules: T10.
TEST_P(ClockCase, SyncWithoutNotice_IsSeenByTheLooks) {
  world_.boot();
  const int item = world_.make_at(GetParam() + kHour);
  world_.run(10 * kMinute);
  world_.sync_to_truth();  // without a notice of the step
  world_.run(kDay);
  EXPECT_EQ(late(item, GetParam() + kHour), 0);
}

TEST_P(ClockCase, DeadRtc2000AndRtc2099_InfluenceNothing) {
  for (const Ms wall : {k2000, k2099}) {
    world_.set_wall(wall);
    world_.boot();
    const Ms made = world_.truth();
    const int item = world_.make(kHour);
    const int utc = world_.make_at(made - kDay);
    world_.run(2 * kHour);
    EXPECT_EQ(late(item, made + kHour), 0);
    EXPECT_FALSE(world_.fired(utc));
    world_.cut();
    world_.off(kHour);
  }
}

TEST_P(ClockCase, DeadRtcCalledSynchronised_IsRefusedByItsDate) {
  world_.set_wall(k2000);
  world_.set_synced(true);
  world_.boot();
  world_.make_at(k2000);
  world_.run(kHour);
  EXPECT_FALSE(world_.row_.off_known);
  EXPECT_EQ(world_.firings_, 0);
}

TEST_P(ClockCase, RtcOf2099CalledSynchronised_SpendsItsCreditOnARefusal) {
  world_.lies_ = true;
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const Ms made = world_.truth();
  const int item = world_.make(10 * kHour);
  world_.cut();
  world_.off(kHour);
  world_.set_wall(k2099);
  world_.boot();
  EXPECT_EQ(world_.refusals_, 1);
  world_.run(kDay);
  EXPECT_EQ(late(item, made + 10 * kHour), kHour);  // late by the gap; neither early nor never
}

TEST_P(ClockCase, LeapSecond_MovesUtcAlone) {
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const Ms made = world_.truth();
  const int duration = world_.make(kHour);
  world_.error_max_ = kSecond;
  world_.sync_to_truth(-kSecond);  // the wall repeats a second
  world_.step_notice();
  EXPECT_EQ(world_.row_.off, made - kSecond - pawl_time(world_.row_, world_.boot_ms()));
  world_.run(kDay);
  EXPECT_EQ(late(duration, made + kHour), 0);
  EXPECT_EQ(world_.credits_, 0);
}

TEST_P(ClockCase, SyncLostAndRegainedWithAnotherTime) {
  world_.error_max_ = 10 * kSecond;
  world_.boot();
  world_.sync_to_truth(-10 * kSecond);
  world_.step_notice();
  const Ms made = world_.truth();
  const int duration = world_.make(kHour);
  const int utc = world_.make_at(made + 2 * kHour);
  world_.set_synced(false);
  world_.set_wall(k2099);
  world_.step_notice();
  world_.run(kMinute);
  EXPECT_EQ(world_.row_.off, made - 10 * kSecond);  // losing the sync changes nothing
  world_.sync_to_truth();
  world_.step_notice();
  EXPECT_EQ(world_.row_.off, made);
  world_.run(kDay);
  EXPECT_EQ(late(duration, made + kHour), 0);
  EXPECT_EQ(late(utc, made + 2 * kHour), 0);
  EXPECT_EQ(world_.credits_ + world_.refusals_, 0);
}

TEST_P(ClockCase, UnsyncedSteps_FireNothingAndDelayNothing) {
  world_.boot();
  const Ms made = world_.truth();
  const int item = world_.make(10 * kHour);
  for (const Ms wall : {Ms{0}, k2099, made, made + 400 * kDay, k2000}) {
    world_.set_wall(wall);
    world_.step_notice();
    world_.run(kHour);
    EXPECT_FALSE(world_.fired(item));
  }
  world_.run(kDay);
  EXPECT_EQ(late(item, made + 10 * kHour), 0);
}

// Rules: T4.
TEST_P(ClockCase, FiringOrderOfOneLook) {
  world_.boot();
  world_.sync_to_truth();
  world_.step_notice();
  const Ms made = world_.truth();
  const int later = world_.make(3 * kHour);
  const int utc = world_.make_at(made + 2 * kHour);
  const int first = world_.make(kHour);
  world_.cut();
  world_.off(kDay);
  world_.boot();
  // All three fire at the first look, each by its own time base; none is early.
  EXPECT_EQ(world_.fired_at(first), world_.truth());
  EXPECT_EQ(world_.fired_at(utc), world_.truth());
  EXPECT_EQ(world_.fired_at(later), world_.truth());
}

// A machine's snapshot is restored, but its database file is newer: no time of the second life
// counts twice.
// Rules: T1.
TEST(ClockCases, SnapshotPutBack_GoesOnFromTheMark) {
  ClockRow row = row_of_boot_3();
  row.mark = 1000 * kSecond + kDay;  // mark at one day up; snapshot at 100 s up
  const AdoptResult result = adopt(row, at(100 * kSecond, 1));
  EXPECT_EQ(result.kind, Adoption::kNewBoot);
  EXPECT_EQ(pawl_time(result.row, 100 * kSecond), row.mark);
  EXPECT_EQ(pawl_time(result.row, 160 * kSecond), row.mark + kMinute);
  // A sync then credits the time between the mark and now, as after any cut.
  const Ms wall = k2027 + row.mark + 5 * kHour;
  const SyncResult synced = sync(result.row, synced_at(100 * kSecond, wall), SyncLimits());
  EXPECT_TRUE(synced.credited);
  EXPECT_EQ(synced.gap, 5 * kHour);
  EXPECT_EQ(synced.credit_seg_max, 3);
}

// With unknown ids a boot may go unnoticed. A timer made in that boot has the number of the boot
// before, and must not get credit for the gap between the two.
// Rules: T1.
TEST(ClockCases, UnknownIds_AnUnnoticedBootGetsNoCredit) {
  World world(k2027);
  world.processes_.front().knows_id = false;
  world.boot();
  world.sync_to_truth();
  world.step_notice();
  const int oldest = world.make(40 * kHour);
  world.run(kMinute);
  world.cut();
  world.off(5 * kHour);
  world.set_synced(false);
  world.set_wall(k2000);
  world.boot(2 * kMinute);  // already beyond the mark: taken for the same boot
  EXPECT_EQ(world.row_.boot_seq, 1);
  const Ms made = world.truth();
  const int item = world.make(10 * kHour);
  world.run(kHour);
  world.cut();
  world.off(kHour);
  world.boot();
  EXPECT_EQ(world.row_.boot_seq, 2);
  world.sync_to_truth();
  world.step_notice();
  world.run(5 * kDay);
  EXPECT_GE(world.fired_at(item), made + 10 * kHour);
  EXPECT_TRUE(world.fired(oldest));
  expect_clean(world);
}

}  // namespace
}  // namespace pawl
