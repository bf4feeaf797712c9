// The messages of a Client, as its calls send them.
//
// Ownership: all texts are the caller's. Thread rule: the Client's thread.
#ifndef PAWL_RUNTIME_CLIENT_MESSAGES_HPP
#define PAWL_RUNTIME_CLIENT_MESSAGES_HPP

#include <string_view>

#include "runtime/client_core.hpp"

namespace pawl {

[[nodiscard]] NewMessage new_message(const ClientCore& core, std::string_view id, MessageKind kind,
                                     std::string_view name, std::string_view payload);
// kInvalidArgument, with a text: it is no key.
Status take_key(ClientCore& core, const SendOptions& options, NewMessage* out);
// In a batch of its own. `number`: of the message, or of an earlier one with its key; null: it is
// not wanted.
Status send_message(ClientCore& core, NewMessage posted, const SendOptions& options,
                    MessageId* number = nullptr);

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_MESSAGES_HPP
