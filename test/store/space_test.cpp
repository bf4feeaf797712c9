// Goal: over the quota or without the reserve only new work and messages are refused; completed
// instances are removed oldest first, in bounded transactions.
#include "store_world.hpp"

namespace pawl::test {
namespace {

constexpr std::int64_t kMebi = 1024 * 1024;

class SpaceContract : public OpenStore {
 protected:
  Status set_quota_and_reserve(Site& by, std::optional<std::int64_t> quota,
                               std::optional<std::int64_t> reserve) {
    return batch(by, [&] { return by->place().set_quota_and_reserve(quota, reserve); });
  }
  Status try_create(Site& by, const std::string& id) {
    NewInstance instance;
    instance.id = id;
    instance.name = "irrigate";
    InstanceKey key = 0;
    return batch(by, [&] { return by->instance().deliveries.start_orchestration(instance, &key); });
  }
  Status try_message(Site& by, const std::string& id) {
    NewMessage posted;
    posted.id = id;
    posted.kind = MessageKind::kQueue;
    posted.name = "q";
    posted.count_max = posted.bytes_max = 100;
    bool room = false;
    return batch(by, [&] { return by->instance().deliveries.send_message(posted, &room); });
  }
  // Makes instances that end one after the other, with a millisecond between them.
  void end_many(Site& by, int count) {
    for (int i = 0; i < count; ++i) {
      clock.advance(1);
      end(by, create(by, "e" + std::to_string(i)), EndKind::kCompleted);
    }
  }
  Removed remove(Site& by, std::size_t events_max) {
    Removed removed;
    must_batch(by, [&] { return by->instance().removal.remove_oldest(events_max, &removed); });
    return removed;
  }
  bool is_there(const std::string& id) {
    return raw_number("SELECT count(*) FROM instances WHERE id='" + id + "'") == 1;
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, SpaceContract, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

TEST_P(SpaceContract, OverTheQuotaNothingNewIsTaken) {
  const InstanceKey running = create(at, "running");
  SpaceUse use;
  ASSERT_EQ(at->place().read_use(&use), Status::kOk);
  EXPECT_GT(use.used_bytes, 0);
  EXPECT_GT(use.log_bytes, 0);
  ASSERT_EQ(set_quota_and_reserve(at, use.total(), 0), Status::kOk);
  // The log counts too, and setting the quota has written to it.
  EXPECT_EQ(try_create(at, "new"), Status::kQuota);
  EXPECT_NE(at->diagnostic().text().find(std::to_string(use.total())), std::string_view::npos)
      << at->diagnostic().text();
  EXPECT_EQ(try_message(at, "running"), Status::kQuota);
  EXPECT_EQ(try_message(at, "nobody"), Status::kNotFound);
  EXPECT_EQ(try_create(at, "running"), Status::kAlreadyExists);
  Metrics metrics;
  ASSERT_EQ(at->instance().directory.get_metrics(&metrics), Status::kOk);
  EXPECT_TRUE(metrics.refuses_new);
  EXPECT_EQ(metrics.quota_bytes, use.total());
  // Another process learns of the quota by its next transaction.
  Site& other = site();
  EXPECT_EQ(try_create(other, "new"), Status::kQuota);
  EXPECT_EQ(touch(other).quota_bytes, use.total());
  // Running instances are not limited.
  cancel(at, "running");
  end(at, running, EndKind::kCompleted);
  ASSERT_EQ(at->place().empty_log(), Status::kOk);
  ASSERT_EQ(at->place().read_use(&use), Status::kOk);
  EXPECT_EQ(use.log_bytes, 0);
  EXPECT_EQ(try_create(at, "new"), Status::kOk) << at->diagnostic().text();
  EXPECT_EQ(set_quota_and_reserve(at, 0, std::nullopt), Status::kOk);
  ASSERT_EQ(at->instance().directory.get_metrics(&metrics), Status::kOk);
  EXPECT_FALSE(metrics.refuses_new);
}

TEST_P(SpaceContract, WithoutTheReserveNothingNewIsTakenUnlessPagesAreFree) {
  create(at, "running");
  ASSERT_EQ(set_quota_and_reserve(at, std::nullopt, kMebi), Status::kOk);
  EXPECT_TRUE(at->place().reserve_missing().value());
  EXPECT_EQ(try_create(at, "new"), Status::kQuota);
  EXPECT_EQ(try_message(at, "running"), Status::kQuota);
  ASSERT_EQ(at->place().make_reserve(kMebi), Status::kOk);
  ASSERT_EQ(at->place().make_reserve(kMebi), Status::kOk) << "it is there";
  EXPECT_FALSE(at->place().reserve_missing().value());
  EXPECT_EQ(try_create(at, "new"), Status::kOk);
  EXPECT_EQ(try_message(at, "running"), Status::kOk);
  ASSERT_EQ(at->place().release_reserve(), Status::kOk);
  ASSERT_EQ(at->place().release_reserve(), Status::kOk) << "it is gone";
  EXPECT_EQ(try_create(at, "newer"), Status::kQuota);
  // The free pages of a removed table count as room.
  raw("CREATE TABLE filler(bytes); INSERT INTO filler VALUES(zeroblob(1100000))");
  raw("DROP TABLE filler");
  SpaceUse use;
  ASSERT_EQ(at->place().read_use(&use), Status::kOk);
  ASSERT_GE(use.free_bytes, kMebi);
  EXPECT_EQ(try_create(at, "newer"), Status::kOk) << at->diagnostic().text();
  ASSERT_EQ(set_quota_and_reserve(at, std::nullopt, 0), Status::kOk);
  EXPECT_FALSE(at->place().reserve_missing().value()) << "there is to be none";
}

TEST_P(SpaceContract, TheOldestGoFirstAndBounded) {
  create(at, "running");
  end_many(at, 40);
  const Removed first = remove(at, 64);
  EXPECT_GT(first.instances, 0);
  EXPECT_LT(first.instances, 10);
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(is_there("e" + std::to_string(i)), i >= first.instances) << i;
  std::int64_t instances = first.instances;
  for (Removed more = remove(at, 64); more.instances > 0; more = remove(at, 64)) {
    EXPECT_LT(more.instances, 10);
    instances += more.instances;
  }
  EXPECT_EQ(instances, 40);
  EXPECT_TRUE(is_there("running"));
}

TEST_P(SpaceContract, EndedTreesGoBeforeEarlierExecutions) {
  const InstanceKey eternal = create(at, "eternal");
  for (int i = 0; i < 3; ++i) {
    clock.advance(1);
    end(at, eternal, EndKind::kContinuedAsNew, {5});
  }
  end_many(at, 1);
  const Removed trees = remove(at, 100);
  EXPECT_EQ(trees.instances, 1);
  EXPECT_EQ(trees.events, 2);
  const Removed past = remove(at, 100);
  EXPECT_EQ(past.instances, 0);
  EXPECT_EQ(past.executions, 3);
  EXPECT_TRUE(is_there("eternal"));
  const Removed nothing = remove(at, 100);
  EXPECT_EQ(nothing.instances + nothing.executions + nothing.events, 0);
}

TEST_P(SpaceContract, ALogThatIsReadIsNotWaitedFor) {
  Site& reader = site();
  ASSERT_EQ(reader->batch().begin_read(), Status::kOk);
  create(at, "a");
  EXPECT_EQ(at->place().empty_log(), Status::kBusy);
  reader->batch().end_read();
  EXPECT_EQ(at->place().empty_log(), Status::kOk);
}

}  // namespace
}  // namespace pawl::test
