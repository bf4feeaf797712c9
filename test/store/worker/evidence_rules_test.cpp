// Evidence as a table: what proves, or lets one suspect, that an incarnation is gone, and from
// what time.
#include "store/worker/evidence_rules.hpp"

#include <gtest/gtest.h>

#include <map>

namespace pawl {
namespace {

constexpr Incarnation kMe = 1;
constexpr Incarnation kOther = 2;
constexpr std::int64_t kBoot = 3;
constexpr std::int64_t kInterval = 25'000;

// A machine on which only the worker locks matter.
class Locks final : public port::Storage {
 public:
  std::map<Incarnation, port::Held> held;
  int tests = 0;

  port::Held worker_test(const char*, std::int64_t incarnation) override {
    ++tests;
    const auto found = held.find(incarnation);
    return found == held.end() ? port::Held::kFree : found->second;
  }

  const char* native_vfs() const override { return "none"; }
  Result<port::FileHandle> open(const char*, OpenMode) override { return Status::kUnsupported; }
  Status close(port::FileHandle) override { return Status::kUnsupported; }
  Result<std::size_t> read(port::FileHandle, void*, std::size_t, std::int64_t) override {
    return Status::kUnsupported;
  }
  Status write(port::FileHandle, const void*, std::size_t, std::int64_t) override {
    return Status::kUnsupported;
  }
  Status truncate(port::FileHandle, std::int64_t) override { return Status::kUnsupported; }
  Status sync(port::FileHandle) override { return Status::kUnsupported; }
  Result<std::int64_t> size(port::FileHandle) override { return Status::kUnsupported; }
  Status remove(const char*) override { return Status::kUnsupported; }
  Result<bool> exists(const char*) override { return Status::kUnsupported; }
  Status lock(port::FileHandle, int) override { return Status::kUnsupported; }
  Status unlock(port::FileHandle, int) override { return Status::kUnsupported; }
  Result<bool> reserved(port::FileHandle) override { return Status::kUnsupported; }
  Status shm_map(port::FileHandle, int, std::size_t, bool, void volatile**) override {
    return Status::kUnsupported;
  }
  Status shm_lock(port::FileHandle, int, int, bool, bool) override { return Status::kUnsupported; }
  void shm_barrier(port::FileHandle) override {}
  Status shm_unmap(port::FileHandle, bool) override { return Status::kUnsupported; }
  Status create_whole(const char*, const void*, std::size_t) override {
    return Status::kUnsupported;
  }
  Status allocate(const char*, std::int64_t) override { return Status::kUnsupported; }
  Status check_place(const char*, Diagnostic&) override { return Status::kOk; }
  Result<std::int64_t> free_bytes(const char*) override { return Status::kUnsupported; }
  Result<WorkerFile> worker_create(const char*, std::int64_t, std::size_t) override {
    return Status::kUnsupported;
  }
  void worker_close(const char*, std::int64_t, WorkerFile) override {}
  std::size_t worker_notes(const char*, std::int64_t, std::size_t, void*, std::size_t) override {
    return 0;
  }
  void worker_remove(const char*, std::int64_t) override {}
  void ring(const char*) override {}
};

class EvidenceRules : public ::testing::Test {
 protected:
  // Ticks once a second up to `until`, like an undisturbed runtime that watches something.
  void run_until(std::int64_t until) {
    while (now_ < until) {
      now_ = now_ + 1'000 < until ? now_ + 1'000 : until;
      evidence_.observe_tick(now_);
    }
  }
  static Claim claim_until(std::int64_t until) {
    Claim claim;
    claim.holder = kOther;
    claim.locked_until = until;
    claim.boot_seq = kBoot;
    claim.subject = 7;
    claim.version = 11;
    return claim;
  }
  Gone ask(const Claim& claim) { return evidence_.gone(claim, kMe, now_, kBoot); }

  Locks locks_;
  FixedVector<Evidence::Seen, 256> seen_;
  Evidence evidence_{locks_, "db", Evidence::Options(), seen_};
  std::int64_t now_ = 0;
};

TEST_F(EvidenceRules, me_is_never_gone_for_itself) {
  run_until(100'000);
  Claim claim = claim_until(0);
  claim.holder = kMe;
  claim.buried = true;
  claim.boot_seq = kBoot - 1;
  EXPECT_EQ(ask(claim), Gone::kNo);
}

// Rules: S47.1.
TEST_F(EvidenceRules, a_burial_is_proof_whatever_the_lease_and_lock) {
  locks_.held[kOther] = port::Held::kHeld;
  Claim claim = claim_until(1'000'000);
  claim.buried = true;
  EXPECT_EQ(ask(claim), Gone::kProof);
}

// Rules: S47.2.
TEST_F(EvidenceRules, an_earlier_boot_is_proof) {
  locks_.held[kOther] = port::Held::kHeld;
  Claim claim = claim_until(1'000'000);
  claim.boot_seq = kBoot - 1;
  EXPECT_EQ(ask(claim), Gone::kProof);
}

// Rules: S47.3.
TEST_F(EvidenceRules, a_free_lock_is_proof_at_once) {
  EXPECT_EQ(ask(claim_until(1'000'000)), Gone::kProof);
}

// Rules: S47.
TEST_F(EvidenceRules, a_held_lock_within_its_lease_is_no_evidence) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(200'000);
  EXPECT_EQ(ask(claim_until(200'001)), Gone::kNo);
  EXPECT_FALSE(evidence_.watching());
}

// Rules: S47.4.
TEST_F(EvidenceRules, without_a_testable_lock_the_lease_counts_after_one_interval_of_running) {
  struct Case {
    const char* name;
    bool visible;
    port::Held held;
  };
  const Case cases[] = {{"the holder hides its lock", false, port::Held::kHeld},
                        {"the observer cannot test", true, port::Held::kUntestable}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    locks_.held[kOther] = one.held;
    evidence_.observe_tick(now_ += 20'000);  // overslept: the interval starts here
    Claim claim = claim_until(now_);
    claim.lock_visible = one.visible;
    const std::int64_t start = now_;
    run_until(start + kInterval - 1);
    EXPECT_EQ(ask(claim), Gone::kNo);
    run_until(start + kInterval);
    EXPECT_EQ(ask(claim), Gone::kSuspicion);
    claim.locked_until = now_ + 1;
    EXPECT_EQ(ask(claim), Gone::kNo);
  }
}

TEST_F(EvidenceRules, fast_handoff_off_leaves_the_lease_alone) {
  Evidence::Options options;
  options.fast_handoff = false;
  FixedVector<Evidence::Seen, 1> seen;
  Evidence evidence(locks_, "db", options, seen);
  for (std::int64_t now = 0; now <= 40'000; now += 10'000)
    evidence.observe_tick(now);
  EXPECT_EQ(evidence.gone(claim_until(40'001), kMe, 40'000, kBoot), Gone::kNo);
  EXPECT_EQ(evidence.gone(claim_until(40'000), kMe, 40'000, kBoot), Gone::kSuspicion);
  EXPECT_EQ(locks_.tests, 0);
}

// Rules: S47.5.
TEST_F(EvidenceRules, a_held_lock_is_suspect_after_one_interval_of_observation) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(100'000);
  const Claim claim = claim_until(50'000);
  EXPECT_EQ(ask(claim), Gone::kNo);  // first seen now; how long ago it expired does not count
  EXPECT_TRUE(evidence_.watching());
  run_until(100'000 + kInterval - 1);
  EXPECT_EQ(ask(claim), Gone::kNo);
  run_until(100'000 + kInterval);
  EXPECT_EQ(ask(claim), Gone::kSuspicion);
}

TEST_F(EvidenceRules, another_epoch_is_another_observation) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(1'000);
  Claim claim = claim_until(0);
  EXPECT_EQ(ask(claim), Gone::kNo);
  run_until(1'000 + kInterval);
  claim.version = 12;
  EXPECT_EQ(ask(claim), Gone::kNo);
}

// Rules: S47.6.
TEST_F(EvidenceRules, an_observer_that_overslept_starts_anew) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(1'000);
  const Claim claim = claim_until(0);
  EXPECT_EQ(ask(claim), Gone::kNo);
  run_until(20'000);
  evidence_.observe_tick(now_ += 12'001);
  EXPECT_FALSE(evidence_.watching());
  EXPECT_EQ(ask(claim), Gone::kNo);
  const std::int64_t start = now_;
  run_until(start + kInterval - 1);
  EXPECT_EQ(ask(claim), Gone::kNo);
  run_until(start + kInterval);
  EXPECT_EQ(ask(claim), Gone::kSuspicion);
}

TEST_F(EvidenceRules, a_gap_of_exactly_twelve_seconds_is_no_oversleep) {
  locks_.held[kOther] = port::Held::kHeld;
  evidence_.observe_tick(0);
  const Claim claim = claim_until(0);
  EXPECT_EQ(ask(claim), Gone::kNo);
  for (int i = 0; i < 3; ++i)
    evidence_.observe_tick(now_ += 12'000);
  EXPECT_EQ(ask(claim), Gone::kSuspicion);
}

TEST_F(EvidenceRules, an_observer_that_never_ticked_suspects_no_worker) {
  locks_.held[kOther] = port::Held::kUntestable;
  now_ = 1'000'000;
  EXPECT_EQ(ask(claim_until(0)), Gone::kNo);
}

TEST_F(EvidenceRules, what_is_not_asked_about_is_forgotten) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(1'000);
  EXPECT_EQ(ask(claim_until(0)), Gone::kNo);
  run_until(1'000 + 4 * kInterval);
  EXPECT_TRUE(evidence_.watching());
  run_until(1'001 + 4 * kInterval);
  EXPECT_FALSE(evidence_.watching());
}

TEST_F(EvidenceRules, a_full_table_delays_and_never_errs) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(1'000);
  for (std::int64_t i = 0; i < 300; ++i) {
    Claim claim = claim_until(0);
    claim.subject = i;
    EXPECT_EQ(ask(claim), Gone::kNo);
  }
  run_until(1'000 + kInterval);
  int suspected = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    Claim claim = claim_until(0);
    claim.subject = i;
    suspected += ask(claim) == Gone::kSuspicion ? 1 : 0;
  }
  EXPECT_EQ(suspected, 256);
}

// A lease that was renewed after it had been seen expired is a new lease, though the session's
// epoch is the same.
// Rules: S47.5.
TEST_F(EvidenceRules, the_interval_begins_anew_with_a_renewed_lease) {
  locks_.held[kOther] = port::Held::kHeld;
  run_until(100'000);
  EXPECT_EQ(ask(claim_until(90'000)), Gone::kNo);  // seen expired for the first time
  run_until(100'000 + kInterval - 1);
  EXPECT_EQ(ask(claim_until(90'000)), Gone::kNo);
  const std::int64_t renewed_until = now_ + 5'000;
  EXPECT_EQ(ask(claim_until(renewed_until)), Gone::kNo);
  run_until(renewed_until);
  EXPECT_EQ(ask(claim_until(renewed_until)), Gone::kNo);
  run_until(renewed_until + kInterval - 1);
  EXPECT_EQ(ask(claim_until(renewed_until)), Gone::kNo);
  run_until(renewed_until + kInterval);
  EXPECT_EQ(ask(claim_until(renewed_until)), Gone::kSuspicion);
}

}  // namespace
}  // namespace pawl
