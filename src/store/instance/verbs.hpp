// InstanceVerbs: an operator's verbs on one instance: terminate, suspend, resume, restart.
//
// A restart writes a message that begins the next execution: with the input of the failed one, or
// with its history up to before the failure. The failed execution and its history stay as they are.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_INSTANCE_VERBS_HPP
#define PAWL_STORE_INSTANCE_VERBS_HPP

#include <string_view>

#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/instance/deliveries.hpp"
#include "store/instance/history.hpp"
#include "store/instance/rows.hpp"
#include "store/rows.hpp"
#include "store/work/rows.hpp"

namespace pawl::store {

class InstanceVerbs : private Table {
 public:
  InstanceVerbs(StoreContext& context, Rows& rows, Deliveries& deliveries)
      : Table(context), rows_(rows), deliveries_(deliveries) {}

  // In a batch. kNotFound; kStale: it has ended. The next turn must end the instance: an item that
  // was fetched before is stale, and fetch_orchestration_item() reports the termination.
  Status terminate_instance(std::string_view id, std::string_view reason);
  // In a batch. kNotFound; kStale: it has ended or is being terminated.
  Status suspend_instance(std::string_view id);
  // In a batch; works on a stopped instance, too. kNotFound; kStale: it has ended.
  Status resume_instance(std::string_view id);
  // In a batch: gives it a time limit that counts from now, or none. kNotFound; kStale: it has
  // ended, is being terminated, or was asked to stop; the diagnostic says which.
  Status change_time_limit(std::string_view id, OptionalMs limit_ms);
  // In a batch: implements Client::restart_instance(), with its answers; the diagnostic has the
  // reason.
  Status restart_instance(const Restart& how);

 private:
  struct Managed {
    InstanceKey key = 0;
    InstanceState state = InstanceState::kRunning;
    bool ended = false;
    bool terminating = false;
    ExecutionId execution = 0;
  };
  Status find_managed(std::string_view id, Managed* out);
  struct Found {
    InstanceKey key = 0;
    InstanceState state = InstanceState::kRunning;
    ExecutionId execution = 0;
    bool is_child = false;
    HistoryPlace last;  // the last event
    std::int64_t behaviour = 0;
    std::int64_t time_limit_ms = 0;  // 0: none
  };

  Status find(std::string_view id, Found* out);
  Status check(const Found& found, const Restart& how);
  Status refuse(Status status, const char* why);
  Status find_cut(const Found& found, EventId* cut);
  Status check_child(const Found& found, EventId command);
  Status restart_unbegun(const Found& found, const Restart& how);
  // `about`: the Message::error of the start.
  Status begin_from_start(const Found& found, ExecutionId of, const Restart& how, ErrorKind about);
  Status end_stopped(const Found& found);
  Status find_request(const Found& found, EventId* request);
  Status hand_on_request(const Found& found, EventId request, ErrorKind* about);
  Status begin(const Found& found, const Restart& how, const Message& message);
  Status go_on(const Found& found);
  Rows& rows_;
  Deliveries& deliveries_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_INSTANCE_VERBS_HPP
