// Database: the place of a database, as the tables see it.
//
// Purpose: holds the options and the port that it was opened with, and offers the few calls that
// depend on files: waiting for locks, the length of the log, the file of the reserve. Ownership:
// the engine owns what it has open. Thread rule: one thread.
#ifndef PAWL_STORE_SQL_DATABASE_HPP
#define PAWL_STORE_SQL_DATABASE_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "store.hpp"
#include "text.hpp"

namespace pawl::sql {

inline constexpr std::size_t kPathBytesMax = 512;

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] port::Port& port() { return port_; }
  [[nodiscard]] const StoreOptions& options() const { return options_; }
  [[nodiscard]] const FixedText<kPathBytesMax>& path() const { return path_; }
  [[nodiscard]] bool is_open() const { return open_; }

  // Sets how long a statement waits for another connection's lock. Where the engine cannot wait,
  // kBusy comes at once.
  virtual void wait_for_locks(std::int64_t ms) = 0;
  virtual void pause(int ms) = 0;
  [[nodiscard]] virtual std::int64_t log_bytes() = 0;
  [[nodiscard]] virtual IoUse io_use() const = 0;
  // Implement the calls of the same names in Housekeeping.
  virtual Status empty_log() = 0;
  virtual Status write_back_log() = 0;
  // The file of the reserve: looks for it, creates it with this length, removes it.
  virtual Status find_reserve(bool* there) = 0;
  virtual Status make_reserve_file(std::int64_t bytes) = 0;
  virtual Status remove_reserve_file() = 0;

 protected:
  ~Database() = default;

  port::Port port_;
  StoreOptions options_;  // its path is a copy of our own
  FixedText<kPathBytesMax> path_;
  bool open_ = false;
};

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_DATABASE_HPP
