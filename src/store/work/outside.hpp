// OutsideWork: activities that are completed from outside: their tokens, and the answers that come
// with a token.
//
// A token is drawn at the hand-over, and its hash is written with that commit. So an answer that
// comes before the activity has returned finds it, from any process. Rejected: to write the hash
// when the activity returns. A device that answers at once would then hear that there is no such
// activity, and an interrupt does not ask again.
// Rules: docs/rules/session-outside.md. Ownership and thread rule: as context.hpp. A program that
// never calls these links none of them.
#ifndef PAWL_STORE_WORK_OUTSIDE_HPP
#define PAWL_STORE_WORK_OUTSIDE_HPP

#include <cstdint>
#include <string_view>

#include "core/ids.hpp"
#include "core/sha256.hpp"
#include "pawl/completion.hpp"
#include "pawl/port.hpp"
#include "store/context.hpp"
#include "store/rows.hpp"
#include "store/session/owners.hpp"
#include "store/work/arguments.hpp"
#include "store/work/work_row.hpp"

namespace pawl::store {

// Answers that are remembered after their activity has ended.
inline constexpr std::int64_t kAnswersKept = 256;

class OutsideWork : private Table {
 public:
  // The random bits of a token.
  struct Secret {
    std::uint64_t words[2] = {};
  };

  OutsideWork(StoreContext& context, Rows& rows, SessionOwners& owners)
      : Table(context), rows_(rows), owners_(owners) {}

  // Draws the secret of a hand-over, and makes the token of it.
  static void draw(port::Clock& clock, WorkItemId item, Secret* secret, Sha256* hash);
  static CompletionToken token_of(WorkItemId item, const Secret& secret);

  // The execution has ended, and gives its worker's lock back; the limits of the item go on. The
  // return is a sign of life. kStale: another answer was faster, or the execution is lost.
  Status leave(const WorkDone& done, WhileOutside session);
  // Ends the attempt that has this token, as the result of its worker would. kOk also if the same
  // answer was the first one, as far as that is remembered. kStale: another answer was first;
  // kNotFound: no attempt waits for this token; kInvalidArgument: it is no token. The diagnostic
  // has a text.
  Status answer(std::string_view token, const WorkResult& result);
  // Stores a sign of life, and progress unless it is empty. kNotFound, kInvalidArgument: as above.
  Status heartbeat(std::string_view token, std::string_view progress);

 private:
  struct Named {
    WorkItemId item = 0;
    Sha256 hash;
  };
  Status read_token(std::string_view token, Named* out);
  // kNotFound: the item does not wait for this token.
  Status read_waiting(const Named& token, WorkRow* row);
  Status remember(const Named& token, const Sha256& answer);
  Status answered_before(const Named& token, const Sha256& answer);

  Rows& rows_;
  SessionOwners& owners_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_OUTSIDE_HPP
