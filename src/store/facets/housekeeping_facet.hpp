// HousekeepingFacet: what is removed, and the space of the rest.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_HOUSEKEEPING_FACET_HPP
#define PAWL_STORE_FACETS_HOUSEKEEPING_FACET_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "housekeeping.hpp"
#include "sql/database.hpp"
#include "tables/store_space.hpp"
#include "tables/tree_removal.hpp"

namespace pawl::store {

class HousekeepingFacet final : public Housekeeping {
 public:
  HousekeepingFacet(sql::Database& file, StoreSpace& space, TreeRemoval& removal)
      : file_(file), space_(space), removal_(removal) {}
  HousekeepingFacet(const HousekeepingFacet&) = delete;
  HousekeepingFacet& operator=(const HousekeepingFacet&) = delete;

  Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                      bool* more) override {
    return removal_.delete_ended(which, cursor, next_end, more);
  }
  Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more) override {
    return removal_.sweep_deleted(events_max, removed, more);
  }
  Status read_use(SpaceUse* out) override { return space_.read_use(out); }
  Status set_space(std::optional<std::int64_t> quota_bytes,
                   std::optional<std::int64_t> reserve_bytes) override {
    return space_.set_space(quota_bytes, reserve_bytes);
  }
  Status remove_oldest(std::size_t events_max, Removed* removed) override {
    return removal_.remove_oldest(events_max, removed);
  }
  Status set_log_max(std::int64_t bytes) override { return space_.set_log_max(bytes); }
  [[nodiscard]] LogUse log_use() override { return space_.log_use(); }
  Result<bool> reserve_missing() override { return space_.reserve_missing(); }
  Status make_reserve(std::int64_t bytes) override { return space_.make_reserve(bytes); }
  Status release_reserve() override { return space_.release_reserve(); }
  Status remove_unwanted_reserve() override { return space_.remove_unwanted_reserve(); }
  Status empty_log() override { return file_.empty_log(); }
  Status write_back_log() override { return file_.write_back_log(); }

 private:
  sql::Database& file_;
  StoreSpace& space_;
  TreeRemoval& removal_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_HOUSEKEEPING_FACET_HPP
