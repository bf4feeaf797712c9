// Folders on Linux: every step is relative to an open descriptor and uses one name, so a link that
// another process puts in the way leads nowhere else.
//
// Thread rule: one thread at a time.
#ifndef PAWL_PORT_POSIX_POSIX_FOLDERS_HPP
#define PAWL_PORT_POSIX_POSIX_FOLDERS_HPP

#include "pawl/port.hpp"
#include "port/posix/posix_descriptor.hpp"

namespace pawl::posix {

// Reads the names in an open folder, without "." and "..". The C library's reader would allocate.
class NameReader {
 public:
  // False: no more names (errno is 0), or an error (errno is not 0).
  bool next(int folder);
  // Valid until the next call; ends with 0.
  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] std::uint64_t inode() const { return inode_; }
  void clear() { at_ = size_ = 0; }

 private:
  static constexpr std::size_t kBufferBytes = 1024;  // room for a few of the longest names
  alignas(8) char buffer_[kBufferBytes];
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  const char* name_ = nullptr;
  std::uint64_t inode_ = 0;
};

class SystemFolders final : public port::Folders {
 public:
  Status check_root(const char* root, Diagnostic& diagnostic) override;
  Status make(const char* root, const char* name, Diagnostic& diagnostic) override;
  Status remove_some(const char* root, const char* name, std::size_t steps_max, bool* more,
                     Diagnostic& diagnostic) override;
  Status begin_list(const char* root, Diagnostic& diagnostic) override;
  Result<std::string_view> next_name() override;
  void end_list() override;

 private:
  Descriptor listed_;
  NameReader names_;
};

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_FOLDERS_HPP
