#include "core/hash.hpp"

#include <cstring>

namespace pawl {

namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9U;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5U;

std::uint64_t rotate_left(std::uint64_t value, unsigned bits) {
  return value << bits | value >> (64 - bits);
}

std::uint64_t load_le(const unsigned char* from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i > 0; --i)
    value = value << 8 | from[i - 1];
  return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return rotate_left(lane + input * kPrime2, 31) * kPrime1;
}

// Adds the last 0 .. 31 bytes.
std::uint64_t add_tail(std::uint64_t hash, const unsigned char* at, std::size_t size) {
  for (; size >= 8; size -= 8, at += 8) {
    hash = rotate_left(hash ^ round(0, load_le(at, 8)), 27) * kPrime1 + kPrime4;
  }
  if (size >= 4) {
    hash = rotate_left(hash ^ load_le(at, 4) * kPrime1, 23) * kPrime2 + kPrime3;
    size -= 4;
    at += 4;
  }
  for (; size > 0; --size, ++at)
    hash = rotate_left(hash ^ *at * kPrime5, 11) * kPrime1;
  return hash;
}

std::uint64_t avalanche(std::uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace

void Hash64::stripe(const unsigned char* at) {
  for (std::size_t lane = 0; lane < 4; ++lane) {
    lanes_[lane] = round(lanes_[lane], load_le(at + 8 * lane, 8));
  }
}

Hash64& Hash64::add(std::uint64_t number) {
  unsigned char bytes[8];
  for (unsigned i = 0; i < 8; ++i)
    bytes[i] = static_cast<unsigned char>(number >> (8 * i) & 0xFFU);
  return add_bytes(bytes, sizeof(bytes));
}

Hash64& Hash64::add_bytes(const void* data, std::size_t size) {
  const unsigned char* at = static_cast<const unsigned char*>(data);
  total_ += size;
  while (size > 0) {
    if (pending_size_ == 0 && size >= kStripe) {
      stripe(at);
      at += kStripe;
      size -= kStripe;
      continue;
    }
    const std::size_t room = kStripe - pending_size_;
    const std::size_t part = size < room ? size : room;
    std::memcpy(pending_ + pending_size_, at, part);
    pending_size_ += part;
    at += part;
    size -= part;
    if (pending_size_ == kStripe) {
      stripe(pending_);
      pending_size_ = 0;
    }
  }
  return *this;
}

std::uint64_t Hash64::value() const {
  std::uint64_t hash = kPrime5;
  if (total_ >= kStripe) {
    hash = rotate_left(lanes_[0], 1) + rotate_left(lanes_[1], 7) + rotate_left(lanes_[2], 12) +
           rotate_left(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_)
      hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  return avalanche(add_tail(hash + total_, pending_, pending_size_));
}

std::uint64_t hash64(std::string_view bytes) {
  return Hash64().add_bytes(bytes.data(), bytes.size()).value();
}

}  // namespace pawl
