// OtherWorkers: what this connection sees of the workers of other machines.
//
// Purpose: the lock of a worker's connection says whether the connection is there. If it is gone
// for kConnectionGraceMs, soft sessions and work without a session may move; exclusive sessions
// leave when their lease is over. The rules: docs/rules/fleet.md, F7, F8, F13, F15a.
//
// Ownership: an OtherWorkers uses the link and the time of its connection. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_OTHER_WORKERS_HPP
#define PAWL_STORE_POSTGRES_OTHER_WORKERS_HPP

#include <cstddef>
#include <cstdint>

#include "core/vector.hpp"
#include "store/postgres/server_link.hpp"
#include "store/postgres/store_time.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::postgres {

class OtherWorkers : public OtherMachines {
 public:
  OtherWorkers(ServerLink& link, const StoreTime& time) : link_(link), time_(time) {}
  virtual ~OtherWorkers() = default;

  // `path`: what lies beside the database on this machine begins with it. Both outlive this.
  void set_up(port::Storage& storage, const char* path) {
    storage_ = &storage;
    path_ = path;
  }
  Gone judge(const Claim& claim, bool is_proved_dead, std::int64_t now) override;
  [[nodiscard]] Look look(Incarnation me, std::int64_t now) override;
  Status find_connection(Incarnation worker, Connected* out) override;
  Status take_node(Incarnation worker) override;
  [[nodiscard]] bool may_have_committed() const override {
    return !link_.wakes() || link_.has_heard();
  }
  [[nodiscard]] bool is_watching() const override { return is_watching_; }

 private:
  // Connections that are gone and watched at once; the workers of others wait.
  static constexpr std::size_t kGoneMax = 64;
  struct GoneConnection {
    Incarnation worker = 0;
    std::int64_t since_boot_ms = 0;
    bool was_reported = false;
  };

  GoneConnection* note(Incarnation worker, bool is_connected);
  void forget_unknown(const PGresult* living);

  [[nodiscard]] bool is_here(Incarnation worker, std::int64_t boot) const;

  ServerLink& link_;
  const StoreTime& time_;
  port::Storage* storage_ = nullptr;
  const char* path_ = nullptr;
  FixedVector<GoneConnection, kGoneMax> gone_;
  bool is_watching_ = false;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_OTHER_WORKERS_HPP
