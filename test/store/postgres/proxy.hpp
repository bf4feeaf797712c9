// Proxy: stands between a connection and the server, and cuts it at a byte.
#ifndef PAWL_TEST_PROXY_HPP
#define PAWL_TEST_PROXY_HPP

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "folder.hpp"
#include "gtest/gtest.h"

namespace pawl::test {

enum class Way : std::uint8_t { kToServer, kToClient };

// Its thread forwards what all connections send, and reads only atomics of others.
class Proxy {
 public:
  // `address`: of the server, as server.py gives it.
  explicit Proxy(const std::string& address) {
    const std::string host = address.substr(0, address.find(' '));
    server_ = host.substr(host.find('=') + 1);
    address_ = "host=" + folder_.path() + address.substr(host.size());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un at = place_in(folder_.path());
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    thread_ = std::thread([this] { forward(); });
  }
  ~Proxy() {
    ends_ = true;
    thread_.join();
    ::close(listener_);
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  // All connections are cut when so many more bytes went this way. `refuses`: then none is accepted
  // until heal().
  void cut_after(Way way, std::int64_t bytes, bool refuses = false) {
    refuses_when_cut_ = refuses;
    way_ = way;
    was_cut_ = false;
    left_ = bytes;
  }
  // All connections are cut now, and none is accepted until heal().
  void cut() {
    was_cut_ = false;
    is_frozen_ = false;
    refuses_ = true;
    cuts_ = true;
    while (!was_cut_)
      std::this_thread::yield();
  }
  // Nothing passes until heal(), and no side hears of it.
  void freeze() { is_frozen_ = true; }
  // A cut that has not come yet does not come.
  void heal() {
    left_ = kNever;
    refuses_ = false;
    is_frozen_ = false;
  }
  [[nodiscard]] bool was_cut() const { return was_cut_; }
  // The bytes that went to the clients so far.
  [[nodiscard]] std::int64_t passed() const { return passed_; }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;
  static constexpr int kLookMs = 5;

  struct Pair {
    int client = -1;
    int server = -1;
  };

  static sockaddr_un place_in(const std::string& folder) {
    sockaddr_un at = {};
    at.sun_family = AF_UNIX;
    const std::string path = folder + "/.s.PGSQL.5432";
    std::memcpy(at.sun_path, path.c_str(), std::min(path.size() + 1, sizeof at.sun_path - 1));
    return at;
  }

  void forward() {
    std::list<Pair> pairs;
    while (!ends_) {
      std::vector<pollfd> waits = {{listener_, POLLIN, 0}};
      for (const Pair& one : pairs) {
        waits.push_back({one.client, POLLIN, 0});
        waits.push_back({one.server, POLLIN, 0});
      }
      ::poll(waits.data(), is_frozen_ ? 0 : waits.size(), kLookMs);
      if (is_frozen_) continue;
      is_cut_now_ = is_cut_now_ || cuts_.exchange(false);
      std::size_t at = 1;
      for (auto one = pairs.begin(); one != pairs.end(); at += 2) {
        const bool goes_on =
            (waits[at].revents == 0 || pass(one->client, one->server, Way::kToServer)) &&
            (waits[at + 1].revents == 0 || pass(one->server, one->client, Way::kToClient));
        if (!goes_on) end(*one);
        one = goes_on ? std::next(one) : pairs.erase(one);
      }
      if (is_cut_now_) {
        for (const Pair& one : pairs)
          end(one);
        pairs.clear();
        is_cut_now_ = false;
        was_cut_ = true;
      }
      if (waits[0].revents != 0) accept(pairs);
    }
    for (const Pair& one : pairs)
      end(one);
  }

  void accept(std::list<Pair>& pairs) {
    Pair made;
    made.client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    made.server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un at = place_in(server_);
    if (refuses_ || ::connect(made.server, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
      return end(made);
    pairs.push_back(made);
  }

  // False: the connection is over.
  bool pass(int from, int to, Way way) {
    char bytes[8192];
    const ssize_t got = ::recv(from, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    std::size_t most = static_cast<std::size_t>(got);
    if (way == way_ && left_ != kNever) {
      most = std::min(most, static_cast<std::size_t>(left_.load()));
      left_ -= static_cast<std::int64_t>(most);
      if (left_ == 0) {
        left_ = kNever;
        refuses_ = refuses_when_cut_.load();
        is_cut_now_ = true;
      }
    }
    for (std::size_t sent = 0; sent < most;) {
      const ssize_t part = ::send(to, bytes + sent, most - sent, MSG_NOSIGNAL);
      if (part <= 0) return false;
      if (way == Way::kToClient) passed_ += part;
      sent += static_cast<std::size_t>(part);
    }
    return true;
  }

  static void end(const Pair& pair) {
    ::close(pair.client);
    ::close(pair.server);
  }

  Folder folder_;
  std::string server_;
  std::string address_;
  int listener_ = -1;
  std::atomic<Way> way_{Way::kToServer};
  std::atomic<std::int64_t> left_{kNever};
  std::atomic<std::int64_t> passed_{0};
  std::atomic<bool> refuses_when_cut_{false};
  std::atomic<bool> refuses_{false};
  std::atomic<bool> was_cut_{false};
  std::atomic<bool> cuts_{false};
  std::atomic<bool> is_frozen_{false};
  std::atomic<bool> ends_{false};
  bool is_cut_now_ = false;  // of the thread
  std::thread thread_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_PROXY_HPP
