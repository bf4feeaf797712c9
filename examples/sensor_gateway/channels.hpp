// Channels: every reading this machine offers, under one interface.
//
// The channels are hwmon, thermal and IIO under a sysfs root, and the kernel's own live figures
// under a proc root. An id names the chip and the file, not the number that the kernel gave the
// chip at this boot, so it can be the id of a session. The session's owner looks the file up when
// it opens the channel.
#ifndef GATEWAY_CHANNELS_HPP
#define GATEWAY_CHANNELS_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gateway {

struct Roots {
  std::string sys = "/sys";
  std::string proc = "/proc";
};

// All values are integers, in thousandths of the unit, so they look the same on every machine.
inline constexpr std::int64_t kNoLimit = INT64_MAX;

struct Channel {
  enum class Kind {
    kNumber,   // the file is one number
    kColumn,   // a column of the first line
    kKey,      // the number after a key
    kPercent,  // share of time that the processors were busy since the last reading
    kRate,     // growth per second of the number after a key, since the last reading
  };
  std::string id;
  std::string path;
  Kind kind = Kind::kNumber;
  std::string key;  // kKey, kRate
  int column = 0;   // kColumn
  double offset = 0;
  double scale = 1;  // (number + offset) * scale is the value in thousandths
  const char* unit = "";
  std::int64_t limit = kNoLimit;  // raise an alarm above it, unless an option says otherwise
};

// Finds at most kChannelsMax channels, sorted by id. A channel whose driver fails for now is
// included.
inline constexpr std::size_t kChannelsMax = 256;
std::vector<Channel> discover(const Roots& roots);
// Finds a channel by its id, wherever the kernel has put it at this boot. False: there is none.
bool find_channel(const Roots& roots, std::string_view id, Channel* out);

// The numbers that kPercent and kRate need from the reading before.
struct Counters {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// One open channel: the file stays open between readings.
class OpenChannel {
 public:
  OpenChannel() = default;
  ~OpenChannel() { close(); }
  OpenChannel(const OpenChannel&) = delete;
  OpenChannel& operator=(const OpenChannel&) = delete;

  // False: error() says why.
  bool open(const Channel& channel);
  bool read(Counters* counters, std::int64_t* value);
  void close();
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] const Channel& channel() const { return channel_; }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool fail(const char* what, int error_number);
  bool read_text(std::string* text);

  Channel channel_;
  int fd_ = -1;
  std::string error_;
};

}  // namespace gateway

#endif  // GATEWAY_CHANNELS_HPP
