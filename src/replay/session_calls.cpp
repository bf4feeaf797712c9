#include "session_calls.hpp"

#include "hash.hpp"
#include "policy.hpp"

namespace pawl::internal {

namespace {

// Room for the name of its queue of changes.
bool is_session_id(std::string_view id) {
  return is_valid_name(id) && id.size() + kSessionEventsPrefix.size() <= kNameBytesMax;
}

bool is_label(std::string_view text) {
  return text.empty() || (is_valid_name(text) && text.size() <= kSessionLabelBytesMax);
}

}  // namespace

Session SessionCalls::open(BranchRun& branch, std::string_view id, bool has_id,
                           const SessionSettings& settings) {
  if (!run_.is_active(branch, "open_session")) return Session();
  PolicyText policy;
  if (!encode_settings(settings, &policy) || (has_id && !is_session_id(id)) ||
      !is_label(settings.owner_label) || !is_label(settings.kind))
    return Session();
  FixedText<kNameBytesMax> own;
  if (!has_id) {
    // Where it stands in the code is its name; another execution's is another.
    const bool fits =
        own.append_number(run_.input().execution) == Status::kOk &&
        own.append('.') == Status::kOk && own.append_number(branch.number) == Status::kOk &&
        own.append('.') == Status::kOk && own.append_number(branch.ordinal) == Status::kOk;
    if (!fits) return Session();
    id = own.view();
  }
  Event event;
  event.kind = EventKind::kSessionOpen;
  event.name = id;
  event.session = settings.owner_label;
  event.tag = settings.kind;
  event.policy = policy.view();
  Hash64 hash;
  hash.add(policy.view());
  if (!event.session.empty() || !event.tag.empty()) hash.add(event.session).add(event.tag);
  event.argument_hash = hash.value();
  const History::Record* const record = commands_.issue(event);
  return record == nullptr ? Session() : Session(record->event.name);
}

ErrorKind SessionCalls::close(BranchRun& branch, std::string_view id) {
  if (!run_.is_active(branch, "close_session")) return ErrorKind::kNone;
  if (!is_session_id(id)) return ErrorKind::kInvalidArgument;
  Event event;
  event.kind = EventKind::kSessionClose;
  event.name = id;
  static_cast<void>(commands_.issue(event));
  return ErrorKind::kNone;
}

ErrorKind SessionCalls::hold(BranchRun& branch, std::string_view id, bool is_own,
                             std::int64_t hold_ms) {
  if (!run_.is_active(branch, "hold_session")) return ErrorKind::kNone;
  ActivityPolicy use;
  use.own_session = is_own;
  PolicyText policy;
  if (!(is_own ? is_session_id(id) : is_valid_name(id)) || hold_ms < 0 ||
      hold_ms > kDurationMax.count() || !encode_policy(use, &policy))
    return ErrorKind::kInvalidArgument;
  Event event;
  event.kind = EventKind::kSessionHold;
  event.name = id;
  event.number = hold_ms;
  event.policy = policy.view();
  event.argument_hash =
      Hash64().add(static_cast<std::uint64_t>(hold_ms)).add(policy.view()).value();
  static_cast<void>(commands_.issue(event));
  return ErrorKind::kNone;
}

ErrorKind SessionCalls::hand_off(BranchRun& branch, std::string_view id, bool is_own,
                                 std::string_view tag, std::string_view summary) {
  if (!run_.is_active(branch, "handoff_session")) return ErrorKind::kNone;
  ActivityPolicy use;
  use.own_session = is_own;
  PolicyText policy;
  if (!(is_own ? is_session_id(id) : is_valid_name(id)) || (!tag.empty() && !is_valid_name(tag)) ||
      !encode_policy(use, &policy))
    return ErrorKind::kInvalidArgument;
  if (summary.size() > kSessionSummaryBytesMax) return ErrorKind::kLimit;
  Event event;
  event.kind = EventKind::kSessionHandoff;
  event.name = id;
  event.tag = tag;
  event.policy = policy.view();
  event.payload = summary;
  event.argument_hash = Hash64().add(policy.view()).add(tag).add(summary).value();
  static_cast<void>(commands_.issue(event));
  return ErrorKind::kNone;
}

Handle SessionCalls::check(BranchRun& branch, std::string_view id) {
  if (!run_.is_active(branch, "session_opened")) return awaits_.handle_of(HandleForm::kNone);
  if (!is_session_id(id)) return awaits_.handle_of(HandleForm::kBadSession);
  Event event;
  event.kind = EventKind::kSessionCheck;
  event.name = id;
  return awaits_.handle_of(commands_.issue(event));
}

Handle SessionCalls::events(BranchRun& branch, std::string_view id) {
  FixedText<kNameBytesMax> queue;
  const bool fits = is_session_id(id) && queue.append(kSessionEventsPrefix) == Status::kOk &&
                    queue.append(id) == Status::kOk;
  return calls_.schedule_wait(branch, EventKind::kDequeue, fits ? queue.view() : std::string_view(),
                              false);
}

}  // namespace pawl::internal
