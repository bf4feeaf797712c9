// Random programs on the real Runtime: one simulated machine with three workers and a client, each
// with options of its own in each life, and everything that can come between: messages,
// cancellation, suspension, restarts, terminations, deletions, kills in the middle of a write,
// power cuts.
//
// At the end, workers with room for everything run what is left. Then this must hold:
// - each acknowledged instance is there, or was deleted, or went by its retention;
// - each acknowledged message is received once, or still waits, or went with its instance, or is
//   unread at the end of it;
// - the first acknowledged answer with a token is the one that counts;
// - a call that was acknowledged has one answer, which stays the same, and none is open at the end;
// - each command has at most one result, and events are numbered without a gap;
// - an instance to which a time limit was given ends within it and the graces that the workers had,
//   unless it was restarted; one without a limit is never asked to stop by it;
// - no instance is stopped, and none failed except by its program, by a call, or by a limit that a
//   worker had;
// - the log has no line at level error except for these, and for a write that was made to fail;
// - the database is sound.
#ifndef PAWL_TEST_RANDOM_WORLD_HPP
#define PAWL_TEST_RANDOM_WORLD_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "option_drawer.hpp"
#include "pawl/testing.hpp"
#include "program.hpp"
#include "server_beside.hpp"

namespace pawl::test {

struct WorldCounts {
  unsigned messages = 0;  // acknowledged
  unsigned received = 0;
  unsigned kills = 0;
  unsigned reboots = 0;
  unsigned cancels = 0;
  unsigned limits_over = 0;  // requests of a time limit
  unsigned restarts = 0;
  unsigned suspensions = 0;
  unsigned stopped_by_limit = 0;  // lines of the log
  unsigned executions = 0;
  unsigned completed = 0;
  unsigned failed = 0;
  unsigned outside = 0;  // answers that were acknowledged
  unsigned answers = 0;  // of calls
  void add(const WorldCounts& other);
};

class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed);
  ~RandomWorld();
  // Returns the first thing that does not hold; empty: all holds.
  std::string run();
  [[nodiscard]] const WorldCounts& counts() const { return counts_; }
  // Programs, options and lines of the log, for a report.
  [[nodiscard]] std::string story() const;

 private:
  ServerBeside::OfWorld on_server_;  // first, for the processes use it
  static constexpr std::size_t kWorkers = 3;
  static constexpr std::size_t kRoots = 8;
  struct Life;
  struct Sender;
  struct Piggybacked;
  struct Sent {
    std::string root;
    bool is_event = false;
    std::string name;
    std::string token;
    std::string payload;
    bool has_key = false;
    bool starts = false;
  };
  struct Asked {
    std::string root;
    std::string token;
    bool is_acknowledged = false;
    std::string answer;  // that was given; empty: none yet
  };
  struct Root {
    bool is_acknowledged = false;  // its start was acknowledged
    bool is_maybe = false;         // a start without an answer
    bool is_deleted = false;       // a deletion was asked for
    bool is_touched = false;       // terminated: its end is not the program's
    bool is_restarted = false;     // messages may be received anew
    bool may_be_limited = false;   // a time limit was given, or may have been
    // The wall clock at which its time limit is over; none: it has none, or that is not known.
    std::optional<std::int64_t> over_at;
    std::set<std::string> messages;
  };

  void note_error(const Options& of, std::string_view event, const std::string& line);
  [[nodiscard]] bool is_permitted(const Options& of, std::string_view event,
                                  const std::string& line) const;
  std::size_t any(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
  void fail(const std::string& what);
  void note(const std::string& what) { story_ += what + "\n"; }

  Options draw_worker(std::size_t number);
  void note_least(const Options& options);
  void start_worker(std::size_t number, const Options& options);
  void kill_worker(std::size_t number);
  void open_client(const ClientOptions& options);
  void reboot();
  template <typename Call>
  bool dies_in(const Call& call);

  void act();
  void start_root();
  void send(std::size_t root);
  void send(const Sent& sent);
  void ask(std::size_t root);
  void ask(Asked& call, bool at_end);
  [[nodiscard]] bool may_forget(const Root& root) const;
  [[nodiscard]] static bool is_begun_by_code(const std::string& id);
  void manage(std::size_t root);
  void answer_from_outside();
  void answer_all();
  void trouble();
  void step(bool has_trouble);
  void pass(std::int64_t ms);

  void settle();
  void check_waiting();
  void check_limits(int calm_rounds);
  void note_limit(Root& root, std::optional<std::chrono::milliseconds> limit, bool is_known);
  std::optional<std::chrono::milliseconds> draw_limit();
  bool all_ended();
  void check();
  void check_root(const std::string& id, Root& root);
  void check_end(const std::string& id, const Root& root, const OrchestrationStatus& status);
  void check_messages(const std::string& id, const Root& root, bool has_ended);
  void check_unread(const std::string& id, std::int64_t unread, std::int64_t all);
  void check_file();

  const Draw how_;
  Rng random_;
  sim::Machine machine_;
  const bool cuts_power_;
  Process process_;
  std::unique_ptr<testing::Block> process_memory_;
  Registry registry_;
  std::map<std::string, Program> programs_;
  std::map<std::string, Root> roots_;
  std::unique_ptr<Life> workers_[kWorkers];
  std::unique_ptr<Sender> sender_;
  std::vector<std::unique_ptr<Piggybacked>> piggybacked_;
  std::vector<Sent> keyed_;
  std::vector<Asked> asked_;
  Options least_;                  // least of each limit that may end or stop an instance
  bool has_slow_handoff_ = false;  // in some life
  std::chrono::milliseconds longest_grace_{0};  // of cancel requests, in some life
  bool has_endless_grace_ = false;
  std::chrono::milliseconds longest_sleep_{0};  // with all processes asleep
  bool has_narrow_worker_ = false;              // some worker does not take every activity
  bool removes_executions_ = false;
  bool removes_instances_ = false;
  bool dying_ = false;  // a write is made to fail
  std::uint64_t dies_at_ = 0;
  struct Token {
    std::string text;
    std::string answer;  // that was acknowledged; empty: none was
  };
  std::vector<Token> tokens_;
  int messages_sent_ = 0;
  int lives_ = 0;
  std::string failure_;
  std::string story_;
  std::map<std::string, std::size_t> permitted_;  // errors in the log, by event
  WorldCounts counts_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_RANDOM_WORLD_HPP
