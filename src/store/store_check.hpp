// StoreCheck: looks through the rows of a whole database, which may be on a server.
//
// Purpose: implements check_rows() of pawl/maintenance.hpp. Thread rule: as store.hpp.
#ifndef PAWL_STORE_STORE_CHECK_HPP
#define PAWL_STORE_STORE_CHECK_HPP

#include "core/text.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/status.hpp"
#include "store/store.hpp"

namespace pawl::store {

struct StoreCheck {
  // In one view. Requires: the store is open.
  static Status run(Store& store, FindingVisitor& visitor, DatabaseReport* report,
                    Diagnostic& diagnostic);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_STORE_CHECK_HPP
