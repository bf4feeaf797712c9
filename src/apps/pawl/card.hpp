// Card: the device and the mount that a file lies on, as Linux shows them.
//
// Purpose: a database that is flushed at each commit wears a card by what its file system makes of
// each flush, and a mount option may take the flushes away. Both are seen from here alone.
// Ownership: plain values. Thread rule: any.
#ifndef PAWL_APPS_PAWL_CARD_HPP
#define PAWL_APPS_PAWL_CARD_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::tool {

struct Card {
  std::string file_system;  // empty: not known
  std::string device;       // as it was mounted
  std::string options;
  bool keeps_flushes = true;  // false: an option lets the file system keep them from the device
};

// The mount of a device (its numbers as in st_dev) in a text like /proc/self/mountinfo: the last
// one, since it hides those before.
[[nodiscard]] Card parse_mounts(std::string_view mountinfo, unsigned major, unsigned minor);
// The count of sectors written, in a text like /sys/dev/block/M:N/stat, as bytes.
[[nodiscard]] std::optional<std::int64_t> parse_written(std::string_view stat);

[[nodiscard]] Card card_of(const std::string& path);
// The bytes that all programs gave to the device of a file so far. None: it is no block device of
// this kernel.
[[nodiscard]] std::optional<std::int64_t> given_to_card_of(const std::string& path);

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_CARD_HPP
