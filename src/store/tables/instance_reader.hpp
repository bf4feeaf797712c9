// InstanceReader: reads what a client sees of one instance.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_INSTANCE_READER_HPP
#define PAWL_STORE_TABLES_INSTANCE_READER_HPP

#include <cstddef>
#include <string_view>

#include "context.hpp"
#include "history_table.hpp"
#include "instance_store.hpp"

namespace pawl::store {

class InstanceReader : private Table {
 public:
  InstanceReader(StoreContext& context, HistoryTable& history)
      : Table(context), history_(history) {}

  // ---- calls of the contract ----
  Status read_id(InstanceKey key, FixedText<kNameBytesMax>* id, bool* unregistered);
  Status read_status(std::string_view id, InstanceStatus* out, char* buffer, std::size_t capacity);

 private:
  Status copy_custom_status(std::string_view text, InstanceStatus* out, char* buffer,
                            std::size_t capacity);

  HistoryTable& history_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_INSTANCE_READER_HPP
