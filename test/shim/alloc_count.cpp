// Counts the calls of malloc and its relatives for each thread, without allocating.
//
// Environment of the preloaded library: PAWL_ALLOC_REPORT=file gets one JSON line at exit, with a
// line for each thread after it; PAWL_ALLOC_TRAP=1 raises SIGTRAP at the first counted call outside
// of a body, so that a debugger or a core file shows the caller.
#ifndef ALLOC_COUNT_ENTRY
#define ALLOC_COUNT_ENTRY preloaded_alloc_counter
#define ALLOC_COUNT_REPORTS 1
#endif
#include "alloc_count.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" AllocCounterEntry ALLOC_COUNT_ENTRY;

// glibc's own names of its allocator; needed until the next allocator in the chain is known.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* pointer);
}

namespace {

struct ThreadCounts {
  std::atomic<long> thread{0};
  std::atomic<unsigned long> calls{0};
  std::atomic<unsigned long> frees{0};
  std::atomic<unsigned long> body_calls{0};
  std::atomic<unsigned long> body_frees{0};
};

constexpr unsigned kThreadsMax = 256;  // all later threads share the last one
ThreadCounts counts[kThreadsMax];
std::atomic<unsigned> used{0};
std::atomic<bool> counting{false};
std::atomic<bool> trapping{false};
char report_path[512];

#define ALLOC_COUNT_TLS __attribute__((tls_model("initial-exec"))) thread_local
ALLOC_COUNT_TLS ThreadCounts* mine = nullptr;
ALLOC_COUNT_TLS unsigned depth = 0;
ALLOC_COUNT_TLS bool excluded = false;

ThreadCounts& my_counts() {
  if (mine == nullptr) {
    const unsigned slot = used.fetch_add(1);
    mine = &counts[slot < kThreadsMax ? slot : kThreadsMax - 1];
    mine->thread.store(::syscall(SYS_gettid));
  }
  return *mine;
}

void add(std::atomic<unsigned long>& count) { count.fetch_add(1, std::memory_order_relaxed); }

void count_call() {
  if (!counting.load(std::memory_order_relaxed) || excluded) return;
  ThreadCounts& here = my_counts();
  if (depth > 0) {
    add(here.body_calls);
    return;
  }
  add(here.calls);
  if (trapping.load(std::memory_order_relaxed)) ::raise(SIGTRAP);
}

void count_free(const void* pointer) {
  if (pointer == nullptr || !counting.load(std::memory_order_relaxed) || excluded) return;
  add(depth > 0 ? my_counts().body_frees : my_counts().frees);
}

void begin() {
  for (ThreadCounts& one : counts) {
    one.calls.store(0);
    one.frees.store(0);
    one.body_calls.store(0);
    one.body_frees.store(0);
  }
  counting.store(true);
}
void end() { counting.store(false); }
void exclude(bool yes) { excluded = yes; }
void body(bool entering) {
  if (entering) {
    ++depth;
  } else {
    --depth;
  }
}

unsigned used_slots() {
  const unsigned slots = used.load();
  return slots < kThreadsMax ? slots : kThreadsMax;
}

void read_counts(AllocCounts* out) {
  *out = AllocCounts();
  for (unsigned i = 0; i < used_slots(); ++i) {
    const ThreadCounts& one = counts[i];
    out->calls += one.calls.load();
    out->frees += one.frees.load();
    out->body_calls += one.body_calls.load();
    out->body_frees += one.body_frees.load();
    const bool any =
        one.calls.load() + one.frees.load() + one.body_calls.load() + one.body_frees.load() > 0;
    out->threads += any ? 1 : 0;
  }
}

constexpr AllocCounter kCounter = {begin, end, exclude, body, read_counts};

// The next allocator in the chain. `resolve` runs before any thread is made; until it is done,
// glibc's own allocator serves, in which every chain here ends.
struct Next {
  void* (*malloc)(std::size_t) = __libc_malloc;
  void* (*calloc)(std::size_t, std::size_t) = __libc_calloc;
  void* (*realloc)(void*, std::size_t) = __libc_realloc;
  void* (*memalign)(std::size_t, std::size_t) = __libc_memalign;
  void (*free)(void*) = __libc_free;
};
Next next;

template <typename Function>
void find(Function*& out, const char* name) {
  void* found = ::dlsym(RTLD_NEXT, name);
  if (found != nullptr) std::memcpy(&out, &found, sizeof(out));
}

__attribute__((constructor)) void resolve() {
  Next found = next;
  find(found.malloc, "malloc");
  find(found.calloc, "calloc");
  find(found.realloc, "realloc");
  find(found.memalign, "memalign");
  find(found.free, "free");
  next = found;
  const char* trap = std::getenv("PAWL_ALLOC_TRAP");
  trapping.store(trap != nullptr && *trap == '1');
  const char* path = std::getenv("PAWL_ALLOC_REPORT");
  if (path != nullptr && std::strlen(path) < sizeof(report_path)) {
    std::strcpy(report_path, path);
  }
}

#ifdef ALLOC_COUNT_REPORTS
__attribute__((format(printf, 2, 3))) void print(int fd, const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (size > 0 && ::syscall(SYS_write, fd, line, static_cast<std::size_t>(size)) < 0) return;
}

__attribute__((destructor)) void report() {
  if (*report_path == 0) return;
  const int fd = ::open(report_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  AllocCounts all;
  read_counts(&all);
  print(fd, "{\"calls\":%lu,\"frees\":%lu,\"body_calls\":%lu,\"body_frees\":%lu,\"threads\":%lu}\n",
        all.calls, all.frees, all.body_calls, all.body_frees, all.threads);
  for (unsigned i = 0; i < used_slots(); ++i) {
    const ThreadCounts& one = counts[i];
    print(fd,
          "{\"thread\":%ld,\"calls\":%lu,\"frees\":%lu,\"body_calls\":%lu,\"body_frees\":%lu}\n",
          one.thread.load(), one.calls.load(), one.frees.load(), one.body_calls.load(),
          one.body_frees.load());
  }
  ::close(fd);
}
#endif

}  // namespace

// Visible to shared libraries, whatever the visibility of the rest.
#pragma GCC visibility push(default)
extern "C" {

const AllocCounter* ALLOC_COUNT_ENTRY() { return &kCounter; }

void* malloc(std::size_t size) noexcept {
  count_call();
  return next.malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  count_call();
  return next.calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  count_call();
  return next.realloc(old, size);
}

void free(void* pointer) noexcept {
  count_free(pointer);
  next.free(pointer);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count_call();
  return next.memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count_call();
  return next.memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  count_call();
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* block = next.memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

void* valloc(std::size_t size) noexcept {
  count_call();
  return next.memalign(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), size);
}
}
#pragma GCC visibility pop
