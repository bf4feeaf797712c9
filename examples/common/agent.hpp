// Agent: a child process that is spoken to in lines.
//
// It holds what must not be in this process: another's program with a state of its own. It is
// reached over one socket, its standard input and output. When this process dies, in whatever way,
// the child reads the end of its input and ends as well, so no agent outlives its worker.
#ifndef EXAMPLE_AGENT_HPP
#define EXAMPLE_AGENT_HPP

#include <sys/types.h>

#include <string>
#include <string_view>

namespace example {

class Agent {
 public:
  Agent() = default;
  ~Agent() { end(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Runs `command`, words set apart by spaces, in `folder` (empty: in this one). What was running
  // before ends. False, with errno.
  bool start(const std::string& command, const std::string& folder = "");
  // Kills and reaps it: no zombie, and no process uses its files any more.
  void end();
  [[nodiscard]] bool started() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when a line or the end has come; for ActivityContext::when_readable().
  [[nodiscard]] int fd() const { return socket_; }

  // False: it does not listen any more.
  bool send(std::string_view line);
  enum class Received { kNothing, kLine, kEnd };
  // Never waits. kEnd: it has ended, or a line is longer than kLineMax.
  Received receive(std::string* line);

 private:
  static constexpr std::size_t kLineMax = 1024;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string received_;  // behind the last whole line
};

// For the other side: the next line of standard input without its newline. False: the end.
bool read_line(std::string* line);
// And an answer, at once.
void write_line(const std::string& line);

// This program with other arguments, as a command for start().
std::string own_command(const char* arguments);

}  // namespace example

#endif  // EXAMPLE_AGENT_HPP
