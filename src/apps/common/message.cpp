#include "apps/common/message.hpp"

#include <algorithm>

#include "pawl/printable.hpp"

namespace pawl::programs {
namespace {

constexpr std::size_t kLettersMax = 64;

class Append final : public TextSink {
 public:
  explicit Append(std::string* out) : out_(out) {}
  bool write(std::string_view text) noexcept override {
    out_->append(text);
    return true;
  }

 private:
  std::string* out_;
};

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = row[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

bool begins_with(std::string_view text, std::string_view begin) {
  return !begin.empty() && text.size() > begin.size() && text.substr(0, begin.size()) == begin;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  Append append(&shown);
  static_cast<void>(write_printable(text, append));  // the sink takes everything
  return shown;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& names) {
  const std::string* best = nullptr;
  std::size_t least = 0;
  word = word.substr(0, kLettersMax);
  for (const std::string& name : names) {
    const std::string_view letters = std::string_view(name).substr(0, kLettersMax);
    const std::size_t changed = begins_with(letters, word) ? 1 : distance(word, letters);
    // In the shortest words one letter of two may be wrong, in long ones a third of the letters.
    if (changed > std::max<std::size_t>(1, std::max(word.size(), letters.size()) / 3)) continue;
    if (best != nullptr && changed >= least) continue;
    best = &name;
    least = changed;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace pawl::programs
