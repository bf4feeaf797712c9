// Places: the table of connections, and which of them makes place for a new one.
//
// Ownership: the table; the descriptors are the HTTP library's. Thread rule: the endpoint's thread.
#ifndef PAWL_PARTS_ENDPOINT_PLACES_HPP
#define PAWL_PARTS_ENDPOINT_PLACES_HPP

#include <cstdint>
#include <memory>

#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"

namespace pawl::http {

// A connection's right to its place, lowest first: no complete head yet; a request without the
// token; one to /health or /ready; one with the token.
enum class Standing : std::uint8_t { kNoHead, kNoToken, kProbe, kTrusted };

struct ConnectionPlace {
  int fd = -1;  // -1: free
  Standing standing = Standing::kNoHead;
  std::uint64_t number = 0;  // number of its head; the lowest is the oldest
  std::int64_t deadline_ms = 0;
};

class Places {
 public:
  // Returns kOk; kResourceExhausted: no memory.
  Status start(std::uint32_t count);
  // Null: all places are taken.
  ConnectionPlace* take(int fd, std::int64_t deadline_ms);
  static void free(ConnectionPlace& place) { place.fd = -1; }
  // The connection's next head must be complete at the deadline, however many bytes come.
  void await_head(ConnectionPlace& place, std::int64_t deadline_ms);
  // Call when a head is complete. Returns the connection that must go because of it; null: none.
  const ConnectionPlace* admit(ConnectionPlace& place, Standing standing, std::int64_t deadline_ms);

  // Whether a connection without a head can be taken.
  [[nodiscard]] bool has_room() const;
  // The connection that must go first for a new one; null: none may be closed.
  [[nodiscard]] const ConnectionPlace* weakest() const;
  [[nodiscard]] OptionalMs next_deadline() const;
  // Calls `close` with each overdue connection. A connection that does not go at once is asked
  // again after a second, and does not keep the loop awake until then.
  template <typename Close>
  void for_each_overdue(std::int64_t now_ms, const Close& close) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (places_[i].fd < 0 || places_[i].deadline_ms > now_ms) continue;
      close(places_[i]);
      places_[i].deadline_ms = now_ms + 1'000;
    }
  }

 private:
  [[nodiscard]] std::uint32_t taken(Standing standing) const;
  // Limit of connections without a head, and of those without the token: three quarters each.
  [[nodiscard]] std::uint32_t share() const { return count_ == 1 ? 1 : count_ * 3 / 4; }
  [[nodiscard]] const ConnectionPlace* oldest(Standing standing) const;

  std::unique_ptr<ConnectionPlace[]> places_;
  std::uint32_t count_ = 0;
  std::uint64_t heads_ = 0;  // number of heads awaited so far
};

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_PLACES_HPP
