#include "replay/payloads_shown.hpp"

#include <algorithm>
#include <cstring>

#include "core/utf8.hpp"
#include "pawl/printable.hpp"
#include "replay/run.hpp"

namespace pawl::internal {
namespace {

constexpr std::size_t kShown = 72;   // bytes of each payload, so that both fit into a Diagnostic
constexpr std::size_t kBefore = 16;  // bytes before the difference, if they are cut

// A payload in quotes, ended by a zero byte. Three dots stand for bytes that are left out.
class Shown final : private TextSink {
 public:
  Shown(std::string_view payload, std::size_t begin) {
    add(begin > 0 ? "\"..." : "\"");
    payload.remove_prefix(begin);
    left_ = kShown;
    const bool is_whole = write_printable(payload, *this);
    add(is_whole ? "\"" : "...\"");
    text_[size_] = '\0';
  }
  [[nodiscard]] const char* c_str() const { return text_; }

 private:
  static constexpr std::size_t kQuote = 4;
  void add(std::string_view text) {
    left_ = kQuote;
    write(text);
  }
  // A piece beyond the end is cut between two characters, or left out if it is an escape.
  bool write(std::string_view piece) noexcept override {
    std::size_t size = std::min(piece.size(), left_);
    if (size < piece.size()) size = piece.data()[0] == '\\' ? 0 : bytes_to_keep(piece, size);
    std::memcpy(text_ + size_, piece.data(), size);
    size_ += size;
    left_ -= size;
    return size == piece.size();
  }

  std::size_t size_ = 0;
  std::size_t left_ = 0;  // how many bytes may be written
  char text_[kShown + 2 * kQuote + 1];
};

// The byte from which both are shown: the first, if the bytes before the difference leave room.
std::size_t begin_of(std::string_view recorded, std::string_view issued) {
  const char* const bytes = recorded.data();
  const std::size_t shorter = std::min(recorded.size(), issued.size());
  std::size_t same = 0;
  std::size_t width = 0;  // at most so wide are the bytes before the difference
  for (; same < shorter && bytes[same] == issued.data()[same]; ++same)
    width += bytes[same] >= ' ' && bytes[same] <= '~' ? 1U : 4U;
  if (width <= kShown - kBefore || same <= kBefore) return 0;
  std::size_t begin = same - kBefore;
  while (begin < same && (static_cast<unsigned char>(bytes[begin]) & 0xC0U) == 0x80U)
    ++begin;
  return begin;
}

}  // namespace

void show_payloads(const char* part, const Event& recorded, const char* kind,
                   std::string_view issued, Diagnostic& out) {
  const std::size_t begin = begin_of(recorded.payload, issued);
  const Shown in_history(recorded.payload, begin);
  const Shown in_code(issued, begin);
  out.format(
      "event %u (branch %u, ordinal %u): %s differs: history has %s \"%.*s\" with %s, the code %s",
      recorded.id, recorded.branch, recorded.ordinal, part, kind, shown_bytes(recorded.name),
      recorded.name.data(), in_history.c_str(), in_code.c_str());
}

}  // namespace pawl::internal
