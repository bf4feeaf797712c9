// Validation of SessionOptions (pawl/options.hpp): leases, idle times and capacity of one worker.
//
// The rules that these options set limits for: docs/rules/session.md.
#ifndef PAWL_SESSION_SESSION_OPTIONS_HPP
#define PAWL_SESSION_SESSION_OPTIONS_HPP

#include <cstdint>

#include "pawl/options.hpp"
#include "pawl/status.hpp"

namespace pawl {

// kInvalidOptions with a diagnostic that names both values of the violated rule.
Status validate(const SessionOptions& options, Diagnostic& diagnostic);

// Every lease of a worker is renewed together: the shorter of both intervals.
[[nodiscard]] std::int64_t renewal_interval_ms(const SessionOptions& options);

}  // namespace pawl

#endif  // PAWL_SESSION_SESSION_OPTIONS_HPP
