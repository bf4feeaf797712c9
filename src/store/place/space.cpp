#include "store/place/place.hpp"

#include <cstddef>

#include "core/check.hpp"
#include "core/text.hpp"
#include "pawl/port.hpp"

namespace pawl::store {

constexpr auto kPageCount = PAWL_QUERY("PRAGMA page_count", sql::kEnginesOwn);
constexpr auto kFreeCount = PAWL_QUERY("PRAGMA freelist_count", sql::kEnginesOwn);

Status Place::read_use(SpaceUse* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  std::int64_t pages = 0;
  std::int64_t free = 0;
  PAWL_TRY(read_pragma(kPageCount, "page_count", &pages));
  PAWL_TRY(read_pragma(kFreeCount, "freelist_count", &free));
  out->used_bytes = (pages - free) * kLogPageBytes;
  out->free_bytes = free * kLogPageBytes;
  out->log_bytes = context_.file.log_bytes();
  out->quota_bytes = context_.quota_bytes;
  return Status::kOk;
}

constexpr auto kSetSpace = PAWL_QUERY("UPDATE meta SET quota=?1,reserve=?2 WHERE id=1");

Status Place::set_quota_and_reserve(std::optional<std::int64_t> quota_bytes,
                                    std::optional<std::int64_t> reserve_bytes) {
  require_batch();
  const std::int64_t quota = quota_bytes.value_or(context_.quota_bytes);
  const std::int64_t reserve = reserve_bytes.value_or(context_.reserve_bytes);
  if (quota == context_.quota_bytes && reserve == context_.reserve_bytes) return Status::kOk;
  PAWL_TRY(fail_written(connection_.use(kSetSpace).bind(quota).bind(reserve).run(), "meta"));
  context_.quota_bytes = quota;
  context_.reserve_bytes = reserve;
  has_room_.in(context_) = false;
  return Status::kOk;
}

constexpr auto kSetLogMax = PAWL_QUERY("UPDATE meta SET log_max=?1 WHERE id=1");

Status Place::set_log_max(std::int64_t bytes) {
  require_batch();
  if (bytes == context_.log_max_bytes) return Status::kOk;
  PAWL_TRY(fail_written(connection_.use(kSetLogMax).bind(bytes).run(), "meta"));
  context_.log_max_bytes = bytes;
  has_room_.in(context_) = false;
  return Status::kOk;
}

constexpr auto kSetKeyWindow = PAWL_QUERY(
    "UPDATE meta SET keys_max=?1,keys_ms=?2 WHERE id=1 AND (keys_max<>?1 OR keys_ms<>?2)");

Status Place::set_key_window(std::int64_t keys_max, std::int64_t keys_ms) {
  require_batch();
  return fail_written(connection_.use(kSetKeyWindow).bind(keys_max).bind(keys_ms).run(), "meta");
}

LogUse Place::log_use() { return {context_.file.log_bytes(), context_.log_max_bytes}; }

Result<bool> Place::reserve_missing() {
  if (context_.reserve_bytes == 0) return false;
  bool there = false;
  const Status status = context_.file.find_reserve(&there);
  if (status != Status::kOk) return fail(status, "reserve");
  return !there;
}

Status Place::make_reserve(std::int64_t bytes) {
  PAWL_CHECK("store-16", context_.file.is_open());
  const Status made = context_.file.make_reserve_file(bytes);
  // Not by fail(), which would kill the batch: it goes on without the reserve.
  if (made != Status::kOk) context_.diagnostic.format("reserve: %s", status_name(made));
  return made;
}

Status Place::remove_unwanted_reserve() {
  require_batch();
  return context_.reserve_bytes == 0 ? remove_reserve() : Status::kOk;
}

Status Place::release_reserve() {
  PAWL_CHECK("store-17", context_.file.is_open() && !context_.in_batch && !context_.in_read);
  return remove_reserve();
}

// Room that was found once is taken to last for the whole batch.
Status Place::room_for_new() {
  bool& has_room = has_room_.in(context_);
  if (!has_room) PAWL_TRY(look_for_room());
  has_room = true;
  return Status::kOk;
}

Status Place::look_for_room() {
  const LogUse log = log_use();
  if (log.most > 0 && log.bytes > log.most) {
    const Result<std::int64_t> reader = context_.file.port().storage->lock_holder(
        context_.file.options().path, port::LogLock::kRead);
    Diagnostic process;
    if (reader.ok()) process.format(": process %lld", static_cast<long long>(reader.value()));
    context_.diagnostic.format(
        "the log has %lld bytes, and log_bytes_max is %lld: it cannot be written back while "
        "a process reads one view for long%.*s",
        static_cast<long long>(log.bytes), static_cast<long long>(log.most),
        static_cast<int>(process.text().size()), process.text().data());
    return Status::kQuota;
  }
  if (context_.quota_bytes > 0) {
    SpaceUse use;
    PAWL_TRY(read_use(&use));
    if (use.total() > context_.quota_bytes) {
      context_.diagnostic.format(
          "over the quota of %lld bytes: %lld in pages and %lld in the log are used",
          static_cast<long long>(context_.quota_bytes), static_cast<long long>(use.used_bytes),
          static_cast<long long>(use.log_bytes));
      return Status::kQuota;
    }
  }
  const Result<bool> missing = reserve_missing();
  PAWL_TRY(missing.status());
  if (!missing.value()) return Status::kOk;
  // Free pages serve as well: running work uses them, and needs none of the disk.
  SpaceUse use;
  PAWL_TRY(read_use(&use));
  if (use.free_bytes >= context_.reserve_bytes) return Status::kOk;
  context_.diagnostic.format(
      "the disk was full, and there is room neither for the reserve of %lld bytes nor for as much "
      "in free pages, of which there are %lld bytes",
      static_cast<long long>(context_.reserve_bytes), static_cast<long long>(use.free_bytes));
  return Status::kQuota;
}

Status Place::remove_reserve() { return fail(context_.file.remove_reserve_file(), "reserve"); }

Status Place::read_pragma(sql::QueryRef query, const char* what, std::int64_t* out) {
  Statement row = connection_.use(query);
  if (!row.row()) return no_row(row, Status::kCorrupt, what);
  *out = row.integer(0);
  return Status::kOk;
}

Status Place::empty_log() {
  PAWL_CHECK("store-18", context_.file.is_open() && !context_.in_batch && !context_.in_read);
  return fail(context_.file.empty_log(), "checkpoint");
}

Status Place::write_back_log() {
  PAWL_CHECK("store-19", context_.file.is_open() && !context_.in_batch && !context_.in_read);
  return fail(context_.file.write_back_log(), "checkpoint");
}

}  // namespace pawl::store
