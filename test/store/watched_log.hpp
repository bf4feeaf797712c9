// WatchedLog: every write that reaches the log of a database, seen below the VFS, and failures of
// them: on the simulated machine between VFS and port, on the real one among SQLite's system calls.
//
// Ownership: outlives the connections of its Site. Thread rule: one thread, one object at a time.
#ifndef PAWL_TEST_WATCHED_LOG_HPP
#define PAWL_TEST_WATCHED_LOG_HPP

#include <memory>

#include "store_world.hpp"

namespace pawl::test {

class WatchedLog {
 public:
  struct Write {
    std::int64_t offset = 0;
    std::size_t size = 0;
    [[nodiscard]] std::int64_t end() const { return offset + static_cast<std::int64_t>(size); }
  };
  // Watches what a process that has not opened the database will write.
  explicit WatchedLog(Site& site);
  ~WatchedLog();
  WatchedLog(const WatchedLog&) = delete;
  WatchedLog& operator=(const WatchedLog&) = delete;

  // The writes since the last call of this.
  std::vector<Write> take();
  // The n-th write from now on finds the disk full; 0: none.
  void fail(std::size_t nth) { fails_in_ = nth; }
  // A write comes; false: it is to fail.
  bool note(std::int64_t offset, std::size_t size);

 private:
  class Storage;
  std::unique_ptr<Storage> storage_;  // on the simulated machine
  std::vector<Write> writes_;
  std::size_t fails_in_ = 0;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_WATCHED_LOG_HPP
