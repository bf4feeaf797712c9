// ServerByHand: the tests' own connection to the server, beside the one of a store.
#ifndef PAWL_TEST_SERVER_BY_HAND_HPP
#define PAWL_TEST_SERVER_BY_HAND_HPP

#include <libpq-fe.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace pawl::test {

class ServerByHand {
 public:
  ServerByHand() { execute("SET client_min_messages=error"); }

  // Where server.py has it.
  static const char* address() {
    const char* const given = std::getenv("PAWL_POSTGRES");
    return given == nullptr ? "" : given;
  }

  // There may be several statements.
  void execute(const std::string& sql) {
    static_cast<void>(succeeded({PQexec(handle_.get(), sql.c_str()), &PQclear}, sql));
  }
  // One statement. The answer has a line for each row, and | between columns.
  std::string ask(const std::string& sql) {
    constexpr int kBinary = 1;
    const Result result = succeeded(
        {PQexecParams(handle_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, kBinary),
         &PQclear},
        sql);
    std::string rows;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      if (row > 0) rows += '\n';
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        if (column > 0) rows += '|';
        if (PQgetisnull(result.get(), row, column) == 0)
          rows += text_of(PQftype(result.get(), column), PQgetvalue(result.get(), row, column),
                          static_cast<std::size_t>(PQgetlength(result.get(), row, column)));
      }
    }
    return rows;
  }
  // That have come with the answers so far.
  int notifications() {
    int count = 0;
    while (PGnotify* const one = PQnotifies(handle_.get())) {
      PQfreemem(one);
      ++count;
    }
    return count;
  }

 private:
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

  Result succeeded(Result result, const std::string& sql) {
    const ExecStatusType status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQerrorMessage(handle_.get());
    return result;
  }
  static std::string text_of(Oid type, const char* value, std::size_t size) {
    constexpr Oid kBool = 16;
    constexpr Oid kBytes = 17;
    constexpr Oid kText = 25;
    if (type == kText || type == kBytes) return {value, size};
    std::uint64_t number = type != kBool && (value[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < size; ++i)
      number = number << 8U | static_cast<unsigned char>(value[i]);
    return std::to_string(static_cast<std::int64_t>(number));
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> handle_{PQconnectdb(address()), &PQfinish};
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SERVER_BY_HAND_HPP
