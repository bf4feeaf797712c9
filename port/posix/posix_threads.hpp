// Waiting, identity and the executor on Linux: one epoll descriptor that covers every reason.
//
// Thread rule: wake() from any thread and from signal handlers; the rest on the thread that called
// open().
#ifndef PAWL_PORT_POSIX_POSIX_THREADS_HPP
#define PAWL_PORT_POSIX_POSIX_THREADS_HPP

#include <pthread.h>

#include <atomic>

#include "pawl/port.hpp"
#include "pawl/port_posix.hpp"
#include "port/posix/posix_clock.hpp"
#include "port/posix/posix_descriptor.hpp"
#include "port/posix/posix_executor.hpp"
#include "port/posix/posix_file_watch.hpp"

namespace pawl::posix {

class SystemThreads final : public port::Threads {
 public:
  // The clock outlives this object and knows the time namespace.
  SystemThreads(const PortOptions& options, SystemClock& clock)
      : clock_(clock), poll_ms_(options.poll_ms) {}
  ~SystemThreads() { close(); }
  SystemThreads(const SystemThreads&) = delete;
  SystemThreads& operator=(const SystemThreads&) = delete;

  Status open(const char* database_path, Diagnostic& diagnostic) override;
  void close() override;
  port::WakeReasons wait(OptionalMs due_boot_ms) override;
  port::WakeReasons drain() override;
  [[nodiscard]] int fd() const override { return epoll_.get(); }
  void arm(OptionalMs due_boot_ms) override;
  void wake() override;
  [[nodiscard]] bool watches_files() const override { return files_.working(); }
  Status watch_process(std::int64_t pid, std::int64_t start_time) override;
  void unwatch_process(std::int64_t pid) override;
  Status add_descriptor(int fd) override;
  void remove_descriptor(int fd) override;
  [[nodiscard]] bool descriptor_ready(int fd) override;

  [[nodiscard]] std::int64_t process_id() override;
  [[nodiscard]] std::int64_t process_start_time(std::int64_t pid) override;
  [[nodiscard]] bool on_owner_thread() override;

  Status executor_start(unsigned count, std::size_t stack_bytes) override;
  void executor_submit(unsigned slot, void (*job)(void*), void* argument) override {
    executor_.submit(slot, job, argument);
  }
  [[nodiscard]] bool executor_idle(unsigned slot) override { return executor_.idle(slot); }
  bool executor_stop(std::int64_t wait_ms) override { return executor_.stop(wait_ms); }

 private:
  static constexpr std::size_t kProcessesMax = 64;
  struct Watched {
    std::int64_t pid = 0;
    int pidfd = -1;
  };

  Status make_wake_event();
  Status open_descriptors();
  Status open_files(const char* database_path, Diagnostic& diagnostic);
  bool listen(int fd, std::uint64_t tag);
  void notice();
  void arm_step_notice();
  [[nodiscard]] bool polling() const;
  // Takes the events that are ready now, or waits for one if `block`; false if the kernel refuses.
  bool collect(bool block, port::WakeReasons& reasons);
  void take(std::uint64_t tag, port::WakeReasons& reasons);
  void take_step_notice(port::WakeReasons& reasons);
  void process_died(std::size_t index);

  SystemClock& clock_;
  const int poll_ms_;
  pthread_t owner_{};
  bool opened_ = false;
  bool has_database_ = false;
  // Lives as long as this object, not as long as open(): a signal handler may call wake() at any
  // moment, and a closed number could by then be another file.
  Descriptor wake_event_;
  std::atomic<unsigned> woken_{0};  // a word: RISC-V has no exchange of a smaller type
  bool death_pending_ = false;
  Descriptor epoll_;
  Descriptor due_timer_;
  Descriptor step_timer_;
  FileWatch files_;
  std::int64_t armed_ns_ = 0;  // setting of due_timer_; 0: not armed
  OptionalMs next_poll_ms_;
  Watched processes_[kProcessesMax];
  Executor executor_;
};

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_THREADS_HPP
