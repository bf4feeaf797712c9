// Counts what this program asks the kernel to write and to flush, between the program and libc.
//
// The product is not changed: the program itself defines write, pwrite, fsync and the like, and the
// shared SQLite and Pawl's archives call these.
#ifndef PAWL_BENCH_IO_COUNT_HPP
#define PAWL_BENCH_IO_COUNT_HPP

#include <cstdint>

namespace bench {

struct IoCounts {
  std::uint64_t fsyncs = 0;         // fsync and fdatasync, of any file
  std::uint64_t bytes_written = 0;  // to files whose path starts with the database's path
};

// Sets the canonical path of the database. Call it before anything is written there.
void io_watch(const char* database_path);
[[nodiscard]] IoCounts io_counts();

// Starts or stops counting how often each page is written to the log.
void io_count_pages(bool on);
// Writes a line for each such page: its number and its count. False: the file cannot be written.
[[nodiscard]] bool io_write_pages(const char* path);

}  // namespace bench

#endif  // PAWL_BENCH_IO_COUNT_HPP
