// MessageKeys: the keys by which an instance knows messages that it was sent before (R11.1).
//
// Purpose: a message with a key costs 0.5 to 0.9 frames of the log more than one without. The
// newest key waits in the row of the instance, which the message writes anyway; the next one takes
// both into a row of message_keys, at the end of the table. When the window is full, the oldest
// row is written anew in its place, so no key is ever deleted alone. The rows of an instance are
// linked from the newest to the oldest. Rejected: a row for each key, by instance and number (1.6
// to 3 frames); an index over keys (2 frames, and one more for each removal).
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_MESSAGE_KEYS_HPP
#define PAWL_STORE_INSTANCE_MESSAGE_KEYS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "store/context.hpp"

namespace pawl::store {

struct MessageKey {
  std::string_view text;      // a name
  std::uint64_t content = 0;  // hash of the kind, name and payload that came with it
  MessageId number = 0;       // of the message
};

class MessageKeys : private Table {
 public:
  explicit MessageKeys(StoreContext& context) : Table(context) {}

  // Callable anywhere. *known: the key is one of those in the window, and came with this content;
  // then key->number is that of its message. kKeyReused: it came with another content.
  Status find(InstanceKey instance, MessageKey* key, bool* known);
  // The number of keys that an instance knows at most.
  Status read_count_max(std::int64_t* out);
  // In a batch: keeps a key that find() does not know.
  Status remember(InstanceKey instance, const MessageKey& key);

 private:
  // One key as it is stored: the length of its text (2 bytes), the text, its content, the number of
  // its message and the Pawl time (8 bytes each), least significant byte first.
  struct Entry {
    MessageKey key;
    std::int64_t at_ms = 0;
  };
  static constexpr std::size_t kEntryBytesMax = 2 + kNameBytesMax + 24;
  static constexpr int kEntriesInRow = 2;
  static constexpr std::int64_t kRowsMax = 512;
  // The keys of one instance: columns keys_last and keys of its row. `newest` waits for a row.
  struct Ring {
    std::int64_t last = 0;  // id of the row with the newest keys; 0: there is none
    std::int64_t rows = 0;
    bool has_newest = false;
    Entry newest;  // a view into `bytes`
    char bytes[kEntryBytesMax];
  };
  struct Window {
    std::int64_t keys_max = 0;
    std::int64_t since_ms = 0;  // older keys are forgotten
  };

  Status read_window(Window* out);
  Status read_ring(InstanceKey instance, Ring* out);
  Status write_ring(InstanceKey instance, const Ring& ring, const Entry* newest);
  Status write_row(InstanceKey instance, const Entry& older, const Entry& newer, Ring* ring);
  Status oldest_row(const Ring& ring, std::int64_t* id, std::int64_t* newest_at_ms);
  Status damaged(InstanceKey instance);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_MESSAGE_KEYS_HPP
