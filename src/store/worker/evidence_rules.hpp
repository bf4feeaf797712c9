// Evidence: decides in one place whether an incarnation is gone, by proof or by suspicion.
//
// Purpose: no worker takes another worker's sessions or locks without it. Rules:
// docs/rules/session.md, S47. Ownership: the caller gives the table of the leases that were seen
// expired; none of it is stored. Thread rule: the Runtime's thread.
#ifndef PAWL_STORE_WORKER_EVIDENCE_RULES_HPP
#define PAWL_STORE_WORKER_EVIDENCE_RULES_HPP

#include <cstddef>
#include <cstdint>

#include "core/ids.hpp"
#include "core/text.hpp"
#include "core/vector.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl {

// One claim on something: its holder, its end, and the boot it was made in.
struct Claim {
  Incarnation holder = 0;
  bool buried = false;  // the holder's row is buried or missing
  bool lock_visible = true;
  bool is_exclusive = false;  // an exclusive session, a device, or all that a worker owns
  // The worker lock is tested even where leases alone count: the claim belongs to the asking
  // worker's own node, whose new process has watched no worker yet and would be refused for good.
  bool is_own_node = false;
  std::int64_t locked_until = 0;  // Pawl time
  std::int64_t boot_seq = 0;
  // Both identify the observed lease: the key of a session and its epoch, 0 and the token of an
  // activity, or a number below 0, made of the incarnation, for a worker's own lease.
  std::int64_t subject = 0;
  std::int64_t version = 0;
};

enum class Gone : std::uint8_t { kNo, kProof, kSuspicion };

// Whether the worker's file is in this folder, so that its lock can be tested. Processes of one
// kernel may have folders of their own, as containers do.
[[nodiscard]] bool has_file_here(port::Storage& storage, const char* path, Incarnation worker);

// The workers of other machines, for a store that machines share: no kernel lock of theirs can be
// tested. Rules: docs/rules/fleet.md, F7, F8 and F15a.
class OtherMachines {
 public:
  // kNo: the holder keeps it; kProof: it may be taken now; kSuspicion: its lease is over, but its
  // worker is connected. `is_proved_dead`: the kernel of this machine says so, or its burial.
  virtual Gone judge(const Claim& claim, bool is_proved_dead, std::int64_t now) = 0;
  struct Look {
    bool has_others = false;
    bool has_work = false;  // there is some, which may wait for a worker that is gone
    bool has_gone = false;  // something of a worker that is gone may be taken now
  };
  // `me`: the asking incarnation.
  virtual Look look(Incarnation me, std::int64_t now) = 0;
  // False: no other connection has committed since the last transaction of this one began.
  [[nodiscard]] virtual bool may_have_committed() const = 0;
  // Where the connection of a worker comes from, this one or another.
  struct Connected {
    bool is_connected = false;
    FixedText<64> address;  // empty: a socket of the server's machine
  };
  virtual Status find_connection(Incarnation worker, Connected* out) = 0;
  // In a batch: another worker takes the node's id of this one (F13), which hears of that when it
  // connects again.
  virtual Status take_node(Incarnation worker) = 0;
  // A connection broke, and may come back: the observer must look again soon.
  [[nodiscard]] virtual bool is_watching() const = 0;

 protected:
  ~OtherMachines() = default;
};

class Evidence {
 public:
  struct Options {
    bool fast_handoff = true;
    std::int64_t renewal_interval_ms = 25'000;
    std::int64_t oversleep_ms = 12'000;
  };
  // An expired lease that is watched.
  struct Seen {
    std::int64_t subject = 0;
    std::int64_t version = 0;
    std::int64_t locked_until = 0;
    std::int64_t since = 0;
    std::int64_t asked = 0;
  };
  // Expired leases that are watched at once, for each worker that is watched for its death.
  static constexpr std::size_t kSeenEach = 4;

  // `seen` has a place for each lease that is watched at once; others wait.
  Evidence(port::Storage& storage, const char* database_path, const Options& options,
           Vector<Seen>& seen)
      : storage_(storage), path_(database_path), options_(options), seen_(seen) {}

  // From now on holders may be of other machines. It outlives the use of the Evidence.
  void share(OtherMachines* others) { others_ = others; }
  // Call it at every tick with Pawl time: an observer that overslept forgets all and starts anew.
  void observe_tick(std::int64_t now);
  // `boot_seq`: the present one. `me`: the asking incarnation, which is never gone for itself.
  [[nodiscard]] Gone gone(const Claim& claim, Incarnation me, std::int64_t now,
                          std::int64_t boot_seq);
  // An expired lease is under observation: the observer must not sleep longer than oversleep_ms, or
  // it counts as overslept and the interval starts anew.
  [[nodiscard]] bool watching() const { return !seen_.empty(); }
  [[nodiscard]] OtherMachines* other_machines() const { return others_; }

 private:
  [[nodiscard]] port::Held test(const Claim& claim) const;
  [[nodiscard]] std::int64_t expired_since(const Claim& claim, std::int64_t now);

  port::Storage& storage_;
  const char* path_;
  Options options_;
  OtherMachines* others_ = nullptr;  // null: all workers are of this machine
  OptionalMs running_since_;
  OptionalMs last_tick_;
  Vector<Seen>& seen_;
};

}  // namespace pawl

#endif  // PAWL_STORE_WORKER_EVIDENCE_RULES_HPP
