// The content of a soak and its expected result: a plan made from a seed, a journal of what was
// sent with which answer, and the expectations on what each instance has counted. Links nothing of
// Pawl.
//
// Every message has its own token, "K.G": the K-th action of its instance, sent for the G-th time.
// A sender that was killed, or does not know the outcome, sends the action again under the next G.
// So a token that was acknowledged must be counted exactly once or, if its instance was cancelled,
// be unread; a token without an answer at most once, and a refused one never. A message with a key
// is sent again as it was.
#ifndef PAWL_TEST_SOAK_PLAN_HPP
#define PAWL_TEST_SOAK_PLAN_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace soak {

// How an instance handles its messages: soak_code.cpp.
enum class Kind : int {
  kReader = 0,  // waits for a message against a timer, leaves an open wait at each continue-as-new
  kDrainer,     // drains its queue without waiting
  kBranches,    // two branches wait side by side
  kValues,      // counts in its values
  kParent,      // starts a child and a detached instance for each message
  kRaised,      // waits for raised events, each sent while it waits for it
  kSessions,    // uses shared, device, exclusive and lost sessions
  kRetrier,     // activities with failing attempts, and on threads
  kEmptier,     // empties its queue until an activity says that all has been sent, then ends
  kOutside,     // activities that are completed from outside
  // Those below are not cancelled, and their messages have keys.
  kThread,     // ends whenever its queue is empty; a message begins the next execution
  kServer,     // answers calls, some of them in the next execution
  kForwarder,  // sends each message on to a thread of its own
  kKinds,
};

// Messages with keys are known when they come again.
[[nodiscard]] constexpr bool has_keys(Kind kind) { return kind >= Kind::kThread; }

enum class Verb : int { kStart, kSend, kCancel, kLimitTime, kSuspend, kResume, kEnd };

struct Instance {
  Kind kind = Kind::kReader;
  std::string id;
  std::vector<Verb> actions;
  [[nodiscard]] bool is_cancelled() const;  // or over its time limit
};

[[nodiscard]] const char* name_of(Kind kind);
// The thread to which a forwarder sends what it receives.
[[nodiscard]] std::string thread_of(const std::string& forwarder);

class Plan {
 public:
  // `messages` is the total for all instances, without the last message of each, which ends it.
  Plan(std::uint64_t seed, std::size_t instances, std::size_t messages);
  [[nodiscard]] const std::vector<Instance>& instances() const { return instances_; }
  [[nodiscard]] std::size_t actions() const;

 private:
  std::vector<Instance> instances_;
};

enum class Answer : int {
  kAccepted,  // written
  kRefused,   // not written; to be tried again
  kEnded,     // not written; the instance has ended
  kUnknown,   // no answer
};

struct Try {
  std::size_t action = 0;
  int generation = 0;
  Answer answer = Answer::kUnknown;
};

// The tries of each instance, in order. The lines of its text: "try I K G", then "answer I K G
// ANSWER".
class Journal {
 public:
  explicit Journal(const Plan& plan) : plan_(plan), tries_(plan.instances().size()) {}
  void apply(const std::string& line);
  [[nodiscard]] std::string try_line(std::size_t instance) const;
  [[nodiscard]] static std::string answer_line(std::size_t instance, const Try& of, Answer answer);
  // The action that is next; its number of actions: none is left.
  [[nodiscard]] std::size_t next_action(std::size_t instance) const;
  [[nodiscard]] const std::vector<Try>& tries(std::size_t instance) const {
    return tries_[instance];
  }
  [[nodiscard]] bool is_done() const;
  // All but the end of this instance has been answered.
  [[nodiscard]] bool is_sent(const std::string& id) const;
  [[nodiscard]] std::size_t answers() const { return answers_; }

 private:
  [[nodiscard]] int next_generation(std::size_t instance) const;
  const Plan& plan_;
  std::vector<std::vector<Try>> tries_;
  std::size_t answers_ = 0;
};

[[nodiscard]] std::string token_of(const Try& one);

// One call to the system under test. Answers now or later, by Driver::on_answer().
struct Call {
  std::size_t instance = 0;
  Verb verb = Verb::kStart;
  const Instance* of = nullptr;
  std::string token;
  bool is_again = false;  // it was acknowledged before, so it must be again, and changes nothing
};

// Chooses what to do next, in the order of the plan within each instance.
class Driver {
 public:
  // `write`: keeps a line of the journal, before it counts.
  Driver(const Plan& plan, std::uint64_t seed, std::function<void(const std::string&)> write);
  // Takes a line that a driver before this one wrote. Calls without an answer are sent again.
  void restore(const std::string& line) { journal_.apply(line); }
  // False: nothing can be done now. `is_waited_for` says whether a raised event of this number
  // would be received.
  bool next(const std::function<bool(std::size_t instance, std::size_t action)>& is_waited_for,
            Call* call);
  // Says what must not be answered; else empty.
  std::string on_answer(const Call& call, Answer answer);
  [[nodiscard]] const Journal& journal() const { return journal_; }

 private:
  bool repeats(std::size_t instance, Call* call);

  const Plan& plan_;
  Journal journal_;
  std::vector<bool> busy_;
  std::mt19937_64 random_;
  std::function<void(const std::string&)> write_;
};

// How an instance ended.
struct Ended {
  bool is_there = false;
  bool has_completed = false;
  std::string output;
  std::vector<std::string> unread;  // payloads of the messages that it left
};

// Says what is not as it must be, a line for each problem.
[[nodiscard]] std::vector<std::string> wrong_counts(
    const Plan& plan, const Journal& journal,
    const std::function<Ended(const std::string& id)>& find);

// Runs of activities and deaths of workers, in their order.
class Runs {
 public:
  // "run KEY ATTEMPT RETRY WORKER" or "killed WORKER".
  void apply(const std::string& line);
  // Those that ran again although the worker of the run before lived.
  [[nodiscard]] const std::vector<std::string>& unexplained() const { return unexplained_; }
  [[nodiscard]] std::size_t runs() const { return runs_; }
  [[nodiscard]] std::size_t repeated() const { return repeated_; }

 private:
  struct Last {
    std::string worker;
    long retry = 0;
    long attempt = 0;
  };
  std::map<std::string, Last> last_;
  std::map<std::string, bool> killed_;
  std::vector<std::string> unexplained_;
  std::size_t runs_ = 0;
  std::size_t repeated_ = 0;
};

}  // namespace soak

#endif  // PAWL_TEST_SOAK_PLAN_HPP
