// StoreSpace: how much space the database takes, which writes are refused for it, and the reserve.
//
// Removing rows needs room itself, because the changed pages go to the log first. Therefore a file
// beside the database reserves some: when the disk is full it is deleted, and it is made again once
// there is room. While it is missing, all processes reject new work. Ownership and thread rule: as
// context.hpp.
#ifndef PAWL_STORE_TABLES_STORE_SPACE_HPP
#define PAWL_STORE_TABLES_STORE_SPACE_HPP

#include <cstdint>
#include <optional>

#include "context.hpp"
#include "housekeeping.hpp"
#include "sql/database.hpp"

namespace pawl::store {

class StoreSpace : private Table {
 public:
  StoreSpace(StoreContext& context, sql::Database& file) : Table(context), file_(file) {}

  // ---- calls of the contract ----
  Status read_use(SpaceUse* out);
  Status set_space(std::optional<std::int64_t> quota_bytes,
                   std::optional<std::int64_t> reserve_bytes);
  Status set_log_max(std::int64_t bytes);
  [[nodiscard]] LogUse log_use();
  Result<bool> reserve_missing();
  Status make_reserve(std::int64_t bytes);
  Status release_reserve();
  Status remove_unwanted_reserve();

  // ---- for the other tables ----
  // kQuota: refused, because a new instance or message from outside must not take the room that
  // running work needs.
  Status room_for_new();
  Status look_for_room();
  Status remove_reserve();
  void begin_batch() { batch_has_room_ = false; }

 private:
  Status read_pragma(const sql::Query& query, std::int64_t* out);

  sql::Database& file_;
  bool batch_has_room_ = false;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_STORE_SPACE_HPP
