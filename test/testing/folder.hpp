// A folder of a test's own, on the real file system. It goes with its object, and with all that is
// in it.
#ifndef PAWL_TEST_FOLDER_HPP
#define PAWL_TEST_FOLDER_HPP

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace pawl::test {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/pawl-test-XXXXXX";
    if (::mkdtemp(name) == nullptr)
      ADD_FAILURE() << "mkdtemp";
    else
      path_ = name;
  }
  ~Folder() {
    if (path_.empty()) return;
    std::error_code failed;
    // A test may have taken the right to write from it.
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all,
                                 std::filesystem::perm_options::add, failed);
    std::filesystem::remove_all(path_, failed);
    EXPECT_FALSE(failed) << path_ << ": " << failed.message();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_FOLDER_HPP
