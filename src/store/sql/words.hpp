// Words: statements, and those of the schema, are stored with a byte for each word that many have.
//
// Purpose: the texts of the statements are a sixth of Pawl's constants, and two thirds of them are
// the same hundred words. A text is encoded when it is compiled, and expanded when it is prepared,
// which happens once. Rejected: shorter names of tables and columns, which people read.
// Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_SQL_WORDS_HPP
#define PAWL_STORE_SQL_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::sql {

// The longest text of a statement, with its terminating zero.
inline constexpr std::size_t kTextBytesMax = 1792;

// In the order of their characters, each with a zero behind it. Chosen by how many bytes they save;
// a word may be any sequence of characters that texts have in common.
inline constexpr char kWords[] =
    "\fINDEXED BY \0"
    "\fINDEXED BY oq_instance\0"
    "\fINDEXED BY s_\0"
    "\rWHERE \0"
    " AND \0"
    " AS \0"
    " FROM \0"
    " FROM instances\0"
    " FROM sessions\0"
    " IN (\0"
    " INTEGER\0"
    " INTEGER NOT NULL DEFAULT\0"
    " INTEGER NOT NULL,\n  \0"
    " INTEGER NOT NULL, \0"
    " INTEGER, \0"
    " IS NOT NULL\0"
    " IS NULL\0"
    " LIMIT \0"
    " LIMIT 1\0"
    " NOT NULL\0"
    " ON \0"
    " OR\0"
    " ORDER BY \0"
    " SET \0"
    " THEN \0"
    " WHEN \0"
    " WHERE \0"
    " WHERE id\0"
    " WHERE sid=?1\0"
    "(SELECT \0"
    ") VALUES(\0"
    ")='integer'\r\0"
    ",0)\0"
    ",0,\0"
    ",i.\0"
    ",q.\0"
    ",ready_at\0"
    ",s.\0"
    ".id\0"
    "=?1\0"
    "=?1 AND \0"
    "=?2\0"
    "=excluded.\0"
    "=iif(\0"
    "=iif(\ftypeof(\0"
    "=q.\0"
    "?,?,?,\0"
    "?2,?3\0"
    "CREATE \0"
    "CREATE INDEX \0"
    "DELETE\0"
    "EXISTS(SELECT 1 FROM \0"
    "INSERT INTO \0"
    "JOIN \0"
    "LEFT JOIN \0"
    "NULL\0"
    "SELECT \0"
    "UPDATE \0"
    "WHERE \0"
    "_until\0"
    "activities\0"
    "ate\0"
    "behaviour\0"
    "boot_seq\0"
    "buried\0"
    "coalesce(\0"
    "count(*)\0"
    "crashes\0"
    "created_at\0"
    "created_stamp\0"
    "devices\0"
    "due\0"
    "ended_stamp\0"
    "epoch\0"
    "event\0"
    "excl\0"
    "execution\0"
    "expires_at\0"
    "finished_at\0"
    "found_status\0"
    "hard\0"
    "head_id\0"
    "history\0"
    "id FROM \0"
    "id LIMIT 1\0"
    "id,\0"
    "inc\0"
    "instance\0"
    "key\0"
    "kind\0"
    "last_activity_at\0"
    "lifecycle\0"
    "limited_by\0"
    "lock_visible\0"
    "locked_until\0"
    "look_at\0"
    "message_bytes_max\0"
    "meta\0"
    "name\0"
    "needs_bytes\0"
    "needs_messages\0"
    "node\0"
    "orchestrator_queue\0"
    "owner\0"
    "parent\0"
    "parked_until\0"
    "payload\0"
    "ready\0"
    "ready_id\0"
    "reboots\0"
    "revision\0"
    "root\0"
    "scope\0"
    "session\0"
    "sessions\0"
    "sid\0"
    "sta\0"
    "state\0"
    "state=\0"
    "strikes\0"
    "unregistered\0"
    "updated_stamp\0"
    "version\0"
    "waiting\0"
    "worker\0"
    "worker_queue\0"
    "workers\0"
    "wq_session\r\0";

namespace words {

inline constexpr unsigned kFirstCode = 0x80;  // texts are ASCII

constexpr std::size_t count() {
  std::size_t found = 0;
  for (const char* at = kWords; *at != '\0'; ++found)
    at += std::string_view(at).size() + 1;
  return found;
}
inline constexpr std::size_t kCount = count();
static_assert(kCount <= 0x80, "one byte each");

struct Index {
  std::uint16_t word[kCount] = {};    // where it begins
  std::uint8_t first[0x80 + 1] = {};  // the first word with this character or a later one

  constexpr Index() {
    std::size_t at = 0;
    unsigned next = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      word[i] = static_cast<std::uint16_t>(at);
      for (; next <= static_cast<unsigned char>(kWords[at]); ++next)
        first[next] = static_cast<std::uint8_t>(i);
      at += std::string_view(kWords + at).size() + 1;
    }
    for (; next <= 0x80; ++next)
      first[next] = kCount;
  }
};
inline constexpr Index kIndex;

// Encodes the text, calling put(byte) for each byte.
template <typename Put>
constexpr void encode(std::string_view text, Put&& put) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = static_cast<unsigned char>(text[at]);
    std::size_t length = 1;
    unsigned code = character;
    for (std::size_t i = kIndex.first[character]; i < kIndex.first[character + 1U]; ++i) {
      const std::string_view word(kWords + kIndex.word[i]);
      if (word.size() > length && text.substr(at, word.size()) == word) {
        length = word.size();
        code = kFirstCode + static_cast<unsigned>(i);
      }
    }
    put(static_cast<char>(code));
    at += length;
  }
}

}  // namespace words

// The bytes of a text when it is encoded, without a zero behind them.
[[nodiscard]] constexpr std::size_t encoded_bytes(std::string_view text) {
  std::size_t bytes = 0;
  words::encode(text, [&](char) { ++bytes; });
  return bytes;
}

// Expands an encoded text that ends with a zero, and returns its length. `out` has room for
// kTextBytesMax bytes, which each text fits in. A text that was never encoded expands to itself.
constexpr std::size_t expand(const char* encoded, char* out) {
  std::size_t length = 0;
  for (; *encoded != '\0'; ++encoded) {
    const auto code = static_cast<unsigned char>(*encoded);
    if (code < words::kFirstCode) {
      out[length++] = *encoded;
      continue;
    }
    const char* word = kWords + words::kIndex.word[code - words::kFirstCode];
    for (; *word != '\0'; ++word)
      out[length++] = *word;
  }
  out[length] = '\0';
  return length;
}

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_WORDS_HPP
