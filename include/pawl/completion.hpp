// CompletionToken: names one attempt of an activity to a caller that completes it from outside.
//
// Purpose: an activity gives the token out, in a link or to a device, and answers
// ActivityContext::complete_later(); Client::complete_activity() ends it, from any process and at
// any time. The text has the number of the work item, which is no secret, and 128 random bits. The
// database keeps its hash alone, so nothing that is read there completes an activity. Ownership:
// the bytes are in the object. Thread rule: a plain value. Units: bytes.
#ifndef PAWL_COMPLETION_HPP
#define PAWL_COMPLETION_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

class CompletionToken {
 public:
  // 19 digits, "-", and 32 digits in hexadecimal.
  static constexpr std::size_t kBytesMax = 52;

  CompletionToken() = default;
  // A longer text is cut behind kBytesMax, and is no token of any activity.
  explicit CompletionToken(std::string_view text)
      : size_(static_cast<std::uint8_t>(text.size() < kSize ? text.size() : kSize)) {
    for (std::size_t i = 0; i < size_; ++i)
      text_[i] = text[i];
  }

  // True: the activity cannot be completed from outside.
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // The text, which lives as long as the token.
  [[nodiscard]] std::string_view view() const { return {text_, size_}; }

 private:
  static constexpr std::size_t kSize = kBytesMax + 1;
  char text_[kSize] = {};
  std::uint8_t size_ = 0;
};

// Whether the session of an activity goes on while the activity is completed from outside.
enum class WhileOutside : std::uint8_t {
  kFreesSession,  // as if the activity had ended
  kHoldsSession,  // as if it ran: nothing else of an exclusive session starts
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_COMPLETION_HPP
