// BatchFacet: transactions, their time, and the damage they meet.
//
// Purpose: forwards each call of the facet to the table that answers it. Ownership: the store owns
// the tables. Thread rule: as store.hpp.
#ifndef PAWL_STORE_FACETS_BATCH_FACET_HPP
#define PAWL_STORE_FACETS_BATCH_FACET_HPP

#include <cstdint>
#include <optional>

#include "batch.hpp"
#include "sql/database.hpp"
#include "tables/meta_table.hpp"
#include "tables/row_quarantine.hpp"
#include "tables/transactions.hpp"

namespace pawl::store {

class BatchFacet final : public Batch {
 public:
  BatchFacet(RowQuarantine& quarantine, sql::Database& file, MetaTable& meta,
             Transactions& transactions)
      : quarantine_(quarantine), file_(file), meta_(meta), transactions_(transactions) {}
  BatchFacet(const BatchFacet&) = delete;
  BatchFacet& operator=(const BatchFacet&) = delete;

  Status begin(Incarnation me, BatchInfo* info) override { return transactions_.begin(me, info); }
  Status commit() override { return transactions_.commit(); }
  void rollback() override { return transactions_.rollback(); }
  [[nodiscard]] bool last_commit_wrote() const override {
    return transactions_.last_commit_wrote();
  }
  [[nodiscard]] bool last_commit_sent() const override { return transactions_.last_commit_sent(); }
  [[nodiscard]] IoUse io_use() const override { return file_.io_use(); }
  Status begin_read() override { return transactions_.begin_read(); }
  void end_read() override { return transactions_.end_read(); }
  Result<std::int64_t> data_version() override { return transactions_.data_version(); }
  [[nodiscard]] std::int64_t pawl_now() override { return meta_.pawl_now(); }
  [[nodiscard]] std::int64_t boot_ms_of(std::int64_t pawl_time) const override {
    return meta_.boot_ms_of(pawl_time);
  }
  Status check_keys() override { return quarantine_.check_keys(); }
  std::optional<Damage> take_damage() override { return transactions_.take_damage(); }
  Status quarantine(const Damage& damage) override { return quarantine_.quarantine(damage); }

 private:
  RowQuarantine& quarantine_;
  sql::Database& file_;
  MetaTable& meta_;
  Transactions& transactions_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_FACETS_BATCH_FACET_HPP
