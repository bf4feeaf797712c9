// Checks Options as a whole, before anything starts.
#ifndef PAWL_RUNTIME_OPTIONS_CHECK_HPP
#define PAWL_RUNTIME_OPTIONS_CHECK_HPP

#include "pawl/options.hpp"
#include "pawl/process.hpp"

namespace pawl {

// Range, in bytes, of a quota that is not 0.
inline constexpr std::int64_t kQuotaLeast = 256 * 1024;
inline constexpr std::int64_t kQuotaMost = std::int64_t{1} << 50;
static_assert(kQuotaMost == 1'125'899'906'842'624, "as in the table of ranges");

// Bytes of the file that is deleted when the disk is full; 0: there is none.
std::int64_t reserve_bytes(const Options& options);

// kInvalidOptions with a diagnostic that names the option, its value and its bounds, or both values
// of a violated rule.
Status check_options(const Options& options, Diagnostic& diagnostic);

// kInvalidOptions: a Runtime or Client of this process takes larger payloads than the process has
// memory for.
Status check_payload(const Process& process, std::size_t payload_bytes_max, Diagnostic& diagnostic);

}  // namespace pawl

#endif  // PAWL_RUNTIME_OPTIONS_CHECK_HPP
