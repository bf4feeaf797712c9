#include "runtime/warm.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "core/check.hpp"

namespace pawl {
namespace {

char* texts_of(WarmRow& row) { return reinterpret_cast<char*>(&row + 1); }

}  // namespace

void WarmCache::start() {
  pool_.attach(pool_block_, pool_bytes_);
  for (std::size_t i = 0; i < count_; ++i)
    ::new (static_cast<void*>(&entries_[i])) Warm(pool_);
  restore_reserve();
  started_ = true;
}

void WarmCache::stop() {
  if (!started_) return;  // a start failed before it reached the cache
  started_ = false;
  for (std::size_t i = 0; i < count_; ++i)
    entries_[i].~Warm();
  count_ = 0;
}

Warm* WarmCache::find(InstanceKey key) {
  const std::uint32_t* const at = index_.find(key);
  return at == nullptr ? nullptr : &entries_[*at];
}

Warm* WarmCache::pin(InstanceKey key) {
  PAWL_CHECK("runtime-11", started_ && entries_ != nullptr);
  Warm* entry = find(key);
  if (entry == nullptr) {
    if (index_.full() && !drop_oldest()) return nullptr;
    std::uint32_t free = 0;
    while (entries_[free].key != 0)
      ++free;
    entry = &entries_[free];
    entry->key = key;
    entry->revision = -1;
    entry->execution = 0;
    const Status inserted = index_.insert(key, free);
    PAWL_CHECK("runtime-10", inserted == Status::kOk);
  }
  entry->pinned = true;
  const auto place = static_cast<std::size_t>(entry - entries_);
  if (place >= pinned_end_) pinned_end_ = place + 1;
  entry->used_at = ++clock_;
  return entry;
}

void WarmCache::rename(Warm& entry, InstanceKey key) {
  const auto place = static_cast<std::uint32_t>(&entry - entries_);
  PAWL_CHECK("runtime-13", entry.pinned && find(key) == nullptr);
  index_.erase(entry.key);
  const Status inserted = index_.insert(key, place);
  PAWL_CHECK("runtime-14", inserted == Status::kOk);
  entry.key = key;
}

void WarmCache::keep_row(Warm& entry, const OrchestrationItem& item, std::string_view version,
                         std::int64_t behaviour) {
  if (!item.known.is_whole) return forget_row(entry);
  if (entry.row == nullptr) {
    const std::string_view texts[] = {item.id.view(), item.name.view(), version, item.trace.view()};
    std::size_t bytes = sizeof(WarmRow);
    for (const std::string_view text : texts)
      bytes += text.size();
    void* const block = pool_.allocate(bytes);
    if (block == nullptr) return;
    entry.row = ::new (block) WarmRow();
    entry.row->behaviour = behaviour;
    char* at = texts_of(*entry.row);
    for (std::size_t i = 0; i < std::size(texts); ++i) {
      entry.row->text_bytes[i] = static_cast<std::uint16_t>(texts[i].size());
      at = std::copy(texts[i].begin(), texts[i].end(), at);
    }
  }
  entry.row->known = item.known;
}

void WarmCache::forget_row(Warm& entry) {
  pool_.release(entry.row);
  entry.row = nullptr;
}

void WarmCache::fetch_row(const Warm& entry, OrchestrationItem* out) {
  const WarmRow& row = *entry.row;
  *out = OrchestrationItem();
  out->key = entry.key;
  out->behaviour = row.behaviour;
  out->execution = entry.execution;
  out->revision = entry.revision;
  const char* at = texts_of(*entry.row);
  std::size_t text = 0;
  const auto next = [&] {
    const std::string_view view(at, row.text_bytes[text++]);
    at += view.size();
    return view;
  };
  out->id.assign_cut(next());
  out->name.assign_cut(next());
  out->version.assign_cut(next());
  out->trace.assign_cut(next());
}

void WarmCache::unpin_all() {
  for (std::size_t i = 0; i < pinned_end_; ++i)
    entries_[i].pinned = false;
  pinned_end_ = 0;
}

void WarmCache::drop(Warm& entry) {
  if (entry.key == 0) return;
  index_.erase(entry.key);
  forget_row(entry);
  entry.history.clear();
  entry.key = 0;
  entry.pinned = false;
}

bool WarmCache::evict_one() {
  PAWL_CHECK("runtime-12", started_ && entries_ != nullptr);
  bool had_rows = false;
  for (std::size_t i = 0; i < count_; ++i) {
    had_rows = had_rows || entries_[i].row != nullptr;
    forget_row(entries_[i]);
  }
  return had_rows || drop_oldest();
}

bool WarmCache::drop_oldest() {
  Warm* oldest = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    Warm& entry = entries_[i];
    if (entry.key == 0 || entry.pinned) continue;
    if (oldest == nullptr || entry.used_at < oldest->used_at) oldest = &entry;
  }
  if (oldest == nullptr) return false;
  drop(*oldest);
  return true;
}

bool WarmCache::has_pinned_beside(const Warm& entry) const {
  for (std::size_t i = 0; i < pinned_end_; ++i)
    if (entries_[i].pinned && &entries_[i] != &entry) return true;
  return false;
}

void WarmCache::release_reserve() {
  pool_.release(reserve_);
  reserve_ = nullptr;
}

void WarmCache::restore_reserve() {
  if (reserve_ == nullptr) reserve_ = pool_.allocate(kReserveBytes);
}

}  // namespace pawl
