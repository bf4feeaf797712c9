// A simulated NOR flash whose power fails at any operation, in every way that the rules of
// docs/porting/bare-metal.md allow.
#ifndef PAWL_TEST_PORT_NOR_FLASH_SIM_HPP
#define PAWL_TEST_PORT_NOR_FLASH_SIM_HPP

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "port/bare_metal/nor_flash.hpp"

namespace pawl::port_test {

// The part of its work that a cut operation leaves done.
enum class Cut : std::uint8_t { kNothing, kFrontHalf, kBackHalf, kRandomBits, kAll };
inline constexpr Cut kCuts[] = {Cut::kNothing, Cut::kFrontHalf, Cut::kBackHalf, Cut::kRandomBits,
                                Cut::kAll};

class NorFlashSim final : public bare_metal::NorFlash {
 public:
  NorFlashSim(std::uint32_t block_bytes, std::uint32_t block_count)
      : geometry_{block_bytes, block_count}, bytes_(std::size_t{block_bytes} * block_count, 0xff) {}

  // The power fails at the n-th operation from now; 1 is the next.
  void cut_at(std::uint32_t operation, Cut how, std::uint32_t seed) {
    left_ = operation;
    how_ = how;
    random_.seed(seed);
  }
  void power_on() {
    left_.reset();
    is_off_ = false;
  }
  [[nodiscard]] bool is_off() const { return is_off_; }
  [[nodiscard]] std::uint32_t operations() const { return operations_; }
  [[nodiscard]] std::vector<std::uint8_t>& bytes() { return bytes_; }
  // Violations of the chip's rules so far: a unit programmed twice, an address that is not allowed.
  [[nodiscard]] std::uint32_t misuses() const { return misuses_; }

  [[nodiscard]] Geometry geometry() const override { return geometry_; }
  Status read(std::uint32_t address, void* out, std::size_t size) override {
    if (is_off_) return Status::kIo;
    std::memcpy(out, bytes_.data() + address, size);
    return Status::kOk;
  }
  Status program(std::uint32_t address, const void* data, std::size_t size) override {
    if (is_off_) return Status::kIo;
    const std::uint32_t last = address + static_cast<std::uint32_t>(size) - 1;
    if (address % bare_metal::kProgramBytes != 0 || size % bare_metal::kProgramBytes != 0 ||
        address / geometry_.block_bytes != last / geometry_.block_bytes)
      ++misuses_;
    std::vector<std::uint8_t> wanted(size);
    std::memcpy(wanted.data(), data, size);
    for (std::size_t i = 0; i < size; ++i) {
      if (bytes_[address + i] != 0xff) ++misuses_;
      wanted[i] &= bytes_[address + i];
    }
    return change(address, wanted);
  }
  Status erase(std::uint32_t block) override {
    if (is_off_) return Status::kIo;
    return change(block * geometry_.block_bytes,
                  std::vector<std::uint8_t>(geometry_.block_bytes, 0xff));
  }

 private:
  Status change(std::uint32_t address, const std::vector<std::uint8_t>& wanted) {
    ++operations_;
    const bool is_cut = left_.has_value() && --*left_ == 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::uint8_t& byte = bytes_[address + i];
      byte = is_cut ? cut(byte, wanted[i], i, wanted.size()) : wanted[i];
    }
    is_off_ = is_cut;
    return is_cut ? Status::kIo : Status::kOk;
  }
  std::uint8_t cut(std::uint8_t before, std::uint8_t after, std::size_t i, std::size_t size) {
    bool done = false;
    switch (how_) {
      case Cut::kNothing: break;
      case Cut::kFrontHalf: done = i < size / 2; break;
      case Cut::kBackHalf: done = i >= size / 2; break;
      case Cut::kAll: done = true; break;
      case Cut::kRandomBits: {
        const auto mask = static_cast<std::uint8_t>(random_());
        return static_cast<std::uint8_t>((before & ~mask) | (after & mask));
      }
    }
    return done ? after : before;
  }

  Geometry geometry_;
  std::vector<std::uint8_t> bytes_;
  std::mt19937 random_;
  std::optional<std::uint32_t> left_;
  Cut how_ = Cut::kNothing;
  bool is_off_ = false;
  std::uint32_t operations_ = 0;
  std::uint32_t misuses_ = 0;
};

}  // namespace pawl::port_test

#endif  // PAWL_TEST_PORT_NOR_FLASH_SIM_HPP
