#include "replay/session_calls.hpp"

#include "codec/policy.hpp"
#include "core/hash.hpp"

namespace pawl::internal {

namespace {

// Leaves room for the name of the session's queue of changes.
bool is_session_id(std::string_view id) {
  return is_valid_name(id) && id.size() + kSessionEventsPrefix.size() <= kNameBytesMax;
}

bool is_shared_name(std::string_view name) {
  return is_valid_name(name) && name.size() + kSharedSessionEventsPrefix.size() <= kNameBytesMax;
}

bool is_label(std::string_view text) {
  return text.empty() || (is_valid_name(text) && text.size() <= kSessionLabelBytesMax);
}

}  // namespace

Session SessionCalls::open(BranchRun& branch, std::string_view id, bool has_id,
                           const SessionSettings& settings) {
  if (!run_.is_active(branch, "open_session")) return Session();
  PolicyText policy;
  if (!encode_settings(settings, &policy) ||
      (has_id && !(is_session_id(id) && commands_.takes_id(id))) ||
      !is_label(settings.owner_label) || !is_label(settings.kind))
    return Session();
  FixedText<kNameBytesMax> own;
  if (!has_id) {
    // The session is named by its place in the code and by its execution, so another execution's
    // name differs.
    const bool fits =
        own.append_number(run_.execution()) == Status::kOk && own.append('.') == Status::kOk &&
        own.append_number(branch.number) == Status::kOk && own.append('.') == Status::kOk &&
        own.append_number(branch.ordinal) == Status::kOk;
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
  return record == nullptr ? Session() : Session(Kind::kOpened, record->event.name);
}

Session SessionCalls::use(BranchRun& branch, std::string_view name,
                          const SessionSettings& settings) {
  if (!run_.is_active(branch, "use_session") || !is_shared_name(name) || !commands_.takes_id(name))
    return Session();
  const History::Record* const record = set(Session(Kind::kShared, name), settings);
  return record == nullptr ? Session() : Session(Kind::kShared, record->event.name);
}

Session SessionCalls::adopt(std::string_view instance, std::string_view session) {
  if (!is_valid_name(instance) || !is_session_id(session)) return Session();
  return {Kind::kAdopted, session, instance};
}

ErrorKind SessionCalls::change(BranchRun& branch, const Session& session,
                               const SessionSettings& settings) {
  if (!run_.is_active(branch, "change_session")) return ErrorKind::kNone;
  if (session.kind_ == Kind::kAdopted || session.id_.empty()) return ErrorKind::kInvalidArgument;
  const bool is_refused = set(session, settings) == nullptr && run_.is_ok();
  return is_refused ? ErrorKind::kInvalidArgument : ErrorKind::kNone;
}

const History::Record* SessionCalls::set(const Session& session, const SessionSettings& settings) {
  PolicyText policy;
  if (!encode_settings(settings, &policy) || !is_label(settings.owner_label) ||
      !is_label(settings.kind))
    return nullptr;
  Event event;
  event.kind = EventKind::kSessionSettings;
  event.name = session.id_;
  event.session = settings.owner_label;
  event.tag = settings.kind;
  event.policy = policy.view();
  event.number = session.kind_ == Kind::kOpened ? 1 : 0;
  event.argument_hash = Hash64()
                            .add(policy.view())
                            .add(event.session)
                            .add(event.tag)
                            .add(static_cast<std::uint64_t>(event.number))
                            .value();
  return commands_.issue(event);
}

ErrorKind SessionCalls::close(BranchRun& branch, const Session& session) {
  if (session.kind_ == Kind::kOpened) return close(branch, session.id_);
  if (!run_.is_active(branch, "close_session")) return ErrorKind::kNone;
  if (session.kind_ == Kind::kAdopted) return ErrorKind::kInvalidArgument;
  Event event;
  event.kind = EventKind::kSessionClose;
  event.name = session.id_;
  event.number = 1;
  event.argument_hash = Hash64().add(std::uint64_t{1}).value();
  static_cast<void>(commands_.issue(event));
  return ErrorKind::kNone;
}

ErrorKind SessionCalls::handoff(BranchRun& branch, const Session& session, std::string_view tag,
                                std::string_view summary) {
  if (session.kind_ == Kind::kAdopted) return ErrorKind::kInvalidArgument;
  return handoff(branch, session.id_, session.kind_ == Kind::kOpened, tag, summary);
}

ErrorKind SessionCalls::hold(BranchRun& branch, const Session& session, std::int64_t hold_ms) {
  if (session.kind_ == Kind::kAdopted) return ErrorKind::kInvalidArgument;
  return hold(branch, session.id_, session.kind_ == Kind::kOpened, hold_ms);
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

ErrorKind SessionCalls::handoff(BranchRun& branch, std::string_view id, bool is_own,
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

Handle SessionCalls::check(BranchRun& branch, const Session& session) {
  if (!run_.is_active(branch, "session_opened")) return awaits_.handle_of(HandleForm::kNone);
  if (run_.is_cancelled(branch)) return awaits_.handle_of(HandleForm::kNotIssued);
  if (session.id_.empty() || !is_valid_name(session.id_))
    return awaits_.handle_of(HandleForm::kBadSession);
  Event event;
  event.kind = EventKind::kSessionCheck;
  event.name = session.id_;
  event.session = session.opener_;
  event.number = session.kind_ == Kind::kShared ? 1 : 0;
  if (event.number != 0) event.argument_hash = Hash64().add(std::uint64_t{1}).value();
  return awaits_.handle_of(commands_.issue(event));
}

Handle SessionCalls::events(BranchRun& branch, const Session& session) {
  const bool is_shared = session.kind_ == Kind::kShared;
  FixedText<kNameBytesMax> queue;
  const bool fits =
      session.kind_ != Kind::kAdopted && is_valid_name(session.id_) &&
      queue.append(is_shared ? kSharedSessionEventsPrefix : kSessionEventsPrefix) == Status::kOk &&
      queue.append(session.id_) == Status::kOk;
  return calls_.schedule_wait(branch, EventKind::kDequeue, fits ? queue.view() : std::string_view(),
                              false);
}

}  // namespace pawl::internal
