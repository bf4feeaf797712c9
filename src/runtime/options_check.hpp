// Validation of Options as a whole, before anything starts.
#ifndef PAWL_RUNTIME_OPTIONS_CHECK_HPP
#define PAWL_RUNTIME_OPTIONS_CHECK_HPP

#include "pawl/options.hpp"

namespace pawl {

// kInvalidOptions with a diagnostic that names the option, its value and its bounds, or both values of
// a violated rule.
Status check_options(const Options& options, Diagnostic& diagnostic);

}  // namespace pawl

#endif  // PAWL_RUNTIME_OPTIONS_CHECK_HPP
