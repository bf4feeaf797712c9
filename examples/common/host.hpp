// The common part of the example programs: options of a Host and of a HostClient for a small
// device.
#ifndef EXAMPLE_HOST_HPP
#define EXAMPLE_HOST_HPP

#include "pawl/host.hpp"

namespace example {

// Options for a small device: every input and result of the examples is a short text. There are no
// slots for inline and threaded activities; a caller adds those it needs. The log goes to standard
// error.
pawl::HostOptions small_host(const char* database_path, const char* node);

// The same for a program that is a client.
pawl::HostClientOptions small_client(const char* database_path);
// False: it failed to open, and the reason is on standard error.
bool is_open(const pawl::HostClient& client, const char* program);

}  // namespace example

#endif  // EXAMPLE_HOST_HPP
