// StatementTrace: how often SQLite finished which statement, on the connections that were opened
// while it lives.
#ifndef PAWL_TEST_RUNTIME_STATEMENT_TRACE_HPP
#define PAWL_TEST_RUNTIME_STATEMENT_TRACE_HPP

#include <sqlite3.h>

#include <map>
#include <string>

namespace pawl::testing {

// At most one at a time, made when a Process has given SQLite its memory.
class StatementTrace {
 public:
  StatementTrace() {
    counts().clear();
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  }
  ~StatementTrace() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  }
  StatementTrace(const StatementTrace&) = delete;
  StatementTrace& operator=(const StatementTrace&) = delete;

  void clear() { counts().clear(); }
  // Counts all statements that have this in their text.
  [[nodiscard]] int times(const char* what) const {
    int all = 0;
    for (const auto& [text, count] : counts())
      if (text.find(what) != std::string::npos) all += count;
    return all;
  }

 private:
  static std::map<std::string, int>& counts() {
    static std::map<std::string, int> all;
    return all;
  }
  static int note_statement(unsigned, void*, void* of, void*) {
    ++counts()[sqlite3_sql(static_cast<sqlite3_stmt*>(of))];
    return 0;
  }
  static int note_connection(sqlite3* handle, char**, const sqlite3_api_routines*) {
    sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, note_statement, nullptr);
    return SQLITE_OK;
  }
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_STATEMENT_TRACE_HPP
