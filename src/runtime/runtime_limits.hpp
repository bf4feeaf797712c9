// Room for the engine and for memory, computed from the limits of Options, and checks that several
// parts share.
#ifndef PAWL_RUNTIME_RUNTIME_LIMITS_HPP
#define PAWL_RUNTIME_RUNTIME_LIMITS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "replay/engine.hpp"
#include "store/instance/arguments.hpp"

namespace pawl {

// The engine's room for raised events and queue messages. Senders are refused beyond
// queue_messages_max, and the messages that a turn gives back have half of the room. So no turn
// ever meets more.
[[nodiscard]] constexpr std::uint32_t mailbox_max(std::uint32_t queue_messages_max) {
  return 2 * queue_messages_max;
}

// Limits of one instance's mailbox, for senders.
[[nodiscard]] MailboxLimits mailbox_limits(const Options& options);
[[nodiscard]] EngineLimits engine_limits(const Options& options);
// Bytes for a tick of so many turns: their messages, decoded, and their decisions beside the
// events.
[[nodiscard]] std::size_t tick_bytes(const Options& options, std::size_t turns);
// Can this library use the port? Opens its clock.
Status check_port(const port::Port& port, Diagnostic& diagnostic);
using UnregisteredText = FixedText<2 * kNameBytesMax + 64>;
[[nodiscard]] UnregisteredText unregistered_text(std::string_view name, std::string_view version);

}  // namespace pawl

#endif  // PAWL_RUNTIME_RUNTIME_LIMITS_HPP
