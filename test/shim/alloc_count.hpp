// AllocCounter: the counting allocator's interface to the program whose calls it counts.
//
// The same source is linked into a program (own_alloc_counter) and built as liballoc_count.so for
// LD_PRELOAD (preloaded_alloc_counter), so that one can be compared with the other. Every thread
// counts between begin() and end(), except threads that called exclude(true).
#ifndef PAWL_TEST_SHIM_ALLOC_COUNT_HPP
#define PAWL_TEST_SHIM_ALLOC_COUNT_HPP

struct AllocCounts {
  unsigned long calls = 0;       // malloc and its relatives, outside of bodies
  unsigned long frees = 0;       // frees of a pointer, outside of bodies
  unsigned long body_calls = 0;  // inside of bodies, which belong to user activities
  unsigned long body_frees = 0;
  unsigned long threads = 0;  // threads that made any counted call
};

struct AllocCounter {
  void (*begin)();  // resets the counts to zero
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
// Made before main(), since a failing dlsym() allocates.
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
