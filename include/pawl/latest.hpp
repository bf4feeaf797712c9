// Latest: the latest value of something, from one thread to others. It is a part of other headers.
//
// Purpose: neither the writer nor a reader ever waits for the other, whatever their priorities, and
// no value is read in part. Atomics of 32 bits are enough. On ARMv6, PowerPC, 32-bit MIPS and
// processors without an operating system those of 64 bits are a lock in a library of their own
// (libatomic). Ownership: a value. Thread rule: store() by one thread at a time, load() by any.
#ifndef PAWL_LATEST_HPP
#define PAWL_LATEST_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#pragma GCC visibility push(default)

namespace pawl {
namespace internal {

// Holds two places; `version_` says which is valid. The writer writes the other one, and a reader
// that meets the writer in its place sees by the version that another value has become valid.
template <class Value>
class Latest {
  static_assert(std::is_trivially_copyable_v<Value>, "it is copied word by word");

 public:
  Latest() : Latest(Value()) {}
  explicit Latest(const Value& first) { write(first, words_[0]); }
  Latest(const Latest&) = delete;
  Latest& operator=(const Latest&) = delete;

  void store(const Value& value) {
    const std::uint32_t next = version_.load(std::memory_order_relaxed) + 1;
    write(value, words_[next % 2]);
    version_.store(next, std::memory_order_release);
  }
  // Repeats only if a whole value was stored meanwhile.
  [[nodiscard]] Value load() const {
    for (;;) {
      const std::uint32_t version = version_.load(std::memory_order_acquire);
      const Value out = read(words_[version % 2]);
      if (version_.load(std::memory_order_relaxed) == version) return out;
    }
  }

 private:
  using Word = std::atomic<std::uint32_t>;
  static constexpr std::size_t kBytes = sizeof(Value);
  static constexpr std::size_t kWords =
      (kBytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);

  // Words are released and acquired one by one: a reader that saw a new word sees a new version,
  // too.
  static void write(const Value& value, Word (&words)[kWords]) {
    std::uint32_t plain[kWords] = {};
    std::memcpy(plain, &value, kBytes);
    for (std::size_t i = 0; i < kWords; ++i)
      words[i].store(plain[i], std::memory_order_release);
  }
  static Value read(const Word (&words)[kWords]) {
    std::uint32_t plain[kWords];
    for (std::size_t i = 0; i < kWords; ++i)
      plain[i] = words[i].load(std::memory_order_acquire);
    Value out;
    std::memcpy(&out, plain, kBytes);
    return out;
  }

  Word version_{0};
  Word words_[2][kWords] = {};
};

}  // namespace internal
}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_LATEST_HPP
