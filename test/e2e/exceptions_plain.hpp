// A translation unit that is compiled without exceptions, in a program that may be compiled with
// them.
#ifndef PAWL_TEST_EXCEPTIONS_PLAIN_HPP
#define PAWL_TEST_EXCEPTIONS_PLAIN_HPP

#include "pawl/host.hpp"

// Registers the activity "plain", which reports its failure as a text.
void register_plain(pawl::Host& host);

#endif  // PAWL_TEST_EXCEPTIONS_PLAIN_HPP
