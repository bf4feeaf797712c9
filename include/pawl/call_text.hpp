// CallText: a text of a Client that lives until its next call, and ends the process if it is read
// later.
//
// Purpose: a Client has one buffer, into which each call reads. Copies for every answer would take
// as much again, up to a MiB on a device that has few. So an answer holds views of that buffer, and
// reading one after the next call would show another answer's bytes. A CallText knows the call that
// it came from; if it is read after the next call, it ends the process, in every build, with "pawl:
// invariant client-1 broken".
// Ownership: the bytes are the Client's; copy those that must stay, as std::string(status.output).
// Read none after the Client and its memory are gone. A CallText made from a text is a plain view
// of it.
// Thread rule: the Client's.
#ifndef PAWL_CALL_TEXT_HPP
#define PAWL_CALL_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
[[noreturn]] void refuse_stale_text();
}

class CallText {
 public:
  CallText() = default;
  // Implicit: a text that a Client reads becomes a CallText.
  // NOLINTNEXTLINE(google-explicit-constructor)
  CallText(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view view() const {
    if (calls_ != nullptr && *calls_ != call_) internal::refuse_stale_text();
    return text_;
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const { return view(); }
  [[nodiscard]] std::size_t size() const { return view().size(); }
  [[nodiscard]] bool empty() const { return view().empty(); }
  [[nodiscard]] const char* data() const { return view().data(); }
  [[nodiscard]] std::size_t find(std::string_view part, std::size_t from = 0) const {
    return view().find(part, from);
  }
  [[nodiscard]] std::string_view substr(std::size_t from,
                                        std::size_t count = std::string_view::npos) const {
    return view().substr(from, count);
  }

  friend bool operator==(const CallText& a, const CallText& b) { return a.view() == b.view(); }
  friend bool operator==(const CallText& a, std::string_view b) { return a.view() == b; }
  friend bool operator==(std::string_view a, const CallText& b) { return a == b.view(); }
  friend bool operator!=(const CallText& a, const CallText& b) { return a.view() != b.view(); }
  friend bool operator!=(const CallText& a, std::string_view b) { return a.view() != b; }
  friend bool operator!=(std::string_view a, const CallText& b) { return a != b.view(); }
  // Writes to a stream of the standard library; the rest does not need <ostream>. Assertions of a
  // test framework print through it.
  template <typename Stream, typename = decltype(std::declval<Stream&>().rdbuf())>
  friend Stream& operator<<(Stream& stream, const CallText& text) {
    stream << text.view();
    return stream;
  }

  // Called by the Client: the text dies when `*calls` changes.
  void live_until_next(const std::uint64_t* calls) {
    calls_ = calls;
    call_ = *calls;
  }

 private:
  std::string_view text_;
  const std::uint64_t* calls_ = nullptr;
  std::uint64_t call_ = 0;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_CALL_TEXT_HPP
