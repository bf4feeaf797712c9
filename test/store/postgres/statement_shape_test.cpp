// Goal: an answer that was read ahead is used only if no write since then can have changed it.
// Method: a table of pairs of a read and a write, each with what a server would say; texts that
// leave something open count as a change. Debug builds also compare each answer that is used with
// the one that the server gives then (postgres-17), in all tests on a server.
#include "store/postgres/statement_shape.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace pawl::postgres {
namespace {

constexpr bool kHasRows = true;

struct Pair {
  std::string_view read;
  std::string_view key;
  bool has_rows;
  std::string_view write;
  std::vector<std::string_view> parameters;
  bool leaves;
};

void expect_all(std::initializer_list<Pair> pairs) {
  for (const Pair& pair : pairs) {
    const StatementShape read = shape_of(pair.read);
    const StatementShape write = shape_of(pair.write);
    EXPECT_EQ(leaves(write, pair.parameters.data(), pair.parameters.size(),
                     {&read, pair.key, pair.has_rows}),
              pair.leaves)
        << pair.read << "\n"
        << pair.write;
  }
}

constexpr std::string_view kById = "SELECT key,state FROM instances WHERE id=$1";
constexpr std::string_view kItem = "SELECT state FROM worker_queue WHERE id=$1 AND sid IS NULL";

TEST(StatementShape, AnotherTableIsAnotherMatter) {
  expect_all({
      {kById, "a", kHasRows, "DELETE FROM worker_queue WHERE id=$1", {"a"}, true},
      {kById, "a", kHasRows, "UPDATE meta SET next_token=5", {}, true},
      {kById, "a", kHasRows, "INSERT INTO history(id) SELECT key FROM instances", {}, true},
      {kById, "a", kHasRows, "SELECT count(*) FROM instances", {}, true},
      {"SELECT 1 FROM worker_queue q LEFT JOIN sessions s ON s.sid=q.sid WHERE q.id=$1",
       "7",
       kHasRows,
       "UPDATE sessions SET state=1 WHERE sid=$1",
       {"9"},
       false},
      {"SELECT (SELECT max(inc) FROM workers) FROM instances WHERE id=$1",
       "a",
       kHasRows,
       "INSERT INTO workers(node) VALUES($1)",
       {"n"},
       false},
  });
}

TEST(StatementShape, AnInsertedRowIsAnotherIfItsKeyIs) {
  expect_all({
      {kById, "a", !kHasRows, "INSERT INTO instances(id,name) VALUES($1,$2)", {"b", "n"}, true},
      {kById, "a", !kHasRows, "INSERT INTO instances(id,name) VALUES($1,$2)", {"a", "n"}, false},
      {kById, "a", !kHasRows, "INSERT INTO instances(name,id) VALUES($1,$2)", {"a", "b"}, true},
      {kById, "a", !kHasRows, "INSERT INTO instances(name,id) VALUES($1,$2)", {"b", "a"}, false},
      {kById,
       "a",
       kHasRows,
       "INSERT INTO instances(name,root,id) VALUES($1,(SELECT max(key,$1) FROM instances),$2)",
       {"a", "b"},
       true},
      // The row has the key of a row that exists, or of another one: the text does not say which.
      {kById, "a", kHasRows, "INSERT INTO instances(name,id) VALUES($1,$1||$2)", {"n", "b"}, false},
      {kById, "a", kHasRows, "INSERT INTO instances(name,id) VALUES($1,'a')", {"n"}, false},
      {kById,
       "a",
       kHasRows,
       "INSERT INTO instances(name,id) VALUES($1,lower($2))",
       {"n", "A"},
       false},
      {kById,
       "a",
       !kHasRows,
       "INSERT INTO instances(id) VALUES($1) ON CONFLICT(id) DO UPDATE SET state=2",
       {"b"},
       false},
      {kById, "a", !kHasRows, "INSERT INTO instances(id) SELECT $1", {"b"}, false},
      {kById, "a", !kHasRows, "INSERT INTO instances VALUES($1,$2)", {"b", "n"}, false},
      {kById, "a", !kHasRows, "INSERT INTO instances(id) VALUES($1),($2)", {"b", "a"}, false},
      {kItem,
       "7",
       kHasRows,
       "INSERT INTO worker_queue(instance,sid) VALUES($1,$2)",
       {"7", "8"},
       true},
      {kItem, "7", !kHasRows, "INSERT INTO worker_queue(instance,id) VALUES($1,$2)", {}, false},
  });
}

TEST(StatementShape, AChangeIsOfAnotherRowIfItsKeyIs) {
  expect_all({
      {kItem, "7", kHasRows, "DELETE FROM worker_queue WHERE id=$1", {"8"}, true},
      {kItem, "7", kHasRows, "DELETE FROM worker_queue WHERE id=$1", {"7"}, false},
      {kItem, "7", kHasRows, "UPDATE worker_queue SET state=$2 WHERE id=$1", {"8", "7"}, true},
      {kItem,
       "7",
       kHasRows,
       "UPDATE worker_queue SET state=$2 WHERE id=$1 RETURNING inc",
       {"7", "0"},
       false},
      {kItem, "7", kHasRows, "UPDATE worker_queue SET state=1 WHERE instance=$1", {"8"}, false},
      {kItem, "7", kHasRows, "UPDATE worker_queue SET state=1 WHERE state=$1", {"8"}, false},
      {kItem, "7", kHasRows, "UPDATE worker_queue SET state=1 WHERE id=$2", {"8", "7"}, false},
      {kItem,
       "7",
       kHasRows,
       "UPDATE worker_queue SET state=1 WHERE id=$1 OR sid=$2",
       {"8", "1"},
       false},
      {kItem, "7", kHasRows, "UPDATE worker_queue SET state=1 WHERE id=$1-1", {"8"}, false},
      {kItem, "7", kHasRows, "DELETE FROM worker_queue WHERE id<=$1", {"8"}, false},
      {kItem, "7", kHasRows, "DELETE FROM worker_queue", {}, false},
      {kById, "a", kHasRows, "UPDATE instances SET state=1 WHERE key=$1", {"3"}, false},
      {kById,
       "a",
       kHasRows,
       "WITH x AS (SELECT 1) UPDATE instances SET state=1 WHERE id=$1",
       {"b"},
       false},
  });
}

// Nothing but an insertion, or another key, makes a row be there that was not.
TEST(StatementShape, WhatIsNotThereStaysSo) {
  expect_all({
      {kById, "a", !kHasRows, "UPDATE instances SET state=1 WHERE key=$1", {"3"}, true},
      {kById, "a", !kHasRows, "DELETE FROM instances WHERE root=$1", {"3"}, true},
      {kById, "a", !kHasRows, "UPDATE instances SET id='a' WHERE key=$1", {"3"}, false},
      {kById, "a", !kHasRows, "UPDATE instances SET state=1,id=name WHERE key=$1", {"3"}, false},
      {"SELECT state FROM instances WHERE id=$1 AND state=1",
       "a",
       !kHasRows,
       "UPDATE instances SET state=1 WHERE key=$1",
       {"3"},
       false},
  });
}

TEST(StatementShape, ATextThatLeavesItOpenHasNoKey) {
  for (const std::string_view text : {
           std::string_view("SELECT 1 FROM instances WHERE id=$1 OR state=2"),
           std::string_view("SELECT 1 FROM instances WHERE id=$1 UNION ALL SELECT 2 FROM meta"),
           std::string_view("SELECT 1 FROM instances WHERE id=$1||'x'"),
           std::string_view("SELECT 1 FROM instances WHERE id=$2"),
           std::string_view("SELECT 1 FROM instances WHERE NOT id=$1"),
           std::string_view("SELECT 1 FROM instances WHERE id=$1 IS NOT TRUE"),
           std::string_view("SELECT 1 FROM instances,meta WHERE id=$1"),
           std::string_view("SELECT 1 FROM instances WHERE state=1"),
           std::string_view("SELECT 1 FROM instances"),
           std::string_view("SELECT 1 FROM instances i JOIN history h ON h.id=i.key WHERE id=$1"),
           std::string_view("SELECT 1 FROM instances i JOIN history h ON h.id=i.key WHERE h.id=$1"),
           std::string_view("SELECT 1 FROM (SELECT 1 FROM instances WHERE id=$1) x"),
           std::string_view("WITH x AS (SELECT 1) SELECT 2 FROM instances WHERE id=$1"),
       }) {
    const StatementShape read = shape_of(text);
    const StatementShape write = shape_of("INSERT INTO instances(id) VALUES($1)");
    const std::string_view other = "b";
    EXPECT_FALSE(leaves(write, &other, 1, {&read, "a", kHasRows})) << text;
  }
}

}  // namespace
}  // namespace pawl::postgres
