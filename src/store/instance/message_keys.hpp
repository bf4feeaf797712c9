// MessageKeys: the keys by which an instance knows messages that it was sent before (R11.1).
//
// Purpose: a message with a key costs 0.2 to 0.8 frames of the log more than one without. The
// newest keys wait in the row of the instance, which the message writes anyway; the one that makes
// them kEntriesInRow takes them into a row of message_keys, at the end of the table. When the
// window is full, the oldest row is written anew in its place, so no key is ever deleted alone. The
// rows of an instance are linked from the newest to the oldest. A key is stored as its hash: who
// can make one with the hash of another could as well send that other. Rejected: the text of the
// key (the row of the instance outgrows its page); a row for each key, by instance and number (1.6
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
  // One key as it is stored: its hash (8 bytes), the content that came with it (4), the number of
  // its message (8), the Pawl time (6), least significant byte first.
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t content = 0;
    MessageId number = 0;
    std::int64_t at_ms = 0;
  };
  static constexpr std::size_t kEntryBytes = 26;
  static constexpr int kEntriesInRow = 4;
  static constexpr std::int64_t kKeysMax = 1'024;
  static constexpr std::int64_t kRowsMax = (kKeysMax + kEntriesInRow - 1) / kEntriesInRow;

 public:
  // The keys of one instance: columns keys_last and keys of its row; and its window.
  struct Ring {
    std::int64_t last = 0;  // id of the row with the newest keys; 0: there is none
    std::int64_t rows = 0;
    int waiting_count = 0;         // below kEntriesInRow, unless they are about to be a row
    Entry waiting[kEntriesInRow];  // oldest first
    std::int64_t keys_max = 0;
    std::int64_t since_ms = 0;  // older keys are forgotten
    // The row with the oldest keys, once a walk has met it.
    std::int64_t oldest = 0;
    std::int64_t oldest_at_ms = 0;  // of the newest of its keys
  };

  explicit MessageKeys(StoreContext& context) : Table(context) {}

  Status read_ring(InstanceKey instance, Ring* out);
  // Callable anywhere, with what read_ring() gave. *known: the key is one of those in the window,
  // and came with this content; then key->number is that of its message. kKeyReused: it came with
  // another content.
  Status find(InstanceKey instance, Ring* ring, MessageKey* key, bool* known);
  // In a batch, with what read_ring() gave in it: keeps a key that find() does not know.
  Status remember(InstanceKey instance, Ring* ring, const MessageKey& key);

 private:
  Status write_ring(InstanceKey instance, const Ring& ring);
  Status write_row(InstanceKey instance, Ring* ring);
  // Walks over the keys in rows, newest first, until goes_on(entry) is false.
  template <typename GoesOn>
  Status walk(InstanceKey instance, Ring* ring, GoesOn goes_on);
  static Entry entry_of(const MessageKey& key);
  static void put(char* at, const Entry& entry);
  static Entry take(std::string_view* from);
  Status damaged(InstanceKey instance);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_MESSAGE_KEYS_HPP
