// The machine's clocks on Linux, and when the wall clock is trusted.
//
// Thread rule: open() first and once; then every function is callable from any thread.
#ifndef PAWL_PORT_POSIX_POSIX_CLOCK_HPP
#define PAWL_PORT_POSIX_POSIX_CLOCK_HPP

#include <atomic>
#include <cstdint>

#include "pawl/port.hpp"
#include "pawl/port_posix.hpp"

namespace pawl::posix {

class SystemClock final : public port::Clock {
 public:
  explicit SystemClock(const PortOptions& options)
      : wall_trust_(options.wall_trust), wall_trust_file_(options.wall_trust_file) {}

  Status open(Diagnostic& diagnostic) override;
  [[nodiscard]] std::int64_t boot_ms() override;
  [[nodiscard]] std::int64_t wall_ms() override;
  [[nodiscard]] bool synced() override;
  [[nodiscard]] port::BootId boot_id() override { return boot_id_; }
  void random(void* out, std::size_t size) override;

  void set_wall_trusted(bool trusted) { host_trusts_.store(trusted); }
  // How far this process's CLOCK_BOOTTIME is ahead of the machine's.
  [[nodiscard]] std::int64_t namespace_offset_ns() const { return namespace_offset_ns_; }

 private:
  Status read_namespace_offset(Diagnostic& diagnostic);
  [[nodiscard]] bool trust_file_is_of_this_boot();

  const WallTrust wall_trust_;
  const Path wall_trust_file_;
  std::atomic<bool> host_trusts_{false};
  std::int64_t namespace_offset_ns_ = 0;
  port::BootId boot_id_;
};

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_CLOCK_HPP
