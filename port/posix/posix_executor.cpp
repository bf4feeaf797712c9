#include "port/posix/posix_executor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>

#include "pawl/port.hpp"
#include "port/posix/posix_descriptor.hpp"

namespace pawl::posix {

// Each slot has a semaphore of its own and reports that it is idle without a lock: many jobs that
// end at the same time hold up neither each other nor the loop.
struct ExecutorSlot {
  ExecutorPool* pool = nullptr;
  pthread_t thread{};
  sem_t work;
  void (*job)(void*) = nullptr;  // null after a wake-up: the thread ends
  void* argument = nullptr;
  std::atomic<bool> busy{false};
  bool ended = false;
};

struct ExecutorPool {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t one_ended;  // on the monotonic clock: a wall clock step must not delay a stop
  unsigned count = 0;
  unsigned living = 0;
  Descriptor wake;
  std::atomic<unsigned> finished{0};  // a word: RISC-V has no exchange of a smaller type
  std::atomic<unsigned> users{1};
  ExecutorSlot slots[port::kThreadsMax];
};

namespace {

void let_go(ExecutorPool* pool) {
  if (pool->users.fetch_sub(1) != 1) return;
  for (ExecutorSlot& slot : pool->slots)
    ::sem_destroy(&slot.work);
  ::pthread_cond_destroy(&pool->one_ended);
  ::pthread_mutex_destroy(&pool->mutex);
  delete pool;
}

// Wakes once for all jobs that end before the waiter looks.
void wake_waiter(ExecutorPool& pool) {
  if (pool.finished.exchange(1) != 0) return;
  const std::uint64_t one = 1;
  // EAGAIN means the counter is full, so the waiter is awake anyway.
  (void)retried([&] { return ::write(pool.wake.get(), &one, sizeof(one)); });
}

void* work_until_stopped(void* argument) {
  auto* slot = static_cast<ExecutorSlot*>(argument);
  ExecutorPool* pool = slot->pool;
  for (;;) {
    (void)retried([&] { return ::sem_wait(&slot->work); });
    void (*job)(void*) = slot->job;
    if (job == nullptr) break;
    slot->job = nullptr;
    job(slot->argument);
    slot->busy.store(false);
    wake_waiter(*pool);
  }
  ::pthread_mutex_lock(&pool->mutex);
  slot->ended = true;
  --pool->living;
  ::pthread_cond_signal(&pool->one_ended);
  ::pthread_mutex_unlock(&pool->mutex);
  let_go(pool);
  return nullptr;
}

bool init_monotonic(pthread_cond_t& condition) {
  pthread_condattr_t attributes;
  if (::pthread_condattr_init(&attributes) != 0) return false;
  const bool made = ::pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                    ::pthread_cond_init(&condition, &attributes) == 0;
  ::pthread_condattr_destroy(&attributes);
  return made;
}

ExecutorPool* make_pool(int wake_fd) {
  auto* pool = new (std::nothrow) ExecutorPool;
  if (pool == nullptr) return nullptr;
  for (ExecutorSlot& slot : pool->slots)
    ::sem_init(&slot.work, 0, 0);
  if (!init_monotonic(pool->one_ended)) {
    delete pool;
    return nullptr;
  }
  pool->wake.reset(::fcntl(wake_fd, F_DUPFD_CLOEXEC, 0));
  if (!pool->wake.valid()) {
    let_go(pool);
    return nullptr;
  }
  return pool;
}

std::size_t usable_stack(std::size_t wanted) {
  const long minimum = ::sysconf(_SC_THREAD_STACK_MIN);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t least = minimum > 0 ? static_cast<std::size_t>(minimum) : std::size_t{1} << 14;
  const std::size_t bytes = wanted < least ? least : wanted;
  return (bytes + page - 1) / page * page;
}

bool start_thread(ExecutorPool& pool, std::size_t stack_bytes) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ExecutorSlot& slot = pool.slots[pool.count];
  slot.pool = &pool;
  pool.users.fetch_add(1);
  const bool started = ::pthread_attr_setstacksize(&attributes, usable_stack(stack_bytes)) == 0 &&
                       ::pthread_create(&slot.thread, &attributes, work_until_stopped, &slot) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!started) {
    pool.users.fetch_sub(1);
    return false;
  }
  char name[16];  // the kernel keeps no more characters
  std::snprintf(name, sizeof name, "pawl-work-%u", pool.count);
  ::pthread_setname_np(slot.thread, name);
  ++pool.count;
  return true;
}

timespec monotonic_after(std::int64_t wait_ms) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const std::int64_t ns = until.tv_nsec + wait_ms % 1000 * 1'000'000;
  until.tv_sec += static_cast<time_t>(wait_ms / 1000 + ns / 1'000'000'000);
  until.tv_nsec = static_cast<decltype(until.tv_nsec)>(ns % 1'000'000'000);
  return until;
}

}  // namespace

Status Executor::start(unsigned count, std::size_t stack_bytes, int wake_fd) {
  if (pool_ != nullptr) return Status::kAlreadyExists;
  if (count > port::kThreadsMax) return Status::kInvalidArgument;
  if (count == 0) return Status::kOk;
  pool_ = make_pool(wake_fd);
  if (pool_ == nullptr) return Status::kResourceExhausted;
  // The host's signals belong to the host's threads: a handler running on a small stack, or a
  // driver call ended by EINTR, would surprise both sides. A new thread inherits this mask.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  if (::pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return Status::kIo;
  pool_->living = count;
  while (pool_->count < count && start_thread(*pool_, stack_bytes)) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pool_->count == count) return Status::kOk;
  ::pthread_mutex_lock(&pool_->mutex);
  pool_->living -= count - pool_->count;
  ::pthread_mutex_unlock(&pool_->mutex);
  constexpr std::int64_t kIdleThreadsEndMs = 10'000;
  stop(kIdleThreadsEndMs);
  return Status::kResourceExhausted;
}

void Executor::submit(unsigned slot, void (*job)(void*), void* argument) {
  if (pool_ == nullptr || slot >= pool_->count) return;
  ExecutorSlot& one = pool_->slots[slot];
  if (one.busy.load()) return;
  one.busy.store(true);
  one.argument = argument;
  one.job = job;
  ::sem_post(&one.work);
}

bool Executor::idle(unsigned slot) {
  if (pool_ == nullptr || slot >= pool_->count) return true;
  return !pool_->slots[slot].busy.load();
}

bool Executor::take_finished() { return pool_ != nullptr && pool_->finished.exchange(0) != 0; }

bool Executor::stop(std::int64_t wait_ms) {
  if (pool_ == nullptr) return true;
  ExecutorPool* pool = pool_;
  const timespec until = monotonic_after(wait_ms < 0 ? 0 : wait_ms);
  // A thread first finishes the job that it was given before.
  for (unsigned i = 0; i < pool->count; ++i)
    ::sem_post(&pool->slots[i].work);
  ::pthread_mutex_lock(&pool->mutex);
  while (pool->living > 0 &&
         ::pthread_cond_timedwait(&pool->one_ended, &pool->mutex, &until) == 0) {
  }
  const bool all_ended = pool->living == 0;
  bool ended[port::kThreadsMax] = {};
  for (unsigned i = 0; i < pool->count; ++i)
    ended[i] = pool->slots[i].ended;
  ::pthread_mutex_unlock(&pool->mutex);
  for (unsigned i = 0; i < pool->count; ++i) {
    if (ended[i]) {
      ::pthread_join(pool->slots[i].thread, nullptr);
    } else {
      ::pthread_detach(pool->slots[i].thread);
    }
  }
  pool_ = nullptr;
  let_go(pool);
  return all_ended;
}

}  // namespace pawl::posix
