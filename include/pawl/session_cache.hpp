// SessionCache: state that a worker keeps beside its sessions.
//
// Purpose: an open port, a child process, a loaded model: state that is expensive to make, belongs
// to one session and must be gone when the session is. At most N states lie in the object itself;
// it never allocates. A state is found by the session's epoch, so no state of an earlier owner is
// ever found. It ends exactly once: when the session is lost, when it was not used for `ttl`, when
// another one needs its place (the one used longest ago), when it is discarded, or with the cache.
// While a Lease holds it, it does not end; it ends with the last Lease then. Make the cache
// SessionOptions::listener, so that it is called; with several of them, or a listener of your own,
// each passes the calls on (`next`).
// Ownership: the cache outlives the Runtime and every Lease; clock, `next` and `user` outlive the
// cache.
// Thread rule: all calls from any thread; one Lease, one thread at a time. Constructors of T run
// under the cache's lock and must not use it; T's end may take its time. Two activities of one
// session that run at once share the state: if they have threads of their own, the state must lock
// for itself, or the session must be exclusive.
#ifndef PAWL_SESSION_CACHE_HPP
#define PAWL_SESSION_CACHE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pawl/activity.hpp"
#include "pawl/port.hpp"
#include "pawl/session_listener.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAS_GTHREADS)
// A library without threads has no mutex either; then there is nothing to lock for.
struct SessionCacheMutex {
  void lock() {}
  void unlock() {}
};
#else
using SessionCacheMutex = std::mutex;
#endif
}  // namespace internal

// The reason why a state ended.
enum class SessionCacheEnd : std::uint8_t {
  kEvicted,    // another session needed the place
  kExpired,    // it was not used for ttl
  kLost,       // the session is not this worker's any more
  kDiscarded,  // Lease::discard()
  kClosed,     // the cache ended
};

// The time when a state ends by itself, and the functions that are called at an end.
template <typename T>
struct SessionCacheSettings {
  // The time since the last use, as Clock::boot_ms() counts: the machine's sleep counts, too. 0:
  // for ever. An expired state ends with the next call of anything here.
  std::chrono::milliseconds ttl{600'000};
  // Called just before the state's destructor, on the thread that caused the end; null: the
  // destructor is enough.
  void (*dispose)(T& state, SessionCacheEnd why, void* user) noexcept = nullptr;
  void* user = nullptr;             // an argument of dispose()
  SessionListener* next = nullptr;  // gets the same calls; a loss after the state has ended
};

template <typename T, std::size_t N>
class SessionCache final : public SessionListener {
  static_assert(N > 0, "a SessionCache has room for at least one state");
  static_assert(std::is_object_v<T> && !std::is_array_v<T> &&
                    std::is_same_v<T, std::remove_cv_t<T>>,
                "a SessionCache keeps objects: no reference, array or const type");
  static_assert(std::is_nothrow_destructible_v<T>, "the end of a state must not throw");

  struct Entry {
    enum class Place : std::uint8_t {
      kFree,
      kLive,    // found by its epoch
      kLeft,    // not found any more: ends with the last Lease
      kEnding,  // its end is running
    };
    T* state() { return std::launder(static_cast<T*>(static_cast<void*>(bytes))); }

    alignas(T) unsigned char bytes[sizeof(T)];
    std::int64_t epoch = 0;
    std::int64_t used_ms = 0;
    std::uint64_t use = 0;  // rises with every use, and orders those of one time
    std::size_t leases = 0;
    Place place = Place::kFree;
    SessionCacheEnd why = SessionCacheEnd::kClosed;
    bool lost = false;
  };

 public:
  // While a Lease lives its state stays where it is. An empty one has no state, and status() says
  // why.
  class [[nodiscard]] Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)),
          entry_(std::exchange(other.entry_, nullptr)),
          status_(std::exchange(other.status_, Status::kNotFound)),
          made_(other.made_) {}
    Lease& operator=(Lease&& other) noexcept {
      if (this == &other) return *this;
      release();
      cache_ = std::exchange(other.cache_, nullptr);
      entry_ = std::exchange(other.entry_, nullptr);
      status_ = std::exchange(other.status_, Status::kNotFound);
      made_ = other.made_;
      return *this;
    }
    ~Lease() { release(); }

    explicit operator bool() const { return entry_ != nullptr; }
    // kOk, or the status that acquire() or find() answered.
    [[nodiscard]] Status status() const { return status_; }
    // Whether this very acquire() made the state: it has nothing of the session yet.
    [[nodiscard]] bool made() const { return made_; }
    // Whether the session went to another worker meanwhile.
    [[nodiscard]] bool lost() const { return entry_ != nullptr && cache_->is_lost(*entry_); }
    // The state. Requires: a Lease that is not empty, and does not end with the expression, since
    // the state could end with it.
    T& operator*() const& { return *entry_->state(); }
    T* operator->() const& { return entry_->state(); }
    T& operator*() const&& = delete;
    T* operator->() const&& = delete;

    // No call finds the state any more; it ends with the last Lease. The next acquire() makes a new
    // one, also while others still hold this.
    void discard() {
      if (entry_ != nullptr) cache_->leave(*entry_, SessionCacheEnd::kDiscarded);
    }
    // Gives the state back; the Lease is empty from here on.
    void release() {
      if (entry_ != nullptr) cache_->release(*std::exchange(entry_, nullptr));
      status_ = Status::kNotFound;
      made_ = false;
    }

   private:
    friend class SessionCache;
    explicit Lease(Status status) : status_(status) {}
    Lease(SessionCache* cache, Entry* entry, bool made)
        : cache_(cache), entry_(entry), status_(Status::kOk), made_(made) {}
    SessionCache* cache_ = nullptr;
    Entry* entry_ = nullptr;
    Status status_ = Status::kNotFound;
    bool made_ = false;
  };

  // `clock` is that of the Runtime's port.
  explicit SessionCache(port::Clock& clock,
                        const SessionCacheSettings<T>& settings = SessionCacheSettings<T>())
      : clock_(clock), settings_(settings) {}
  SessionCache(const SessionCache&) = delete;
  SessionCache& operator=(const SessionCache&) = delete;
  ~SessionCache() {
    std::unique_lock<internal::SessionCacheMutex> lock(mutex_);
    for (Entry& entry : entries_)
      if (is_idle(entry)) end(lock, entry, SessionCacheEnd::kClosed);
  }

  // Finds the state of the activity's session; if there is none yet, makes it from `args`.
  // Returns a Lease of it; an empty one has a status(): kResourceExhausted: all N are in use;
  // kStale: the session is lost, and the activity should end.
  // Requires: an activity with a session (kInvalidArgument).
  template <typename... Args>
  Lease acquire(const ActivityContext& ctx, Args&&... args) {
    static_assert(std::is_constructible_v<T, Args...>,
                  "T is not constructible from these arguments");
    const std::int64_t epoch = ctx.session_epoch();
    if (epoch == 0) return Lease(Status::kInvalidArgument);
    std::unique_lock<internal::SessionCacheMutex> lock(mutex_);
    end_expired(lock);
    for (;;) {
      Entry* room = nullptr;
      Entry* oldest = nullptr;
      for (Entry& entry : entries_) {
        if (is_of(entry, epoch)) return hold(entry, false);
        if (entry.place == Entry::Place::kFree) room = &entry;
        if (is_idle(entry) && (oldest == nullptr || entry.use < oldest->use)) oldest = &entry;
      }
      if (was_lost(epoch)) return Lease(Status::kStale);
      if (room != nullptr) {
        ::new (static_cast<void*>(room->bytes)) T(std::forward<Args>(args)...);
        room->epoch = epoch;
        room->lost = false;
        room->place = Entry::Place::kLive;
        return hold(*room, true);
      }
      if (oldest == nullptr) return Lease(Status::kResourceExhausted);
      // Others come and go while it ends, so the search begins again.
      end(lock, *oldest, SessionCacheEnd::kEvicted);
    }
  }
  // Does what acquire() does, but makes no state.
  // Returns the same as acquire(); kNotFound: there is none.
  // Requires: as acquire().
  Lease find(const ActivityContext& ctx) {
    const std::int64_t epoch = ctx.session_epoch();
    if (epoch == 0) return Lease(Status::kInvalidArgument);
    std::unique_lock<internal::SessionCacheMutex> lock(mutex_);
    end_expired(lock);
    for (Entry& entry : entries_)
      if (is_of(entry, epoch)) return hold(entry, false);
    return Lease(was_lost(epoch) ? Status::kStale : Status::kNotFound);
  }
  // Ends the states that have expired; for a host that is awake anyway.
  void trim() {
    std::unique_lock<internal::SessionCacheMutex> lock(mutex_);
    end_expired(lock);
  }
  // The number of states, those included that end with their last Lease.
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard<internal::SessionCacheMutex> guard(mutex_);
    std::size_t count = 0;
    for (const Entry& entry : entries_)
      if (entry.place == Entry::Place::kLive || entry.place == Entry::Place::kLeft) ++count;
    return count;
  }

  // ---- called by the Runtime ----
  // These implement SessionListener: SessionOptions::listener is the cache, and the Runtime calls
  // them.
  void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept override {
    trim();
    if (settings_.next != nullptr) settings_.next->on_session_claimed(session, epoch);
  }
  void on_session_lost(std::string_view session, std::int64_t epoch) noexcept override {
    {
      std::unique_lock<internal::SessionCacheMutex> lock(mutex_);
      lost_[lost_count_++ % kLostKept] = epoch;
      for (Entry& entry : entries_) {
        if (!is_of(entry, epoch)) continue;
        entry.lost = true;
        if (entry.leases == 0) {
          end(lock, entry, SessionCacheEnd::kLost);
        } else {
          entry.place = Entry::Place::kLeft;
          entry.why = SessionCacheEnd::kLost;
        }
      }
      end_expired(lock);
    }
    if (settings_.next != nullptr) settings_.next->on_session_lost(session, epoch);
  }
  void on_session_ending(std::string_view session, std::int64_t epoch) noexcept override {
    if (settings_.next != nullptr) settings_.next->on_session_ending(session, epoch);
  }

 private:
  // An activity may look for its state after its session was lost, so this many losses are
  // remembered. One that comes later than that makes a state that ends by its age.
  static constexpr std::size_t kLostKept = 64;

  static bool is_of(const Entry& entry, std::int64_t epoch) {
    return entry.place == Entry::Place::kLive && entry.epoch == epoch;
  }
  static bool is_idle(const Entry& entry) {
    return entry.place == Entry::Place::kLive && entry.leases == 0;
  }
  [[nodiscard]] bool was_lost(std::int64_t epoch) const {
    for (const std::int64_t lost : lost_)
      if (lost == epoch) return true;
    return false;
  }
  [[nodiscard]] bool is_lost(const Entry& entry) const {
    const std::lock_guard<internal::SessionCacheMutex> guard(mutex_);
    return entry.lost;
  }

  Lease hold(Entry& entry, bool made) {
    ++entry.leases;
    entry.use = ++uses_;
    return Lease(this, &entry, made);
  }
  void release(Entry& entry) {
    std::unique_lock<internal::SessionCacheMutex> lock(mutex_);
    entry.used_ms = clock_.boot_ms();
    entry.use = ++uses_;
    if (--entry.leases == 0 && entry.place == Entry::Place::kLeft) end(lock, entry, entry.why);
  }
  void leave(Entry& entry, SessionCacheEnd why) {
    const std::lock_guard<internal::SessionCacheMutex> guard(mutex_);
    if (entry.place != Entry::Place::kLive) return;
    entry.place = Entry::Place::kLeft;
    entry.why = why;
  }
  // Unlocks while it ends the state.
  void end(std::unique_lock<internal::SessionCacheMutex>& lock, Entry& entry, SessionCacheEnd why) {
    entry.place = Entry::Place::kEnding;
    lock.unlock();
    if (settings_.dispose != nullptr) settings_.dispose(*entry.state(), why, settings_.user);
    entry.state()->~T();
    lock.lock();
    entry.place = Entry::Place::kFree;
  }
  void end_expired(std::unique_lock<internal::SessionCacheMutex>& lock) {
    if (settings_.ttl.count() <= 0) return;
    const std::int64_t now = clock_.boot_ms();
    for (Entry& entry : entries_)
      if (is_idle(entry) && now - entry.used_ms >= settings_.ttl.count())
        end(lock, entry, SessionCacheEnd::kExpired);
  }

  port::Clock& clock_;
  const SessionCacheSettings<T> settings_;
  mutable internal::SessionCacheMutex mutex_;
  std::uint64_t uses_ = 0;
  std::int64_t lost_[kLostKept] = {};  // epochs, from 1; the oldest is overwritten
  std::size_t lost_count_ = 0;
  Entry entries_[N];
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SESSION_CACHE_HPP
