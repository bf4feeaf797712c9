#include "exceptions_plain.hpp"

#if defined(__cpp_exceptions)
#error "this unit is compiled without exceptions"
#endif

void register_plain(pawl::Host& host) {
  host.add_activity("plain", [](pawl::ActivityContext& ctx) {
    return ctx.input() == "ok" ? ctx.ok("ok") : ctx.fail("in words");
  });
}
