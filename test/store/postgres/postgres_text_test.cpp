// Goal: each difference between the engines is written out, and nothing else is changed. Whether
// the results mean the same is shown by running them (both_engines.cpp).
#include "store/postgres/postgres_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "store/postgres/server_link.hpp"

namespace pawl::postgres {
namespace {

std::string translated(std::string_view text) {
  char out[kPostgresTextBytesMax];
  const std::size_t length = translate(text, out);
  EXPECT_EQ(out[length], '\0');
  return {out, length};
}

std::string translated_schema(std::string_view text) {
  char out[kPostgresTextBytesMax];
  return {out, translate_schema(text, out)};
}

TEST(PostgresText, ParametersHaveADollar) {
  EXPECT_EQ(translated("SELECT a FROM t WHERE a=?2 AND b>?13"),
            "SELECT a FROM t WHERE a=$2 AND b>$13");
  EXPECT_EQ(translated("VALUES(?,?,?,?,?,?,?,?,?,?,?)"),
            "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)");
}

TEST(PostgresText, AListWithoutALimitComesInPages) {
  char out[kPostgresTextBytesMax];
  const auto page = [&](std::string_view text) {
    EXPECT_TRUE(is_unlimited(text)) << text;
    return std::string(out, translate_page(text, out));
  };
  EXPECT_EQ(page("SELECT a FROM t"), "SELECT a FROM t LIMIT $1 OFFSET $2");
  EXPECT_EQ(page("SELECT (SELECT b FROM u LIMIT 1) FROM t WHERE a=?9 AND b=?2"),
            "SELECT (SELECT b FROM u LIMIT 1) FROM t WHERE a=$9 AND b=$2 LIMIT $10 OFFSET $11");
  EXPECT_EQ(page("SELECT a FROM t WHERE a=? AND b=?"),
            "SELECT a FROM t WHERE a=$1 AND b=$2 LIMIT $3 OFFSET $4");
  EXPECT_FALSE(is_unlimited("SELECT a FROM t ORDER BY a LIMIT ?1"));
  EXPECT_FALSE(is_unlimited("UPDATE t SET a=1"));
  EXPECT_FALSE(is_unlimited("WITH x AS (SELECT 1) SELECT a FROM x"));
}

TEST(PostgresText, MarkedPartsAreLeftOutOrHaveAnother) {
  EXPECT_EQ(translated("FROM s\fINDEXED BY s_owner\rWHERE x"), "FROM s WHERE x");
  EXPECT_EQ(translated("w\f INDEXED BY w_living\r\fCROSS\rJOIN"), "w  JOIN");
  EXPECT_EQ(translated("(\ftypeof(q.due)='integer'\r)"), "(q.due IS NOT NULL)");
  EXPECT_EQ(translated("length(\fCAST(name AS BLOB)\r)"), "length(convert_to(name,'UTF8'))");
}

TEST(PostgresText, IifIsACase) {
  EXPECT_EQ(translated("iif(a=1,b,c)"), "(CASE WHEN a=1 THEN b ELSE c END)");
  EXPECT_EQ(translated("x=iif(?7,?8,iif(?8='',version,?8)),y"),
            "x=(CASE WHEN $7<>0 THEN $8 ELSE (CASE WHEN $8='' THEN version ELSE $8 END) END),y");
  EXPECT_EQ(translated("iif(f(a,b),(SELECT g(c,d)),e)"),
            "(CASE WHEN f(a,b) THEN (SELECT g(c,d)) ELSE e END)");
  EXPECT_EQ(translated("iif(?1 IS NULL,a,b)"), "(CASE WHEN $1 IS NULL THEN a ELSE b END)");
}

TEST(PostgresText, TextsAndOtherWordsStay) {
  EXPECT_EQ(translated("SELECT 'iif(?1,end,\"x\")',e.end,CASE a WHEN 1 THEN 2 END"),
            "SELECT 'iif(?1,end,\"x\")',e.\"end\",CASE a WHEN 1 THEN 2 END");
  EXPECT_EQ(translated("ended_stamp,endless,iif_x"), "ended_stamp,endless,iif_x");
}

TEST(PostgresText, TheSchemaHasItsTypes) {
  EXPECT_EQ(translated_schema("CREATE TABLE e(key INTEGER PRIMARY KEY AUTOINCREMENT, end INTEGER "
                              "NOT NULL, name TEXT, bytes BLOB, PRIMARY KEY(key)) WITHOUT ROWID"),
            "CREATE TABLE e(key bigint PRIMARY KEY , \"end\" bigint NOT NULL, name text COLLATE "
            "\"C\", bytes bytea, PRIMARY KEY(key))  ");
  EXPECT_EQ(translated_schema("deadline INTEGER AS (a) VIRTUAL"), "deadline bigint AS (a) STORED");
}

TEST(ServerErrors, AreStatuses) {
  EXPECT_EQ(status_of("55P03"), Status::kBusy);
  EXPECT_EQ(status_of("40P01"), Status::kBusy);
  EXPECT_EQ(status_of("57014"), Status::kBusy);
  EXPECT_EQ(status_of("53100"), Status::kFull);
  EXPECT_EQ(status_of("53200"), Status::kResourceExhausted);
  EXPECT_EQ(status_of("25006"), Status::kReadOnly);
  EXPECT_EQ(status_of("42501"), Status::kReadOnly);
  EXPECT_EQ(status_of("23505"), Status::kAlreadyExists);
  EXPECT_EQ(status_of("42P01"), Status::kCorrupt);
  EXPECT_EQ(status_of("22P02"), Status::kCorrupt);
  EXPECT_EQ(status_of("XX001"), Status::kCorrupt);
  EXPECT_EQ(status_of("57P01"), Status::kIo);
  EXPECT_EQ(status_of(""), Status::kIo);
}

}  // namespace
}  // namespace pawl::postgres
