// StatementTrace: which statements SQLite finished, how often, and the steps they took.
#ifndef PAWL_TEST_RUNTIME_STATEMENT_TRACE_HPP
#define PAWL_TEST_RUNTIME_STATEMENT_TRACE_HPP

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace pawl::testing {

// Follows the connections that are opened while it lives, or only the first of them. At most one at
// a time, made when a Process has given SQLite its memory.
class StatementTrace {
 public:
  enum class Follows { kAll, kFirst };

  explicit StatementTrace(Follows follows = Follows::kAll) : follows_(follows) {
    current_ = this;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(note_connection));
  }
  ~StatementTrace() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(note_connection));
    current_ = nullptr;
  }
  StatementTrace(const StatementTrace&) = delete;
  StatementTrace& operator=(const StatementTrace&) = delete;

  void clear() {
    counts_.clear();
    vm_steps_ = 0;
  }
  // The next connection is the first again.
  void follow_next() {
    first_ = nullptr;
    clear();
  }
  // Counts all statements that begin with the verb and have `what` in their text.
  [[nodiscard]] int times(const char* verb, const char* what) const {
    int all = 0;
    for (const auto& [text, count] : counts_)
      if (text.rfind(verb, 0) == 0 && text.find(what) != std::string::npos) all += count;
    return all;
  }
  [[nodiscard]] std::set<std::string> texts() const {
    std::set<std::string> all;
    for (const auto& [text, count] : counts_)
      all.insert(text);
    return all;
  }
  [[nodiscard]] std::int64_t vm_steps() const { return vm_steps_; }

 private:
  static int note_statement(unsigned, void*, void* of, void*) {
    auto* const statement = static_cast<sqlite3_stmt*>(of);
    if (current_ == nullptr) return 0;  // a connection may outlive the trace
    if (current_->follows_ == Follows::kFirst && sqlite3_db_handle(statement) != current_->first_)
      return 0;
    ++current_->counts_[sqlite3_sql(statement)];
    current_->vm_steps_ += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
  }
  static int note_connection(sqlite3* handle, char**, const sqlite3_api_routines*) {
    if (current_->first_ == nullptr) current_->first_ = handle;
    sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, note_statement, nullptr);
    return SQLITE_OK;
  }

  static inline StatementTrace* current_ = nullptr;
  Follows follows_;
  sqlite3* first_ = nullptr;
  std::map<std::string, int> counts_;  // by text
  std::int64_t vm_steps_ = 0;
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_STATEMENT_TRACE_HPP
