#include "soak_plan.hpp"

#include <algorithm>
#include <sstream>

namespace soak {

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kReader: return "reader";
    case Kind::kDrainer: return "drainer";
    case Kind::kBranches: return "branches";
    case Kind::kValues: return "values";
    case Kind::kParent: return "parent";
    case Kind::kRaised: return "raised";
    case Kind::kSessions: return "sessions";
    case Kind::kRetrier: return "retrier";
    case Kind::kEmptier: return "emptier";
    case Kind::kOutside: return "outside";
    case Kind::kThread: return "thread";
    case Kind::kServer: return "server";
    case Kind::kForwarder: return "forwarder";
    case Kind::kKinds: break;
  }
  return "";
}

std::string thread_of(const std::string& forwarder) { return "thread-of-" + forwarder; }

bool Instance::is_cancelled() const {
  return std::find_if(actions.begin(), actions.end(), [](Verb verb) {
           return verb == Verb::kCancel || verb == Verb::kLimitTime;
         }) != actions.end();
}

// ---- Plan ----

// Every eleventh instance gets a burst of more messages than one turn takes; the others share the
// rest.
Plan::Plan(std::uint64_t seed, std::size_t instances, std::size_t messages) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> count(instances, 0);
  for (std::size_t sent = 0; sent < messages; ++sent) {
    const std::size_t any = random() % instances;
    ++count[sent % 3 == 0 ? any / 11 * 11 : any];
  }
  for (std::size_t i = 0; i < instances; ++i) {
    Instance one;
    one.kind = static_cast<Kind>(i % static_cast<std::size_t>(Kind::kKinds));
    one.id = std::string(name_of(one.kind)) + "-" + std::to_string(i);
    one.actions.push_back(Verb::kStart);
    const std::uint64_t cancel = has_keys(one.kind) ? 2 : random() % 12;
    const bool is_suspended = random() % 4 == 0;
    const std::size_t cancel_at = random() % (count[i] + 1);
    const std::size_t suspend_at = random() % (count[i] + 1);
    const std::size_t resume_at = suspend_at + random() % (count[i] + 1 - suspend_at);
    for (std::size_t sent = 0; sent <= count[i]; ++sent) {
      if (cancel < 2 && sent == cancel_at)
        one.actions.push_back(cancel == 0 ? Verb::kCancel : Verb::kLimitTime);
      if (is_suspended && sent == suspend_at) one.actions.push_back(Verb::kSuspend);
      // A raised event is sent when the instance says that it waits, which a suspended one never
      // says.
      const bool resumes = sent == resume_at && one.kind != Kind::kRaised && is_suspended;
      if (is_suspended && one.kind == Kind::kRaised && sent == suspend_at)
        one.actions.push_back(Verb::kResume);
      if (sent < count[i]) one.actions.push_back(Verb::kSend);
      if (resumes) one.actions.push_back(Verb::kResume);
    }
    one.actions.push_back(Verb::kEnd);
    instances_.push_back(one);
  }
}

std::size_t Plan::actions() const {
  std::size_t sum = 0;
  for (const Instance& one : instances_)
    sum += one.actions.size();
  return sum;
}

// ---- Journal ----

std::string token_of(const Try& one) {
  return std::to_string(one.action) + "." + std::to_string(one.generation);
}

void Journal::apply(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  std::size_t instance = 0;
  Try one;
  if (!(words >> word >> instance >> one.action >> one.generation) || instance >= tries_.size())
    return;
  std::vector<Try>& tries = tries_[instance];
  if (word == "try") {
    // A call that is tried again unchanged replaces its earlier try.
    const bool is_again = !tries.empty() && tries.back().action == one.action &&
                          tries.back().generation == one.generation;
    if (is_again) tries.pop_back();
    tries.push_back(one);
    return;
  }
  int answer = 0;
  if (!(words >> answer) || tries.empty()) return;
  tries.back().answer = static_cast<Answer>(answer);
  ++answers_;
}

std::size_t Journal::next_action(std::size_t instance) const {
  if (tries_[instance].empty()) return 0;
  const Try& last = tries_[instance].back();
  const bool is_done = last.answer == Answer::kAccepted || last.answer == Answer::kEnded;
  return last.action + (is_done ? 1 : 0);
}

int Journal::next_generation(std::size_t instance) const {
  if (tries_[instance].empty()) return 0;
  const Try& last = tries_[instance].back();
  if (last.action != next_action(instance)) return 0;
  const bool is_new =
      last.answer == Answer::kUnknown && !has_keys(plan_.instances()[instance].kind);
  return last.generation + (is_new ? 1 : 0);
}

std::string Journal::try_line(std::size_t instance) const {
  return "try " + std::to_string(instance) + " " + std::to_string(next_action(instance)) + " " +
         std::to_string(next_generation(instance));
}

std::string Journal::answer_line(std::size_t instance, const Try& of, Answer answer) {
  return "answer " + std::to_string(instance) + " " + std::to_string(of.action) + " " +
         std::to_string(of.generation) + " " + std::to_string(static_cast<int>(answer));
}

bool Journal::is_done() const {
  for (std::size_t i = 0; i < tries_.size(); ++i)
    if (next_action(i) < plan_.instances()[i].actions.size()) return false;
  return true;
}

bool Journal::is_sent(const std::string& id) const {
  for (std::size_t i = 0; i < tries_.size(); ++i)
    if (plan_.instances()[i].id == id)
      return next_action(i) + 1 >= plan_.instances()[i].actions.size();
  return false;
}

// ---- Driver ----

Driver::Driver(const Plan& plan, std::uint64_t seed, std::function<void(const std::string&)> write)
    : plan_(plan),
      journal_(plan),
      busy_(plan.instances().size(), false),
      random_(seed),
      write_(std::move(write)) {}

bool Driver::next(const std::function<bool(std::size_t, std::size_t)>& is_waited_for, Call* call) {
  const std::size_t count = plan_.instances().size();
  const std::size_t first = random_() % count;
  for (std::size_t looks = 0; looks < count; ++looks) {
    const std::size_t i = (first + looks) % count;
    const Instance& one = plan_.instances()[i];
    const std::size_t action = journal_.next_action(i);
    if (!busy_[i] && has_keys(one.kind) && random_() % 4 == 0 && repeats(i, call)) return true;
    if (busy_[i] || action >= one.actions.size()) continue;
    const Verb verb = one.actions[action];
    const bool is_raised = one.kind == Kind::kRaised && (verb == Verb::kSend || verb == Verb::kEnd);
    if (is_raised && !is_waited_for(i, action)) continue;
    const std::string line = journal_.try_line(i);
    write_(line);
    journal_.apply(line);
    busy_[i] = true;
    const std::string token = token_of(journal_.tries(i).back());
    *call = {i, verb, &one, verb == Verb::kEnd ? "end" : token, false};
    return true;
  }
  return false;
}

// Sends an acknowledged message again, also to an instance that has ended.
bool Driver::repeats(std::size_t instance, Call* call) {
  const Instance& one = plan_.instances()[instance];
  const std::vector<Try>& tries = journal_.tries(instance);
  if (tries.empty()) return false;
  const Try& sent = tries[random_() % tries.size()];
  if (sent.answer != Answer::kAccepted || one.actions[sent.action] != Verb::kSend) return false;
  busy_[instance] = true;
  *call = {instance, Verb::kSend, &one, token_of(sent), true};
  return true;
}

std::string Driver::on_answer(const Call& call, Answer answer) {
  busy_[call.instance] = false;
  if (call.is_again)
    return answer == Answer::kEnded ? call.of->id + " does not know " + call.token : "";
  if (answer == Answer::kUnknown) return "";
  const std::string line =
      Journal::answer_line(call.instance, journal_.tries(call.instance).back(), answer);
  write_(line);
  journal_.apply(line);
  return "";
}

// ---- expected results ----

namespace {

struct Output {
  bool is_cancelled = false;
  std::vector<std::string> received;
  std::vector<std::string> worked;  // tokens of the activities and children that returned
};

// Parses "done|RECEIVED|WORKED" or "cancelled|RECEIVED|WORKED"; each token is followed by a space.
bool parse(const std::string& text, Output* out) {
  std::istringstream parts(text);
  std::string how;
  std::string received;
  std::string worked;
  std::getline(parts, how, '|');
  std::getline(parts, received, '|');
  std::getline(parts, worked, '|');
  out->is_cancelled = how == "cancelled";
  const auto split = [](const std::string& list, std::vector<std::string>* words) {
    std::istringstream from(list);
    for (std::string word; from >> word;)
      words->push_back(word);
  };
  split(received, &out->received);
  split(worked, &out->worked);
  return how == "done" || how == "cancelled";
}

class Counts {
 public:
  Counts(const Instance& instance, const std::vector<Try>& tries, const Output& output,
         const std::vector<std::string>& unread)
      : instance_(instance), tries_(tries), output_(output) {
    for (const std::string& token : unread)
      if (token != "end") ++unread_[token];
  }

  std::vector<std::string> problems() {
    std::map<std::string, int> times;
    for (const std::string& token : output_.received)
      ++times[token];
    std::map<std::size_t, int> of_action;
    bool is_over = false;  // an earlier token of a cancelled instance was not received
    for (const Try& one : tries_) {
      if (instance_.actions[one.action] != Verb::kSend) continue;
      const std::string token = token_of(one);
      const auto found = times.find(token);
      const int count = found == times.end() ? 0 : found->second;
      if (found != times.end()) times.erase(found);
      of_action[one.action] += count;
      if (count > 1) say(token + " was counted " + std::to_string(count) + " times");
      const int unread = take_unread(token);
      if (count + unread > 1) say(token + " is unread, and was counted or is there twice");
      if (instance_.kind == Kind::kRaised) continue;
      if (one.answer == Answer::kEnded && count + unread != 0)
        say(token + " was refused and counted");
      if (one.answer != Answer::kAccepted) continue;
      const bool has_order = instance_.kind != Kind::kBranches;
      if (count == 0 && !output_.is_cancelled) say(token + " was acknowledged and not counted");
      // The output does not list all that branches ended by a cancel have received.
      if (count + unread == 0 && has_order) say(token + " was acknowledged and has vanished");
      if (is_over && count != 0 && has_order) say(token + " was counted, an earlier one was not");
      is_over = is_over || count == 0;
    }
    for (const auto& [token, count] : times)
      if (token.back() != '!') say(token + " was never sent");
    for (const auto& [token, count] : unread_)
      say(token + " is unread and was never sent");
    if (instance_.kind == Kind::kRaised) look_at_raised(of_action);
    look_at_order();
    look_at_work();
    return found_;
  }

 private:
  void say(const std::string& what) { found_.push_back(instance_.id + ": " + what); }
  int take_unread(const std::string& token) {
    const auto found = unread_.find(token);
    if (found == unread_.end()) return 0;
    const int count = found->second;
    unread_.erase(found);
    return count;
  }
  // An event that no wait takes is gone, and an unanswered one is sent again: so each action counts
  // once.
  void look_at_raised(const std::map<std::size_t, int>& of_action) {
    for (const auto& [action, count] : of_action)
      if (count != 1 && !(count == 0 && output_.is_cancelled))
        say("event " + std::to_string(action) + " was counted " + std::to_string(count) + " times");
  }
  void look_at_order() {
    if (instance_.kind == Kind::kBranches) return;  // several waits at a time promise no order
    std::size_t before = 0;
    for (const std::string& token : output_.received) {
      const std::size_t action = std::stoul(token);
      if (action < before) say(token + " came after " + std::to_string(before));
      before = action;
    }
  }
  // Each token has worked once, in order. In a cancelled instance the last may be missing, and
  // those drained together with it.
  void look_at_work() {
    std::vector<std::string> wanted = output_.received;
    const bool drains = instance_.kind == Kind::kDrainer || instance_.kind == Kind::kEmptier;
    const std::size_t worked = output_.worked.size();
    if (output_.is_cancelled && worked < wanted.size() && (drains || worked + 1 == wanted.size()))
      wanted.resize(worked);
    if (wanted == output_.worked) return;
    std::string text = "results:";
    for (const std::string& token : output_.worked)
      text += " " + token;
    text += ", received:";
    for (const std::string& token : output_.received)
      text += " " + token;
    say(text);
  }

  const Instance& instance_;
  const std::vector<Try>& tries_;
  const Output& output_;
  std::map<std::string, int> unread_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> wrong_counts(const Plan& plan, const Journal& journal,
                                      const std::function<Ended(const std::string& id)>& find) {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < plan.instances().size(); ++i) {
    const Instance& one = plan.instances()[i];
    const Ended ended = find(one.id);
    Output output;
    if (!ended.has_completed || !parse(ended.output, &output) ||
        (output.is_cancelled && !one.is_cancelled())) {
      problems.push_back(one.id + (ended.is_there ? ": ended with " + ended.output : ": is gone"));
      continue;
    }
    for (const std::string& problem :
         Counts(one, journal.tries(i), output, ended.unread).problems())
      problems.push_back(problem);
    if (one.kind == Kind::kForwarder) {
      Output sent_on;
      const Ended thread = find(thread_of(one.id));
      const bool is_whole = thread.has_completed && parse(thread.output, &sent_on);
      if (is_whole == output.received.empty() || sent_on.received != output.received ||
          sent_on.worked != output.received)
        problems.push_back(one.id + " sent other messages on: " + thread.output);
    }
    if (one.kind != Kind::kParent) continue;
    for (const std::string& token : output.received) {
      const Ended detached = find("detached:" + one.id + ":" + token);
      if (!detached.has_completed || detached.output != token)
        problems.push_back(one.id + ": the detached start of " + token + " is missing");
    }
  }
  return problems;
}

void Runs::apply(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  std::string key;
  Last run;
  words >> word >> key;
  if (word == "killed") {
    killed_[key] = true;
    return;
  }
  if (word != "run" || !(words >> run.attempt >> run.retry >> run.worker)) return;
  ++runs_;
  const auto before = last_.find(key);
  if (before != last_.end() && before->second.retry == run.retry) {
    ++repeated_;
    if (killed_.count(before->second.worker) == 0 || run.attempt <= before->second.attempt)
      unexplained_.push_back(line + ", before in " + before->second.worker);
  }
  last_[key] = run;
}

}  // namespace soak
