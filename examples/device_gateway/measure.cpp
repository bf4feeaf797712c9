#include "measure.hpp"

#include <unistd.h>

#include <cstdlib>

namespace device_gateway {

pawl::PollOf<Request, std::string_view> measure(pawl::OrchestrationContext& ctx,
                                                const Request& request) {
  pawl::ActivityOptions options;
  // Only the worker that declared the device reads it, one read at a time over all instances.
  options.target = pawl::Target::device(request.device.view(),
                                        std::chrono::milliseconds(request.unavailable_ms));
  // A read is retried: a sensor may fail for a moment, and a worker that another process locks out
  // gets in when the lock is free.
  options.retry.max_attempts = 1'000;
  options.retry.backoff = pawl::Backoff::kFixed;
  options.retry.base = std::chrono::milliseconds(50);
  std::string values;
  for (std::int32_t i = 0; i < request.samples; ++i) {
    PAWL_AWAIT(read, ctx.schedule_activity(kRead, {}, options));
    if (!read.ok()) return ctx.fail(pawl::error_kind_name(read.error().kind));
    values.append(values.empty() ? "" : " ").append(read.value().reader.view());
    values.append(":").append(std::to_string(read.value().value));
    if (i + 1 == request.samples) break;
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(request.period_ms)));
  }
  return ctx.complete(values);
}

// Reads a register of the device, here the text in a file. The read is short, so it runs on the
// loop; a slow bus would be read in steps or on a thread.
pawl::Reply<Value> read_device(pawl::ActivityContext& ctx, const pawl::Nothing& /*input*/) {
  OwnedDevices& devices = *static_cast<OwnedDevices*>(ctx.user());
  std::string why;
  const int fd = devices.use(ctx.session_id(), &why);
  if (fd < 0) return ctx.fail(why);
  char text[32] = {};
  if (pread(fd, text, sizeof text - 1, 0) <= 0) return ctx.fail("the device does not answer");
  Value read;
  read.value = std::strtol(text, nullptr, 10);
  if (read.reader.assign(ctx.worker_id().substr(0, 20)) != pawl::Status::kOk)
    return ctx.fail_permanently("the name of this node is no text");
  return read;
}

}  // namespace device_gateway
