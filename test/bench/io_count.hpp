// What this program asks the kernel to write and to flush, counted between it and libc.
//
// The product is not touched: the program itself defines write, pwrite, fsync and the like, which
// the shared SQLite and Pawl's archives then call.
#ifndef PAWL_BENCH_IO_COUNT_HPP
#define PAWL_BENCH_IO_COUNT_HPP

#include <cstdint>

namespace bench {

struct IoCounts {
  std::uint64_t fsyncs = 0;         // fsync and fdatasync, of any file
  std::uint64_t bytes_written = 0;  // to files whose path starts with the database's
};

// Canonical path of the database; before anything is written to it.
void io_watch(const char* database_path);
[[nodiscard]] IoCounts io_counts();

// From here on, or no longer: how often each page is written to the log.
void io_count_pages(bool on);
// A line for each such page: its number and how often. False: the file cannot be written.
[[nodiscard]] bool io_write_pages(const char* path);

}  // namespace bench

#endif  // PAWL_BENCH_IO_COUNT_HPP
