// OrchestrationContext: the calls of an orchestration's code.
//
// Purpose: an orchestration is an ordinary function that Pawl runs again from its top at every
// turn; each await finds its recorded result or leaves the function with "pending". So one rule
// comes first: the code between two awaits runs many times. Keep it cheap and pure: no clock, no
// random, no I/O, no static state; side effects belong in activities.
// Ownership: the context, its handles and every view they return live until the function returns.
// Thread rule: all of it happens on the thread that owns the Runtime.
// Source of the semantics: docs/architecture/replay.md.
#ifndef PAWL_ORCHESTRATION_HPP
#define PAWL_ORCHESTRATION_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "pawl/activity_options.hpp"
#include "pawl/await.hpp"
#include "pawl/error.hpp"
#include "pawl/exceptions.hpp"
#include "pawl/handle.hpp"
#include "pawl/json.hpp"
#include "pawl/kv.hpp"
#include "pawl/log.hpp"
#include "pawl/name.hpp"
#include "pawl/session.hpp"
#include "pawl/typed.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class OrchestrationContext;
namespace internal {
class [[gnu::visibility("hidden")]] Pass;
struct [[gnu::visibility("hidden")]] BranchRun;
}  // namespace internal

// Options of schedule_sub_orchestration().
struct ChildOptions {
  // The child's id: a plain id (is_plain_id()) without "::". None: Pawl makes
  // "<parent>::<execution>.<event>", which is unique for ever.
  std::optional<InstanceId> id = std::nullopt;
  // The version of the code, in the form of Registry; the worker that runs the child must have it
  // registered. None: this worker's default version at the time when the child begins.
  std::optional<Name> version = std::nullopt;
};

// Options of start_orchestration().
struct DetachedOptions {
  std::optional<Name> version = std::nullopt;  // as ChildOptions::version
};

class OrchestrationContext : public TypedContextCalls<OrchestrationContext> {
 public:
  // Each of these also takes a definition of pawl/typed.hpp and a value.
  using TypedContextCalls::complete;
  using TypedContextCalls::continue_as_new;
  using TypedContextCalls::dequeue_event;
  using TypedContextCalls::schedule_activity;
  using TypedContextCalls::schedule_sub_orchestration;
  using TypedContextCalls::schedule_wait;
  using TypedContextCalls::start_orchestration;
  using TypedContextCalls::try_dequeue_event;

  // ---- who am I ----
  // The instance and the execution that this is, and the name that its code was registered with.
  [[nodiscard]] std::string_view instance_id() const;
  [[nodiscard]] std::int64_t execution_id() const;
  [[nodiscard]] std::string_view orchestration_name() const;
  // The version that this execution runs, in the form of Registry.
  [[nodiscard]] std::string_view orchestration_version() const;
  // StartOptions::trace_id of the instance; empty: none.
  [[nodiscard]] std::string_view trace_id() const;
  // The bytes that this execution began with; the same in every turn.
  [[nodiscard]] std::string_view input() const;
  // The pointer that the registration gave. Its target must be the same in every turn: settings of
  // the program, no clock and no counters.
  [[nodiscard]] void* user() const;
  // True while the code between the last await and here has run in an earlier turn.
  [[nodiscard]] bool is_replaying() const;
  // True after an await answered pending: the function is on its way out.
  [[nodiscard]] bool is_suspended() const;
  // The time of the event that this function has come to, in ms since 1970 UTC. It is not recorded
  // and costs nothing.
  [[nodiscard]] std::int64_t now_ms() const;

  // The length of this execution's history, up to the event that this function has come to.
  [[nodiscard]] std::uint32_t history_length() const;
  // Whether that is three quarters of history_events_max (of the worker that began the execution).
  // Then it is time for continue_as_new(): at the limit the execution fails.
  [[nodiscard]] bool is_continue_as_new_due() const;

  // ---- cancellation (Client::cancel_instance()) ----
  // From the request on, each await answers kCancelled, unless its result came before the request;
  // activities, timers, waits, children and reads of other instances are not scheduled any more,
  // and their handles answer kCancelled. Code that puts things right stands in a scope, which lets
  // them through: const pawl::CleanUpScope scope = ctx.clean_up(). The grace goes on.
  [[nodiscard]] CleanUpScope clean_up();
  // Whether this branch has come to the request, by an await or from the start of its execution.
  [[nodiscard]] bool cancel_requested() const;
  // The reason that was given; none: cancel_requested() is false.
  [[nodiscard]] std::optional<std::string_view> cancel_reason() const;

  // ---- commands: recorded, numbered, compared with history on replay ----
  // Schedules an activity. The second form takes options: where it runs, retries, limits. The third
  // takes only the place where it runs. There is one handle and one result, however many attempts
  // it takes.
  // Returns its handle. The outcome is the activity's result or error, or an ErrorKind of a limit,
  // a session or a cancellation.
  // Requires: a name, a session and a tag of 1..256 bytes without control characters, the session a
  // plain id (is_plain_id()), and options in their ranges (kInvalidArgument at the await); `input`
  // of at most payload_bytes_max (kLimit at the await). Else nothing is recorded.
  Handle schedule_activity(std::string_view name, std::string_view input);
  Handle schedule_activity(std::string_view name, std::string_view input,
                           const ActivityOptions& options);
  Handle schedule_activity(std::string_view name, std::string_view input, const Target& target);
  // ---- sessions ----
  // Opens a session, in the commit of this turn. Without an id, its identity is the place of this
  // call in the code, so another execution opens another one. With an id, an open session of this
  // instance is found again as it is, also after continue_as_new(); an ended one is opened anew.
  // Returns the session. If too many are open (SessionOptions), session_opened() says so.
  // Requires: a plain id (is_plain_id()) of 1..248 bytes, and settings that agree (an empty
  // Session: activities scheduled on it are kInvalidArgument at the await).
  Session open_session(const SessionSettings& settings = SessionSettings());
  Session open_session(std::string_view id, const SessionSettings& settings = SessionSettings());
  // Gives settings to the shared session of this name, in the commit of this turn, and makes it if
  // there is none, or it has ended. The settings of an open one change, as by change_session().
  // Returns the session, which Target::session() names, too.
  // Requires: a plain id (is_plain_id()) of 1..241 bytes, and settings that agree (an empty
  // Session).
  Session use_session(std::string_view name, const SessionSettings& settings);
  // Adopts a session that another instance opened, to work on it until its opener closes it or ends
  // (kSessionClosed). Nothing is recorded.
  // Returns the session.
  // Requires: ids that live until the function returns (an empty Session).
  Session adopt_session(std::string_view instance, std::string_view session) const;
  // Asks whether the session is open when the commit of this turn comes to this place.
  // Returns its handle. The outcome is ok and empty, or kLimit, whose text names the limit, the
  // owner label and a session to close; kSessionLost; kSessionClosed.
  // Requires: a session that is not empty (kInvalidArgument at the await).
  Handle session_opened(const Session& session);
  // Changes the settings of an open session, in the commit of this turn; the last change wins.
  // Counts and age go on. A shared one stays exclusive, and notifies the instance that asked for
  // it; a device takes no age. Nothing happens if it is not open, or a new owner label has too
  // many.
  // Returns kNone.
  // Requires: a session that was not adopted, and settings that agree (kInvalidArgument).
  ErrorKind change_session(const Session& session, const SessionSettings& settings);
  // Closes an open session (an id means one that this instance opened): its activities that have no
  // result yet fail with kSessionClosed, and those that run are cancelled.
  // Returns kNone.
  // Requires: an id as above, or a session that was not adopted (kInvalidArgument).
  ErrorKind close_session(std::string_view id);
  ErrorKind close_session(const Session& session);
  // Keeps a session without work with its owner for `hold` from the commit of this turn. If this
  // instance opened it, the last call counts, and 0 ends the hold; a shared one is held until the
  // latest end asked for. A name means the shared session, else one that this instance opened.
  // Returns kNone.
  // Requires: as close_session(), and 0..kDurationMax (kInvalidArgument).
  ErrorKind hold_session(const Session& session, std::chrono::milliseconds hold);
  ErrorKind hold_session(std::string_view session, std::chrono::milliseconds hold);
  // Gives a session to the workers that serve `tag` (Options::worker_tag_filter; empty: those that
  // take work without a tag). Its owner releases it as with Client::transfer_session(), and from
  // the commit of this turn on its work without a tag has this one. The first activity of each
  // later ownership can read `summary` (ActivityContext::session_summary()), until the next handoff
  // or opening. One that fails on loss is lost; a device is left alone. Names are as above.
  // Returns kNone.
  // Requires: as close_session(), and a tag as above (kInvalidArgument); a summary of at most
  // kSessionSummaryBytesMax (kLimit). Else nothing is recorded.
  ErrorKind handoff_session(const Session& session, std::string_view tag,
                            std::string_view summary = {});
  ErrorKind handoff_session(std::string_view session, std::string_view tag,
                            std::string_view summary = {});
  // Waits for the next message about a session with SessionSettings::notify, in a queue as that of
  // dequeue_event(). The payload is a SessionEvent as JSON.
  // Returns its handle.
  // Requires: a session that was not adopted (kInvalidArgument at the await).
  Handle session_events(const Session& session);
  // Starts a durable timer. The first form fires `delay` after the commit of this turn, in time
  // that truly passed; a negative delay counts as 0. The second fires when trusted UTC has reached
  // `utc_ms` (ms since 1970).
  // Returns its handle; the outcome has no value.
  Handle schedule_timer(std::chrono::milliseconds delay);
  Handle schedule_timer_at(std::int64_t utc_ms);
  // Waits for the next event of this name (Client::raise_event()), raised before or after this
  // call. The oldest of several open waits of one name gets the event. Events wait and go back as
  // messages of queues do: see dequeue_event().
  // Returns its handle; the outcome is the payload.
  // Requires: a name as above (kInvalidArgument at the await).
  Handle schedule_wait(std::string_view name);
  // Takes the next message of this queue (Client::enqueue_event()), sent before or after this call.
  // Messages wait until they are taken, over continue_as_new() too. A message goes back to the
  // queue, before all younger ones, if its wait lost a select, was cancelled or was open at the
  // end, and no code received it.
  // Returns its handle; the outcome is the payload.
  // Requires: a name as above (kInvalidArgument at the await).
  Handle dequeue_event(std::string_view queue);
  // Does what dequeue_event() does, but is answered within this turn. If a turn reads only a part
  // of the stored messages (instance_batch_max), the answer comes in the turn that has read all of
  // them. An older open dequeue_event() of the same queue goes first. Costs two recorded events.
  // Returns its handle; the outcome is the payload, or kNotFound: no message waits that came before
  // the turn began.
  // Requires: a name as above (kInvalidArgument at the await).
  Handle try_dequeue_event(std::string_view queue);
  // ---- other orchestrations: created in the commit of this turn ----
  // Starts a child. The parent gets its end exactly once, over crashes of either and over
  // continue-as-new of the child. A child's kCancelled and kClosed arrive as kApplication, since at
  // this await they are the parent's own. When the parent closes the handle, ends or continues as
  // new, an open child gets a cancel request.
  // Returns its handle; the outcome is the child's, or kApplication if another instance has this
  // id; that instance is left alone.
  // Requires: a name, an id and a version as ChildOptions says, and without an id a made one of at
  // most 256 bytes (kInvalidArgument at the await); `input` of at most payload_bytes_max (kLimit at
  // the await).
  Handle schedule_sub_orchestration(std::string_view name, std::string_view input,
                                    const ChildOptions& options = ChildOptions());
  // Starts an instance without a parent: there is no result and no link, and it does not end with
  // this instance. Every turn that is recorded starts it, also one that ends or continues as new.
  // If the id exists, that instance is left alone and the worker logs "start_refused".
  // Returns kNone.
  // Requires: a name, an id and a version as above (kInvalidArgument); `input` of at most
  // payload_bytes_max (kLimit). Else nothing is recorded.
  ErrorKind start_orchestration(std::string_view name, const InstanceId& id, std::string_view input,
                                const DetachedOptions& options = DetachedOptions());
  // Makes a random id and records it in the turn itself: no activity, no extra commit.
  Guid new_guid();
  // Reads the clock: UTC as well as this machine knows it, in ms since 1970. The value is recorded.
  std::int64_t utc_now_ms();

  // ---- shown to clients while it runs ----
  // Sets the text that Client::get_status() shows beside the state: any bytes. It belongs to the
  // instance, so it outlives continue_as_new() and the end. Each change is recorded. Clients see it
  // when the turn is committed; of several changes in one turn they see the last.
  // Returns kNone.
  // Requires: at most 4096 bytes (kLimit, and nothing changes).
  ErrorKind set_custom_status(std::string_view text);
  // Makes the text empty again; a change like any other.
  void reset_custom_status();
  // The text that was set last, also by an earlier execution. Empty: none was set, or it was reset.
  // A branch sees it as it would see a value (below).
  std::string_view get_custom_status();

  // ---- values of this instance, by keys ----
  // They outlive continue_as_new() and the end, and go with the instance. A key is a name, a value
  // any bytes. Writes are recorded and clients see them when the turn is committed; reads are
  // answered from memory and cost nothing. A branch sees its own writes, those of its ancestors
  // before its opening, those of branches whose result it received, and of all others those that
  // were recorded before the event it has come to.

  // Writes a value; an empty one is a value.
  // Returns kNone; kLimit: the instance would have more than kv_keys_max keys, or more than a
  // quarter of warm_bytes of keys and values, or the value is longer than payload_bytes_max; that
  // is recorded, the old value stays.
  // Requires: a key of 1..256 bytes without control characters (kInvalidArgument, nothing is
  // recorded).
  ErrorKind set_kv_value(std::string_view key, std::string_view value);
  // The value of a key, whether there is one, and the number of keys.
  std::optional<std::string_view> get_kv_value(std::string_view key);
  bool has_kv_value(std::string_view key) { return get_kv_value(key).has_value(); }
  std::size_t get_kv_length();
  // Reads the next key and its value, in order of the keys: for (KvEntry entry;
  // ctx.next_kv_value(&entry);) reads all, and may write meanwhile. False: there are no more.
  bool next_kv_value(KvEntry* entry);
  // Removes a value; recorded whether there is one or not.
  // Returns kNone.
  // Requires: a key as above (kInvalidArgument, nothing is recorded).
  ErrorKind clear_kv_value(std::string_view key);
  // Removes all values, with one recorded event a key, and answers how many there were.
  std::size_t clear_all_kv_values();
  // Removes in the same way the values that were written last before this time
  // (KvEntry::updated_ms, ms UTC since 1970).
  std::size_t prune_kv_values_updated_before(std::int64_t utc_ms);
  // Reads a value of another instance, or of this one. It is read in the commit of this turn, and
  // the result comes with the next turn, which follows at once. Use from_json() on the result for a
  // struct.
  // Returns its handle; the outcome is the value, or kNoInstance, kNotFound (the instance has no
  // such key), or kCorrupt (the stored value is damaged).
  // Requires: an id and a key as above (kInvalidArgument at the await).
  Handle get_kv_value_from_instance(std::string_view instance, std::string_view key);
  // Writes a struct with a PAWL_JSON.
  // Returns the same as set_kv_value().
  // Requires: as set_kv_value(); a text of at most payload_bytes_max (kLimit); numbers that JSON
  // has (kInvalidArgument).
  template <typename T>
  ErrorKind set_kv_value_typed(std::string_view key, const T& value) {
    const internal::Encoded<T> encoded(typed_bytes(), value);
    if (encoded.status() == Status::kResourceExhausted) return ErrorKind::kLimit;
    if (encoded.status() != Status::kOk) return ErrorKind::kInvalidArgument;
    return set_kv_value(key, encoded.text());
  }
  // Reads a struct with a PAWL_JSON.
  // Returns the same as from_json(); kNotFound: there is none.
  template <typename T>
  Status get_kv_value_typed(std::string_view key, T* out, Diagnostic* why = nullptr) {
    const std::optional<std::string_view> text = get_kv_value(key);
    return text.has_value() ? from_json(*text, out, why) : Status::kNotFound;
  }

  // ---- several at once ----
  // Runs `body`, a callable Poll(OrchestrationContext&), as a branch: it runs to its first pending
  // await or its end, then the code behind open_branch() goes on. A branch has an order of its own
  // and shares nothing but handles: let it read what stood before its opening, write only its own
  // locals, use only its own context, and return through complete() or fail(). Whatever it has open
  // at its end is closed.
  // Returns its handle; the outcome is what it ended with.
  // Requires: at most 32 levels below the root; deeper ones do not run, and their await answers
  // kLimit.
  template <typename Body, typename Mode = internal::ExceptionMode>
  Handle open_branch(Body body) {
    static_assert(std::is_invocable_r_v<Poll, Body&, OrchestrationContext&>,
                  "a branch is a callable Poll(OrchestrationContext&)");
    return open_branch_with(
        [](void* callable, OrchestrationContext& context) -> Poll {
          return internal::call_application<Mode>(
              [&] { return (*static_cast<Body*>(callable))(context); },
              [&](const char* what) { return internal::stop_with_exception(context, what); });
        },
        &body);
  }
  // Has a result when all have one, be it an error; a join of none has one at once. Await the
  // handles then for their results, which may have come in any order. There may be any number of
  // handles; one may be there twice, and may be a join itself. One that is closed, or that cannot
  // be awaited here (empty, of another run, of a branch that is not above), has its error already.
  // Returns its handle; the outcome has no value.
  template <typename Range, std::enable_if_t<internal::kIsHandles<Range>, int> = 0>
  Handle join(const Range& handles) {
    return join_all(std::data(handles), std::size(handles));
  }
  template <typename... Handles>
  Handle join(const Handles&... handles) {
    const Handle list[] = {Handle(), handles...};
    return join_all(list + 1, sizeof...(handles));
  }
  Handle join_all(const Handle* handles, std::size_t count);
  // PAWL_AWAIT(first, ctx.select(a, b)) gives the first to have a result; in a tie the earlier
  // argument wins. Losers are closed: an activity is cancelled, a timer removed, a branch retired;
  // later completions are void. Handles of other branches are left open, and so are those that were
  // received before or belong to the winner too. One that is closed already takes part with its
  // kClosed, a join of none wins at once. Each loser that is closed counts as a command.
  // Returns the selection to await.
  // Requires: one handle or more, each of which can be awaited here (kInvalidArgument at the await,
  // or the error of its own call; nothing is closed then).
  template <typename Range, std::enable_if_t<internal::kIsHandles<Range>, int> = 0>
  Selection select(const Range& handles) {
    return select_of(std::data(handles), std::size(handles));
  }
  template <typename... Handles>
  Selection select(const Handles&... handles) {
    const Handle list[] = {Handle(), handles...};
    return select_of(list + 1, sizeof...(handles));
  }
  Selection select_of(const Handle* handles, std::size_t count);
  // Closes the parts of the handle that this branch owns and has not received; its result is
  // kClosed from then on.
  void cancel(const Handle& handle);

  // ---- endings ----
  // Ends the execution, or the branch.
  // Returns what the function returns, at once and once.
  // Requires: an output of at most payload_bytes_max; else it ends as failed, with kLimit.
  // Why `const`: it distinguishes them from fail(), so that a PollOf can refuse a text if it has
  // none.
  // NOLINTNEXTLINE(readability-const-return-type)
  const Poll complete(std::string_view output);
  Poll fail(std::string_view text);
  Poll fail(const Error& error);
  // Ends this execution and starts the next of the same instance with an empty history. It begins
  // with this version; without one, with the Registry's default at that time, so a newer version
  // takes over here.
  // Returns what the function returns, at once and once.
  // Requires: the root, no branch; a version as in ChildOptions, else the execution fails with
  // kInvalidArgument; an input of at most payload_bytes_max, else it fails with kLimit.
  // NOLINTNEXTLINE(readability-const-return-type): as complete()
  const Poll continue_as_new(std::string_view input,
                             std::optional<std::string_view> version = std::nullopt);

  // Writes to the log sink once, after the commit of the turn that first came here.
  void trace(LogLevel level, std::string_view text);

 private:
  friend class internal::Pass;
  friend Poll internal::stop_with_exception(OrchestrationContext& context, const char* what);
  OrchestrationContext(internal::Pass& pass, internal::BranchRun& branch)
      : pass_(pass), branch_(branch) {}
  friend class TypedContextCalls<OrchestrationContext>;
  friend struct internal::MessageAccess;
  Handle refuse_payload();
  internal::TypedBytes typed_bytes();
  Handle open_branch_with(Poll (*call)(void*, OrchestrationContext&), void* callable);
  internal::Pass& pass_;
  internal::BranchRun& branch_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ORCHESTRATION_HPP
