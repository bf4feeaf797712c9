// Goal: checksums and hashes are the published ones, the same on every machine and for ever,
// because they are stored.
#include "core/hash.hpp"

#include <cstdint>
#include <string>

#include "core/crc32c.hpp"
#include "gtest/gtest.h"

namespace pawl {
namespace {

TEST(Crc32c, PublishedVectors) {
  unsigned char bytes[32] = {};
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283U);
  EXPECT_EQ(crc32c(bytes, sizeof(bytes)), 0x8A9136AAU);  // this value and the next: RFC 3720, B.4
  for (unsigned char& byte : bytes)
    byte = 0xFF;
  EXPECT_EQ(crc32c(bytes, sizeof(bytes)), 0x62A8AB43U);
  for (unsigned i = 0; i < 32; ++i)
    bytes[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(crc32c(bytes, sizeof(bytes)), 0x46DD794EU);
  for (unsigned i = 0; i < 32; ++i)
    bytes[i] = static_cast<unsigned char>(31 - i);
  EXPECT_EQ(crc32c(bytes, sizeof(bytes)), 0x113FDB5CU);
  EXPECT_EQ(crc32c("", 0), 0U);
}

TEST(Crc32c, InPieces_IsTheSameAtEverySplitAndAlignment) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text.push_back(static_cast<char>(i * 37));
  const std::uint32_t whole = crc32c(text.data(), text.size());
  for (std::size_t split = 0; split <= text.size(); ++split) {
    const std::uint32_t first = crc32c(text.data(), split);
    EXPECT_EQ(crc32c(text.data() + split, text.size() - split, first), whole);
  }
}

TEST(Crc32c, EveryFlippedBit_IsSeen) {
  std::string text(61, 'x');
  const std::uint32_t whole = crc32c(text.data(), text.size());
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(text.data(), text.size()), whole);
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(Hash64, PublishedVectorsOfXxh64) {
  EXPECT_EQ(hash64(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(hash64("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(hash64("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(hash64("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1U);
}

TEST(Hash64, StreamIsPinned) {
  EXPECT_EQ(Hash64().add(std::uint64_t{1}).value(), 0x9F29CB17A2A49995U);
  EXPECT_EQ(Hash64().add("call").add(std::uint64_t{7}).add("{}").value(), 0x49F2B3E7E9F19220U);
  std::string stream("\x04\0\0\0\0\0\0\0call\x07\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0{}", 30);
  EXPECT_EQ(hash64(stream), 0x49F2B3E7E9F19220U);
}

TEST(Hash64, InPieces_IsTheSameAtEverySplit) {
  std::string text;
  for (int i = 0; i < 150; ++i)
    text.push_back(static_cast<char>(i * 41));
  const std::uint64_t whole = hash64(text);
  for (std::size_t split = 0; split <= text.size(); ++split) {
    Hash64 hash;
    hash.add_bytes(text.data(), split);
    EXPECT_EQ(hash.value(), hash64(text.substr(0, split)));  // reading does not end it
    hash.add_bytes(text.data() + split, text.size() - split);
    EXPECT_EQ(hash.value(), whole);
  }
}

TEST(Hash64, LengthsSeparateTheParts) {
  EXPECT_NE(Hash64().add("ab").add("c").value(), Hash64().add("a").add("bc").value());
  EXPECT_NE(Hash64().add("").value(), Hash64().value());
}

}  // namespace
}  // namespace pawl
