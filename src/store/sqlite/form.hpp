// form: whether the stored form of a database is one that this Pawl reads, in words for people.
//
// Ownership: nothing is kept. Thread rule: any.
#ifndef PAWL_STORE_SQLITE_FORM_HPP
#define PAWL_STORE_SQLITE_FORM_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/status.hpp"
#include "store/sql/schema.hpp"

namespace pawl::store {

// Until its first release format 2 grows, and its number stays. Not 0: the database lacks a column
// that a later form of it has. A change that adds columns names one of them here, says in
// database_upgrade.cpp what it holds if that is not its default, and keeps the database of before
// in test/store/golden.
inline constexpr char kIsEarlyForm[] =
    "SELECT count(*) FROM sqlite_schema WHERE type='table' AND "
    "((name='history' AND instr(sql,'prev INTEGER')=0) OR "
    "(name='instances' AND instr(sql,'timer_id INTEGER')=0) OR "
    "(name='workers' AND instr(sql,'sessions_until INTEGER')=0))";

// Says which command converts the database. A program that only opens databases has no converter.
inline Status refuse_older(const char* path, std::int64_t version, Diagnostic& diagnostic) {
  constexpr std::size_t kShown = 100;  // the text has room for the path twice
  const char* const command_path = std::string_view(path).size() <= kShown ? path : "PATH";
  if (version == kSchemaVersion) {
    diagnostic.format(
        "%s: written by an older Pawl, in an earlier form of format %d; to convert it: "
        "pawl upgrade --db %s",
        path, kSchemaVersion, command_path);
  } else {
    diagnostic.format(
        "%s: written by an older Pawl: format %lld, this one reads only %d; to convert it: "
        "pawl upgrade --db %s",
        path, static_cast<long long>(version), kSchemaVersion, command_path);
  }
  return Status::kOlderDatabase;
}

}  // namespace pawl::store

#endif  // PAWL_STORE_SQLITE_FORM_HPP
