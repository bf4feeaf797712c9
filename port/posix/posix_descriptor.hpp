// Small things that every file of the Linux port needs: an owned descriptor, EINTR, paths, errno.
//
// Ownership: Descriptor closes what it holds. Thread rule: plain values, not shared.
#ifndef PAWL_PORT_POSIX_POSIX_DESCRIPTOR_HPP
#define PAWL_PORT_POSIX_POSIX_DESCRIPTOR_HPP

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "pawl/files.hpp"
#include "pawl/status.hpp"

namespace pawl::posix {

// SQLite's own limit of a database path is 512; the rest is for "-workers/<incarnation>.<pid>".
inline constexpr std::size_t kDatabasePathBytesMax = 512;
inline constexpr std::size_t kPathBytes = kDatabasePathBytesMax + 80;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release();
  void reset(int fd);

 private:
  int fd_ = -1;
};

// Values of errno after open_own().
inline constexpr int kOtherKind = ENXIO;  // which open() also answers for a pipe without a reader
inline constexpr int kSecondName = EMLINK;

// Repeats a call until it does not end with EINTR. Not for close(): Linux has closed the descriptor
// then.
template <typename Call>
auto retried(Call call) {
  for (;;) {
    const auto answer = call();
    if (answer != -1 || errno != EINTR) return answer;
  }
}

[[nodiscard]] Status status_of_errno(int error);

inline constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
inline constexpr mode_t kGroupToo = kOwnerOnly | S_IRGRP | S_IWGRP;

// The mode of a file beside this database: for the group too if the database's mode is. If the
// database does not exist yet, `group_access` decides.
[[nodiscard]] mode_t mode_beside(const char* database_path, bool group_access = false);

// Joins `text` and `suffix`; false if the result does not fit.
[[nodiscard]] bool join_path(char (&out)[kPathBytes], const char* text, const char* suffix);
// The folder of a path: "." for a bare name.
[[nodiscard]] bool folder_of(char (&out)[kPathBytes], const char* path);

// Reads at most size - 1 bytes from the descriptor's position on and ends them with 0; -1: error.
std::ptrdiff_t read_text(int fd, char* out, std::size_t size);

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_DESCRIPTOR_HPP
