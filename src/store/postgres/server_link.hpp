// ServerLink: the connection to a server, as it runs statements.
//
// Purpose: a statement is sent alone and waited for, or queued with others (server_pipeline.hpp).
// Ownership: a result belongs to the caller (PQclear). Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_SERVER_LINK_HPP
#define PAWL_STORE_POSTGRES_SERVER_LINK_HPP

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "store/postgres/server_pipeline.hpp"

namespace pawl::postgres {

// A number of a result that came as texts.
[[nodiscard]] std::int64_t number_at(const PGresult* result, int column, int row = 0);

class ServerLink : public ServerPipeline {
 public:
  using ServerPipeline::ServerPipeline;

  // For what the transaction failed; it can only be rolled back then. kOk: it did not.
  [[nodiscard]] Status failure() const;

  // Each waits for the answer. kIo: it was lost, and nothing is known of what the server did.
  // `out`, which may be null, gets the result of the last statement if all succeeded.
  Status ask(const char* sql, PGresult** out);
  // Ends the transaction, whatever became of what is queued in it.
  Status roll_back(PGresult** out);
  // For one statement with numbers for its parameters. All comes as texts.
  Status ask_about(const char* sql, std::initializer_list<std::optional<std::int64_t>> numbers,
                   PGresult** out);
  // For one statement. Numbers come in binary form, and from ask() as texts.
  Status ask_binary(const char* sql, PGresult** out);
  Status prepare(const char* name, const char* sql, int count, const Oid* types);
  // Values and rows in binary form.
  Status run(const char* name, int count, const char* const* values, const int* sizes,
             PGresult** out);

 private:
  // `sent`: as libpq's calls say it.
  Status wait_for(int sent, PGresult** out);
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_SERVER_LINK_HPP
