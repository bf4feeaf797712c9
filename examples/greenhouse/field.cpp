#include "field.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace greenhouse {
namespace {

// Replaces a file in one step, so that no reader sees half of it.
bool replace(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream(fresh) << text << std::endl;
  return std::rename(fresh.c_str(), path.c_str()) == 0;
}

}  // namespace

bool Field::measure(std::int32_t bed, std::int32_t* moisture) const {
  std::ifstream file(folder_ + "/soil-" + std::to_string(bed));
  return static_cast<bool>(file >> *moisture);
}

bool Field::moisten(std::int32_t bed, std::int32_t more) const {
  std::int32_t moisture = 0;
  return measure(bed, &moisture) &&
         replace(folder_ + "/soil-" + std::to_string(bed), std::to_string(moisture + more));
}

bool Field::lock_pump() {
  const std::string path = folder_ + "/pump.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;  // until the process ends, in whatever way
}

bool Field::switch_on(std::int32_t bed, std::string_view why) const {
  return set_pump("on " + std::to_string(bed), why);
}

bool Field::switch_off(std::string_view why) const { return set_pump("off", why); }

bool Field::set_pump(const std::string& state, std::string_view why) const {
  if (!replace(folder_ + "/pump", state)) return false;
  std::ofstream log(folder_ + "/pump.log", std::ios::app);
  return static_cast<bool>(log << (state + " " + std::string(why) + "\n") << std::flush);
}

}  // namespace greenhouse
