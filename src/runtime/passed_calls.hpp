// PassedCalls: calls of Clients that a loop of the same process makes with its next batch.
//
// Purpose: a Client on another thread passes its message to the loop, and does not commit it. The
// message, the turn that takes it and the answer are one commit then, and the loop's connection
// reads no page anew. A loop takes calls only inside Runtime::run() and run_for(), since outside of
// them it may not come back; a call that it does not take soon, its Client makes by itself. Each
// call has a key, so one that is made twice is delivered once.
//
// Ownership: a PassedCall is its Client's, and in use until its state is kFree again. Thread rule:
// `state` decides whose the rest is.
#ifndef PAWL_RUNTIME_PASSED_CALLS_HPP
#define PAWL_RUNTIME_PASSED_CALLS_HPP

#include <atomic>
#include <cstdint>
#include <string_view>

#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl {

class Inbox;
struct Request;
class Requests;

namespace internal {

struct PassedCall {
  enum class State : std::uint8_t {
    kFree,
    kPassed,     // in the list of a loop; the Client may withdraw it
    kWithdrawn,  // in the list, and the loop throws it out
    kBeingTaken,
    kTaken,  // the loop has copied the request
    kLeft,   // `is_made` and `status` hold; the loop still wakes the Client
  };
  // The loop that takes calls.
  struct Taker {
    Inbox& inbox;
    const Requests& requests;
    std::string_view database_id;
  };
  // The loop's code for calls, which only a program that passes some links.
  struct Steps {
    void (*take)(PassedCall* list, const Taker& by);
    // Leaves to the Clients the list, and what waits in `requests` of them; null: nothing does.
    void (*give_back)(PassedCall* list, Requests* requests);
    void (*answer)(void* call, Status status) noexcept;  // an Answer
  };

  std::atomic<State> state{State::kFree};
  PassedCall* next = nullptr;
  const Steps* steps = nullptr;
  const Request* request = nullptr;  // the Client's, until the call is taken
  std::string_view database_id;      // the Client's
  bool is_made = false;              // false: the Client has to make it by itself
  Status status = Status::kOk;       // the answer, if it is made
  port::Threads* threads = nullptr;  // the Client's

  // The loop does nothing more with it. It is free only when the Client was woken, since a Client
  // that is gone then could not be.
  void leave(bool made) {
    port::Threads* const client = threads;
    is_made = made;
    state.store(State::kLeft, std::memory_order_release);
    client->wake();
    state.store(State::kFree, std::memory_order_release);
  }
};

}  // namespace internal

// The list of one loop. Ownership: the Process has the place, which outlives loops and Clients.
class PassedCalls {
 public:
  using Place = std::atomic<internal::PassedCall*>;

  explicit PassedCalls(Requests& requests) : requests_(requests) {}

  // ---- the loop ----
  // Null: there is no place left, and the loop takes no calls.
  void set_place(Place* place) { place_ = place; }
  void open() {
    if (place_ != nullptr) place_->store(&last, std::memory_order_release);
  }
  // `in_trouble`: the storage is, so each Client makes its call itself, and hears of that.
  void take(Inbox& inbox, std::string_view database_id, bool in_trouble) {
    if (place_ == nullptr || place_->load(std::memory_order_relaxed) == nullptr) return;
    if (in_trouble) return give_back(&last);
    internal::PassedCall* const list = place_->exchange(&last, std::memory_order_acq_rel);
    if (list == &last) return;
    steps_ = list->steps;
    steps_->take(list, {inbox, requests_, database_id});
  }
  void close() { give_back(nullptr); }
  // Another loop may have the place from here on.
  void stop() {
    close();
    place_ = nullptr;
  }

  // ---- a Client ----
  // False: no loop takes calls there.
  static bool pass(Place& place, internal::PassedCall& call) {
    internal::PassedCall* first = place.load(std::memory_order_acquire);
    do {
      if (first == nullptr) return false;
      call.next = first;
    } while (!place.compare_exchange_weak(first, &call, std::memory_order_acq_rel));
    return true;
  }
  // Gives back all that wait there, which their Clients make by themselves then.
  static void give_back_all(Place& place) {
    internal::PassedCall* first = place.load(std::memory_order_acquire);
    while (first != nullptr && !place.compare_exchange_weak(first, &last)) {
    }
    if (first != nullptr && first != &last) first->steps->give_back(first, nullptr);
  }

  // The end of each list of a loop that takes calls.
  static internal::PassedCall last;

 private:
  void give_back(internal::PassedCall* next) {
    if (place_ == nullptr) return;
    internal::PassedCall* const list = place_->exchange(next, std::memory_order_acq_rel);
    if (list != nullptr && list != &last) steps_ = list->steps;
    if (list != nullptr && steps_ != nullptr) steps_->give_back(list, &requests_);
  }

  Requests& requests_;
  Place* place_ = nullptr;
  const internal::PassedCall::Steps* steps_ = nullptr;  // null: no Client has passed a call yet
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_PASSED_CALLS_HPP
