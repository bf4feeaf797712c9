// AllocCounter: what the counting allocator offers to the program it counts.
//
// The same source is linked into a program (own_alloc_counter) and built as liballoc_count.so for
// LD_PRELOAD (preloaded_alloc_counter), so that the one can be held against the other. Every thread
// counts between begin() and end(), but those that called exclude(true).
#ifndef PAWL_TEST_SHIM_ALLOC_COUNT_HPP
#define PAWL_TEST_SHIM_ALLOC_COUNT_HPP

struct AllocCounts {
  unsigned long calls = 0;       // malloc and its kin, outside of bodies
  unsigned long frees = 0;       // of a pointer, likewise
  unsigned long body_calls = 0;  // inside of bodies: the business of user activities
  unsigned long body_frees = 0;
  unsigned long threads = 0;  // that called anything counted above
};

struct AllocCounter {
  void (*begin)();  // from zero
  void (*end)();
  void (*exclude)(bool yes);    // the calling thread
  void (*body)(bool entering);  // the calling thread enters or leaves a body; they nest
  void (*read)(AllocCounts* out);
};

using AllocCounterEntry = const AllocCounter*();

#ifndef ALLOC_COUNT_ENTRY  // the users' half

#include <dlfcn.h>

// Null in a program that does not link the counter.
extern "C" __attribute__((weak)) AllocCounterEntry own_alloc_counter;

struct AllocCounters {
  const AllocCounter* own = own_alloc_counter == nullptr ? nullptr : own_alloc_counter();
  const AllocCounter* preloaded = find_preloaded();

  static const AllocCounter* find_preloaded() {
    void* entry = ::dlsym(RTLD_DEFAULT, "preloaded_alloc_counter");
    return entry == nullptr ? nullptr : reinterpret_cast<AllocCounterEntry*>(entry)();
  }
};
// Before main, since a failing dlsym allocates.
inline const AllocCounters alloc_counters;

template <typename Use>
void with_alloc_counters(Use use) {
  if (alloc_counters.own != nullptr) use(*alloc_counters.own);
  if (alloc_counters.preloaded != nullptr) use(*alloc_counters.preloaded);
}

class AllocBody {
 public:
  AllocBody() {
    with_alloc_counters([](const AllocCounter& counter) { counter.body(true); });
  }
  ~AllocBody() {
    with_alloc_counters([](const AllocCounter& counter) { counter.body(false); });
  }
  AllocBody(const AllocBody&) = delete;
  AllocBody& operator=(const AllocBody&) = delete;
};

#endif

#endif  // PAWL_TEST_SHIM_ALLOC_COUNT_HPP
