#include "pawl/postgres.hpp"

#include <new>

#include "pawl/pawl_postgres.h"
#include "store/postgres/postgres_database.hpp"
#include "store/store_factory.hpp"

namespace pawl {
namespace {

using postgres::PostgresStore;

static_assert(alignof(PostgresStore) <= StoreFactory::kAlign);

constexpr StoreEngine kPostgres = {
    sizeof(PostgresStore), [](void* place) -> Store* { return ::new (place) PostgresStore(); },
    [](Store* store) { static_cast<PostgresStore*>(store)->~PostgresStore(); }};

}  // namespace

ServerDatabase postgresql(std::string_view address, std::string_view schema) {
  return {&kPostgres, address, schema};
}

}  // namespace pawl

pawl_server_database pawl_postgresql(const char* address, const char* schema) {
  return {&pawl::kPostgres, address, schema == nullptr ? "pawl" : schema};
}
