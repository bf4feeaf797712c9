#include "port/posix/posix_clock.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "port/posix/posix_descriptor.hpp"

// Early in a boot the kernel's pool may not be seeded, and plain getrandom() would delay the start
// of a gateway for minutes. Ids need no secrecy. The flag came with Linux 5.6 and is missing in
// older headers.
#ifndef GRND_INSECURE
#define GRND_INSECURE 0x0004
#endif

namespace pawl::posix {
namespace {

static_assert(sizeof(time_t) == 8, "build with _TIME_BITS=64: time is 64 bits everywhere");

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kMsPerSecond = 1'000;

bool read_clock_ns(clockid_t clock, std::int64_t& out) {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return false;
  out = std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
  return true;
}

// The offsets file describes the time namespace of the *children*; it applies to this process only
// if both are in the same one.
bool children_share_the_time_namespace() {
  struct stat mine {};
  struct stat children {};
  return ::stat("/proc/self/ns/time", &mine) == 0 &&
         ::stat("/proc/self/ns/time_for_children", &children) == 0 &&
         mine.st_ino == children.st_ino && mine.st_dev == children.st_dev;
}

bool parse_boot_offset(const char* text, std::int64_t& out_ns) {
  const char* line = std::strstr(text, "boottime");
  if (line == nullptr) return false;
  line += std::strlen("boottime");
  char* end = nullptr;
  const long long seconds = std::strtoll(line, &end, 10);
  if (end == line) return false;
  const char* rest = end;
  const long long nanoseconds = std::strtoll(rest, &end, 10);
  if (end == rest) return false;
  out_ns = std::int64_t{seconds} * kNsPerSecond + nanoseconds;
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool parse_boot_id(const char* text, port::BootId& out) {
  std::size_t nibbles = 0;
  for (; *text != 0 && *text != '\n'; ++text) {
    if (*text == '-') continue;
    const int digit = hex_digit(*text);
    if (digit < 0 || nibbles == 2 * sizeof(out.bytes)) return false;
    std::uint8_t& byte = out.bytes[nibbles / 2];
    byte = static_cast<std::uint8_t>((byte << 4) | digit);
    ++nibbles;
  }
  return nibbles == 2 * sizeof(out.bytes);
}

port::BootId read_boot_id() {
  const Descriptor file(
      retried([] { return ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); }));
  struct statfs place {};
  char text[64];
  port::BootId id;
  // A container manager may mount its own file over this one, with an id that changes at every
  // start of the container. Worse than no id, since each start would look like a boot.
  if (!file.valid() || ::fstatfs(file.get(), &place) != 0 || place.f_type != PROC_SUPER_MAGIC ||
      read_text(file.get(), text, sizeof(text)) < 0 || !parse_boot_id(text, id)) {
    return port::BootId();
  }
  id.known = true;
  return id;
}

bool kernel_says_synced() {
  timex state{};
  const int answer = ::adjtimex(&state);
  return answer >= 0 && answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

// Fills from one source and returns how many bytes it gave.
std::size_t fill_from(unsigned flags, unsigned char* out, std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n = retried([&] { return ::getrandom(out + got, size - got, flags); });
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

std::size_t fill_from_device(unsigned char* out, std::size_t size) {
  const Descriptor device(retried([] { return ::open("/dev/urandom", O_RDONLY | O_CLOEXEC); }));
  std::size_t got = 0;
  while (device.valid() && got < size) {
    const ssize_t n = retried([&] { return ::read(device.get(), out + got, size - got); });
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

// The last resort of a call that cannot fail: the bytes are distinct, not unpredictable
// (splitmix64).
void fill_from_clocks(unsigned char* out, std::size_t size) {
  static std::atomic<std::uint32_t> calls{0};
  std::int64_t boot_ns = 0;
  std::int64_t wall_ns = 0;
  read_clock_ns(CLOCK_BOOTTIME, boot_ns);
  read_clock_ns(CLOCK_REALTIME, wall_ns);
  std::uint64_t state = static_cast<std::uint64_t>(boot_ns) ^
                        (static_cast<std::uint64_t>(wall_ns) << 20) ^
                        (static_cast<std::uint64_t>(::getpid()) << 44) ^ calls.fetch_add(1);
  for (std::size_t i = 0; i < size; ++i) {
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    out[i] = static_cast<unsigned char>(mixed >> 56);
  }
}

}  // namespace

Status SystemClock::open(Diagnostic& diagnostic) {
  if (!wall_trust_file_.fits()) {
    diagnostic.format(
        "wall_trust_file has %zu bytes, or a zero byte inside; at most %zu are allowed",
        wall_trust_file_.size(), Path::kBytesMax);
    return Status::kInvalidOptions;
  }
  std::int64_t now_ns = 0;
  if (!read_clock_ns(CLOCK_BOOTTIME, now_ns)) {
    diagnostic.format("the kernel has no CLOCK_BOOTTIME (errno %d)", errno);
    return Status::kUnsupported;
  }
  PAWL_TRY(read_namespace_offset(diagnostic));
  boot_id_ = read_boot_id();
  return Status::kOk;
}

Status SystemClock::read_namespace_offset(Diagnostic& diagnostic) {
  namespace_offset_ns_ = 0;
  struct stat self {};
  if (::stat("/proc/self", &self) != 0) {
    diagnostic.format(
        "/proc cannot be read (errno %d): boot time of the machine cannot be distinguished from "
        "that of a "
        "time namespace",
        errno);
    return Status::kUnsupported;
  }
  const Descriptor file(
      retried([] { return ::open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC); }));
  if (!file.valid() && errno == ENOENT) return Status::kOk;
  char text[256];
  std::int64_t offset_ns = 0;
  if (!file.valid() || read_text(file.get(), text, sizeof(text)) < 0 ||
      !parse_boot_offset(text, offset_ns)) {
    diagnostic.format("/proc/self/timens_offsets cannot be read (errno %d)", errno);
    return Status::kUnsupported;
  }
  if (!children_share_the_time_namespace()) {
    diagnostic.format(
        "this process has unshared its time namespace and is itself still in the old one: "
        "/proc/self/ns/time and time_for_children differ; start Pawl in a child");
    return Status::kUnsupported;
  }
  namespace_offset_ns_ = offset_ns;
  return Status::kOk;
}

std::int64_t SystemClock::boot_ms() {
  std::int64_t now_ns = 0;
  read_clock_ns(CLOCK_BOOTTIME, now_ns);  // open() has checked that it works
  return (now_ns - namespace_offset_ns_) / kNsPerMs;
}

std::int64_t SystemClock::wall_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * kMsPerSecond + now.tv_nsec / kNsPerMs;
}

bool SystemClock::synced() {
  switch (wall_trust_) {
    case WallTrust::kKernel: return kernel_says_synced();
    case WallTrust::kFile: return trust_file_is_of_this_boot();
    case WallTrust::kHost: return host_trusts_.load();
    case WallTrust::kAlways: return true;
    case WallTrust::kNever: return false;
  }
  return false;
}

bool SystemClock::trust_file_is_of_this_boot() {
  struct stat file {};
  if (::stat(wall_trust_file_.c_str(), &file) != 0) return false;
  const std::int64_t touched_ms =
      std::int64_t{file.st_mtim.tv_sec} * kMsPerSecond + file.st_mtim.tv_nsec / kNsPerMs;
  const std::int64_t now_ms = wall_ms();
  // If the file's time is ahead of the wall clock, the file is of an earlier boot and the clock was
  // set back (no RTC). In this very case the wall clock must not be trusted.
  return touched_ms >= now_ms - boot_ms() && touched_ms <= now_ms;
}

void SystemClock::random(void* out, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(out);
  std::size_t got = fill_from(GRND_INSECURE, bytes, size);
  if (got < size) got += fill_from(GRND_NONBLOCK, bytes + got, size - got);
  if (got < size) got += fill_from_device(bytes + got, size - got);
  if (got < size) fill_from_clocks(bytes + got, size - got);
}

}  // namespace pawl::posix
