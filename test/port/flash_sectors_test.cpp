// Sectors and files on a NOR flash whose power fails at each operation in turn.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "nor_flash_sim.hpp"
#include "port/bare_metal/flash_files.hpp"
#include "port/bare_metal/flash_sectors.hpp"

namespace pawl::port_test {
namespace {

using bare_metal::FilePlace;
using bare_metal::FlashFiles;
using bare_metal::FlashSectors;
using bare_metal::kSectorBytes;
using Bytes = std::array<std::uint8_t, kSectorBytes>;

// Small: 11 blocks of 3 slots, so that most writes copy and erase.
constexpr std::uint32_t kBlockBytes = 4'096;
constexpr std::uint32_t kBlockCount = FlashSectors::kBlocksMin;

Bytes filled(std::uint32_t with) {
  Bytes bytes;
  std::mt19937 random(with);
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>(random());
  return bytes;
}

class Mounted {
 public:
  explicit Mounted(NorFlashSim& flash)
      : memory_(FlashSectors::required_memory(flash.geometry()) / 8 + 1) {
    status_ = sectors_.mount(flash, memory_.data(), memory_.size() * 8, true, why_);
  }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] std::string why() const { return std::string(why_.text()); }
  FlashSectors& operator*() { return sectors_; }
  FlashSectors* operator->() { return &sectors_; }

 private:
  std::vector<std::uint64_t> memory_;
  FlashSectors sectors_;
  Diagnostic why_;
  Status status_;
};

// The expected values after a series of writes. After a cut write the old and the new value are
// right.
class Ledger {
 public:
  // False: the power failed.
  bool write(FlashSectors& sectors, std::uint32_t sector, std::uint32_t value) {
    maybe_ = {sector, value};
    if (sectors.write(sector, filled(value).data()) != Status::kOk) return false;
    written_[sector] = value;
    maybe_.reset();
    return true;
  }
  void check(FlashSectors& sectors, std::uint32_t sector) {
    Bytes bytes;
    const Status status = sectors.read(sector, bytes.data());
    const auto found = written_.find(sector);
    if (maybe_.has_value() && maybe_->first == sector && status == Status::kOk &&
        bytes == filled(maybe_->second)) {
      written_[sector] = maybe_->second;
    } else if (found == written_.end()) {
      EXPECT_EQ(status, Status::kNotFound) << "sector " << sector;
    } else {
      ASSERT_EQ(status, Status::kOk) << "sector " << sector;
      EXPECT_EQ(bytes, filled(found->second)) << "sector " << sector;
    }
  }
  void check_all(FlashSectors& sectors) {
    for (std::uint32_t sector = 0; sector < sectors.sector_count(); ++sector)
      check(sectors, sector);
    maybe_.reset();
  }

 private:
  std::map<std::uint32_t, std::uint32_t> written_;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> maybe_;
};

// Fills the flash, then writes the same sectors again in random order.
bool work(FlashSectors& sectors, Ledger& ledger, std::uint32_t seed, std::uint32_t writes) {
  std::mt19937 random(seed);
  for (std::uint32_t i = 0; i < writes; ++i) {
    const std::uint32_t count = sectors.sector_count();
    const std::uint32_t sector = i < count ? i : static_cast<std::uint32_t>(random()) % count;
    if (!ledger.write(sectors, sector, seed * 100'000 + i)) return false;
  }
  return true;
}

TEST(FlashSectors, AreReadAsTheyWereWrittenLast) {
  NorFlashSim flash(kBlockBytes, kBlockCount);
  Mounted sectors(flash);
  ASSERT_EQ(sectors.status(), Status::kOk) << sectors.why();
  Ledger ledger;
  ASSERT_TRUE(work(*sectors, ledger, 1, 500));
  ledger.check_all(*sectors);
  Mounted again(flash);
  ASSERT_EQ(again.status(), Status::kOk) << again.why();
  ledger.check_all(*again);
  EXPECT_EQ(again->sectors_in_use(), again->sector_count());
  EXPECT_EQ(flash.misuses(), 0U);
}

TEST(FlashSectors, PowerGoesAtEveryOperation) {
  constexpr std::uint32_t kWrites = 60;
  std::uint32_t last = 0;
  {
    NorFlashSim flash(kBlockBytes, kBlockCount);
    Mounted sectors(flash);
    Ledger ledger;
    ASSERT_TRUE(work(*sectors, ledger, 1, kWrites));
    last = flash.operations();
  }
  for (const Cut cut : kCuts) {
    for (std::uint32_t operation = 1; operation <= last; ++operation) {
      SCOPED_TRACE(std::to_string(operation) + " cut " + std::to_string(static_cast<int>(cut)));
      NorFlashSim flash(kBlockBytes, kBlockCount);
      Ledger ledger;
      flash.cut_at(operation, cut, operation);
      {
        Mounted sectors(flash);
        if (sectors.status() == Status::kOk) work(*sectors, ledger, 1, kWrites);
      }
      ASSERT_TRUE(flash.is_off());
      flash.power_on();
      Mounted again(flash);
      ASSERT_EQ(again.status(), Status::kOk) << again.why();
      ledger.check_all(*again);
      ASSERT_TRUE(work(*again, ledger, 2, 40));
      ledger.check_all(*again);
      if (HasFailure()) return;
    }
  }
}

// A supply that fails as soon as the flash is used: boot after boot fails at the same place.
TEST(FlashSectors, PowerGoesAgainAndAgain) {
  for (const Cut cut : kCuts) {
    NorFlashSim flash(kBlockBytes, kBlockCount);
    Ledger ledger;
    {
      Mounted sectors(flash);
      ASSERT_TRUE(work(*sectors, ledger, 1, 100));
    }
    for (std::uint32_t boot = 0; boot < 1'000; ++boot) {
      SCOPED_TRACE(std::to_string(boot) + " cut " + std::to_string(static_cast<int>(cut)));
      flash.cut_at(1 + boot % 7, cut, boot);
      {
        Mounted sectors(flash);
        if (sectors.status() == Status::kOk) work(*sectors, ledger, 2 + boot, 10);
      }
      flash.power_on();
      Mounted again(flash);
      ASSERT_EQ(again.status(), Status::kOk) << again.why();
      ledger.check_all(*again);
      if (HasFailure()) return;
    }
    Mounted sectors(flash);
    ASSERT_TRUE(work(*sectors, ledger, 5'000, 200)) << "there is no room left";
    ledger.check_all(*sectors);
  }
}

TEST(FlashSectors, DamagedBytes_AreNoticed) {
  NorFlashSim flash(kBlockBytes, kBlockCount);
  Mounted sectors(flash);
  const Bytes bytes = filled(1);
  ASSERT_EQ(sectors->write(3, bytes.data()), Status::kOk);
  for (std::size_t i = 0; i + kSectorBytes <= flash.bytes().size(); ++i) {
    if (std::memcmp(flash.bytes().data() + i, bytes.data(), kSectorBytes) != 0) continue;
    flash.bytes()[i + 100] ^= 4U;
    break;
  }
  Bytes got;
  EXPECT_EQ(sectors->read(3, got.data()), Status::kCorrupt);
}

TEST(FlashSectors, FlashOfSomethingElse_IsLeftAlone) {
  NorFlashSim flash(kBlockBytes, kBlockCount);
  std::fill(flash.bytes().begin(), flash.bytes().end(), std::uint8_t{7});
  std::vector<std::uint64_t> memory(FlashSectors::required_memory(flash.geometry()) / 8 + 1);
  FlashSectors sectors;
  Diagnostic why;
  EXPECT_EQ(sectors.mount(flash, memory.data(), memory.size() * 8, false, why),
            Status::kForeignDatabase);
  EXPECT_EQ(flash.operations(), 0U);
  EXPECT_EQ(sectors.mount(flash, memory.data(), 8, true, why), Status::kResourceExhausted);
}

TEST(FlashSectors, OtherGeometry_IsRefused) {
  NorFlashSim flash(kBlockBytes, 2 * kBlockCount);
  ASSERT_EQ(Mounted(flash).status(), Status::kOk);
  NorFlashSim larger(2 * kBlockBytes, kBlockCount);
  larger.bytes() = flash.bytes();
  Mounted sectors(larger);
  EXPECT_EQ(sectors.status(), Status::kUnsupported);
  EXPECT_NE(sectors.why().find("formatted as"), std::string::npos) << sectors.why();
  NorFlashSim few(kBlockBytes, kBlockCount - 1);
  EXPECT_EQ(Mounted(few).status(), Status::kUnsupported);
}

// The most erased block stays near the average: no block is spared, and none is worn alone.
TEST(FlashSectors, WritesOfOneSector_WearAllFreeBlocks) {
  NorFlashSim flash(kBlockBytes, kBlockCount);
  Mounted sectors(flash);
  for (std::uint32_t i = 0; i < 3'000; ++i)
    ASSERT_EQ(sectors->write(0, filled(i).data()), Status::kOk);
  EXPECT_LE(sectors->erases_max(), 3'000 / 3 / kBlockCount * 2);
}

// ---- files ----

class FlashFilesTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kLogSectors = 16;
  Status mount() {
    sectors_ = std::make_unique<Mounted>(flash_);
    Diagnostic why;
    return files_.mount(**sectors_, "t.db", kLogSectors, why);
  }
  std::string read_all(FilePlace place) {
    std::string text(static_cast<std::size_t>(files_.size(place)), 0);
    const Result<std::size_t> got = files_.read(place, &text[0], text.size(), 0);
    EXPECT_EQ(got.status(), Status::kOk);
    return text.substr(0, got.value_or(0));
  }
  NorFlashSim flash_{kBlockBytes, 24};
  std::unique_ptr<Mounted> sectors_;
  FlashFiles files_;
};

TEST_F(FlashFilesTest, KeepBytesAcrossABoot_OnlyWhatWasSynced) {
  ASSERT_EQ(mount(), Status::kOk);
  files_.create(FilePlace::kLog, "t.db-wal");
  const std::string first(1'500, 'a');
  const std::string second(1'500, 'b');
  ASSERT_EQ(files_.write(FilePlace::kLog, first.data(), first.size(), 0), Status::kOk);
  ASSERT_EQ(files_.sync(), Status::kOk);
  ASSERT_EQ(files_.write(FilePlace::kLog, second.data(), second.size(), 1'500), Status::kOk);
  EXPECT_EQ(read_all(FilePlace::kLog), first + second);
  ASSERT_EQ(mount(), Status::kOk);
  EXPECT_EQ(read_all(FilePlace::kLog), first);
}

TEST_F(FlashFilesTest, WhatWasCutOff_DoesNotComeBack) {
  ASSERT_EQ(mount(), Status::kOk);
  files_.create(FilePlace::kDatabase, "t.db");
  const std::string text(3'000, 'x');
  ASSERT_EQ(files_.write(FilePlace::kDatabase, text.data(), text.size(), 0), Status::kOk);
  ASSERT_EQ(files_.truncate(FilePlace::kDatabase, 1'100), Status::kOk);
  ASSERT_EQ(files_.write(FilePlace::kDatabase, "end", 3, 2'500), Status::kOk);
  std::string wanted = text.substr(0, 1'100) + std::string(1'400, '\0') + "end";
  EXPECT_EQ(read_all(FilePlace::kDatabase), wanted);
  ASSERT_EQ(files_.sync(), Status::kOk);
  ASSERT_EQ(mount(), Status::kOk);
  EXPECT_EQ(read_all(FilePlace::kDatabase), wanted);
}

TEST_F(FlashFilesTest, BeyondItsRange_IsFull) {
  ASSERT_EQ(mount(), Status::kOk);
  files_.create(FilePlace::kLog, "t.db-wal");
  EXPECT_EQ(files_.write(FilePlace::kLog, "x", 1, kLogSectors * 1'024), Status::kFull);
  EXPECT_EQ(files_.size(FilePlace::kLog), 0);
  EXPECT_EQ(files_.find("other"), FilePlace::kOther);
  files_.create(FilePlace::kOther, "other");
  EXPECT_EQ(files_.find("one more"), FilePlace::kNone);
}

TEST_F(FlashFilesTest, LogOfAnotherSize_IsRefused) {
  ASSERT_EQ(mount(), Status::kOk);
  FlashFiles files;
  Diagnostic why;
  EXPECT_EQ(files.mount(**sectors_, "t.db", kLogSectors + 1, why), Status::kUnsupported);
  EXPECT_EQ(files.mount(**sectors_, "", kLogSectors, why), Status::kInvalidArgument);
  EXPECT_EQ(files.mount(**sectors_, "t.db", 10'000, why), Status::kInvalidArgument);
}

// A file that is made or removed as a whole exists or does not, whichever operation is cut.
TEST_F(FlashFilesTest, MadeWholeAndRemoved_AtEveryCut) {
  ASSERT_EQ(mount(), Status::kOk);
  const std::vector<std::uint8_t> formatted = flash_.bytes();
  std::string text(5'000, 'w');
  text += "end";
  for (const Cut cut : kCuts) {
    bool was_cut = true;
    for (std::uint32_t operation = 1; was_cut; ++operation) {
      SCOPED_TRACE(std::to_string(operation) + " cut " + std::to_string(static_cast<int>(cut)));
      flash_.bytes() = formatted;
      flash_.power_on();
      ASSERT_EQ(mount(), Status::kOk);
      flash_.cut_at(operation, cut, operation);
      const Status made = files_.create_whole(FilePlace::kDatabase, text.data(), text.size());
      const Status removed =
          made == Status::kOk ? files_.remove(FilePlace::kDatabase) : Status::kNotFound;
      was_cut = flash_.is_off();
      flash_.power_on();
      ASSERT_EQ(mount(), Status::kOk);
      const bool there = files_.exists(FilePlace::kDatabase);
      if (there) {
        ASSERT_EQ(read_all(FilePlace::kDatabase), text);
        ASSERT_NE(removed, Status::kOk);
      }
    }
  }
}

}  // namespace
}  // namespace pawl::port_test
