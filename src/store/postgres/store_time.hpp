// StoreTime: how this connection counts the time of a store that several machines share.
//
// Purpose: keeps the anchor of the node, compares it with the others, and knows what each commit
// writes for that. A batch reads the row of meta under the lock and counts its time then, so it has
// seen each request for a mark that was committed before it: its commit answers them all (F4d). A
// new anchor counts from the commit of the batch that took it on, so the node's row always says of
// which segment it is. The rules: docs/rules/fleet.md, F1 to F5b, F15a.
//
// Ownership: a StoreTime uses the link of its connection. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_STORE_TIME_HPP
#define PAWL_STORE_POSTGRES_STORE_TIME_HPP

#include <cstdint>
#include <optional>

#include "core/ids.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "store/postgres/server_link.hpp"
#include "store/postgres/store_time_rules.hpp"
#include "store/sql/shared_clock.hpp"

namespace pawl::postgres {

class StoreTime : public sql::SharedClock {
 public:
  // The terms of a worker's connection; that of a Client has none, and answers no request.
  struct Terms {
    std::int64_t lease_ms = 0;
    std::int64_t renew_ms = 0;
    std::int64_t busy_ms_max = 0;  // how long a Client waits for answers
  };

  StoreTime(ServerLink& link, Diagnostic& diagnostic) : link_(link), diagnostic_(diagnostic) {}
  virtual ~StoreTime() = default;

  void set_up(std::int64_t node, const port::BootId& boot, const Terms& terms);
  // The batch that begins holds the lock, and `row` is that of StoreLock::take(). kBusy: other
  // nodes have to answer first, and the batch is to be tried again. It then may have committed its
  // question.
  Status prepare(const PGresult* row, std::int64_t timeline);
  // Runs `name`, which is kNameBatch prepared, and the commit behind it: ServerPipeline::commit().
  Status commit(const char* name, std::int64_t number);
  void committed();
  // A look has read the last request.
  void saw(std::int64_t request) { seen_request_ = request; }
  // Another connection has committed.
  void saw_others();
  // The connection is that of a worker which has registered.
  [[nodiscard]] bool is_registered() const { return is_worker() && worker_ != 0; }

  Begun begin(const ClockSample& now, ClockRow* row) override;
  void count(ClockRow* row) override;
  void set_worker(Incarnation worker) override { worker_ = worker; }
  [[nodiscard]] bool owes_commit() const override {
    return is_worker() && anchor_.has_value() && seen_request_ > answered_request_;
  }
  void keep(const ClockRow& row) override { batch_.clock = row; }
  [[nodiscard]] OptionalMs moves_held_until() const override { return batch_.moves_held_until; }
  [[nodiscard]] std::int64_t own_lease_end(std::int64_t lease_ms) const override;
  [[nodiscard]] std::int64_t boot_number() const override { return boot_; }

  // How long a connection that has no registration waits for answers: for as long as the others may
  // take, if it is a worker's.
  [[nodiscard]] std::int64_t patience_ms() const;

  // The statement that names a batch and writes the clock, for commit().
  static const char* const kNameBatch;
  static constexpr int kNameParameters = 19;

 private:
  // Read from the rows of the other nodes.
  struct Others {
    fleet::ComparisonView view;
    std::int64_t renew_ms = 0;                 // the longest interval of those that are asked
    std::optional<fleet::TimeAnchor> sibling;  // of a node of this boot of this machine
  };

  // The columns of meta, as the batch read them under the lock, and what it adds to them.
  struct Batch {
    fleet::StoreMark mark;
    std::int64_t request = 0;     // the last request for a mark
    std::int64_t timeline = 0;    // of the last commit; 0: there was none
    OptionalMs moves_held_until;  // F15a
    std::int64_t lease_ms = 0;    // the longest lease of a worker that ever registered
    std::int64_t server_ms = 0;   // the server's wall clock now

    std::int64_t own_timeline = 0;
    bool begins_segment = false;
    std::optional<fleet::TimeAnchor> taken;  // counts from the commit on
    std::optional<fleet::MarkRequest> asks;  // with its commit
    bool has_count = false;
    OptionalMs trusted_wall_ms;
    std::int64_t time_ms = 0;
    std::int64_t sent_boot_ms = 0;  // from before its commit was sent
    ClockRow clock;
  };

  [[nodiscard]] bool is_worker() const { return terms_.renew_ms > 0; }
  [[nodiscard]] bool may_go_on(const std::optional<fleet::TimeAnchor>& anchor,
                               std::int64_t now) const;
  Status say_waiting();
  Status read_others(Others* out);
  Status ask(std::int64_t now);

  ServerLink& link_;
  Diagnostic& diagnostic_;
  std::int64_t node_ = 0;
  std::int64_t boot_ = 0;
  Terms terms_;
  Incarnation worker_ = 0;
  std::optional<fleet::TimeAnchor> anchor_;
  std::optional<fleet::MarkRequest> request_;  // it is committed
  std::int64_t others_renew_ms_ = 0;           // of those that were asked last
  std::int64_t seen_request_ = 0;
  std::int64_t answered_request_ = 0;

  OptionalMs others_until_boot_ms_;  // until then each commit wakes the others
  Batch batch_;                      // the one at hand
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_STORE_TIME_HPP
