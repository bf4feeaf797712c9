// KeptStatements: the prepared statements that a connection keeps, a cache of bounded size.
//
// Purpose: a statement is found by the address of its query's text. Those that were not used for
// longest leave. Ownership: it owns the statements; its places are two pieces of SQLite's heap,
// from open() to close(), as many as its bytes can hold statements. Rejected: a fixed number of
// places, which is 9 KB also where 32 KiB of statements are kept. Thread rule: one thread.
#ifndef PAWL_STORE_SQLITE_KEPT_STATEMENTS_HPP
#define PAWL_STORE_SQLITE_KEPT_STATEMENTS_HPP

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>

#include "core/buddy.hpp"

namespace pawl::sqlite {

class KeptStatements {
 public:
  struct Kept {
    std::uint64_t used = 0;  // the value of uses_ at its last use
    const char* text = nullptr;
    sqlite3_stmt* statement = nullptr;  // null: the place is free
    Kept* next = nullptr;               // with the same hash; of a free place: the next free one
    std::uint32_t bytes = 0;            // taken from SQLite's heap
    bool is_held = false;               // in use by the caller
  };

  // The heap for statements with this limit: holes between those that came and went take part of
  // it.
  [[nodiscard]] static constexpr std::size_t memory(std::size_t bytes_max) {
    const std::size_t places = places_for(bytes_max);
    return bytes_max + bytes_max / 8 + BuddyPool::block_bytes_for(places * sizeof(Kept)) +
           BuddyPool::block_bytes_for(places * sizeof(void*));  // its table has pointers
  }

  // False: no memory.
  [[nodiscard]] bool open(std::size_t bytes_max);
  // Finalizes all statements.
  void close();

  // Null: it is not kept. Counts as a use.
  [[nodiscard]] Kept* find(const char* text);
  // Requires: the text is not kept.
  Kept& add(const char* text, sqlite3_stmt* statement);
  // Makes room for a statement of `bytes`, as far as others can leave.
  void make_room(std::size_t bytes);
  // False: all that are kept are held.
  bool forget_oldest();
  // False: there were none that are not held.
  bool forget_all();

 private:
  static constexpr std::size_t kPlacesMost = 384;
  // Nearly all statements take more; so a smaller limit needs fewer places.
  static constexpr std::size_t kBytesEach = 2 * 1024;

  static constexpr std::size_t places_for(std::size_t bytes_max) {
    const std::size_t places = bytes_max / kBytesEach;
    return places < kPlacesMost ? places : kPlacesMost;
  }
  Kept*& head_of(const char* text);
  void forget(Kept& kept);

  Kept* places_ = nullptr;
  Kept** heads_ = nullptr;  // by hash
  std::size_t count_ = 0;
  Kept* free_ = nullptr;
  std::uint64_t uses_ = 0;
  std::size_t bytes_max_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_KEPT_STATEMENTS_HPP
