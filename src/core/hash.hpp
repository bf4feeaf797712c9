// Hash64: the hash of commands, inputs and names, as stored in histories.
//
// Purpose: XXH64 with seed 0, as published (xxhash.com, specification 0.1.1), over a stream of
// bytes that is fixed here: a number is its 8 bytes, least significant first; a text is its length
// as such a number, then its bytes. Values are stored on disk for ever: neither the algorithm nor
// the stream may change, and the tests hold pinned values. Not for secrets: an attacker who chooses
// the input can choose the hash.
// Thread rule: a plain value. Errors: none.
#ifndef PAWL_CORE_HASH_HPP
#define PAWL_CORE_HASH_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

class Hash64 {
 public:
  Hash64& add(std::string_view text) {
    return add(static_cast<std::uint64_t>(text.size())).add_bytes(text.data(), text.size());
  }
  Hash64& add(std::uint64_t number);
  // Deleted, so that a literal is not taken for a number.
  Hash64& add(const char* text) { return add(std::string_view(text)); }
  // Adds no length: only for the last part, or for parts of a fixed size.
  Hash64& add_bytes(const void* data, std::size_t size);
  // The hash of all that was added; more may follow.
  [[nodiscard]] std::uint64_t value() const;

 private:
  static constexpr std::size_t kStripe = 32;
  static constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87U;
  static constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FU;
  void stripe(const unsigned char* at);

  std::uint64_t lanes_[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  std::uint64_t total_ = 0;
  std::size_t pending_size_ = 0;
  unsigned char pending_[kStripe] = {};
};

// XXH64 of the bytes alone, without a length.
[[nodiscard]] std::uint64_t hash64(std::string_view bytes);

}  // namespace pawl

#endif  // PAWL_CORE_HASH_HPP
