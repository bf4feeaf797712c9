// show_payloads: the text about two payloads that differ.
//
// Purpose: a person who reads that code and history do not match sees the difference itself. Thread
// rule: callable from any thread.
#ifndef PAWL_REPLAY_PAYLOADS_SHOWN_HPP
#define PAWL_REPLAY_PAYLOADS_SHOWN_HPP

#include <string_view>

#include "codec/event.hpp"

namespace pawl::internal {

// Says that `part` of an event differs, and how: long payloads are cut around the first byte in
// which they differ, and bytes that a terminal would obey or that are no UTF-8 are escaped
// (write_printable()). `kind` is the event's.
void show_payloads(const char* part, const Event& recorded, const char* kind,
                   std::string_view issued, Diagnostic& out);

}  // namespace pawl::internal

#endif  // PAWL_REPLAY_PAYLOADS_SHOWN_HPP
