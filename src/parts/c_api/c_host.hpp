// pawl_host: a Host, and the parts that a C program needs beside it.
//
// Purpose: the log and the answers go to C functions, and registrations of steps have a place.
// Ownership: it owns all its parts. Thread rule: the same as in pawl_host.h.
#ifndef PAWL_PARTS_C_API_C_HOST_HPP
#define PAWL_PARTS_C_API_C_HOST_HPP

#include <atomic>
#include <memory>
#include <new>

#include "parts/c_api/c_types.hpp"
#include "pawl/host.hpp"

namespace pawl::c_api {

class CallbackLog final : public LogSink {
 public:
  static constexpr std::size_t kLineBytesMax = 512;
  CallbackLog(pawl_log_fn function, void* user) : function_(function), user_(user) {}
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override;

 private:
  pawl_log_fn function_;
  void* user_;
};

// Notifies a C function of the sessions that the host gets and loses.
class CallbackListener final : public SessionListener {
 public:
  CallbackListener(pawl_owner_fn function, void* user) : function_(function), user_(user) {}
  void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept override {
    function_(user_, PAWL_OWNER_CLAIMED, text_of(session), epoch);
  }
  void on_session_lost(std::string_view session, std::int64_t epoch) noexcept override {
    function_(user_, PAWL_OWNER_LOST, text_of(session), epoch);
  }
  void on_session_ending(std::string_view session, std::int64_t epoch) noexcept override {
    function_(user_, PAWL_OWNER_ENDING, text_of(session), epoch);
  }

 private:
  pawl_owner_fn function_;
  void* user_;
};

// Calls of a Runtime that wait for their answer.
class AnswerPool {
 public:
  struct Asked {
    pawl_answer_fn answer = nullptr;  // null: free
    void* user = nullptr;
  };
  // False: no memory.
  bool make(std::size_t count) {
    asked_.reset(new (std::nothrow) Asked[count]);
    count_ = asked_ == nullptr ? 0 : count;
    return asked_ != nullptr;
  }
  // Null: every entry waits for its answer.
  Asked* take(pawl_answer_fn answer, void* user);
  // The Answer of an entry: passes the status on to its C function, and frees the entry.
  static void pass_on(void* of, Status status) noexcept;

 private:
  std::unique_ptr<Asked[]> asked_;
  std::size_t count_ = 0;
};

// A text that ends with a zero byte.
class LastError {
 public:
  void set(std::string_view text) {
    const std::size_t size = text.size() < sizeof text_ ? text.size() : sizeof text_ - 1;
    if (size > 0) std::memcpy(text_, text.data(), size);
    text_[size] = '\0';
  }
  [[nodiscard]] const char* c_str() const { return text_; }

 private:
  char text_[Diagnostic::kCapacity + 1] = {};
};

}  // namespace pawl::c_api

struct pawl_host {
  pawl_host(const pawl::HostOptions& options, const pawl_host_options& given)
      : log(given.log, given.log_user),
        listener(given.owner_change, given.owner_user),
        host(options) {
    host.options().runtime.database = pawl::c_api::take_database(given.database, &database);
    if (given.log != nullptr) host.options().runtime.log = &log;
    if (given.owner_change != nullptr) host.options().runtime.sessions.listener = &listener;
  }

  // Returns the status, and keeps its text for pawl_host_error(); without a text given, the
  // Runtime's.
  pawl_status keep(pawl::Status status) { return keep(status, host.runtime().error_text()); }
  pawl_status keep(pawl::Status status, std::string_view text) {
    const bool failed = status != pawl::Status::kOk && status != pawl::Status::kTimeout;
    if (failed) error.set(text.empty() ? pawl::status_name(status) : text);
    return pawl::c_api::status_of(status);
  }
  // For calls that change nothing, of which Host has no const form.
  [[nodiscard]] pawl::Host& host_of() const { return const_cast<pawl_host*>(this)->host; }
  // Null: there are as many steps as a registry takes.
  pawl::c_api::Steps* next_steps(const pawl::c_api::Steps& with) {
    if (steps_count == pawl::Registry::kActivitiesMax) return nullptr;
    steps[steps_count] = with;
    return &steps[steps_count];
  }

  pawl::c_api::CallbackLog log;
  pawl::c_api::CallbackListener listener;
  pawl::c_api::AnswerPool answers;
  pawl::c_api::Steps steps[pawl::Registry::kActivitiesMax] = {};
  std::size_t steps_count = 0;
  // One more than there may be names, for one that the Registry refuses.
  pawl::Registry::TimeLimit limits[pawl::Registry::kOrchestrationsMax + 1] = {};
  std::size_t limits_count = 0;
  pawl::c_api::LastError error;
  std::atomic<std::uint32_t> clients{0};
  bool is_started = false;
  pawl::ServerDatabase database;
  pawl::Host host;  // the last member: its destructor needs those above
};

#endif  // PAWL_PARTS_C_API_C_HOST_HPP
