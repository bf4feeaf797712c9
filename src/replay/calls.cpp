#include "replay/calls.hpp"

#include <cstring>

#include "core/hash.hpp"
#include "core/version.hpp"

namespace pawl::internal {
namespace {

void format_guid(std::uint64_t high, std::uint64_t low, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  high = (high & ~std::uint64_t{0xf000}) | 0x4000;                       // version 4
  low = (low & ~(std::uint64_t{3} << 62U)) | (std::uint64_t{2} << 62U);  // variant of RFC 9562
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) *out++ = '-';
    const std::uint64_t half = i < 16 ? high : low;
    *out++ = kDigits[(half >> (60U - 4U * (i % 16))) & 0xfU];
  }
  *out = '\0';
}

// The time limit of a start, as the limit of the same meaning that an activity has. False: it is
// out of its range.
bool encode_limit(const StartOptions& options, PolicyText* out) {
  if (!options.time_limit.has_value()) return true;
  ActivityPolicy policy;
  policy.schedule_to_close_ms = options.time_limit->count();
  return policy.schedule_to_close_ms > 0 && encode_policy(policy, out);
}

}  // namespace

ActivityPolicy Calls::policy_of(const ActivityOptions& options) {
  const Target& target = options.target;
  ActivityPolicy policy;
  policy.session = target.session_;
  policy.tag = options.tag;
  policy.device = target.kind_ == Target::Kind::kDevice;
  policy.own_session = target.kind_ == Target::Kind::kOwn;
  policy.exclusive = target.exclusive_;
  policy.barrier = target.barrier_;
  policy.unavailable_ms = target.unavailable_.count();
  policy.retry = options.retry;
  policy.start_to_close_ms = options.start_to_close.count();
  policy.schedule_to_close_ms = options.schedule_to_close.count();
  policy.schedule_to_start_ms = options.schedule_to_start.count();
  policy.heartbeat_timeout_ms = options.heartbeat_timeout.count();
  return policy;
}

Handle Calls::schedule_activity(BranchRun& branch, std::string_view name, std::string_view input,
                                const ActivityOptions& given) {
  if (!run_.is_active(branch, "schedule_activity")) return awaits_.handle_of(HandleForm::kNone);
  if (run_.is_cancelled(branch)) return awaits_.handle_of(HandleForm::kNotIssued);
  if (!is_valid_name(name)) return awaits_.handle_of(HandleForm::kBadName);
  const ActivityPolicy options = policy_of(given);
  if (given.target.kind_ != Target::Kind::kAnyWorker) {
    if (!is_valid_name(options.session)) return awaits_.handle_of(HandleForm::kBadSession);
    if (!commands_.takes_id(options.session)) return awaits_.handle_of(HandleForm::kNotPlain);
  }
  if (!options.tag.empty() && !is_valid_name(options.tag))
    return awaits_.handle_of(HandleForm::kBadTag);
  PolicyText policy;
  if (!encode_policy(options, &policy)) return awaits_.handle_of(HandleForm::kBadOptions);
  if (input.size() > run_.limits().payload_bytes_max)
    return awaits_.handle_of(HandleForm::kBadPayload);
  Event event;
  event.kind = EventKind::kActivity;
  event.name = name;
  event.session = options.session;
  event.policy = policy.view();
  event.tag = options.tag;
  event.version = given.target.opener_.view();
  event.payload = input;
  Hash64 hash;
  hash.add(options.session).add(input);
  if (!event.version.empty()) hash.add(event.version);
  if (!policy.empty()) hash.add(policy.view());
  if (!options.tag.empty()) hash.add(options.tag);
  event.argument_hash = hash.value();
  return awaits_.handle_of(commands_.issue(event));
}

Handle Calls::schedule_timer(BranchRun& branch, TimerBase base, std::int64_t number) {
  if (!run_.is_active(branch, "schedule_timer")) return awaits_.handle_of(HandleForm::kNone);
  if (run_.is_cancelled(branch)) return awaits_.handle_of(HandleForm::kNotIssued);
  Event event;
  event.kind = EventKind::kTimer;
  event.base = base;
  event.number = number;
  event.argument_hash = Hash64()
                            .add(static_cast<std::uint64_t>(base))
                            .add(static_cast<std::uint64_t>(number))
                            .value();
  return awaits_.handle_of(commands_.issue(event));
}

HandleForm Calls::form_of_call(const NewInstanceCall& call) const {
  if (!is_valid_name(call.name)) return HandleForm::kBadName;
  if (call.has_id && (!is_valid_name(call.id) || has_separator(call.id))) return HandleForm::kBadId;
  if (call.has_id && !commands_.takes_id(call.id)) return HandleForm::kNotPlain;
  if (call.has_version && !is_valid_version(call.version)) return HandleForm::kBadVersion;
  if (call.input.size() > run_.limits().payload_bytes_max) return HandleForm::kBadPayload;
  return HandleForm::kCommand;
}

History::Record* Calls::issue_start(EventKind kind, const NewInstanceCall& call) {
  Event event;
  event.kind = kind;
  event.name = call.name;
  event.session = call.id;
  event.version = call.version;
  event.payload = call.input;
  event.argument_hash = Hash64().add(call.id).add(call.input).value();
  return commands_.issue(event);
}

Handle Calls::refuse_payload(BranchRun& branch) {
  const bool is_active = run_.is_active(branch, "a typed call");
  return awaits_.handle_of(is_active ? HandleForm::kNoJson : HandleForm::kNone);
}

Handle Calls::schedule_child(BranchRun& branch, const NewInstanceCall& call) {
  if (!run_.is_active(branch, "schedule_sub_orchestration"))
    return awaits_.handle_of(HandleForm::kNone);
  if (run_.is_cancelled(branch)) return awaits_.handle_of(HandleForm::kNotIssued);
  const HandleForm form = form_of_call(call);
  return form == HandleForm::kCommand ? awaits_.handle_of(issue_start(EventKind::kChild, call))
                                      : awaits_.handle_of(form);
}

ErrorKind Calls::start_detached(BranchRun& branch, const NewInstanceCall& call) {
  if (!run_.is_active(branch, "start_orchestration")) return ErrorKind::kNone;
  const HandleForm form = form_of_call(call);
  if (form != HandleForm::kCommand) return refused(form).error().kind;
  issue_start(EventKind::kDetached, call);
  return ErrorKind::kNone;
}

HandleForm Calls::form_of_send(const SendCall& call) const {
  const SendOptions& options = call.options;
  if (!is_valid_name(call.id) || !is_valid_name(call.name) ||
      (options.key.has_value() && !is_valid_name(*options.key)))
    return HandleForm::kBadName;
  if (call.payload.size() > run_.limits().payload_bytes_max) return HandleForm::kBadPayload;
  if (!options.start_if_ended.has_value()) return HandleForm::kCommand;
  const StartIfEnded& start = *options.start_if_ended;
  if (!is_valid_name(start.definition)) return HandleForm::kBadName;
  if (!is_valid_root_id(call.id)) return HandleForm::kBadId;
  if (start.options.version.has_value() && !is_valid_version(start.options.version->view()))
    return HandleForm::kBadVersion;
  PolicyText limit;
  if (start.options.start_after.count() < 0 || !is_valid_trace_id(start.options.trace_id.view()) ||
      !encode_limit(start.options, &limit))
    return HandleForm::kBadOptions;
  return start.input.size() > run_.limits().payload_bytes_max ? HandleForm::kBadPayload
                                                              : HandleForm::kCommand;
}

void Calls::issue_start_if_ended(const SendCall& call) {
  const StartIfEnded& start = *call.options.start_if_ended;
  Event event;
  event.kind = EventKind::kStartIfEnded;
  event.session = call.id;
  event.name = start.definition;
  event.version = start.options.version.has_value() ? start.options.version->view() : "";
  event.tag = start.options.trace_id.view();
  event.number = start.options.start_after.count();
  event.payload = start.input;
  PolicyText limit;
  static_cast<void>(encode_limit(start.options, &limit));  // form_of_send() has tried it
  event.policy = limit.view();
  event.argument_hash =
      Hash64().add(static_cast<std::uint64_t>(event.number)).add(start.input).value();
  static_cast<void>(commands_.issue(event));
}

// Issued by a cancelled branch, too: it is done at once, and only its answer is awaited (R8.4).
Handle Calls::send_message(BranchRun& branch, const TurnSends& sends, const SendCall& call) {
  if (!run_.is_active(branch, event_kind_name(call.kind)))
    return awaits_.handle_of(HandleForm::kNone);
  const HandleForm form = form_of_send(call);
  if (form != HandleForm::kCommand) return awaits_.handle_of(form);
  run_.set_sends(sends);
  if (call.options.start_if_ended.has_value()) issue_start_if_ended(call);
  if (!run_.is_ok()) return awaits_.handle_of(HandleForm::kNone);
  Event event;
  event.kind = call.kind;
  event.session = call.id;
  event.name = call.name;
  event.tag = call.options.key.value_or(std::string_view());
  event.payload = call.payload;
  event.argument_hash = Hash64().add(call.payload).value();
  return awaits_.handle_of(commands_.issue(event));
}

ErrorKind Calls::reply(BranchRun& branch, const TurnSends& sends, MessageId message,
                       ErrorKind error, std::string_view payload) {
  if (!run_.is_active(branch, "reply")) return ErrorKind::kNone;
  if (error > kErrorKindLast || message < 1) return ErrorKind::kInvalidArgument;
  if (payload.size() > run_.limits().payload_bytes_max) return ErrorKind::kLimit;
  run_.set_sends(sends);
  Event event;
  event.kind = EventKind::kReply;
  event.number = message;
  event.error = error;
  event.payload = payload;
  event.argument_hash = Hash64()
                            .add(static_cast<std::uint64_t>(message))
                            .add(static_cast<std::uint64_t>(error))
                            .add(payload)
                            .value();
  static_cast<void>(commands_.issue(event));
  return ErrorKind::kNone;
}

Handle Calls::schedule_wait(BranchRun& branch, EventKind kind, std::string_view name,
                            bool only_try) {
  if (!run_.is_active(branch, kind == EventKind::kWait ? "schedule_wait" : "dequeue_event"))
    return awaits_.handle_of(HandleForm::kNone);
  if (run_.is_cancelled(branch)) return awaits_.handle_of(HandleForm::kNotIssued);
  if (!is_valid_name(name)) return awaits_.handle_of(HandleForm::kBadName);
  Event event;
  event.kind = kind;
  event.name = name;
  if (only_try) {
    event.number = 1;
    event.argument_hash = Hash64().add(std::uint64_t{1}).value();
  }
  return awaits_.handle_of(commands_.issue(event));
}

Handle Calls::read_elsewhere(BranchRun& branch, std::string_view instance, std::string_view key) {
  if (!run_.is_active(branch, "get_kv_value_from_instance"))
    return awaits_.handle_of(HandleForm::kNone);
  if (run_.is_cancelled(branch)) return awaits_.handle_of(HandleForm::kNotIssued);
  if (!is_valid_name(instance) || !is_valid_name(key))
    return awaits_.handle_of(HandleForm::kBadName);
  Event event;
  event.kind = EventKind::kValueRead;
  event.name = key;
  event.session = instance;
  return awaits_.handle_of(commands_.issue(event));
}

Guid Calls::new_guid(BranchRun& branch) {
  Guid guid;
  if (!run_.is_active(branch, "new_guid")) return guid;
  const auto half = [this](std::uint64_t which) {
    Hash64 hash;
    hash.add_bytes(run_.input().random, sizeof(run_.input().random));
    return hash.add(which).add(run_.current().number).add(run_.current().ordinal).value();
  };
  format_guid(half(0), half(1), guid.text);
  Event event;
  event.kind = EventKind::kGuid;
  event.payload = guid.view();
  const Record* const record = commands_.issue(event);
  if (record != nullptr) std::memcpy(guid.text, record->event.payload.data(), guid.view().size());
  return guid;
}

std::int64_t Calls::utc_now_ms(BranchRun& branch) {
  if (!run_.is_active(branch, "utc_now_ms")) return 0;
  Event event;
  event.kind = EventKind::kUtcNow;
  event.number = run_.input().stamp_ms;
  const Record* const record = commands_.issue(event);
  return record == nullptr ? 0 : record->event.number;
}

}  // namespace pawl::internal
