// Goal: the hash is SHA-256, however its input is cut. The values are those of FIPS 180-4 and of
// NIST's examples.
#include "core/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

std::string hex(const Sha256& hash) {
  std::string text;
  for (const std::uint8_t byte : hash.bytes) {
    text.push_back("0123456789abcdef"[byte >> 4U]);
    text.push_back("0123456789abcdef"[byte & 15U]);
  }
  return text;
}

TEST(Sha256Test, published_values) {
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256({"abc"})),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256({"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"})),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256({std::string(1'000'000, 'a')})),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, texts_are_hashed_as_one) {
  const std::string text(200, 'x');
  for (std::size_t at = 0; at <= text.size(); ++at)
    EXPECT_EQ(hex(sha256({text.substr(0, at), text.substr(at)})), hex(sha256({text}))) << at;
}

}  // namespace
}  // namespace pawl
