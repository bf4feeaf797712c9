#include "codec/policy.hpp"

#include <charconv>

namespace pawl {
namespace {

constexpr std::int64_t kAttemptsMax = 1'000'000;
constexpr std::int64_t kPercentMax = 100;
constexpr std::int64_t kBurstMax = 1'000'000;
constexpr std::int64_t kIdleCloseLeast = 1'000;  // looks at a session with work come this often

// One member, read and written as a number whatever its type.
template <typename Of>
struct Member {
  const char* key;   // its key in the stored text
  const char* name;  // for people
  bool of_retry;     // it means nothing without retries
  std::int64_t least;
  std::int64_t most;
  std::int64_t (*get)(const Of&);
  void (*set)(Of&, std::int64_t);
};

constexpr Member<ActivityPolicy> kMembers[] = {
    {"attempts", "retry.max_attempts", false, 1, kAttemptsMax,
     [](const ActivityPolicy& o) -> std::int64_t { return o.retry.max_attempts; },
     [](ActivityPolicy& o, std::int64_t n) {
       o.retry.max_attempts = static_cast<std::int32_t>(n);
     }},
    {"backoff", "retry.backoff", true, 0, static_cast<std::int64_t>(Backoff::kExponential),
     [](const ActivityPolicy& o) { return static_cast<std::int64_t>(o.retry.backoff); },
     [](ActivityPolicy& o, std::int64_t n) { o.retry.backoff = static_cast<Backoff>(n); }},
    {"base_ms", "retry.base", true, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) -> std::int64_t { return o.retry.base.count(); },
     [](ActivityPolicy& o, std::int64_t n) { o.retry.base = std::chrono::milliseconds(n); }},
    {"cap_ms", "retry.cap", true, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) -> std::int64_t { return o.retry.cap.count(); },
     [](ActivityPolicy& o, std::int64_t n) { o.retry.cap = std::chrono::milliseconds(n); }},
    {"jitter_percent", "retry.jitter_percent", true, 0, kPercentMax,
     [](const ActivityPolicy& o) -> std::int64_t { return o.retry.jitter_percent; },
     [](ActivityPolicy& o, std::int64_t n) {
       o.retry.jitter_percent = static_cast<std::int32_t>(n);
     }},
    {"start_to_close_ms", "start_to_close", false, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) { return o.start_to_close_ms; },
     [](ActivityPolicy& o, std::int64_t n) { o.start_to_close_ms = n; }},
    {"schedule_to_close_ms", "schedule_to_close", false, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) { return o.schedule_to_close_ms; },
     [](ActivityPolicy& o, std::int64_t n) { o.schedule_to_close_ms = n; }},
    {"schedule_to_start_ms", "schedule_to_start", false, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) { return o.schedule_to_start_ms; },
     [](ActivityPolicy& o, std::int64_t n) { o.schedule_to_start_ms = n; }},
    {"device", "device", false, 0, 1,
     [](const ActivityPolicy& o) -> std::int64_t { return o.device ? 1 : 0; },
     [](ActivityPolicy& o, std::int64_t n) { o.device = n != 0; }},
    {"exclusive", "exclusive", false, 0, 1,
     [](const ActivityPolicy& o) -> std::int64_t { return o.exclusive ? 1 : 0; },
     [](ActivityPolicy& o, std::int64_t n) { o.exclusive = n != 0; }},
    {"own_session", "own_session", false, 0, 1,
     [](const ActivityPolicy& o) -> std::int64_t { return o.own_session ? 1 : 0; },
     [](ActivityPolicy& o, std::int64_t n) { o.own_session = n != 0; }},
    {"barrier", "barrier", false, 0, 1,
     [](const ActivityPolicy& o) -> std::int64_t { return o.barrier ? 1 : 0; },
     [](ActivityPolicy& o, std::int64_t n) { o.barrier = n != 0; }},
    {"unavailable_ms", "unavailable", false, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) { return o.unavailable_ms; },
     [](ActivityPolicy& o, std::int64_t n) { o.unavailable_ms = n; }},
    {"heartbeat_timeout_ms", "heartbeat_timeout", false, 0, kDurationMax.count(),
     [](const ActivityPolicy& o) { return o.heartbeat_timeout_ms; },
     [](ActivityPolicy& o, std::int64_t n) { o.heartbeat_timeout_ms = n; }},
};

constexpr Member<SessionSettings> kSettings[] = {
    {"exclusive", "exclusive", false, 0, 1,
     [](const SessionSettings& s) -> std::int64_t { return s.exclusive ? 1 : 0; },
     [](SessionSettings& s, std::int64_t n) { s.exclusive = n != 0; }},
    {"fail_on_loss", "fail_on_loss", false, 0, 1,
     [](const SessionSettings& s) -> std::int64_t { return s.fail_on_loss ? 1 : 0; },
     [](SessionSettings& s, std::int64_t n) { s.fail_on_loss = n != 0; }},
    {"notify", "notify", false, 0, 1,
     [](const SessionSettings& s) -> std::int64_t { return s.notify ? 1 : 0; },
     [](SessionSettings& s, std::int64_t n) { s.notify = n != 0; }},
    {"idle_ms", "idle_timeout", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.idle_timeout.count(); },
     [](SessionSettings& s, std::int64_t n) { s.idle_timeout = std::chrono::milliseconds(n); }},
    // The keys are short, so that the text with all members at their largest fits: see PolicyText.
    {"close", "idle_close", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.idle_close.count(); },
     [](SessionSettings& s, std::int64_t n) { s.idle_close = std::chrono::milliseconds(n); }},
    {"notice", "idle_close_notice", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.idle_close_notice.count(); },
     [](SessionSettings& s, std::int64_t n) {
       s.idle_close_notice = std::chrono::milliseconds(n);
     }},
    {"max_age_ms", "max_age", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.max_age.count(); },
     [](SessionSettings& s, std::int64_t n) { s.max_age = std::chrono::milliseconds(n); }},
    {"expiry_notice_ms", "expiry_notice", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.expiry_notice.count(); },
     [](SessionSettings& s, std::int64_t n) { s.expiry_notice = std::chrono::milliseconds(n); }},
    {"max_activities", "max_activities", false, 0, kSessionActivitiesMax,
     [](const SessionSettings& s) { return s.max_activities; },
     [](SessionSettings& s, std::int64_t n) { s.max_activities = n; }},
    {"activity_warning", "activity_warning", false, 0, kSessionActivitiesMax,
     [](const SessionSettings& s) { return s.activity_warning; },
     [](SessionSettings& s, std::int64_t n) { s.activity_warning = n; }},
    {"rate_interval_ms", "rate_interval", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.rate_interval.count(); },
     [](SessionSettings& s, std::int64_t n) { s.rate_interval = std::chrono::milliseconds(n); }},
    {"rate_burst", "rate_burst", false, 1, kBurstMax,
     [](const SessionSettings& s) { return s.rate_burst; },
     [](SessionSettings& s, std::int64_t n) { s.rate_burst = n; }},
    {"rate_wait_ms", "rate_wait", false, 0, kDurationMax.count(),
     [](const SessionSettings& s) -> std::int64_t { return s.rate_wait.count(); },
     [](SessionSettings& s, std::int64_t n) { s.rate_wait = std::chrono::milliseconds(n); }},
};

template <typename Of>
bool in_range(const Member<Of>& member, std::int64_t number) {
  return number >= member.least && number <= member.most;
}

bool put(PolicyText* out, const char* key, std::int64_t number) {
  return (out->empty() || out->append(',') == Status::kOk) && out->append(key) == Status::kOk &&
         out->append('=') == Status::kOk && out->append_number(number) == Status::kOk;
}

template <typename Of, std::size_t N>
const Member<Of>* find(const Member<Of> (&members)[N], std::string_view key) {
  for (const Member<Of>& member : members)
    if (key == member.key) return &member;
  return nullptr;
}

template <typename Of, std::size_t N>
bool encode(const Member<Of> (&members)[N], const Of& is, bool retries, PolicyText* out) {
  out->clear();
  const Of defaults;
  for (const Member<Of>& member : members) {
    const std::int64_t number = member.get(is);
    if (!in_range(member, number)) return false;
    if (number == member.get(defaults) || (member.of_retry && !retries)) continue;
    if (!put(out, member.key, number)) return false;
  }
  return true;
}

template <typename Of, std::size_t N>
bool decode(const Member<Of> (&members)[N], std::string_view text, Of* out) {
  *out = Of();
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) return false;
    const Member<Of>* const member = find(members, one.substr(0, equals));
    std::int64_t number = 0;
    const char* const end = one.data() + one.size();
    const auto read = std::from_chars(one.data() + equals + 1, end, number);
    if (member == nullptr || read.ec != std::errc() || read.ptr != end ||
        !in_range(*member, number))
      return false;
    member->set(*out, number);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return true;
}

// A notice takes at most half of the time: so a notice that was given is never taken for that of a
// later idle time (rules::look_at()).
bool may_close_idle(const SessionSettings& settings) {
  const std::int64_t notice_ms = settings.idle_close_notice.count();
  return (settings.idle_close.count() == 0 || settings.idle_close.count() >= kIdleCloseLeast) &&
         (notice_ms == 0 || (settings.notify && notice_ms <= settings.idle_close.count() / 2));
}

}  // namespace

bool encode_policy(const ActivityPolicy& options, PolicyText* out) {
  return encode(kMembers, options, options.retry.max_attempts != 1, out) &&
         options.retry.cap.count() >= options.retry.base.count();
}

bool decode_policy(std::string_view text, ActivityPolicy* out) {
  return decode(kMembers, text, out);
}

bool encode_settings(const SessionSettings& settings, PolicyText* out) {
  const bool may_notify =
      settings.expiry_notice.count() == 0 ||
      (settings.notify && settings.expiry_notice.count() < settings.max_age.count());
  const bool has_rate = settings.rate_interval.count() != 0 ||
                        (settings.rate_burst == 1 && settings.rate_wait.count() == 0);
  return encode(kSettings, settings, false, out) && may_notify && may_close_idle(settings) &&
         has_rate && settings.activity_warning <= settings.max_activities &&
         !(settings.fail_on_loss && settings.idle_timeout.count() != 0);
}

bool decode_settings(std::string_view text, SessionSettings* out) {
  return decode(kSettings, text, out);
}

const char* policy_difference(std::string_view recorded, std::string_view issued) {
  if (recorded == issued) return nullptr;
  ActivityPolicy before;
  ActivityPolicy after;
  if (!decode_policy(recorded, &before) || !decode_policy(issued, &after)) return "options";
  for (const Member<ActivityPolicy>& member : kMembers)
    if (member.get(before) != member.get(after)) return member.name;
  return "options";
}

}  // namespace pawl
