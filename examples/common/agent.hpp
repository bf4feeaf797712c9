// Agent: a child process that gets and sends lines of text.
//
// It holds what must not be in this process: a foreign program with a state of its own. One socket
// is its standard input and output. When this process dies, in whatever way, the child reads the
// end of its input and ends as well, so no agent outlives its worker.
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

  // Runs `command`, words separated by spaces, in `folder` (empty: in the current one). Ends a
  // program that was running before. False: it failed, and errno says why.
  bool start(const std::string& command, const std::string& folder = "");
  // Kills and reaps the child: no zombie is left, and no process uses its files any more.
  void end();
  [[nodiscard]] bool started() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The socket, for ActivityContext::when_readable(): readable when a line or the end has come.
  [[nodiscard]] int fd() const { return socket_; }

  // False: the agent does not listen any more.
  bool send(std::string_view line);
  enum class Received { kNothing, kLine, kEnd };
  // Never waits. kEnd: the agent has ended, or a line is longer than kLineMax.
  Received receive(std::string* line);

 private:
  static constexpr std::size_t kLineMax = 1024;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string received_;  // after the last whole line
};

// For the agent's side: reads a line of standard input, without its newline. False: the end.
bool read_line(std::string* line);
// For the agent's side: writes an answer, and flushes it.
void write_line(const std::string& line);

// The command for start() that runs this program itself with `arguments`.
std::string own_command(const char* arguments);

}  // namespace example

#endif  // EXAMPLE_AGENT_HPP
