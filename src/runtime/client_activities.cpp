// Client: completes activities from outside.
#include "codec/event.hpp"
#include "runtime/client_core.hpp"

namespace pawl {
namespace {

// Runs `work`; the storage has the text of each refusal.
template <typename Work>
Status with_token(ClientCore& core, Work&& work) {
  const Status status = core.in_batch({}, [&](Store& store) { return work(store.work().outside); });
  if (status == Status::kNotFound || status == Status::kStale)
    core.diagnostic() = core.store().diagnostic();
  return status;
}

Status answer(ClientCore& core, std::string_view token, const WorkResult& result) {
  return with_token(core,
                    [&](store::OutsideWork& outside) { return outside.answer(token, result); });
}

}  // namespace

Status Client::complete_activity(std::string_view token, std::string_view result) {
  return enter([&](ClientCore& core) {
    PAWL_TRY(core.check_size("result", result));
    return answer(core, token, {ErrorKind::kNone, result});
  });
}

Status Client::fail_activity(std::string_view token, std::string_view text, bool permanent) {
  return enter([&](ClientCore& core) {
    return answer(core, token,
                  {ErrorKind::kApplication, cut_text(text, kErrorTextBytesMax), permanent});
  });
}

Status Client::heartbeat_activity(std::string_view token, std::string_view progress) {
  return enter([&](ClientCore& core) {
    if (progress.size() > kProgressBytesMax) {
      core.diagnostic().format("the progress has %zu bytes; at most %zu are allowed",
                               progress.size(), kProgressBytesMax);
      return Status::kInvalidArgument;
    }
    return with_token(
        core, [&](store::OutsideWork& outside) { return outside.heartbeat(token, progress); });
  });
}

}  // namespace pawl
