// Gate: decides which requests are admitted, before any work is done for them.
//
// Ownership: the token is kept here, and nowhere else. Thread rule: the endpoint's thread.
#ifndef PAWL_PARTS_ENDPOINT_GATE_HPP
#define PAWL_PARTS_ENDPOINT_GATE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "parts/endpoint/exchange.hpp"
#include "parts/endpoint/routes.hpp"
#include "pawl/name.hpp"
#include "pawl/status.hpp"

namespace pawl::http {

// The headers that the gate looks at.
struct Head {
  std::string_view authorization;
  std::string_view host;
  std::string_view origin;
  bool has_origin = false;
  bool marked = false;     // has X-Pawl-Request
  bool ambiguous = false;  // two programs could read different requests in it
  std::optional<std::uint64_t> body_bytes;
};

class Gate {
 public:
  static constexpr std::size_t kTokenBytesMax = 512;
  static constexpr std::size_t kTokenBytesLeast = 16;

  // For TCP: reads the token, and takes the names of this machine.
  // Returns kOk; kInvalidOptions, with the path and what is wrong with the file.
  Status guard_tcp(const char* token_file, std::string_view address, std::string_view host_name,
                   Diagnostic& why);
  void set_read_only(bool read_only) { read_only_ = read_only; }
  void set_body_bytes_max(std::size_t bytes) { body_bytes_max_ = bytes; }

  // Null: the request is refused, and exchange has the answer.
  const Route* admit(const Head& head, Exchange& exchange) const;
  // Trusted are all clients of a Unix socket, and clients on TCP that send the token.
  [[nodiscard]] bool trusts(const Head& head) const {
    return !tcp_ || has_token(head.authorization);
  }

 private:
  [[nodiscard]] bool is_this_machine(std::string_view host) const;
  [[nodiscard]] bool has_token(std::string_view authorization) const;
  bool admit_tcp(const Head& head, const Route* route, Exchange& exchange) const;
  bool admit_write(const Head& head, Exchange& exchange) const;

  bool tcp_ = false;
  bool read_only_ = false;
  std::size_t body_bytes_max_ = 0;
  Name address_;
  Name host_name_;
  char token_[kTokenBytesMax] = {};
  std::size_t token_size_ = 0;
};

}  // namespace pawl::http

#endif  // PAWL_PARTS_ENDPOINT_GATE_HPP
