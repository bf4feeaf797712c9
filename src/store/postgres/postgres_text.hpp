// postgres_text: the text of a statement as PostgreSQL reads it.
//
// Purpose: a statement has one text for all engines (sql/query.hpp); here its few differences are
// written out, so that no statement stands twice:
// - A parameter ?n is $n. Parameters without a number are counted.
// - A marked part is SQLite's. "typeof(x)='integer'" is true of every value but NULL, since columns
//   have types here. "CAST(x AS BLOB)" stands for the bytes of a text, whose length is counted. Any
//   other part says how to find rows, and is left out.
// - iif(a,b,c) is a CASE. A condition that is a parameter alone is a number, and true unless 0.
// - The column `end` is quoted, since END is a word of the language. Pawl writes those in capitals.
//
// max() and min() of two values are functions of the schema (postgres_schema.cpp). Rejected: the
// same for iif(): its two values would need one type, and a literal has a narrower one than a
// column.
//
// Ownership: views of the caller's texts. Thread rule: any.
#ifndef PAWL_STORE_POSTGRES_POSTGRES_TEXT_HPP
#define PAWL_STORE_POSTGRES_POSTGRES_TEXT_HPP

#include <cstddef>
#include <string_view>

#include "store/sql/words.hpp"

namespace pawl::postgres {

// The longest text of a statement here, with its terminating zero.
inline constexpr std::size_t kPostgresTextBytesMax = 2 * sql::kTextBytesMax;

// Writes the text with a terminating zero and returns its length. The texts are our own, so one
// that does not fit, or nests iif() deeper than all do, stops the process.
std::size_t translate(std::string_view text, char (&out)[kPostgresTextBytesMax]);

// Whether the statement is a list without a limit of its own. The tables read on in such a list
// until they have enough; here that has to be said before.
[[nodiscard]] bool is_unlimited(std::string_view text);

// The same for a statement that is_unlimited(), with a parameter for the most rows, and one for how
// many are passed over, behind all others.
std::size_t translate_page(std::string_view text, char (&out)[kPostgresTextBytesMax]);

// The same for a statement of the schema, which names types and ways to store rows. A text is
// compared byte by byte, as SQLite does it.
std::size_t translate_schema(std::string_view text, char (&out)[kPostgresTextBytesMax]);

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_POSTGRES_TEXT_HPP
