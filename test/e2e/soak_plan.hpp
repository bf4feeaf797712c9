// What a soak does and what must come of it: a plan made from a seed, a journal of what was sent
// with what answer, and the expectations on what each instance has counted. Links nothing of Pawl.
//
// Every message has a token of its own, "K.G": the K-th action of its instance, sent for the G-th
// time. A sender that was killed, or was answered that the outcome is not known, sends the action
// again under the next G. So each token that was acknowledged must be counted exactly once or, if its
// instance was cancelled, be unread; one without an answer at most once, and one that was refused
// never.
#ifndef PAWL_TEST_SOAK_PLAN_HPP
#define PAWL_TEST_SOAK_PLAN_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace soak {

// What an instance does with its messages; soak_code.cpp.
enum class Kind : int {
  kReader = 0,  // waits for one against a timer, leaves an open wait at each continue-as-new
  kDrainer,     // drains its queue without waiting
  kBranches,    // two branches wait side by side
  kValues,      // counts in its values
  kParent,      // children and detached starts for each
  kRaised,      // raised events, each when it waits for it
  kSessions,    // shared, device, exclusive and lost ones
  kRetrier,     // attempts that fail, threads
  kEmptier,     // empties its queue once an activity says that all has been sent, and ends
  kKinds,
};

enum class Verb : int { kStart, kSend, kCancel, kSuspend, kResume, kEnd };

struct Instance {
  Kind kind = Kind::kReader;
  std::string id;
  std::vector<Verb> actions;
  [[nodiscard]] bool is_cancelled() const;
};

[[nodiscard]] const char* name_of(Kind kind);

class Plan {
 public:
  // `messages` of all instances together; the last of each, which ends it, is not one of them.
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

// What was tried of each instance, in order. Lines of its text: "try I K G", then "answer I K G
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
};

// Chooses what to do next, in the order of the plan within each instance.
class Driver {
 public:
  // `write`: keeps a line of the journal, before it counts.
  Driver(const Plan& plan, std::uint64_t seed, std::function<void(const std::string&)> write);
  // What was written before this driver lived. Calls without an answer are sent again.
  void restore(const std::string& line) { journal_.apply(line); }
  // False: nothing can be done now. `is_waited_for` says whether a raised event of this number
  // would be received.
  bool next(const std::function<bool(std::size_t instance, std::size_t action)>& is_waited_for,
            Call* call);
  void on_answer(const Call& call, Answer answer);
  [[nodiscard]] const Journal& journal() const { return journal_; }

 private:
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

// What is not as it must be. Each problem is a line.
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
