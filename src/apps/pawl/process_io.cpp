#include "apps/pawl/process_io.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "apps/pawl/units.hpp"

namespace pawl::tool {

std::optional<std::int64_t> parse_write_bytes(std::string_view io) {
  // "cancelled_write_bytes:" ends with the same words, so the line must begin with the name.
  constexpr std::string_view kName = "write_bytes: ";
  while (!io.empty()) {
    const std::string_view line = io.substr(0, io.find('\n'));
    if (line.substr(0, kName.size()) == kName) return parse_number(line.substr(kName.size()));
    io.remove_prefix(line.size() == io.size() ? io.size() : line.size() + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> written_by(std::int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/io";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return std::nullopt;
  std::array<char, 1024> text = {};
  return parse_write_bytes({text.data(), std::fread(text.data(), 1, text.size(), file.get())});
}

std::int64_t boot_ms() {
  std::timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void WriteRate::read(const std::vector<std::int64_t>& pids) {
  std::vector<Seen> now;
  bytes_.reset();
  for (const std::int64_t pid : pids) {
    const std::optional<std::int64_t> written = written_by(pid);
    if (!written.has_value()) continue;
    now.push_back({pid, *written});
    for (const Seen& before : seen_)
      if (before.pid == pid && before.bytes <= *written)
        bytes_ = bytes_.value_or(0) + *written - before.bytes;
  }
  const std::int64_t at = boot_ms();
  ms_ = seen_.empty() ? 0 : at - at_ms_;
  at_ms_ = at;
  seen_ = std::move(now);
}

std::int64_t WriteRate::bytes_a_day() const {
  constexpr double kDayMs = 86'400'000;
  if (!bytes_.has_value() || ms_ <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(*bytes_) * kDayMs /
                                   static_cast<double>(ms_));
}

}  // namespace pawl::tool
