// Arguments and answers of the calls about sessions.
//
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: as store.hpp.
#ifndef PAWL_STORE_SESSION_ARGUMENTS_HPP
#define PAWL_STORE_SESSION_ARGUMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock_rules.hpp"
#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/session.hpp"
#include "pawl/status.hpp"
#include "store/work/arguments.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl {

struct DeclareSession {
  Incarnation me = 0;
  std::string_view device;
  bool standby = false;
  std::int64_t stop_ms = 20'000;
};

struct SessionLabels {
  FixedText<kNameBytesMax> name;
  FixedText<kSessionLabelBytesMax> owner;
  FixedText<kSessionLabelBytesMax> kind;
};

struct OwnedSession {
  SessionKey session = 0;
  Epoch epoch = 0;
};

// The place in the order of opening where the next look at sessions goes on. After a rollback it is
// reset and the look starts again from the first session.
struct LeakCursor {
  std::int64_t created_at = kBeforeAll;
  SessionKey session = 0;
};

struct LeakCursors {
  LeakCursor unused;
  LeakCursor open;
};

}  // namespace pawl

#endif  // PAWL_STORE_SESSION_ARGUMENTS_HPP
