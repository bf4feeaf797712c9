// The policy of an activity as text: "attempts=5,backoff=exponential,base_ms=1000,...".
//
// Purpose: one form for the event's meta, the argument hash and the work item's row. Members with
// their default are left out, so the text of default options is empty and equal options have equal
// texts. Ownership, thread rule: plain values.
#ifndef PAWL_CODEC_POLICY_HPP
#define PAWL_CODEC_POLICY_HPP

#include <cstdint>
#include <string_view>

#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/session.hpp"

namespace pawl {

using PolicyText = FixedText<kNameBytesMax>;

// ActivityOptions as the engine and the storage see them, with the parts of a Target as separate
// members.
struct ActivityPolicy {
  std::string_view session;  // empty: none
  std::string_view tag;
  bool device = false;
  bool exclusive = false;
  bool own_session = false;  // a session that the instance opened
  bool barrier = false;
  std::int64_t unavailable_ms = 0;
  Retry retry;
  std::int64_t start_to_close_ms = 0;
  std::int64_t schedule_to_close_ms = 0;
  std::int64_t schedule_to_start_ms = 0;
  std::int64_t heartbeat_timeout_ms = 0;
};

// Encodes all but the session and the tag. False: a member is out of its range.
bool encode_policy(const ActivityPolicy& options, PolicyText* out);
// False, with *out in any state: the text does not come from encode_policy().
bool decode_policy(std::string_view text, ActivityPolicy* out);
// The same for the settings of a session.
bool encode_settings(const SessionSettings& settings, PolicyText* out);
bool decode_settings(std::string_view text, SessionSettings* out);
// The name of the first member in which two texts differ ("retry.max_attempts"); null: they are
// equal.
const char* policy_difference(std::string_view recorded, std::string_view issued);

}  // namespace pawl

#endif  // PAWL_CODEC_POLICY_HPP
