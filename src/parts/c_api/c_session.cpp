#include "parts/c_api/c_layouts.hpp"
#include "parts/c_api/c_types.hpp"
#include "pawl/json.hpp"

namespace pawl::c_api {

// One struct for the members of both texts, so that one reader serves them.
struct SessionNews {
  // Written out: else all its bytes would stand in the program, to be copied.
  SessionNews() {}  // NOLINT(modernize-use-equals-default)
  JsonText<512> change;
  JsonText<512> from;
  JsonText<512> to;
  JsonText<512> session;
  JsonText<512> reason;
  std::int64_t epoch = 0;
};
PAWL_JSON(SessionNews, change, from, to, session, reason, epoch)
PAWL_JSON_DEFAULTS(SessionNews, change, to, session)

namespace {

pawl_session session_of(const Session& session) {
  const SessionOfCode of = {session, nullptr};
  pawl_session bytes = {};
  std::memcpy(&bytes, &of, sizeof of);
  return bytes;
}

bool take_settings(const pawl_session_settings* given, SessionSettings* out) {
  return take_options(given, out) == Status::kOk;
}

// False: the text is longer than its place.
bool copy(const JsonText<512>& text, char* to, std::size_t room) {
  if (text.view().size() >= room) return false;
  if (!text.view().empty()) std::memcpy(to, text.view().data(), text.view().size());
  return true;
}

bool copy_all(const SessionNews& read, pawl_session_event* to) {
  to->epoch = read.epoch;
  return copy(read.change, to->change, sizeof to->change) &&
         copy(read.from, to->from, sizeof to->from) && copy(read.to, to->to, sizeof to->to) &&
         copy(read.session, to->session, sizeof to->session) &&
         copy(read.reason, to->reason, sizeof to->reason);
}

// Reads the text of an event or, if `is_loss`, of an error.
pawl_status read_news(pawl_text text, bool is_loss, pawl_session_event* out) {
  if (!has_room(StructOf<pawl_session_event>::kLayout, out) || !is_bytes(text.data, text.size))
    return PAWL_INVALID_ARGUMENT;
  SessionNews read;
  const Status status = from_json(bytes_of(text.data, text.size), &read);
  if (status != Status::kOk) return status_of(status);
  if ((is_loss ? read.session : read.change).view().empty()) return PAWL_CORRUPT;
  pawl_session_event whole = {};
  if (!copy_all(read, &whole)) return PAWL_RESOURCE_EXHAUSTED;
  if (is_loss) std::memcpy(whole.change, "lost", sizeof "lost");
  const std::size_t size = out->size;
  std::memset(out, 0, size);
  std::memcpy(out, &whole, size < sizeof whole ? size : sizeof whole);
  out->size = size;
  return PAWL_OK;
}

}  // namespace
}  // namespace pawl::c_api

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::ErrorKind;

pawl_session pawl_open_session(pawl_ctx* ctx, const char* id,
                               const pawl_session_settings* settings) {
  pawl::SessionSettings taken;
  if (!take_settings(settings, &taken)) return {};
  return session_of(id == nullptr ? context_of(ctx).open_session(taken)
                                  : context_of(ctx).open_session(name_of(id), taken));
}
pawl_session pawl_use_session(pawl_ctx* ctx, const char* name,
                              const pawl_session_settings* settings) {
  pawl::SessionSettings taken;
  if (!take_settings(settings, &taken)) return {};
  return session_of(context_of(ctx).use_session(name_of(name), taken));
}
pawl_session pawl_adopt_session(pawl_ctx* ctx, const char* instance, const char* session) {
  return session_of(context_of(ctx).adopt_session(name_of(instance), name_of(session)));
}
pawl_session pawl_session_of(const char* id) {
  SessionOfCode of;
  of.id = id;
  pawl_session bytes = {};
  std::memcpy(&bytes, &of, sizeof of);
  return bytes;
}
pawl_text pawl_session_id(const pawl_session* session) {
  const SessionOfCode of = session_of(session);
  return text_of(of.id != nullptr ? name_of(of.id) : of.session.id());
}

pawl_handle pawl_session_opened(pawl_ctx* ctx, const pawl_session* session) {
  return handle_of(context_of(ctx).session_opened(session_of(session).session));
}
pawl_handle pawl_session_events(pawl_ctx* ctx, const pawl_session* session) {
  return handle_of(context_of(ctx).session_events(session_of(session).session));
}
int pawl_change_session(pawl_ctx* ctx, const pawl_session* session,
                        const pawl_session_settings* settings) {
  pawl::SessionSettings taken;
  if (!take_settings(settings, &taken)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).change_session(session_of(session).session, taken));
}
int pawl_close_session(pawl_ctx* ctx, const pawl_session* session) {
  const SessionOfCode of = session_of(session);
  const ErrorKind error = of.id != nullptr ? context_of(ctx).close_session(of.id)
                                           : context_of(ctx).close_session(of.session);
  return static_cast<int>(error);
}
int pawl_hold_session(pawl_ctx* ctx, const pawl_session* session, int64_t hold_ms) {
  const SessionOfCode of = session_of(session);
  const ErrorKind error = of.id != nullptr
                              ? context_of(ctx).hold_session(of.id, ms_of(hold_ms))
                              : context_of(ctx).hold_session(of.session, ms_of(hold_ms));
  return static_cast<int>(error);
}
int pawl_handoff_session(pawl_ctx* ctx, const pawl_session* session, const char* tag,
                         const void* summary, size_t size) {
  if (!is_bytes(summary, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  const SessionOfCode of = session_of(session);
  const std::string_view text = bytes_of(summary, size);
  const ErrorKind error = of.id != nullptr
                              ? context_of(ctx).handoff_session(of.id, name_of(tag), text)
                              : context_of(ctx).handoff_session(of.session, name_of(tag), text);
  return static_cast<int>(error);
}

pawl_status pawl_read_session_event(pawl_text text, pawl_session_event* out) {
  return read_news(text, false, out);
}
pawl_status pawl_read_session_loss(pawl_text text, pawl_session_event* out) {
  return read_news(text, true, out);
}
