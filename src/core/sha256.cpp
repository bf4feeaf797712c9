#include "core/sha256.hpp"

#include <sha2.h>

namespace pawl {

static_assert(Sha256::kBytes == SHA256_DIGEST_LENGTH);

Sha256 sha256(std::initializer_list<std::string_view> texts) {
  SHA2_CTX state;
  SHA256Init(&state);
  for (const std::string_view text : texts)
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  Sha256 hash;
  SHA256Final(hash.bytes, &state);
  return hash;
}

}  // namespace pawl
