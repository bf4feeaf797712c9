// Status and Result: the answers of every call of Pawl that can fail.
//
// Purpose: errors are values. A Status is one byte without text or heap; Result<T> is a Status or a
// value. Text for people goes into a caller-owned Diagnostic, which names the thing that failed.
// Ownership: all types are plain values. Thread rule: none is shared; copy them freely.
#ifndef PAWL_STATUS_HPP
#define PAWL_STATUS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

enum class [[nodiscard]] Status : std::uint8_t{
    kOk = 0,
    kInvalidArgument,    // a value is outside its documented range
    kInvalidOptions,     // options contradict each other; the diagnostic names both values
    kNotFound,           // no such instance, execution or file
    kAlreadyExists,      // an instance of this id exists
    kResourceExhausted,  // an arena, pool, queue or payload limit is reached; nothing was written
    kBusy,               // the database was locked for busy_max, or replaced while it was opened
    kStale,              // the token, revision or epoch is no longer the current one
    kWouldBlock,         // a blocking call on the thread that must do the work
    kTimeout,            // the stated time passed
    kCorrupt,            // stored data failed its checksum or form
    kIo,                 // the disk or file system reported an error
    kFull,               // no space left on the device
    kReadOnly,           // the database or its folder cannot be written
    kCannotOpen,         // the database's folder is missing or not accessible
    kForeignDatabase,    // the file is not a Pawl database
    kNewerDatabase,      // written by a newer Pawl
    kNodeIdInUse,        // another living process registered the same worker_node_id
    kForeignBoot,        // a worker of another kernel still holds its lock on this file
    kNetworkFilesystem,  // locks of a network file system cannot be trusted
    kSqliteAlreadyInitialised,  // the host used SQLite first; use SqliteMemory::kShared or kHost
    kUnsupported,               // the port or the storage lacks this
    kNondeterminism,            // the code does not match its history
    kAwaitSteppedOver,          // an orchestration went on after a pending await
    kBuried,                    // this worker was declared dead by others and must register anew
    kStopped,                   // request_stop() was called
    kVersionMismatch,           // a port of another interface version
    kStillRunning,              // the instance has not ended
    kDeviceHeld,                // a living worker has declared this device
    kNoEligibleTarget,          // the worker named cannot take the session
    kChildInstance,             // a child goes with its root: delete that
    kQuota,                     // no room for anything new; work that runs goes on
    kNotOwner,                  // the session has another owner label
    kException,                 // an exception left the code of an orchestration
    kNotRestartable,            // the instance has nothing to restart from; error_text() says why
    kOlderDatabase,             // written by an older Pawl, in a form that this one does not read
    kKeyReused,                 // another message came with this key before
    kInDoubt,                   // the server may have committed it: its answer was lost
};

// The stable, lower-case name of a status ("resource_exhausted"); never null.
[[nodiscard]] const char* status_name(Status status);

// The text of the last failure of one object, for people. Its size is fixed; a longer text is cut.
class Diagnostic {
 public:
  // The text that was written last; empty: none was.
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }
  // Makes it empty.
  void clear() { size_ = 0; }
  // Writes a text as printf() does; keeps at most kCapacity bytes and never allocates.
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  void
  format(const char* format, ...);
  static constexpr std::size_t kCapacity = 320;  // bytes

 private:
  char text_[kCapacity] = {};
  std::size_t size_ = 0;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that both a status and a value can be returned.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Status status) : status_(status) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : status_(Status::kOk), value_(value) {}
  [[nodiscard]] bool ok() const { return status_ == Status::kOk; }
  [[nodiscard]] Status status() const { return status_; }
  // Requires: ok(). Otherwise it is a default-constructed T.
  [[nodiscard]] const T& value() const { return value_; }
  [[nodiscard]] T value_or(T other) const { return ok() ? value_ : other; }

 private:
  Status status_;
  T value_{};
};

}  // namespace pawl

#define PAWL_CONCAT_INNER(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_INNER(a, b)
// Returns the status of `expr` from the enclosing function unless it is kOk.
#define PAWL_TRY(...)                                                     \
  do {                                                                    \
    const ::pawl::Status pawl_try_status_ = (__VA_ARGS__);                \
    if (pawl_try_status_ != ::pawl::Status::kOk) return pawl_try_status_; \
  } while (false)
#pragma GCC visibility pop

#endif  // PAWL_STATUS_HPP
