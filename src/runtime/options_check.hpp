// Validation of Options as a whole, before anything starts.
#ifndef PAWL_RUNTIME_OPTIONS_CHECK_HPP
#define PAWL_RUNTIME_OPTIONS_CHECK_HPP

#include "pawl/options.hpp"
#include "pawl/process.hpp"

namespace pawl {

// Of a quota in bytes that is not 0.
inline constexpr std::int64_t kQuotaLeast = 256 * 1024;
inline constexpr std::int64_t kQuotaMost = std::int64_t{1} << 50;
static_assert(kQuotaMost == 1'125'899'906'842'624, "as in the table of ranges");

// Size of the file that is given up when the disk is full; 0: none.
std::int64_t reserve_bytes(const SpaceOptions& space);

// kInvalidOptions with a diagnostic that names the option, its value and its bounds, or both values
// of a violated rule.
Status check_options(const Options& options, Diagnostic& diagnostic);

// kInvalidOptions: who is to run in this process takes larger payloads than it has memory for.
Status check_payload(const Process& process, std::size_t payload_bytes_max, Diagnostic& diagnostic);

}  // namespace pawl

#endif  // PAWL_RUNTIME_OPTIONS_CHECK_HPP
