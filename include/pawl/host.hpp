// Host: a whole program around a Runtime, on Linux.
//
// Purpose: port, memory, signals and loop in one object, for a program that does nothing else. Its
// first error stays: later calls do nothing, and run() logs it and answers 1, so main() needs no
// check of its own. A device that counts its memory, a program with a loop of its own, and any
// other system use Process, a port and Runtime instead (docs/guide/running.md, "A program of your
// own"). A first program includes this header and no other; docs/guide/small-api.md has the calls
// that it needs.
// Ownership: the Host owns everything, its memory included: two blocks of the heap that start()
// takes. They are freed with the Host, but SQLite's block is not while the program has connections
// of its own open (Process::stop()). Objects that its options point to outlive it, and so do names
// given to it. A process has one Host at a time, since SQLite's memory is global.
// Thread rule: one thread; the handlers of SIGINT and SIGTERM belong to the Host from start() to
// stop().
#ifndef PAWL_HOST_HPP
#define PAWL_HOST_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "pawl/host_client.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The options of each part, with which start() begins, and the way in which the program ends.
struct HostOptions {
  HostOptions() {
    process.connections_max = 1;
    process.page_cache_pages = runtime.space.cache_pages;
    process.payload_bytes_max = runtime.limits.payload_bytes_max;
  }

  Options runtime;  // if log is null, warnings and errors go to standard error, with times
  // connections_max: 1, for the Runtime; add one for each Client of this process, and its pages.
  // page_cache_pages: the default of the Runtime's cache_pages. payload_bytes_max: that of the
  // Runtime, if it has more; set it to more if other processes write larger payloads.
  ProcessOptions process;
  posix::PortOptions port;  // the port of this machine
  bool catch_signals =
      true;  // SIGINT and SIGTERM stop it in order; a second one of a kind ends the process at once
  std::chrono::milliseconds grace{
      // The time that running activities have to end when the Host stops, 0 or more.
      10'000};
};

class Host : public TypedRegistration<Host> {
 public:
  // Each of these also takes a definition of pawl/typed.hpp and a function of its types.
  using TypedRegistration::add_activity;
  using TypedRegistration::add_cooperative;
  using TypedRegistration::add_orchestration;

  // Keeps the options, or the path and otherwise the defaults; start() uses them.
  explicit Host(const Path& database_path);
  explicit Host(const HostOptions& options);
  // Does what stop() does; the log has a failure of that.
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Registers code, as Registry's functions of these names do.
  // Returns the Host, so that calls can be chained.
  // Requires: a call before start(). The errors are Registry's, each with the name.
  Host& add_orchestration(BorrowedText name, OrchestrationCode code, BorrowedText version = "1.0.0",
                          void* user = nullptr);
  Host& add_activity(BorrowedText name, ActivityCode code,
                     ActivityMode mode = ActivityMode::kInline, void* user = nullptr);
  template <typename State>
  Host& add_cooperative(BorrowedText name, ActivityStep (*step)(ActivityContext&, State&),
                        void* user = nullptr) {
    return added("add_cooperative", name, registry().add_cooperative(name, step, user));
  }
  // The same for the calls of pawl/typed_code.hpp.
  // Returns the Host.
  Host& add_cooperative(BorrowedText name, const internal::CooperativeCode& code,
                        void* user = nullptr) {
    return added("add_cooperative", name, registry().add_cooperative(name, code, user));
  }

  // Allows an activity that was added to answer complete_later(), as Registry's function does.
  // Returns the Host.
  Host& allow_complete_later(std::string_view activity_name) {
    return added("allow_complete_later", activity_name,
                 registry().allow_complete_later(activity_name));
  }

  // Takes the memory, opens or creates the database, and begins to work. The calls below do it,
  // too.
  // Returns the first error so far; kOk: it runs.
  // Requires: one call at most. The errors are those of Process::start() and Runtime::start();
  // kResourceExhausted: the heap has too little memory.
  Status start();
  // Starts an instance unless one of this id exists, running or ended. It is meant for the
  // instances that a program begins with.
  // Returns the Host.
  // Requires: as Client::start_orchestration(). Each of its errors but kAlreadyExists ends run().
  Host& start_once(std::string_view name, const InstanceId& id, std::string_view input);
  template <typename In, typename Out>
  Host& start_once(const OrchestrationType<In, Out>& type, const InstanceId& id,
                   const internal::Same<In>& input) {
    const internal::Encoded<In> encoded(typed_bytes(), input);
    return encoded.status() == Status::kOk ? start_once(type.name(), id, encoded.text())
                                           : added("start_once", id, encoded.status());
  }
  // Works until SIGINT, SIGTERM or Runtime::request_stop(), then stops.
  // Returns the exit status for main(): 0, or 1 after an error, which is in the log.
  int run();
  // Works until this instance has ended or is stopped, then stops.
  // Returns 0 if it completed, 1 in any other case: the log has its error, or says that a signal
  // came before its end.
  int run_until_done(std::string_view id);
  // Ends in order: running activities have `grace`. Does nothing if it does not run.
  // Returns kOk; kTimeout: an activity did not come back; the log has "thread_runs" with the
  // thread's name, run() answers 1, and the memory that the thread uses stays until the process
  // ends.
  Status stop();

  // The parts, for everything that the Host has no call for.
  [[nodiscard]] HostOptions& options();  // to be changed before start()
  [[nodiscard]] Registry& registry();    // to be filled before start()
  [[nodiscard]] Runtime& runtime();
  [[nodiscard]] Process& process();
  [[nodiscard]] port::Clock& clock();  // the machine's clock, for a SessionCache
  // Shows other threads the state of the Runtime. The first call makes it, and must come before
  // start().
  [[nodiscard]] RuntimeBoard& board();
  // The first error and its text; kOk if there is none.
  [[nodiscard]] Status status() const;
  [[nodiscard]] std::string_view error_text() const;

 private:
  struct [[gnu::visibility("hidden")]] Parts;
  Host& added(const char* call, std::string_view name, Status status);
  internal::TypedBytes typed_bytes();
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_HOST_HPP
