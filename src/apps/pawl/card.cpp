#include "apps/pawl/card.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdio>
#include <memory>

#include "apps/pawl/units.hpp"

namespace pawl::tool {
namespace {

// Takes the next word off the front.
std::string_view next_word(std::string_view* text) {
  while (!text->empty() && text->front() == ' ')
    text->remove_prefix(1);
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(word.size());
  return word;
}

std::string_view next_line(std::string_view* text) {
  const std::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(line.size() == text->size() ? line.size() : line.size() + 1);
  return line;
}

// Options of ext4, f2fs and XFS that leave the flushes out.
bool has_no_flushes(std::string_view options) {
  while (!options.empty()) {
    const std::string_view one = options.substr(0, options.find(','));
    if (one == "nobarrier" || one == "barrier=0" || one == "fsync_mode=nobarrier") return true;
    options.remove_prefix(one.size() == options.size() ? one.size() : one.size() + 1);
  }
  return false;
}

// Empty: there is no such file.
std::string read_all(const char* path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), std::fclose);
  std::string text;
  std::array<char, 4096> part = {};
  std::size_t size = 0;
  while (file != nullptr && (size = std::fread(part.data(), 1, part.size(), file.get())) > 0)
    text.append(part.data(), size);
  return text;
}

std::optional<dev_t> device_of(const std::string& path) {
  struct stat is = {};
  if (::stat(path.c_str(), &is) != 0) return std::nullopt;
  return is.st_dev;
}

}  // namespace

// A line: id, parent, MAJOR:MINOR, root, place, options, any number of fields, "-", type, device,
// options of the file system.
Card parse_mounts(std::string_view mountinfo, unsigned major, unsigned minor) {
  const std::string wanted = std::to_string(major) + ":" + std::to_string(minor);
  Card card;
  while (!mountinfo.empty()) {
    std::string_view line = next_line(&mountinfo);
    next_word(&line);
    next_word(&line);
    if (next_word(&line) != wanted) continue;
    next_word(&line);
    next_word(&line);
    const std::string_view of_place = next_word(&line);
    std::string_view word = next_word(&line);
    while (!word.empty() && word != "-")
      word = next_word(&line);
    card.file_system = next_word(&line);
    card.device = next_word(&line);
    const std::string_view of_system = next_word(&line);
    card.options = std::string(of_place).append(of_system.empty() ? "" : ",").append(of_system);
    card.keeps_flushes = !has_no_flushes(card.options);
  }
  return card;
}

std::optional<std::int64_t> parse_written(std::string_view stat) {
  constexpr int kSectorsWritten = 7;  // kernel.org/doc/Documentation/block/stat.txt
  constexpr std::int64_t kSectorBytes = 512;
  std::string_view word;
  stat = next_line(&stat);
  for (int i = 0; i < kSectorsWritten; ++i)
    word = next_word(&stat);
  const std::optional<std::int64_t> sectors = parse_number(word);
  if (!sectors.has_value() || *sectors > INT64_MAX / kSectorBytes) return std::nullopt;
  return *sectors * kSectorBytes;
}

Card card_of(const std::string& path) {
  const std::optional<dev_t> device = device_of(path);
  if (!device.has_value()) return {};
  return parse_mounts(read_all("/proc/self/mountinfo"), major(*device), minor(*device));
}

std::optional<std::int64_t> given_to_card_of(const std::string& path) {
  const std::optional<dev_t> device = device_of(path);
  if (!device.has_value()) return std::nullopt;
  const std::string stat = "/sys/dev/block/" + std::to_string(major(*device)) + ":" +
                           std::to_string(minor(*device)) + "/stat";
  return parse_written(read_all(stat.c_str()));
}

}  // namespace pawl::tool
