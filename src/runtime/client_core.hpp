// ClientCore: the calls of pawl::Client on orchestrations; the base class has those of management.
#ifndef PAWL_RUNTIME_CLIENT_CORE_HPP
#define PAWL_RUNTIME_CLIENT_CORE_HPP

#include "runtime/client_management.hpp"

namespace pawl {

class ClientCore final : public ClientManagement {
 public:
  using ClientManagement::ClientManagement;

  // Each call of the Client begins with begin_call(): texts of the call before become invalid.
  void begin_call() { ++calls_; }

  Status start_orchestration(std::string_view name, const InstanceId& id, std::string_view input,
                             const StartOptions& options);
  Status cancel_instance(std::string_view id, std::string_view reason);
  Status send_message(std::string_view id, MessageKind kind, std::string_view name,
                      std::string_view payload);
  Status offer_event(std::string_view id, std::string_view name, std::string_view payload,
                     std::int64_t timeout_ms, bool* received);
  Status get_status(std::string_view id, OrchestrationStatus* out);
  Status wait_for_orchestration(std::string_view id, std::int64_t timeout_ms,
                                OrchestrationStatus* out);
  Status wait_for_status_change(std::string_view id, std::int64_t last_version,
                                std::int64_t timeout_ms, OrchestrationStatus* out);
  Status watch_progress(std::string_view id, std::int64_t timeout_ms, ProgressWatch* watch);
  Status get_kv_value(std::string_view id, std::string_view key, KvEntry* out, bool* found);
  Status get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor);
  Status wait_for_kv_value(std::string_view id, std::string_view key, std::int64_t timeout_ms,
                           KvEntry* out);

 private:
  [[nodiscard]] Status refuse_waiting();
  // Opens the port's threads, so that wait() hears of commits.
  Status begin_waiting();
  // Is the instance there, does it run, and which workers live?
  Status look_at_watched(std::string_view id, ProgressWatch* watch, bool* goes_on);
  Status check_payload_size(std::string_view payload);
  [[nodiscard]] NewMessage new_message(std::string_view id, MessageKind kind, std::string_view name,
                                       std::string_view payload) const;
  Status look_at_offer(const SentOffer& offer, ExecutionId execution, bool* is_over,
                       bool* received);
  template <typename IsOver>
  Status wait_until(std::string_view id, std::int64_t timeout_ms, OrchestrationStatus* out,
                    IsOver&& is_over);
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_CORE_HPP
