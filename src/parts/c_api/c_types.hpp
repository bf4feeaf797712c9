// Shared by the parts of pawl.h: texts, handles, and the host that other parts see.
//
// Purpose: the C calls do the same as the C++ calls, in another form. Ownership: nothing is kept
// here. Thread rule: the same as in pawl.h.
#ifndef PAWL_PARTS_C_API_C_TYPES_HPP
#define PAWL_PARTS_C_API_C_TYPES_HPP

#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "pawl/activity.hpp"
#include "pawl/error.hpp"
#include "pawl/orchestration.hpp"
#include "pawl/orchestration_code.hpp"
#include "pawl/pawl.h"
#include "pawl/status.hpp"
#include "pawl/typed_code.hpp"

namespace pawl {
class Host;
class Process;
struct ServerDatabase;
}  // namespace pawl

namespace pawl::c_api {

inline pawl_status status_of(Status status) { return static_cast<pawl_status>(status); }

// A null name is empty, which every call refuses.
inline std::string_view name_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}
// A null pointer with a length is no text.
inline bool is_bytes(const void* data, std::size_t size) { return data != nullptr || size == 0; }
inline std::string_view bytes_of(const void* data, std::size_t size) {
  return size == 0 ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}
// Never null: C may not pass a null pointer to memcpy(), even for no bytes.
inline pawl_text text_of(std::string_view text) {
  return {text.data() == nullptr ? "" : text.data(), text.size()};
}

// The reason why a struct of C was refused.
std::string_view text_of_refusal(Status status);

// False: the buffer is too small. A null buffer: the text is not wanted.
inline bool copy_text(std::string_view text, pawl_buffer* out) {
  if (out == nullptr) return true;
  out->size = text.size();
  if (text.empty()) return true;
  if (out->data == nullptr || text.size() > out->capacity) return false;
  std::memcpy(out->data, text.data(), text.size());
  return true;
}

inline bool is_level(int level) { return level >= PAWL_LEVEL_DEBUG && level <= PAWL_LEVEL_ERROR; }

using internal::function_cast;

// A lambda that a function calls before it returns, without a copy of that function for each.
template <typename Signature>
class CallOf;
template <typename Result, typename... Arguments>
class CallOf<Result(Arguments...)> {
 public:
  // Implicit: the lambda stands in the place of the argument.
  template <typename Lambda>
  CallOf(const Lambda& lambda)  // NOLINT(google-explicit-constructor)
      : lambda_(&lambda), call_([](const void* of, Arguments... arguments) -> Result {
          return (*static_cast<const Lambda*>(of))(arguments...);
        }) {}
  Result operator()(Arguments... arguments) const { return call_(lambda_, arguments...); }

 private:
  const void* lambda_;
  Result (*call_)(const void*, Arguments...);
};

// ---- casts: a pawl_ctx is the C++ object ----

inline OrchestrationContext& context_of(pawl_ctx* ctx) {
  return *reinterpret_cast<OrchestrationContext*>(ctx);
}
inline const OrchestrationContext& context_of(const pawl_ctx* ctx) {
  return *reinterpret_cast<const OrchestrationContext*>(ctx);
}
inline pawl_ctx* ctx_of(OrchestrationContext& context) {
  return reinterpret_cast<pawl_ctx*>(&context);
}

// ---- handles and sessions: the bytes of the C++ ones, which are plain values ----

static_assert(sizeof(Handle) <= sizeof(pawl_handle) && std::is_trivially_copyable_v<Handle>);
inline pawl_handle handle_of(const Handle& handle) {
  pawl_handle bytes = {};
  std::memcpy(&bytes, &handle, sizeof handle);
  return bytes;
}
inline Handle handle_of(const pawl_handle& bytes) {
  Handle handle;
  std::memcpy(static_cast<void*>(&handle), &bytes, sizeof handle);
  return handle;
}

struct SessionOfCode {
  Session session;
  const char* id = nullptr;  // the text of pawl_session_of(); null: `session` counts
};
static_assert(sizeof(SessionOfCode) <= sizeof(pawl_session) &&
              std::is_trivially_copyable_v<SessionOfCode>);
// Null: an empty one.
inline SessionOfCode session_of(const pawl_session* bytes) {
  SessionOfCode of;
  if (bytes != nullptr) std::memcpy(static_cast<void*>(&of), bytes, sizeof of);
  return of;
}

inline std::chrono::milliseconds ms_of(std::int64_t count) {
  return std::chrono::milliseconds(count);
}

// A limit of C that may be absent: 0 is none.
inline std::optional<std::chrono::milliseconds> limit_of(std::int64_t count) {
  return count == 0 ? std::nullopt : std::optional(ms_of(count));
}

// ---- calls that C functions stand behind ----

// The functions that are registered in place of C functions.
Poll call_orchestration(Orchestration function, OrchestrationContext& context);
ActivityResult call_activity(Activity function, ActivityContext& context);

// The function and user pointer of a cooperative activity; the C++ registration points to it.
struct Steps {
  pawl_step_fn step;
  void* user;
};
struct StepState {
  alignas(std::max_align_t) unsigned char bytes[PAWL_STEP_STATE_BYTES] = {};
};
ActivityStep call_step(ActivityContext& context, StepState& state);

// Copies what the options name into `copy`. The result is what Options::database takes: `copy`, or
// null for the file.
const ServerDatabase* take_database(const pawl_server_database* given, ServerDatabase* copy);

// The Process of a started host; null: the host has not started.
Process* process_of(pawl_host* host);

}  // namespace pawl::c_api

#endif  // PAWL_PARTS_C_API_C_TYPES_HPP
