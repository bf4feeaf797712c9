// Files at paths that users gave: some are never written over, and some are never opened.
#include "pawl/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "folder.hpp"
#include "pawl/port.hpp"

namespace pawl::posix {
namespace {

class Files : public testing::Test {
 protected:
  void SetUp() override {
    database_ = at("a.db");
    put(database_, "the database");
  }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.file(name); }
  static void put(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
  static std::string get(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  Status check(const std::string& path) {
    return check_output(path.c_str(), database_.c_str(), why_);
  }
  Status make(NewFile& file, const std::string& path) {
    return file.make(path.c_str(), ".part", 0600, database_.c_str(), why_);
  }

  test::Folder folder_;
  std::string database_;
  Diagnostic why_;
};

// ---- allowed output files ----

TEST_F(Files, ADatabaseAndAllBesideItIsRefusedByItsNameAndUnderAnyOther) {
  std::string endings[] = {"",         "-journal", "-wal",       "-shm",  "-bell",
                           "-reserve", "-new",     "-http.lock", "-http", "-workers/1"};
  ASSERT_EQ(::mkdir(at("a.db-workers").c_str(), 0700), 0);
  for (const std::string& ending : endings) {
    const std::string path = database_ + ending;
    // A new file at a free name of the database's would become one of its files.
    EXPECT_EQ(check(path), Status::kInvalidArgument) << path;
    put(path, "x");
    const std::string link = at("link");
    const std::string second = at("second");
    ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
    ASSERT_EQ(::link(path.c_str(), second.c_str()), 0);
    for (const std::string& name :
         {path, link, second, folder_.path() + "/./" + path.substr(path.rfind("a.db"))})
      EXPECT_EQ(check(name), Status::kInvalidArgument) << name;
    EXPECT_NE(std::string(why_.text()).find("database"), std::string::npos) << why_.text();
    const int stream = ::open(second.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    EXPECT_EQ(check_output(stream, database_.c_str(), why_), Status::kInvalidArgument) << path;
    ::close(stream);
    ::unlink(link.c_str());
    ::unlink(second.c_str());
  }
  EXPECT_EQ(check(at("a.db-copy")), Status::kOk) << why_.text();
  EXPECT_EQ(check_output(STDOUT_FILENO, database_.c_str(), why_), Status::kOk) << why_.text();
}

TEST_F(Files, ARelativePathOfTheDatabaseIsRefused) {
  char before[1024];
  ASSERT_NE(::getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(::chdir(folder_.path().c_str()), 0);
  EXPECT_EQ(check("a.db"), Status::kInvalidArgument);
  EXPECT_EQ(check("a.db-journal"), Status::kInvalidArgument);
  EXPECT_EQ(check("b.db"), Status::kOk) << why_.text();
  ASSERT_EQ(::chdir(before), 0);
}

TEST_F(Files, AFileOfAnotherDatabaseIsRefused) {
  put(at("b.db"), "another");
  EXPECT_EQ(check(at("b.db-new")), Status::kOk) << "a file of this name, and no database";
  put(at("b.db-bell"), "!");
  for (const char* const ending : port::kFilesBeside)
    EXPECT_EQ(check(at("b.db") + ending), Status::kInvalidArgument) << ending;
  ASSERT_EQ(::mkdir(at("b.db-workers").c_str(), 0700), 0);
  for (const char* const ending : {"-http", "-workers/1"})
    EXPECT_EQ(check(at("b.db") + ending), Status::kInvalidArgument) << ending;
}

TEST_F(Files, AFileThatAProcessHasLockedIsInUse) {
  put(at("b.db"), "another");
  ASSERT_EQ(check(at("b.db")), Status::kOk) << why_.text();
  const int held = ::open(at("b.db").c_str(), O_RDWR | O_CLOEXEC);
  struct flock part = {};
  part.l_type = F_RDLCK;
  part.l_whence = SEEK_SET;
  part.l_start = 0x40000002;  // like a connection of SQLite that has the database open
  part.l_len = 510;
  ASSERT_EQ(::fcntl(held, F_SETLK, &part), 0);
  EXPECT_EQ(check(at("b.db")), Status::kBusy);
  const std::string who = "process " + std::to_string(::getpid());
  EXPECT_NE(std::string(why_.text()).find(who), std::string::npos) << why_.text();
  ::close(held);
  EXPECT_EQ(check(at("b.db")), Status::kOk) << why_.text();
}

TEST_F(Files, LinksPipesAndFoldersAreNoPlaceForAFile) {
  put(at("one"), "x");
  ASSERT_EQ(::link(at("one").c_str(), at("two").c_str()), 0);
  ASSERT_EQ(::symlink(at("none").c_str(), at("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  for (const char* const name : {"one", "link", "pipe", "."})
    EXPECT_EQ(check(at(name)), Status::kCannotOpen) << name;
  EXPECT_EQ(check(at("no/such/folder")), Status::kCannotOpen);
}

// ---- a new file ----

TEST_F(Files, ANewFileHasItsNameWhenItIsWhole) {
  const std::string path = at("copy");
  NewFile file;
  ASSERT_EQ(make(file, path), Status::kOk) << why_.text();
  EXPECT_EQ(file.name().view(), path + ".part");
  ASSERT_EQ(::write(file.descriptor(), "whole", 5), 5);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  ASSERT_EQ(file.put_in_place(why_), Status::kOk) << why_.text();
  EXPECT_EQ(get(path), "whole");
  {
    NewFile other;
    ASSERT_EQ(make(other, path), Status::kOk) << why_.text();
  }
  EXPECT_EQ(get(path), "whole");
  EXPECT_NE(::access((path + ".part").c_str(), F_OK), 0) << "what is not in place goes";
}

TEST_F(Files, WhatLiesUnderTheFirstNameIsNotOpened) {
  const std::string part = at("copy.part");
  put(at("victim"), "of another");
  for (const char* const kind : {"pipe", "hard link", "symbolic link"}) {
    const std::string victim = at("victim");
    const int put = *kind == 'p'   ? ::mkfifo(part.c_str(), 0666)
                    : *kind == 'h' ? ::link(victim.c_str(), part.c_str())
                                   : ::symlink(victim.c_str(), part.c_str());
    ASSERT_EQ(put, 0) << kind;
    NewFile file;
    ASSERT_EQ(make(file, at("copy")), Status::kOk) << kind << ": " << why_.text();
    ASSERT_EQ(::write(file.descriptor(), "mine", 4), 4);
    ASSERT_EQ(file.put_in_place(why_), Status::kOk) << kind << ": " << why_.text();
    EXPECT_EQ(get(at("copy")), "mine") << kind;
    EXPECT_EQ(get(at("victim")), "of another") << kind;
  }
}

TEST_F(Files, TheFirstNameIsNoFileOfADatabaseEither) {
  database_ = at("copy.part");
  put(database_, "the database");
  NewFile file;
  EXPECT_EQ(make(file, at("copy")), Status::kInvalidArgument);
  EXPECT_EQ(get(database_), "the database");
}

TEST_F(Files, WhatIsOpenIsLookedAtOnceMore) {
  const std::string path = at("copy");
  put(path, "before");
  NewFile swapped;
  ASSERT_EQ(make(swapped, path), Status::kOk) << why_.text();
  // Another process gives the name to the database.
  ASSERT_EQ(::rename(database_.c_str(), (path + ".part").c_str()), 0);
  EXPECT_EQ(swapped.put_in_place(why_), Status::kBusy);
  ASSERT_EQ(::rename((path + ".part").c_str(), database_.c_str()), 0);
  NewFile second;
  ASSERT_EQ(make(second, path), Status::kOk) << why_.text();
  ASSERT_EQ(::link((path + ".part").c_str(), at("second").c_str()), 0);
  EXPECT_EQ(second.put_in_place(why_), Status::kBusy);
  ASSERT_EQ(::unlink(at("second").c_str()), 0);
  const int held = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_SH), 0);
  EXPECT_EQ(second.put_in_place(why_), Status::kBusy) << "a process uses what would go";
  ::close(held);
  EXPECT_EQ(get(path), "before");
  EXPECT_EQ(second.put_in_place(why_), Status::kOk) << why_.text();
}

// ---- trusted files to read ----

TEST_F(Files, ATrustedFileIsTheUsersOwnAndNoOnesElse) {
  constexpr unsigned kOthersMayWrite = 022;
  const std::string path = at("config");
  const auto open = [&] {
    const int file = open_trusted(path.c_str(), kOthersMayWrite, why_);
    if (file >= 0) ::close(file);
    return file >= 0;
  };
  EXPECT_FALSE(open());
  put(path, "x");
  for (const mode_t mode : {0400U, 0600U, 0644U, 0640U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(open()) << std::oct << mode << ": " << why_.text();
  }
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_FALSE(open()) << std::oct << mode;
    EXPECT_NE(std::string(why_.text()).find("chmod 6"), std::string::npos) << why_.text();
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(open());
    EXPECT_NE(std::string(why_.text()).find("another user"), std::string::npos) << why_.text();
  }
}

TEST_F(Files, NoOpeningWaitsForAPipeOrFollowsALink) {
  put(at("one"), "x");
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink(at("one").c_str(), at("link").c_str()), 0);
  const auto opens = [&](const char* name, int flags) {
    errno = 0;
    const int file = open_own(at(name).c_str(), flags);
    if (file >= 0) ::close(file);
    return file >= 0 ? 0 : errno;
  };
  EXPECT_EQ(opens("one", O_RDONLY), 0);
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    EXPECT_EQ(opens("pipe", flags), ENXIO);
    EXPECT_EQ(opens("link", flags), ELOOP);
  }
  ASSERT_EQ(::link(at("one").c_str(), at("two").c_str()), 0);
  EXPECT_EQ(opens("two", O_RDWR), EMLINK);
  EXPECT_LT(open_trusted(at("pipe").c_str(), 0, why_), 0);
  EXPECT_LT(open_trusted(at("link").c_str(), 0, why_), 0);
}

}  // namespace
}  // namespace pawl::posix
