// ServiceNotify: requests in the environment, and the messages sent for them.
#include "pawl/service_notify.hpp"

#include <gtest/gtest.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace pawl::posix {
namespace {

// Clears the variables around each test, and has a socket to listen at.
class Listening : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override {
    clear();
    if (fd_ >= 0) close(fd_);
  }
  static void clear() {
    for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
      unsetenv(variable);
  }
  void listen(const std::string& name) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') address.sun_path[0] = '\0';
    const std::size_t size = offsetof(sockaddr_un, sun_path) + name.size();
    ASSERT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)),
              0);
  }
  [[nodiscard]] std::string heard() const {
    char text[2048];
    const ssize_t n = recv(fd_, text, sizeof text, 0);
    return n < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(n));
  }
  int fd_ = -1;
};

TEST_F(Listening, WithoutAManagerEveryCallSucceeds) {
  setenv("WATCHDOG_USEC", "1000000", 1);
  const ServiceNotify notify;
  EXPECT_FALSE(notify.is_asked());
  EXPECT_FALSE(notify.watchdog_ms().has_value());
  EXPECT_EQ(notify.send("READY=1"), Status::kOk);
}

TEST_F(Listening, APathAndAnAbstractNameAreHeard) {
  for (const std::string& name :
       {std::string("notify.socket"), "@pawl-notify-test-" + std::to_string(getpid())}) {
    const std::string full = name.front() == '@' ? name : "/tmp/" + std::to_string(getpid()) + name;
    unlink(full.c_str());
    listen(full);
    const ServiceNotify notify;
    EXPECT_TRUE(notify.is_asked());
    EXPECT_EQ(notify.send("READY=1\nSTATUS=x"), Status::kOk);
    EXPECT_EQ(heard(), "READY=1\nSTATUS=x");
    EXPECT_EQ(notify.send(std::string(1024, 'x')), Status::kOk);
    EXPECT_EQ(heard().size(), 1024U);
    EXPECT_EQ(notify.send(std::string(1025, 'x')), Status::kInvalidArgument);
    EXPECT_EQ(heard(), "nothing");
    close(fd_);
    unlink(full.c_str());
  }
  fd_ = -1;
}

TEST_F(Listening, AManagerThatDoesNotListenIsNotWaitedFor) {
  listen("@pawl-notify-full-" + std::to_string(getpid()));
  const ServiceNotify notify;
  Status status = Status::kOk;
  for (int i = 0; i < 100'000 && status == Status::kOk; ++i)
    status = notify.send("WATCHDOG=1");
  EXPECT_EQ(status, Status::kBusy);
  close(fd_);
  fd_ = -1;
  EXPECT_EQ(notify.send("WATCHDOG=1"), Status::kIo);
}

TEST_F(Listening, OtherSocketsAreRefused) {
  for (const std::string& name : {std::string("vsock:2:1234"), std::string("relative"),
                                  "/" + std::string(200, 'x'), std::string("/no/such/socket")}) {
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
    const ServiceNotify notify;
    EXPECT_TRUE(notify.is_asked());
    EXPECT_EQ(notify.send("READY=1"), Status::kUnsupported) << name;
  }
}

TEST_F(Listening, TheWatchdogIsOfThisProcess) {
  struct Row {
    const char* usec;
    std::string pid;
    std::int64_t ms;  // 0: none
  };
  listen("@pawl-notify-dog-" + std::to_string(getpid()));
  const std::string own = std::to_string(getpid());
  for (const Row& row : {Row{"30000000", "", 30'000},
                         {"30000000", own, 30'000},
                         {"30000000", "1", 0},
                         {"30000000", "x", 0},
                         {"999", "", 0},
                         {"-5", "", 0},
                         {"5s", "", 0},
                         {"99999999999999999999", "", 0}}) {
    setenv("WATCHDOG_USEC", row.usec, 1);
    if (row.pid.empty())
      unsetenv("WATCHDOG_PID");
    else
      setenv("WATCHDOG_PID", row.pid.c_str(), 1);
    EXPECT_EQ(ServiceNotify().watchdog_ms().value_or(0), row.ms) << row.usec << " " << row.pid;
  }
}

}  // namespace
}  // namespace pawl::posix
