// Requests: calls of the Runtime's own thread that are piggybacked on the next tick.
//
// Purpose: does the Client's calls without a commit for each. Ownership: texts are copied into a
// pool.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_REQUESTS_HPP
#define PAWL_RUNTIME_REQUESTS_HPP

#include <cstring>
#include <new>
#include <optional>

#include "core/arena.hpp"
#include "core/buddy.hpp"
#include "core/check.hpp"
#include "pawl/options.hpp"
#include "pawl/runtime.hpp"
#include "store/store.hpp"

namespace pawl {

class Devices;
class Inbox;
struct LoopContext;
class Removals;
struct Turn;
class TurnList;

// The start of a request: of its own, or for a message whose instance is not there or has ended.
struct StartRequest {
  std::string_view name;     // of the orchestration
  std::string_view version;  // empty: the default version
  std::string_view input;
  std::string_view trace;  // empty: none
  std::int64_t start_after_ms = 0;
  OptionalMs time_limit_ms;  // none: that of the definition
  IdInUse in_use;
};

// The parts of a tick that only messages need. A program that sends none does not link them, since
// only the kinds of calls that send one name them.
struct MessageSteps {
  void (Inbox::*look)();
  void (Inbox::*collect)(TurnList& turns);
  Status (Inbox::*reserve_numbers)(TurnList& turns);
  Status (Inbox::*settle)(const Turn& turn);
};

struct Request {
  // How the batch goes on after a request. `room` false: the answer is kResourceExhausted. `more`:
  // the request stays first, and goes on with the next batch.
  struct Outcome {
    bool room = true;
    bool more = false;
    InstanceKey key = 0;  // of the instance that was started
  };
  // The parts of the loop that write requests.
  struct Parts {
    LoopContext& loop;
    Inbox& inbox;
    Devices& devices;
    Removals& removals;
  };
  // A kind says how one call of the Runtime is done. Only that call names it, so a program does not
  // link the calls that it never makes. Rejected: an enumeration, whose switch would link all.
  struct Kind {
    // In the batch. `turn` is the one that the request is piggybacked on; null: none.
    Status (*write)(const Parts& parts, Request& request, Turn* turn, Outcome* outcome);
    bool starts = false;   // its instance may take its first turn in this tick
    bool removes = false;  // may need several batches: requests behind it wait
    std::optional<MessageKind> sends = {};
    const MessageSteps* steps = nullptr;  // of a message
    // After the commit, whatever the status.
    void (Devices::*committed)(const Request& request) = nullptr;
  };

  const Kind* kind = nullptr;
  std::string_view id;
  std::string_view name;  // of an event or queue
  std::string_view text;  // a reason or payload
  Answer answer = nullptr;
  void* user = nullptr;
  OfferAnswer offer_answer = nullptr;  // an offer: called in place of `answer`
  bool received = false;      // an offer: a wait received it, in the turn that it is piggybacked on
  bool standby = false;       // a declaration
  bool force = false;         // a deletion
  bool begun = false;         // a deletion: only the sweep is left
  bool has_call_row = false;  // a call: the row of its answer is made, in the batch at hand
  Status status = Status::kOk;  // decided in the batch, answered after the commit
  PruneLimits limits = {};      // a pruning
  // Null: it starts nothing. A change of the time limit has that alone.
  const StartRequest* start = nullptr;
  const std::string_view* key = nullptr;  // of a message; null: it has none
  void* block = nullptr;                  // from the pool; holds the start and all texts
  // A message: key of the turn in the batch at hand that takes it; 0: none.
  InstanceKey piggybacks_on = 0;
};

// A ring of requests. The batch at hand takes them from the front.
class Requests {
 public:
  template <typename AnyArena>
  Status allocate(AnyArena& arena, const Options& options) {
    capacity_ = options.limits.requests_max;
    ring_ = static_cast<Request*>(arena.allocate(sizeof(Request) * capacity_, alignof(Request)));
    // The largest call fits: a message that starts an instance, with an input of its own.
    constexpr std::size_t kNames =
        4 * kNameBytesMax + kTraceIdBytesMax + sizeof(StartRequest) + sizeof(std::string_view) + 1;
    const std::size_t largest =
        BuddyPool::block_bytes_for(2 * options.limits.payload_bytes_max + kNames);
    pool_bytes_ = capacity_ * 128 + largest + largest / BuddyPool::kBlockBytesMin;
    pool_block_ = arena.allocate(pool_bytes_, kArenaAlign);
    return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
  }
  void start() { pool_.attach(pool_block_, pool_bytes_); }

  Status push(const Request& request) {
    if (size_ == capacity_) return Status::kResourceExhausted;
    const std::size_t bytes =
        (request.start == nullptr ? 0 : bytes_of(*request.start)) +
        (request.key == nullptr ? 0 : sizeof(std::string_view) + request.key->size()) +
        request.id.size() + request.name.size() + request.text.size() + 1;
    void* const block = pool_.allocate(bytes);
    if (block == nullptr) return Status::kResourceExhausted;
    Request& kept =
        *::new (static_cast<void*>(&ring_[(first_ + size_) % capacity_])) Request(request);
    kept.block = block;
    char* at = static_cast<char*>(block);
    StartRequest* const start = keep(request.start, &at);
    std::string_view* const key = keep(request.key, &at);
    if (start != nullptr)
      for (std::string_view* view : {&start->name, &start->version, &start->input, &start->trace})
        at = keep(at, view);
    if (key != nullptr) at = keep(at, key);
    kept.start = start;
    kept.key = key;
    for (std::string_view* view : {&kept.id, &kept.name, &kept.text})
      at = keep(at, view);
    ++size_;
    return Status::kOk;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] Request& at(std::size_t index) { return ring_[(first_ + index) % capacity_]; }
  // Gives the block of the first request back; the caller keeps what it needs by value. Requires:
  // size() > 0.
  void pop() {
    PAWL_CHECK("runtime-20", size_ > 0);
    pool_.release(ring_[first_].block);
    first_ = (first_ + 1) % capacity_;
    --size_;
  }

 private:
  static std::size_t bytes_of(const StartRequest& start) {
    return sizeof(StartRequest) + start.name.size() + start.version.size() + start.input.size() +
           start.trace.size();
  }
  // Copies a value to *at, and moves *at behind it. Null: there is none.
  template <typename T>
  static T* keep(const T* value, char** at) {
    if (value == nullptr) return nullptr;
    T* const kept = ::new (static_cast<void*>(*at)) T(*value);
    *at += sizeof(T);
    return kept;
  }
  // Copies the text to `at`; returns the end of the copy.
  static char* keep(char* at, std::string_view* text) {
    if (!text->empty()) std::memcpy(at, text->data(), text->size());
    *text = std::string_view(at, text->size());
    return at + text->size();
  }

  Request* ring_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  void* pool_block_ = nullptr;
  std::size_t pool_bytes_ = 0;
  BuddyPool pool_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_REQUESTS_HPP
