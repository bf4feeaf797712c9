// Integers of 64 bits in two words, where a processor has no atomics of 64 bits.
//
// Purpose: on ARMv6, PowerPC and 32-bit MIPS, and without an operating system, an atomic of 64 bits
// is a lock in libatomic: another library to link, and a lock that another process never sees.
// Elsewhere each class here is one atomic. Ownership: plain values. Thread rule: with each class.
#ifndef PAWL_CORE_WIDE_WORDS_HPP
#define PAWL_CORE_WIDE_WORDS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pawl {

inline constexpr bool kHasWideAtomics = std::atomic<std::uint64_t>::is_always_lock_free;

// A counter that any thread adds to and any thread reads. In two words it reads 4 Gi too low
// between the overflow of the low word and the carry.
template <bool kNative = kHasWideAtomics>
class WideCounter {
 public:
  void add(std::uint64_t count) { value_.fetch_add(count, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t read() const { return value_.load(std::memory_order_relaxed); }
  // Requires: no other thread adds or reads.
  void clear() { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

template <>
class WideCounter<false> {
 public:
  void add(std::uint64_t count) {
    const auto low = static_cast<std::uint32_t>(count);
    const std::uint32_t before = low_.fetch_add(low, std::memory_order_acq_rel);
    const bool carry = before > UINT32_MAX - low;
    const std::uint32_t high = static_cast<std::uint32_t>(count >> 32) + (carry ? 1U : 0U);
    if (high != 0) high_.fetch_add(high, std::memory_order_acq_rel);
  }
  [[nodiscard]] std::uint64_t read() const {
    for (;;) {
      const std::uint32_t high = high_.load(std::memory_order_acquire);
      const std::uint32_t low = low_.load(std::memory_order_acquire);
      if (high_.load(std::memory_order_relaxed) == high) return std::uint64_t{high} << 32 | low;
    }
  }
  void clear() {
    low_.store(0, std::memory_order_relaxed);
    high_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> low_{0};
  std::atomic<std::uint32_t> high_{0};
};

// A number that one thread notes in memory which outlives the process, to be read once the process
// is dead. The memory holds a std::int64_t. In two words, a process that dies between the writes
// leaves the old number, the new one, or one whose low word is 0: no number below 1 << 32 but 0.
template <bool kNative = kHasWideAtomics>
class WideNote {
 public:
  void store(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

template <>
class alignas(std::int64_t) WideNote<false> {
 public:
  void store(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    words_[kLow].store(0, std::memory_order_relaxed);
    // The number is read when the thread is dead: the compiler must keep the order, and no more is
    // needed.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    words_[1 - kLow].store(static_cast<std::uint32_t>(bits >> 32), std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    words_[kLow].store(static_cast<std::uint32_t>(bits), std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kLow = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 1;
  std::atomic<std::uint32_t> words_[2] = {};
};

}  // namespace pawl

#endif  // PAWL_CORE_WIDE_WORDS_HPP
