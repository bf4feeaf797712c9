// DeviceClaims: sessions that stand for hardware: one worker declares that it has the device,
// others stand by.
// Rules: docs/rules/session.md. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_DEVICE_CLAIMS_HPP
#define PAWL_STORE_TABLES_DEVICE_CLAIMS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "device_table.hpp"
#include "evidence.hpp"
#include "session_events.hpp"
#include "session_moves.hpp"
#include "session_owners.hpp"
#include "session_store.hpp"
#include "session_table.hpp"
#include "summary_table.hpp"
#include "work_outcomes.hpp"
#include "worker_terms.hpp"

namespace pawl::store {

class DeviceClaims : private Table {
 public:
  DeviceClaims(StoreContext& context, SummaryTable& summaries, SessionEvents& events,
               SessionTable& sessions, WorkOutcomes& outcomes, SessionOwners& owners,
               DeviceTable& devices, SessionMoves& moves)
      : Table(context),
        summaries_(summaries),
        events_(events),
        sessions_(sessions),
        outcomes_(outcomes),
        owners_(owners),
        devices_(devices),
        moves_(moves) {}

  // ---- calls of the contract ----
  Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held);
  Status withdraw_session(Incarnation me, std::string_view device, std::int64_t stop_ms);
  Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing);
  Status take_devices_over(Incarnation me, const WorkerTerms& options, Evidence& evidence);
  Status forget_device(std::string_view device);

  // ---- for the other tables ----
  // Ends work of devices that no worker has declared for too long, at most `limit`; adds to *ended.
  Status end_unavailable_work(std::size_t limit, std::size_t* ended);

 private:
  SummaryTable& summaries_;
  SessionEvents& events_;
  SessionTable& sessions_;
  WorkOutcomes& outcomes_;
  SessionOwners& owners_;
  DeviceTable& devices_;
  SessionMoves& moves_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_DEVICE_CLAIMS_HPP
