// A bounded pool of threads for blocking activities.
//
// Ownership: the pool's memory outlives the Executor while a job still runs, since a driver call
// that never returns cannot be ended; the last user frees it. Thread rule: the owner's thread only.
#ifndef PAWL_PORT_POSIX_POSIX_EXECUTOR_HPP
#define PAWL_PORT_POSIX_POSIX_EXECUTOR_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/status.hpp"

namespace pawl::posix {

struct ExecutorPool;

class Executor {
 public:
  Executor() = default;
  ~Executor() { stop(0); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // `wake_fd` is an eventfd; the pool keeps a duplicate of it.
  Status start(unsigned count, std::size_t stack_bytes, int wake_fd);
  void submit(unsigned slot, void (*job)(void*), void* argument);
  [[nodiscard]] bool idle(unsigned slot);
  bool stop(std::int64_t wait_ms);
  // Whether a job has ended since the last call.
  [[nodiscard]] bool take_finished();

 private:
  ExecutorPool* pool_ = nullptr;
};

}  // namespace pawl::posix

#endif  // PAWL_PORT_POSIX_POSIX_EXECUTOR_HPP
