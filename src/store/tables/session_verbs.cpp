#include "session_verbs.hpp"

#include <cinttypes>

#include "policy.hpp"

namespace pawl::store {
namespace {

template <typename Of>
void apply(const std::optional<Of>& change, Of* to) {
  if (change.has_value()) *to = *change;
}

void apply(const SessionUpdate& update, SessionSettings* to) {
  apply(update.owner_label, &to->owner_label);
  apply(update.kind, &to->kind);
  apply(update.idle_timeout, &to->idle_timeout);
  apply(update.idle_close, &to->idle_close);
  apply(update.idle_close_notice, &to->idle_close_notice);
  apply(update.max_age, &to->max_age);
  apply(update.expiry_notice, &to->expiry_notice);
  apply(update.max_activities, &to->max_activities);
  apply(update.activity_warning, &to->activity_warning);
  apply(update.rate_interval, &to->rate_interval);
  apply(update.rate_burst, &to->rate_burst);
  apply(update.rate_wait, &to->rate_wait);
}

bool is_label(std::string_view text) {
  return text.empty() || (is_valid_name(text) && text.size() <= kSessionLabelBytesMax);
}

int shown(std::string_view text) { return static_cast<int>(text.size()); }

}  // namespace

Status SessionVerbs::hold_session(std::string_view instance, std::string_view session,
                                  std::int64_t hold_ms) {
  InstanceKey scope = 0;
  SessionKey key = 0;
  PAWL_TRY(find_open(instance, session, &scope, &key));
  bool held = false;
  PAWL_TRY(sessions_.hold(scope, session, hold_ms, &held));
  Diagnostic what;
  what.format("held for %" PRId64 " ms", hold_ms);
  return written(note(key, what.text()));
}

Status SessionVerbs::handoff_session(std::string_view instance, std::string_view session,
                                     std::string_view tag, std::string_view summary) {
  InstanceKey scope = 0;
  SessionKey key = 0;
  PAWL_TRY(find_open(instance, session, &scope, &key));
  bool handed_off = false;
  PAWL_TRY(written(handoff_.hand_off(key, tag, summary, &handed_off)));
  if (!handed_off) {
    context_.diagnostic.format("a device stays with the worker that declared it");
    return Status::kInvalidArgument;
  }
  Diagnostic what;
  what.format("handed off to tag \"%.*s\", with %zu bytes of summary", shown(tag), tag.data(),
              summary.size());
  return written(note(key, what.text()));
}

Status SessionVerbs::change_session(std::string_view instance, std::string_view session,
                                    const SessionUpdate& update) {
  InstanceKey scope = 0;
  SessionKey key = 0;
  PAWL_TRY(find_open(instance, session, &scope, &key));
  SessionSettings settings;
  Beginning is;
  PAWL_TRY(openings_.read_settings(key, &settings, &is));
  apply(update, &settings);
  PolicyText text;
  const bool is_valid = encode_settings(settings, &text);
  if (!is_valid || !is_label(settings.owner_label) || !is_label(settings.kind)) {
    context_.diagnostic.format(
        "settings that contradict each other, or are out of their ranges%s%.*s",
        is_valid ? "" : ": ", shown(text.view()), text.view().data());
    return Status::kInvalidArgument;
  }
  const Lifecycle lifecycle = scope == 0 ? Lifecycle::kSharedUsed : Lifecycle::kOpened;
  PAWL_TRY(written(openings_.change(key, {scope, lifecycle, is.asks, {}}, settings)));
  Diagnostic what;
  what.format("settings are now \"%.*s\", owner \"%.*s\", kind \"%.*s\"", shown(text.view()),
              text.view().data(), shown(settings.owner_label), settings.owner_label.view().data(),
              shown(settings.kind), settings.kind.view().data());
  return written(note(key, what.text()));
}

Status SessionVerbs::find_open(std::string_view instance, std::string_view session,
                               InstanceKey* scope, SessionKey* key) {
  require_batch();
  if (!instance.empty()) PAWL_TRY(instances_.find_key(instance, scope));
  return sessions_.find_session(*scope, session, key);
}

// Several notes may wait for one look, one behind the other; text that does not fit is left out.
constexpr sql::Query kNote{
    "UPDATE sessions SET ended=substr(coalesce(ended||'; ','')||?2,1,?4),"
    "look_at=min(coalesce(look_at,?3),?3) WHERE sid=?1",
    kLookComes};

Status SessionVerbs::note(SessionKey session, std::string_view what) {
  Statement note = connection_.use(kNote);
  note.bind(session).bind_text(what).bind(batch_.now);
  note.bind(static_cast<std::int64_t>(Diagnostic::kCapacity) - 1);
  return fail(note.run(), "note what was done to a session");
}

}  // namespace pawl::store
