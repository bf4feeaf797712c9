// Shared by the parts of pawl.h: texts, options of any release, and the host that other parts see.
//
// Purpose: the C calls do the same as the C++ calls, in another form. Ownership: nothing is kept
// here. Thread rule: the same as in pawl.h.
#ifndef PAWL_PARTS_C_API_C_TYPES_HPP
#define PAWL_PARTS_C_API_C_TYPES_HPP

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "pawl/activity.hpp"
#include "pawl/client_options.hpp"
#include "pawl/error.hpp"
#include "pawl/orchestration.hpp"
#include "pawl/orchestration_code.hpp"
#include "pawl/pawl.h"
#include "pawl/status.hpp"
#include "pawl/typed_code.hpp"

namespace pawl {
class Host;
class Process;
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

// Takes the members that a program of this or an earlier release knows. `first_size`: size of the
// options in the first release. False: the size is of no release.
template <typename T>
bool take_options(const T& given, T* out, std::size_t first_size) {
  if (given.size < first_size || given.size > sizeof(T)) return false;
  const std::size_t size = given.size;
  std::memcpy(out, &given, size);
  out->size = sizeof(T);
  return true;
}

// False: the options are null, or their size is of no release.
bool take_start_options(const pawl_start_options* given, StartOptions* out);

// False: the buffer is too small. A null buffer: the text is not wanted.
inline bool copy_text(std::string_view text, pawl_buffer* out) {
  if (out == nullptr) return true;
  out->size = text.size();
  if (text.empty()) return true;
  if (out->data == nullptr || text.size() > out->capacity) return false;
  std::memcpy(out->data, text.data(), text.size());
  return true;
}

using internal::function_cast;

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

// The Process of a started host; null: the host has not started.
Process* process_of(pawl_host* host);

}  // namespace pawl::c_api

#endif  // PAWL_PARTS_C_API_C_TYPES_HPP
