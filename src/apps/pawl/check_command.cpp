// check: runs the replay check of a program, for a package's pre-install hook.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "apps/pawl/tool_commands.hpp"

namespace pawl::tool {
namespace {

constexpr std::size_t kTextMax = 64 * 1024;  // of JSON; the totals are at the end

// Exit codes of replay_check_main().
constexpr int kProgramGo = 0;
constexpr int kProgramNoGo = 1;

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) fail(kFailed, status_name(Status::kIo), std::strerror(errno));
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int end(std::size_t which) const { return ends_[which]; }
  void close(std::size_t which) {
    if (ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

pid_t spawn(const std::vector<std::string>& words, const Pipe& output) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: as exec() has it
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output.end(1), STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, output.end(0));
  ::posix_spawn_file_actions_addclose(&actions, output.end(1));
  pid_t pid = -1;
  const int failed =
      ::posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    fail(failed == ENOENT ? kNotFound : kFailed, status_name(Status::kCannotOpen),
         words[0] + ": " + std::strerror(failed));
  return pid;
}

// Output lines of the program, printed or kept. Each is escaped: it may hold ids that others chose.
class Lines {
 public:
  explicit Lines(bool keeps) : keeps_(keeps) {}
  void add(std::string_view piece) {
    for (const char c : piece) {
      if (c == '\n' || line_.size() == kTextMax) end_line();
      if (c != '\n') line_.push_back(c);
    }
  }
  void end_line() {
    if (!keeps_)
      StdoutSink().write(printable(line_) + "\n");
    else
      kept_.append(line_).push_back('\n');
    if (kept_.size() > kTextMax) kept_.erase(0, kept_.size() - kTextMax);
    line_.clear();
  }
  std::string finish() {
    if (!line_.empty()) end_line();
    return kept_;
  }

 private:
  bool keeps_;
  std::string line_;
  std::string kept_;
};

int end_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) fail(kFailed, status_name(Status::kIo), std::strerror(errno));
  if (WIFSIGNALED(status))
    fail(kFailed, "failed", "the program was ended by signal " + std::to_string(WTERMSIG(status)));
  return WEXITSTATUS(status);
}

int check(Tool& tool, std::vector<std::string> words) {
  words.push_back(
      tool.file_that_is_there("a program whose options name the server takes the path of the files "
                              "beside it: PROGRAM PATH"));
  Pipe output;
  const pid_t pid = spawn(words, output);
  output.close(1);
  Lines lines(tool.json());
  std::array<char, 4096> piece = {};
  ssize_t size = 0;
  while ((size = ::read(output.end(0), piece.data(), piece.size())) > 0 ||
         (size < 0 && errno == EINTR))
    if (size > 0) lines.add({piece.data(), static_cast<std::size_t>(size)});
  const std::string text = lines.finish();
  const int exit = end_of(pid);
  // A kernel that reports a failed start too late for posix_spawn() lets the child end with this.
  constexpr int kNotStarted = 127;
  if (exit == kNotStarted)
    fail(kNotFound, status_name(Status::kCannotOpen), words[0] + " cannot be started");
  if (exit != kProgramGo && exit != kProgramNoGo)
    fail(kFailed, "failed",
         words[0] + " could not check; its exit code is " + std::to_string(exit));
  if (tool.json())
    tool.out()
        .begin_object()
        .flag("go", exit == kProgramGo)
        .text("text", text)
        .end_object()
        .end_line();
  return exit == kProgramGo ? kDone : kBad;
}

}  // namespace

void add_check(Tool& tool) {
  auto program = std::make_shared<std::string>();
  auto command = std::make_shared<CLI::App*>(nullptr);
  *command = tool.add("check",
                      "Runs the replay check of a program: would it go on with what is in flight?",
                      [&tool, program, command] {
                        std::vector<std::string> words = {*program};
                        for (const std::string& word : (*command)->remaining())
                          words.push_back(word);
                        return check(tool, std::move(words));
                      });
  (*command)->prefix_command();
  (*command)
      ->add_option("--with", *program,
                   "The program, whose main() is replay_check_main(); words behind it are its "
                   "arguments, and the path of the database comes last")
      ->required()
      ->type_name("PROGRAM");
}

}  // namespace pawl::tool
