// SessionListener: gets the changes of the sessions that a worker owns.
//
// Purpose: the application keeps state beside its sessions (an open bus, a locked device, a cache)
// and must know when one comes and goes. Ownership: the object must outlive the Runtime; views end
// with the call. Thread rule: called on the Runtime's thread, never inside a transaction; must not
// block.
// Order: claimed comes before the first activity of that epoch begins, and after the lost of an
// earlier epoch. Lost comes as soon as this worker learns of it; a frozen process learns of it when
// it wakes. So a thing that two must never use at once needs a lock that dies with the process,
// too.
#ifndef PAWL_SESSION_LISTENER_HPP
#define PAWL_SESSION_LISTENER_HPP

#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

class SessionListener {
 public:
  // This worker owns it from now on. `epoch` is that of ActivityContext::session_epoch().
  virtual void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept = 0;
  // This worker does not own it any more: it was released, moved, taken over or closed, or the
  // worker stopped. `epoch` is that of its on_session_claimed(); `session` is empty if another
  // process closed it and its row is gone.
  virtual void on_session_lost(std::string_view session, std::int64_t epoch) noexcept = 0;

  // This worker stops in order, and releases it when its running work has ended; nothing of it
  // starts any more. A worker that dies does not call this.
  virtual void on_session_ending(std::string_view /*session*/, std::int64_t /*epoch*/) noexcept {}

 protected:
  ~SessionListener() = default;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SESSION_LISTENER_HPP
