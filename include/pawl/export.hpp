// export_history: what an instance did, as JSON, for people and for other programs.
//
// Purpose: one line an event, so that a history of any length is written with no memory of its own.
// Ownership: nothing is kept. Thread rule: that of the Client.
#ifndef PAWL_EXPORT_HPP
#define PAWL_EXPORT_HPP

#include <cstdint>
#include <string_view>

#include "pawl/client.hpp"
#include "pawl/printable.hpp"

namespace pawl {

// Writes the events of an execution (0: the current one), each as one JSON object: "id", "kind" and
// "time_ms", and where they are not 0 or empty "branch", "ordinal", "ref", "number", "error" (the
// name of the kind), "name", "session", "tag", "version" and "payload". A text that is not UTF-8 is
// under its key with "_base64" behind it. Integers are written in full: read them as 64-bit ones.
// What a terminal would obey (write_printable()) is escaped as JSON has it, \u009b; a line ends
// with '\n'.
// Returns as Client::read_history(); kIo: the sink took no more, and got no more.
Status export_history(Client& client, std::string_view id, std::int64_t execution_id,
                      TextSink& sink);

}  // namespace pawl

#endif  // PAWL_EXPORT_HPP
