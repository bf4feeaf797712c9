// CallRows: the calls that an instance was sent, each with its answer (R13.1).
//
// Purpose: a call is a queue message whose sender waits. Its row is made with the message, so that
// the end of the instance is an answer, too, and it outlives the message. Ownership and thread
// rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_CALL_ROWS_HPP
#define PAWL_STORE_INSTANCE_CALL_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/error.hpp"
#include "store/context.hpp"

namespace pawl::store {

// Stored: never reuse a number.
enum class CallState : std::uint8_t {
  kOpen = 0,
  kAnswered = 1,
  kEnded = 2,  // its instance ended without an answer
};

struct CallRow {
  CallState state = CallState::kOpen;
  ErrorKind error = ErrorKind::kNone;
  std::string_view answer;  // a view into the caller's buffer
};

class CallRows : private Table {
 public:
  explicit CallRows(StoreContext& context) : Table(context) {}

  // Callable anywhere. kNotFound: there is no such call, or no more. kResourceExhausted: the answer
  // is longer than the buffer.
  Status read_call(MessageId number, CallRow* out, char* buffer, std::size_t capacity);
  // In a batch.
  Status insert_call(InstanceKey instance, MessageId number);
  // In a batch: of the calls of the instance that are answered, the last `count_max` stay.
  Status keep_answered(InstanceKey instance, std::int64_t count_max);
  // In a batch: the first answer counts. All answers of the instance hold at most `bytes_max`
  // bytes; older ones go.
  Status answer_call(InstanceKey instance, MessageId number, ErrorKind error,
                     std::string_view answer, std::int64_t bytes_max);
  // In a batch: the instance has ended.
  Status end_calls(InstanceKey instance);

 private:
  Status make_room(InstanceKey instance, std::int64_t bytes_max);
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_CALL_ROWS_HPP
