#include "agent.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <vector>

namespace example {

bool Agent::start(const std::string& command, const std::string& folder) {
  end();
  // Everything that allocates memory is done before the fork.
  std::istringstream words(command);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;)
    arguments.push_back(word);
  std::vector<char*> raw;
  for (std::string& argument : arguments)
    raw.push_back(argument.data());
  raw.push_back(nullptr);

  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const pid_t pid = fork();
  if (pid == 0) {
    // Exec closes all other files that this process has open.
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
    if (dup2(ends[1], STDIN_FILENO) < 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(127);
    execvp(raw[0], raw.data());
    _exit(127);
  }
  const int error = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    errno = error;
    return false;
  }
  pid_ = pid;
  socket_ = ends[0];
  return true;
}

void Agent::end() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) close(socket_);
  pid_ = -1;
  socket_ = -1;
  received_.clear();
}

bool Agent::send(std::string_view line) {
  std::string bytes(line);
  std::replace(bytes.begin(), bytes.end(), '\n', ' ');  // a question is one line
  bytes += '\n';
  // A line always fits the socket's buffer: the agent answers each before it gets the next.
  return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

Agent::Received Agent::receive(std::string* line) {
  char bytes[256];
  while (true) {
    const std::size_t newline = received_.find('\n');
    if (newline != std::string::npos) {
      line->assign(received_, 0, newline);
      received_.erase(0, newline + 1);
      return Received::kLine;
    }
    if (received_.size() > kLineMax) return Received::kEnd;
    const ssize_t size = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::kNothing;
    if (size <= 0) return Received::kEnd;
    received_.append(bytes, static_cast<std::size_t>(size));
  }
}

bool read_line(std::string* line) { return static_cast<bool>(std::getline(std::cin, *line)); }

void write_line(const std::string& line) { std::cout << line << std::endl; }

std::string own_command(const char* arguments) {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  std::string command(path, size < 0 ? 0 : static_cast<std::size_t>(size));
  return command.append(" ").append(arguments);
}

}  // namespace example
