// WarmCache: decoded histories of the instances that ran last.
//
// Purpose: a turn of a warm instance reads only its new messages, and not even those if nothing but
// its turns has changed the instance. An entry is trusted if and only if its instance key and
// revision match the stored row. Ownership: entries from the arena, event bytes from one pool; the
// least recently used entries leave when either is short. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_WARM_HPP
#define PAWL_RUNTIME_WARM_HPP

#include "core/arena.hpp"
#include "core/buddy.hpp"
#include "core/index_map.hpp"
#include "pawl/options.hpp"
#include "replay/history.hpp"
#include "store/instance/arguments.hpp"

namespace pawl {

// The next turn takes this in place of the row, as long as `known` holds. The texts follow it in
// memory.
struct WarmRow {
  KnownInstance known;
  std::int64_t behaviour = 0;
  std::uint16_t text_bytes[4] = {};  // of id, name, version and trace
};

struct Warm {
  explicit Warm(BuddyPool& pool) : history(pool) {}
  InstanceKey key = 0;  // 0: the entry is free
  ExecutionId execution = 0;
  std::int64_t revision = 0;
  bool pinned = false;  // in the batch at hand
  std::uint64_t used_at = 0;
  WarmRow* row = nullptr;  // in the pool; null: the row is read
  History history;
};

class WarmCache {
 public:
  template <typename AnyArena>
  Status allocate(AnyArena& arena, const Options& options) {
    count_ = options.limits.warm_instances;
    pool_bytes_ = options.limits.warm_bytes;
    entries_ = static_cast<Warm*>(arena.allocate(sizeof(Warm) * count_, alignof(Warm)));
    pool_block_ = arena.allocate(pool_bytes_, kArenaAlign);
    PAWL_TRY(index_.allocate(arena, count_));
    return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
  }
  void start();
  void stop();

  // Null: the instance is not warm.
  [[nodiscard]] Warm* find(InstanceKey key);
  // The entry of the key, found or made, and pinned; null: every entry is pinned.
  [[nodiscard]] Warm* pin(InstanceKey key);
  // Gives a pinned entry its final key, in place of a stand-in.
  void rename(Warm& entry, InstanceKey key);
  void unpin_all();
  void drop(Warm& entry);
  // Keeps the row as the turn that fetched `item` left it. If nothing is known of it, or the pool
  // is short, the next turn reads it.
  void keep_row(Warm& entry, const OrchestrationItem& item, std::string_view version,
                std::int64_t behaviour);
  void forget_row(Warm& entry);
  // Begins the item of a known row; InstanceHistory::fetch_known_item() completes it.
  static void fetch_row(const Warm& entry, OrchestrationItem* out);
  // Makes room: forgets all rows, also those of pinned entries, since a turn has a copy; or else
  // drops the least recently used unpinned entry. False: there is none either.
  bool evict_one();
  // Does another entry of the batch at hand hold memory?
  [[nodiscard]] bool has_pinned_beside(const Warm& entry) const;
  // The reserve is room for the end event of an instance whose history fills the pool.
  void release_reserve();
  void restore_reserve();

  [[nodiscard]] std::size_t size() const { return index_.size(); }
  [[nodiscard]] std::size_t bytes_used() const { return pool_.used(); }
  // Rises whenever the pool cannot give what it is asked for.
  [[nodiscard]] std::uint64_t shortages() const { return pool_.failures(); }

 private:
  // Drops the least recently used unpinned entry. False: there is none.
  bool drop_oldest();

  static constexpr std::size_t kReserveBytes = 8 * 1024;
  Warm* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t pinned_end_ = 0;  // one after the last place pinned in this batch
  std::size_t pool_bytes_ = 0;
  void* pool_block_ = nullptr;
  void* reserve_ = nullptr;
  BuddyPool pool_;
  IndexMap<InstanceKey, std::uint32_t> index_;
  std::uint64_t clock_ = 0;
  bool started_ = false;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_WARM_HPP
