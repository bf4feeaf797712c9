// Folders on Linux, with any content that an application or an attacker puts into them.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "posix_host.hpp"

namespace pawl::port_test {
namespace {

class PosixFolders : public testing::Test {
 protected:
  PosixFolders() : port_(host_.ready()), root_(host_.root()) {}

  void put_file(const std::string& path) {
    const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0) << path << ": " << std::strerror(errno);
    EXPECT_EQ(::write(fd, "x", 1), 1);
    ::close(fd);
  }
  void put_folder(const std::string& path) {
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0) << path << ": " << std::strerror(errno);
  }
  static bool is_there(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0;
  }
  Status remove(const char* name) {
    bool more = true;
    Status status = Status::kOk;
    for (int calls = 0; more && status == Status::kOk && calls < 10'000; ++calls)
      status = port_.folders->remove_some(root_.c_str(), name, 16, &more, why_);
    EXPECT_FALSE(more && status == Status::kOk);
    return status;
  }
  Status make(const char* name) { return port_.folders->make(root_.c_str(), name, why_); }

  PosixHost host_;
  Port port_;
  std::string root_;
  Diagnostic why_;
};

// Permissions do not stop root, so the test runs as another user.
class AsOtherUser {
 public:
  explicit AsOtherUser(const PosixHost& host, const std::string& root) {
    constexpr uid_t kOtherUser = 65'534;
    if (::geteuid() == 0) {
      changed_ = ::chmod(host.folder().c_str(), 0711) == 0 &&
                 ::chown(root.c_str(), kOtherUser, kOtherUser) == 0 && ::seteuid(kOtherUser) == 0;
    }
    ok_ = ::faccessat(AT_FDCWD, root.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0;
  }
  ~AsOtherUser() {
    if (!changed_) return;
    EXPECT_EQ(::seteuid(0), 0);
  }
  AsOtherUser(const AsOtherUser&) = delete;
  AsOtherUser& operator=(const AsOtherUser&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool changed_ = false;
  bool ok_ = false;
};

TEST_F(PosixFolders, AreForTheirUserOnly) {
  ASSERT_EQ(make("a"), Status::kOk) << why_.text();
  struct stat info {};
  ASSERT_EQ(::stat((root_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
}

TEST_F(PosixFolders, LinksAreRemovedAndNeverFollowed) {
  const std::string outside = host_.folder() + "/outside";
  put_folder(outside);
  put_file(outside + "/precious");
  ASSERT_EQ(make("a"), Status::kOk);
  const std::string folder = root_ + "/a";
  put_folder(folder + "/sub");
  for (const std::string& link : {folder + "/up", folder + "/sub/link", root_ + "/place"})
    ASSERT_EQ(::symlink(outside.c_str(), link.c_str()), 0);
  ASSERT_EQ(::symlink((outside + "/precious").c_str(), (folder + "/file").c_str()), 0);
  ASSERT_EQ(::symlink("/nowhere", (folder + "/dangling").c_str()), 0);
  EXPECT_EQ(remove("a"), Status::kOk) << why_.text();
  EXPECT_EQ(make("place"), Status::kAlreadyExists);
  EXPECT_NE(why_.text().find(root_ + "/place"), std::string_view::npos) << why_.text();
  EXPECT_EQ(remove("place"), Status::kOk) << why_.text();
  EXPECT_FALSE(is_there(root_ + "/place") || is_there(folder));
  EXPECT_TRUE(is_there(outside + "/precious"));
}

TEST_F(PosixFolders, FileInTheFoldersPlace_IsNoFolderAndGoes) {
  put_file(root_ + "/a");
  EXPECT_EQ(make("a"), Status::kAlreadyExists);
  EXPECT_NE(why_.text().find("something else is in the folder's place"), std::string_view::npos);
  EXPECT_EQ(remove("a"), Status::kOk) << why_.text();
  EXPECT_FALSE(is_there(root_ + "/a"));
}

// A tree deeper than any path, with files at each level, and names like those that removing gives.
TEST_F(PosixFolders, TreeDeeperThanAPath_IsRemoved) {
  ASSERT_EQ(make("a"), Status::kOk);
  int at = ::open((root_ + "/a").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(at, 0);
  constexpr int kDepth = 300;
  const std::string name(16, 'd');
  for (int depth = 0; depth < kDepth; ++depth) {
    ASSERT_EQ(::mkdirat(at, name.c_str(), 0700), 0);
    ASSERT_EQ(::mkdirat(at, ".pawl-1-0", 0700), 0);
    const int next = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_GE(next, 0);
    ::close(at);
    at = next;
  }
  ::close(at);
  EXPECT_EQ(remove("a"), Status::kOk) << why_.text();
  EXPECT_FALSE(is_there(root_ + "/a"));
}

TEST_F(PosixFolders, FoldersWithoutRights_AreOpenedUpAndRemoved) {
  const AsOtherUser other_user(host_, root_);
  if (!other_user.ok()) GTEST_SKIP() << "no other user to be";
  ASSERT_EQ(make("a"), Status::kOk) << why_.text();
  const std::string folder = root_ + "/a";
  for (const char* path : {"/read", "/read/deep", "/read/deep/deeper", "/none", "/none/deep"}) {
    put_folder(folder + path);
    put_file(folder + path + "/file");
  }
  for (const char* path : {"/read/deep/deeper", "/read/deep", "/read"})
    ASSERT_EQ(::chmod((folder + path).c_str(), 0500), 0);
  for (const char* path : {"/none/deep", "/none", ""})
    ASSERT_EQ(::chmod((folder + path).c_str(), 0), 0);
  EXPECT_EQ(remove("a"), Status::kOk) << why_.text();
  EXPECT_FALSE(is_there(folder));
}

TEST_F(PosixFolders, RootThatCannotBeWritten_IsReported) {
  const AsOtherUser other_user(host_, root_);
  if (!other_user.ok()) GTEST_SKIP() << "no other user to be";
  ASSERT_EQ(make("a"), Status::kOk) << why_.text();
  ASSERT_EQ(::chmod(root_.c_str(), 0500), 0);
  EXPECT_EQ(port_.folders->check_root(root_.c_str(), why_), Status::kReadOnly);
  EXPECT_EQ(make("b"), Status::kReadOnly);
  EXPECT_NE(why_.text().find(root_ + "/b"), std::string_view::npos) << why_.text();
  EXPECT_EQ(remove("a"), Status::kReadOnly);
  EXPECT_NE(why_.text().find(root_ + "/a"), std::string_view::npos) << why_.text();
  ASSERT_EQ(::chmod(root_.c_str(), 0700), 0);
}

TEST_F(PosixFolders, AnothersFolder_IsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(make("a"), Status::kOk);
  ASSERT_EQ(::chown((root_ + "/a").c_str(), 65'534, 65'534), 0);
  EXPECT_EQ(make("a"), Status::kAlreadyExists);
  EXPECT_NE(why_.text().find("another user's"), std::string_view::npos) << why_.text();
}

// Runs in a process of its own, so that no other process has the mount.
TEST_F(PosixFolders, WhatIsMountedThere_IsNotEntered) {
  ASSERT_EQ(make("a"), Status::kOk);
  put_folder(root_ + "/a/sub");
  const std::string mount = root_ + "/a/sub/mount";
  put_folder(mount);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "a file system cannot be mounted here: " << std::strerror(errno);
  put_file(mount + "/precious");
  EXPECT_NE(remove("a"), Status::kOk);
  EXPECT_NE(why_.text().find("a/sub/mount"), std::string_view::npos) << why_.text();
  EXPECT_TRUE(is_there(mount + "/precious"));
  ASSERT_EQ(::umount2(mount.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(remove("a"), Status::kOk) << why_.text();
  EXPECT_FALSE(is_there(root_ + "/a"));
}

}  // namespace
}  // namespace pawl::port_test
