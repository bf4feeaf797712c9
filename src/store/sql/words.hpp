// Words: statements, and those of the schema, are stored with a byte for each word that many have.
//
// Purpose: the texts of the statements are a sixth of Pawl's constants, and most of them is what
// others have, too. A text is encoded when it is compiled, and expanded when it is prepared, which
// happens once. The words are stored the same way, made of shorter ones. Rejected: shorter names of
// tables and columns, which people read.
// Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_SQL_WORDS_HPP
#define PAWL_STORE_SQL_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl::sql {

// The longest text of a statement, with its terminating zero.
inline constexpr std::size_t kTextBytesMax = 1792;

// In the order of their characters, each with a zero behind it. Chosen by how many bytes they save
// in hello; a word may be any sequence of characters that texts have in common.
inline constexpr char kWords[] =
    "\n  \0"
    "\fINDEXED BY \0"
    "\fINDEXED BY wq_session\rWHERE \0"
    "\rWHERE \0"
    " AND \0"
    " AS \0"
    " BLOB\0"
    " FROM \0"
    " FROM instances\fINDEXED BY i_\0"
    " FROM orchestrator_queue\fINDEXED BY oq_instance\rWHERE instance\0"
    " FROM sessions\fINDEXED BY s_\0"
    " IN (\0"
    " INTEGER\0"
    " INTEGER NOT NULL DEFAUL\0"
    " INTEGER NOT NULL,\n  \0"
    " INTEGER NOT NULL, \0"
    " INTEGER PRIMARY KEY\0"
    " INTEGER, \0"
    " IS NOT NULL\0"
    " IS NULL\0"
    " LEFT JOIN \0"
    " LIMIT 1\0"
    " ON \0"
    " OR \0"
    " ORDER BY \0"
    " SET \0"
    " TEXT\0"
    " WHERE \0"
    ") AS has_wor\0"
    ") VALUES(?1,?2\0"
    ") WHERE \0"
    ")='integer'\r\0"
    ",\n  \0"
    ", \0"
    ",0\0"
    ",?\0"
    ",EXISTS(SELECT 1 FROM worker_queue q\fINDEXED BY wq_session\rWHERE q.sid=s.sid\0"
    ",crc\0"
    ",i.\0"
    ",s.\0"
    "9223372036854775807\0"
    "=0\0"
    "=1\0"
    "=?\0"
    "=?1\0"
    "=?1 AND \0"
    "=?2\0"
    "=excluded\0"
    "=iif(\ftypeof(\0"
    "CREATE INDEX \0"
    "CREATE TABLE \0"
    "DELETE FROM \0"
    "EXISTS(SELECT 1 FROM \0"
    "HEN \0"
    "INSERT INTO \0"
    "JOIN \0"
    "NOT NULL\0"
    "NULL\0"
    "PRIMARY\0"
    "SELECT \0"
    "SELECT count(*)\0"
    "T \0"
    "UPDATE \0"
    "_due\0"
    "_queue\0"
    "_stamp\0"
    "activit\0"
    "at\0"
    "ated_stamp\0"
    "behaviour\0"
    "boot_seq\0"
    "buried\0"
    "bytes\0"
    "coalesce(\0"
    "crashes\0"
    "deadline\0"
    "due\0"
    "ed\0"
    "en\0"
    "epoch\0"
    "er\0"
    "error\0"
    "es\0"
    "event\0"
    "excl\0"
    "execution\0"
    "expires_at\0"
    "fail\0"
    "finished_at\0"
    "folder_\0"
    "h.\0"
    "hard\0"
    "head_id\0"
    "history\0"
    "home\0"
    "i ON i.key=\0"
    "id\0"
    "idle_ms\0"
    "iif(\0"
    "inc\0"
    "ing\0"
    "instance\0"
    "instances\0"
    "key\0"
    "kind\0"
    "last_activity_at\0"
    "last_event\0"
    "le\0"
    "lifecycle\0"
    "limit\0"
    "limited_by\0"
    "lock_\0"
    "locked_until\0"
    "look_at\0"
    "max\0"
    "messag\0"
    "meta\0"
    "name\0"
    "name,i.version,i.behaviour,i.stop_\0"
    "needs_\0"
    "node\0"
    "notify\0"
    "orchestrator\0"
    "owner\0"
    "owner_label\0"
    "parent\0"
    "parked_until\0"
    "payload\0"
    "q.\0"
    "re\0"
    "ready\0"
    "ready_id IS NOT NULL AND parked_until IS NULL AND unregister\0"
    "reated_at\0"
    "root\0"
    "s.\0"
    "s_\0"
    "scope\0"
    "se\0"
    "sessions\0"
    "sid\0"
    "sion\0"
    "st\0"
    "state\0"
    "stop_\0"
    "tag\0"
    "time\0"
    "unavaila\0"
    "unregister\0"
    "until\0"
    "ustom_stat\0"
    "visible\0"
    "w ON w.inc=\0"
    "wait\0"
    "worker\0"
    "worker_queue\0"
    "wq_\0";

namespace words {

// A text is ASCII, whose only control characters are those that SQL takes as white space and the
// marks of query.hpp. All other bytes stand for words.
[[nodiscard]] constexpr bool is_code(unsigned char byte) {
  return byte >= 0x80 ||
         (byte < 0x20 && byte != '\0' && byte != '\n' && byte != '\f' && byte != '\r');
}
inline void text_has_a_code() {}  // is not constexpr, so a text with such a byte does not compile

constexpr std::size_t kSlots = 0x20 + 0x80;
[[nodiscard]] constexpr std::size_t slot_of(unsigned char code) {
  return code < 0x20 ? code : code - (0x80U - 0x20U);
}
[[nodiscard]] constexpr unsigned char code_of(std::size_t slot) {
  return static_cast<unsigned char>(slot < 0x20 ? slot : slot + (0x80U - 0x20U));
}
[[nodiscard]] constexpr std::size_t next_slot(std::size_t slot) {
  do
    ++slot;
  while (slot < kSlots && !is_code(code_of(slot)));
  return slot;
}

// Where each word is, for the compiler alone.
struct Index {
  std::uint16_t begin[kSlots] = {};
  std::uint8_t length[kSlots] = {};
  std::uint8_t first[0x80 + 1] = {};  // the first slot whose word has this character or a later one
  std::size_t count = 0;

  constexpr Index() {
    std::size_t slot = next_slot(0);
    std::size_t at = 0;
    unsigned next = 0;
    for (; kWords[at] != '\0'; ++count, slot = next_slot(slot)) {
      begin[slot] = static_cast<std::uint16_t>(at);
      length[slot] = static_cast<std::uint8_t>(std::string_view(kWords + at).size());
      for (; next <= static_cast<unsigned char>(kWords[at]); ++next)
        first[next] = static_cast<std::uint8_t>(slot);
      at += length[slot] + 1U;
    }
    for (; next <= 0x80; ++next)
      first[next] = static_cast<std::uint8_t>(slot);
  }
  [[nodiscard]] constexpr std::string_view word(std::size_t slot) const {
    return {kWords + begin[slot], length[slot]};
  }
};
inline constexpr Index kIndex;

// Whether text.substr(0, length) == word, in a fifth of a compiler's time: all statements are
// encoded by it. The first characters are known to be the same.
[[nodiscard]] constexpr bool begins_with(const char* text, const char* word, std::size_t length) {
  for (std::size_t i = 1; i < length; ++i)
    if (text[i] != word[i]) return false;
  return true;
}

// Encodes the text with words of up to `longest` characters, calling put(byte) for each byte.
template <typename Put>
constexpr void encode(std::string_view text, std::size_t longest, Put&& put) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = static_cast<unsigned char>(text[at]);
    if (is_code(character)) text_has_a_code();
    const std::size_t left = text.size() - at;
    const std::size_t most = left < longest ? left : longest;
    std::size_t length = 1;
    unsigned char byte = character;
    for (std::size_t i = kIndex.first[character]; i < kIndex.first[character + 1U]; ++i) {
      const std::size_t bytes = kIndex.length[i];
      if (bytes > length && bytes <= most &&
          begins_with(text.data() + at, kWords + kIndex.begin[i], bytes)) {
        length = bytes;
        byte = code_of(i);
      }
    }
    put(static_cast<char>(byte));
    at += length;
  }
}

// All words, each encoded with shorter ones, for the compiler alone.
struct EncodedWords {
  char text[sizeof(kWords)] = {};
  std::uint16_t word[kSlots] = {};  // where it begins
  std::size_t bytes = 0;
  std::size_t depth = 0;  // how many words stand in one another at most

  constexpr EncodedWords() {
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      const std::string_view plain = kIndex.word(slot);
      if (plain.empty()) continue;
      word[slot] = static_cast<std::uint16_t>(bytes);
      encode(plain, plain.size() - 1, [&](char byte) { text[bytes++] = byte; });
      ++bytes;
    }
    std::size_t of[kSlots] = {};
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (std::size_t slot = 0; slot < kSlots; ++slot) {
        const std::size_t deepest = kIndex.length[slot] == 0 ? 0 : 1 + inner(of, slot);
        has_grown = has_grown || deepest != of[slot];
        of[slot] = deepest;
        if (deepest > depth) depth = deepest;
      }
    }
  }

 private:
  [[nodiscard]] constexpr std::size_t inner(const std::size_t (&of)[kSlots],
                                            std::size_t slot) const {
    std::size_t deepest = 0;
    for (std::size_t at = word[slot]; text[at] != '\0'; ++at) {
      const auto code = static_cast<unsigned char>(text[at]);
      if (is_code(code) && of[slot_of(code)] > deepest) deepest = of[slot_of(code)];
    }
    return deepest;
  }
};
inline constexpr EncodedWords kEncoded;
inline constexpr std::size_t kDepth = kEncoded.depth;

// The words as a program has them.
struct Coded {
  char text[kEncoded.bytes] = {};
  std::uint16_t word[kSlots] = {};

  constexpr Coded() {
    for (std::size_t at = 0; at < kEncoded.bytes; ++at)
      text[at] = kEncoded.text[at];
    for (std::size_t slot = 0; slot < kSlots; ++slot)
      word[slot] = kEncoded.word[slot];
  }
};
inline constexpr Coded kCoded;

}  // namespace words

// Encodes the text, calling put(byte) for each byte.
template <typename Put>
constexpr void encode(std::string_view text, Put&& put) {
  words::encode(text, text.size(), put);
}

// The bytes of a text when it is encoded, without a zero behind them.
[[nodiscard]] constexpr std::size_t encoded_bytes(std::string_view text) {
  std::size_t bytes = 0;
  encode(text, [&](char) { ++bytes; });
  return bytes;
}

// Expands an encoded text that ends with a zero, and returns its length. `out` has room for
// kTextBytesMax bytes, which each text fits in. A text that was never encoded expands to itself.
constexpr std::size_t expand(const char* encoded, char* out) {
  std::size_t length = 0;
  const char* behind[words::kDepth] = {};  // the words that are being expanded
  for (std::size_t depth = 0;;) {
    const auto code = static_cast<unsigned char>(*encoded++);
    if (words::is_code(code)) {
      behind[depth++] = encoded;
      encoded = words::kCoded.text + words::kCoded.word[words::slot_of(code)];
    } else if (code != '\0') {
      out[length++] = static_cast<char>(code);
    } else if (depth != 0) {
      encoded = behind[--depth];
    } else {
      break;
    }
  }
  out[length] = '\0';
  return length;
}

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_WORDS_HPP
