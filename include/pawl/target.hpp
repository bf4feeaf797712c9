// Target: the place where an activity runs.
//
// Purpose: one value for one decision, so that a combination without a meaning cannot be written: a
// device is no session of an instance's own, only a session has a barrier, and only a device can be
// unavailable.
// Ownership: plain values; the name is copied. Thread rule: none.
#ifndef PAWL_TARGET_HPP
#define PAWL_TARGET_HPP

#include <chrono>
#include <cstdint>
#include <string_view>

#include "pawl/name.hpp"
#include "pawl/session.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class SessionTarget;
namespace internal {
class [[gnu::visibility("hidden")]] Calls;
}

class Target {
 public:
  // Any worker that has the activity's name registered.
  Target() = default;
  // The owner of the session of this name, which all instances share: 1..256 bytes, no control
  // characters.
  static SessionTarget session(std::string_view name);
  // The same session, with one of its activities at a time, in the order of their scheduling. Once
  // a session is used so, or as a device, it stays so for all its work until it is gone.
  static SessionTarget exclusive_session(std::string_view name);
  // The worker that declared the device of this name (Runtime::declare_session()), one activity at
  // a time, in the order of their scheduling. The work waits while no worker has declared the
  // device. If no living worker declares it for `unavailable` (0..kDurationMax; 0: for ever), the
  // result is kSessionUnavailable.
  static SessionTarget device(std::string_view name,
                              std::chrono::milliseconds unavailable = std::chrono::milliseconds(0));
  // The same device, with several activities at a time.
  static SessionTarget concurrent_device(
      std::string_view name, std::chrono::milliseconds unavailable = std::chrono::milliseconds(0));
  // The owner of a session that this code opened, uses or adopted. Use its id if an earlier
  // execution opened it, or if it is opened after this call. The await answers kSessionClosed if it
  // is not open; for kSessionLost see SessionSettings::fail_on_loss.
  static SessionTarget own(const Session& session);
  static SessionTarget own(std::string_view id);

 private:
  friend class internal::Calls;
  friend class SessionTarget;
  enum class Kind : std::uint8_t { kAnyWorker, kShared, kDevice, kOwn };
  Kind kind_ = Kind::kAnyWorker;
  bool exclusive_ = false;
  bool barrier_ = false;
  std::chrono::milliseconds unavailable_{0};
  Name session_;
  Name opener_;  // kAdopted: the id of the instance that opened it
};

// A target that is a session.
class SessionTarget final : public Target {
 public:
  // The same target with a barrier: the activity begins when nothing of the session runs on its
  // owner, and activities that are scheduled on the session later wait until it has its outcome,
  // retries included. It runs alone on its session, for an activity that makes what the others
  // need.
  [[nodiscard]] SessionTarget barrier() const {
    SessionTarget with = *this;
    with.barrier_ = true;
    return with;
  }

 private:
  friend class Target;
  SessionTarget(Kind kind, std::string_view session, bool exclusive,
                std::chrono::milliseconds unavailable) {
    kind_ = kind;
    session_ = session;
    exclusive_ = exclusive;
    unavailable_ = unavailable;
  }
};

inline SessionTarget Target::session(std::string_view name) {
  return {Kind::kShared, name, false, {}};
}
inline SessionTarget Target::exclusive_session(std::string_view name) {
  return {Kind::kShared, name, true, {}};
}
inline SessionTarget Target::device(std::string_view name, std::chrono::milliseconds unavailable) {
  return {Kind::kDevice, name, true, unavailable};
}
inline SessionTarget Target::concurrent_device(std::string_view name,
                                               std::chrono::milliseconds unavailable) {
  return {Kind::kDevice, name, false, unavailable};
}
inline SessionTarget Target::own(const Session& session) {
  if (session.kind_ == Session::Kind::kShared) return Target::session(session.id());
  SessionTarget target = own(session.id());
  target.opener_ = session.opener_;
  return target;
}
inline SessionTarget Target::own(std::string_view id) { return {Kind::kOwn, id, false, {}}; }

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_TARGET_HPP
