#include "channels.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gateway {
namespace {

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const directory = opendir(folder.c_str());
  if (directory == nullptr) return names;
  while (const dirent* const entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

// The first line of a small file; empty if there is none.
std::string line_of(const std::string& path) {
  char text[256];
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  if (size <= 0) return {};
  const std::string_view all(text, static_cast<std::size_t>(size));
  return std::string(all.substr(0, all.find('\n')));
}

// Replaces characters that an id may not have: it goes into logs with fields separated by spaces.
std::string as_id(std::string text) {
  for (char& character : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(character)) != 0 ||
                       std::strchr("_-.:@", character) != nullptr;
    if (!plain) character = '_';
  }
  return text;
}

// The name of a chip's driver. Where several chips have the same name, chips_in() adds the device.
std::string chip_name(const std::string& folder, const std::string& entry) {
  const std::string name = line_of(folder + '/' + entry + "/name");
  return name.empty() ? entry : name;
}

std::string device_of(const std::string& folder, const std::string& entry) {
  char resolved[PATH_MAX];
  if (realpath((folder + '/' + entry + "/device").c_str(), resolved) == nullptr) return entry;
  return std::strrchr(resolved, '/') + 1;
}

struct Chip {
  std::string name;
  std::string folder;
};

std::vector<Chip> chips_in(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> entries;
  std::vector<std::string> names;
  for (const std::string& entry : names_in(folder)) {
    if (!starts_with(entry, prefix)) continue;
    entries.push_back(entry);
    names.push_back(chip_name(folder, entry));
  }
  std::vector<Chip> chips;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool several = std::count(names.begin(), names.end(), names[i]) > 1;
    const std::string suffix = several ? '@' + device_of(folder, entries[i]) : std::string();
    chips.push_back({as_id(names[i] + suffix), folder + '/' + entries[i]});
  }
  return chips;
}

struct Quantity {
  const char* prefix;
  const char* unit;
  double scale;
  std::int64_t limit = kNoLimit;
};

const Quantity* quantity_of(std::string_view file, const Quantity* table, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (starts_with(file, table[i].prefix)) return &table[i];
  }
  return nullptr;
}

// The units are those of the kernel's Documentation/hwmon/sysfs-interface.rst.
constexpr Quantity kHwmon[] = {
    {"temp", "degC", 1, 85'000}, {"in", "V", 1},         {"curr", "A", 1},     {"fan", "rpm", 1000},
    {"power", "W", 0.001},       {"energy", "J", 0.001}, {"humidity", "%", 1}, {"freq", "Hz", 1000},
};

// The units are those of the kernel's Documentation/ABI/testing/sysfs-bus-iio: these quantities are
// in thousandths already, all others in whole units.
constexpr Quantity kIio[] = {
    {"in_temp", "degC", 1, 85'000}, {"in_voltage", "V", 1},          {"in_current", "A", 1},
    {"in_power", "W", 1},           {"in_humidityrelative", "%", 1},
};

void find_hwmon(const Roots& roots, std::vector<Channel>* out) {
  for (const Chip& chip : chips_in(roots.sys + "/class/hwmon", "hwmon")) {
    for (const std::string& file : names_in(chip.folder)) {
      const bool average = starts_with(file, "power") && ends_with(file, "_average");
      if (!ends_with(file, "_input") && !average) continue;
      const Quantity* const quantity = quantity_of(file, kHwmon, std::size(kHwmon));
      if (quantity == nullptr) continue;
      Channel channel;
      channel.id = "hwmon:" + chip.name + ':' + as_id(file);
      channel.path = chip.folder + '/' + file;
      channel.scale = quantity->scale;
      channel.unit = quantity->unit;
      channel.limit = quantity->limit;
      out->push_back(channel);
    }
  }
}

void find_thermal(const Roots& roots, std::vector<Channel>* out) {
  const std::string folder = roots.sys + "/class/thermal";
  for (const std::string& zone : names_in(folder)) {
    if (!starts_with(zone, "thermal_zone")) continue;
    Channel channel;
    channel.id = "thermal:" + as_id(zone);
    channel.path = folder + '/' + zone + "/temp";
    channel.unit = "degC";
    channel.limit = 85'000;
    out->push_back(channel);
  }
}

// Reads a scale or an offset: `in_voltage3_raw` has its own in_voltage3_scale, or shares
// in_voltage_scale.
double iio_factor(const std::string& folder, std::string base, const char* suffix,
                  double otherwise) {
  std::string shared;
  std::copy_if(base.begin(), base.end(), std::back_inserter(shared),
               [](unsigned char character) { return std::isdigit(character) == 0; });
  for (const std::string& name : {base, shared, shared.substr(0, shared.rfind('_'))}) {
    const std::string text = line_of(folder + '/' + name + suffix);
    if (!text.empty()) return std::strtod(text.c_str(), nullptr);
  }
  return otherwise;
}

void find_iio(const Roots& roots, std::vector<Channel>* out) {
  for (const Chip& chip : chips_in(roots.sys + "/bus/iio/devices", "iio:device")) {
    for (const std::string& file : names_in(chip.folder)) {
      const bool raw = ends_with(file, "_raw");
      if (!starts_with(file, "in_") || (!raw && !ends_with(file, "_input"))) continue;
      Channel channel;
      channel.id = "iio:" + chip.name + ':' + as_id(file);
      channel.path = chip.folder + '/' + file;
      const Quantity* const quantity = quantity_of(file, kIio, std::size(kIio));
      channel.scale = quantity != nullptr ? quantity->scale : 1000;
      if (quantity != nullptr) {
        channel.unit = quantity->unit;
        channel.limit = quantity->limit;
      }
      if (raw) {
        const std::string base = file.substr(0, file.size() - 4);
        channel.offset = iio_factor(chip.folder, base, "_offset", 0);
        channel.scale *= iio_factor(chip.folder, base, "_scale", 1);
      }
      out->push_back(channel);
    }
  }
}

void find_proc(const Roots& roots, std::vector<Channel>* out) {
  struct Known {
    const char* id;
    const char* file;
    Channel::Kind kind;
    const char* key;
    int column;
    double scale;
    const char* unit;
    std::int64_t limit;
  };
  using Kind = Channel::Kind;
  constexpr double kMebibytes = 1000.0 / 1024;
  constexpr Known kKnown[] = {
      {"proc:loadavg:1m", "/loadavg", Kind::kColumn, "", 0, 1000, "", kNoLimit},
      {"proc:loadavg:5m", "/loadavg", Kind::kColumn, "", 1, 1000, "", kNoLimit},
      {"proc:loadavg:15m", "/loadavg", Kind::kColumn, "", 2, 1000, "", kNoLimit},
      {"proc:meminfo:MemAvailable", "/meminfo", Kind::kKey, "MemAvailable:", 0, kMebibytes, "MiB",
       kNoLimit},
      {"proc:meminfo:Cached", "/meminfo", Kind::kKey, "Cached:", 0, kMebibytes, "MiB", kNoLimit},
      {"proc:meminfo:Dirty", "/meminfo", Kind::kKey, "Dirty:", 0, kMebibytes, "MiB", kNoLimit},
      {"proc:stat:busy", "/stat", Kind::kPercent, "cpu", 0, 1, "%", 95'000},
      {"proc:stat:ctxt", "/stat", Kind::kRate, "ctxt", 0, 1000, "1/s", kNoLimit},
      {"proc:stat:processes", "/stat", Kind::kRate, "processes", 0, 1000, "1/s", kNoLimit},
  };
  for (const Known& known : kKnown) {
    Channel channel;
    channel.id = known.id;
    channel.path = roots.proc + known.file;
    channel.kind = known.kind;
    channel.key = known.key;
    channel.column = known.column;
    channel.scale = known.scale;
    channel.unit = known.unit;
    channel.limit = known.limit;
    out->push_back(channel);
  }
}

// The text after `key` where a line begins with it; null: no line does.
const char* after_key(const std::string& text, const std::string& key) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, key.size(), key) == 0) {
      const std::size_t end = at + key.size();
      if (end < text.size() && (text[end] == ' ' || text[end] == '\t')) return text.c_str() + end;
    }
    const std::size_t line_end = text.find('\n', at);
    if (line_end == std::string::npos) break;
    at = line_end + 1;
  }
  return nullptr;
}

bool parse(const char* text, double* number) {
  if (text == nullptr) return false;
  char* end = nullptr;
  *number = std::strtod(text, &end);
  return end != text && std::isfinite(*number);
}

std::int64_t boot_ms() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

bool OpenChannel::fail(const char* what, int error_number) {
  error_ = channel_.path + ": " + what;
  if (error_number != 0) error_ += std::string(": ") + std::strerror(error_number);
  // A driver that went away does not come back in the same file.
  close();
  return false;
}

void OpenChannel::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool OpenChannel::open(const Channel& channel) {
  close();
  channel_ = channel;
  fd_ = ::open(channel.path.c_str(), O_RDONLY | O_CLOEXEC);
  return fd_ >= 0 || fail("cannot open", errno);
}

bool OpenChannel::read_text(std::string* text) {
  constexpr std::size_t kSizeMax = 256 * 1024;
  char part[4096];
  text->clear();
  while (text->size() < kSizeMax) {
    const ssize_t size = pread(fd_, part, sizeof(part), static_cast<off_t>(text->size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail("cannot read", errno);
    if (size == 0) break;
    text->append(part, static_cast<std::size_t>(size));
  }
  return true;
}

bool OpenChannel::read(Counters* counters, std::int64_t* value) {
  std::string text;
  if (fd_ < 0) return fail("not open", 0);
  if (!read_text(&text)) return false;
  double number = 0;
  const Counters last = *counters;
  switch (channel_.kind) {
    case Channel::Kind::kNumber:
      if (!parse(text.c_str(), &number)) return fail("no number", 0);
      break;
    case Channel::Kind::kColumn: {
      const char* at = text.c_str();
      for (int i = 0; i < channel_.column && at != nullptr; ++i) {
        at = std::strchr(at, ' ');
        if (at != nullptr) ++at;
      }
      if (!parse(at, &number)) return fail("no such column", 0);
      break;
    }
    case Channel::Kind::kKey:
      if (!parse(after_key(text, channel_.key), &number)) return fail("no such key", 0);
      break;
    case Channel::Kind::kPercent: {
      // The fields: user nice system idle iowait irq softirq steal. User already includes guests.
      long long ticks[8] = {};
      const char* at = after_key(text, channel_.key);
      for (long long& field : ticks) {
        if (at == nullptr) return fail("no such key", 0);
        char* end = nullptr;
        field = std::strtoll(at, &end, 10);
        at = end;
      }
      counters->second = ticks[3] + ticks[4];
      counters->first = 0;
      for (const long long field : ticks)
        counters->first += field;
      const std::int64_t all = counters->first - last.first;
      const std::int64_t idle = counters->second - last.second;
      if (all > 0) number = 100'000.0 * static_cast<double>(all - idle) / static_cast<double>(all);
      number = std::clamp(number, 0.0, 100'000.0);
      break;
    }
    case Channel::Kind::kRate: {
      if (!parse(after_key(text, channel_.key), &number)) return fail("no such key", 0);
      counters->first = static_cast<std::int64_t>(number);
      counters->second = boot_ms();
      const std::int64_t ms = counters->second - last.second;
      const auto growth = static_cast<double>(counters->first - last.first);
      number =
          last.second != 0 && ms > 0 && growth >= 0 ? growth * 1000 / static_cast<double>(ms) : 0;
      break;
    }
  }
  const double result = (number + channel_.offset) * channel_.scale;
  if (std::fabs(result) > 9e15) return fail("out of range", 0);
  *value = std::llround(result);
  return true;
}

std::vector<Channel> discover(const Roots& roots) {
  std::vector<Channel> found;
  find_hwmon(roots, &found);
  find_thermal(roots, &found);
  find_iio(roots, &found);
  find_proc(roots, &found);
  std::sort(found.begin(), found.end(),
            [](const Channel& left, const Channel& right) { return left.id < right.id; });
  // Drops channels that this machine does not have. A channel whose driver fails for now stays.
  found.erase(std::remove_if(
                  found.begin(), found.end(),
                  [](const Channel& channel) { return access(channel.path.c_str(), R_OK) != 0; }),
              found.end());
  if (found.size() > kChannelsMax) found.resize(kChannelsMax);
  return found;
}

bool find_channel(const Roots& roots, std::string_view id, Channel* out) {
  for (Channel& channel : discover(roots)) {
    if (channel.id != id) continue;
    *out = std::move(channel);
    return true;
  }
  return false;
}

}  // namespace gateway
