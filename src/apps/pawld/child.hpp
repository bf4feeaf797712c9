// Child: one run of a program, without a shell, that cannot outlive this process.
//
// Purpose: fork, pipes, signals and the end of a process group. It never blocks: all pipes are
// non-blocking, and fd() is readable when there is something to do. The child is a process group of
// its own; its standard streams are pipes, and its only other descriptor is the device's, as number
// 3. The kernel kills the child when this process ends.
// Ownership: the destructor kills the running program and closes everything. Thread rule: one
// thread, which must live as long as the process (the kernel watches the thread that forked).
#ifndef PAWL_APPS_PAWLD_CHILD_HPP
#define PAWL_APPS_PAWLD_CHILD_HPP

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawld {

struct Launch {
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* cwd = nullptr;  // null: unchanged
  int device = -1;            // becomes descriptor 3; -1: none
};

// Processes that were killed and have not ended yet, for example in an uninterruptible driver call.
class Leftovers {
 public:
  static constexpr std::size_t kMost = 64;
  void add(pid_t pid);
  // Takes the exit status of the processes that have ended, so that no zombie stays.
  void reap();

 private:
  pid_t pids_[kMost] = {};
  std::size_t count_ = 0;
};

// The way in which a program ended.
struct ChildEnd {
  bool by_signal = false;
  int number = 0;           // exit code or signal
  int start_error = 0;      // errno of a failure before the program began; 0: it began
  bool cwd_failed = false;  // start_error is from the change of the folder
};

class Child {
 public:
  Child() = default;
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Returns 0 or the errno of the failure.
  [[nodiscard]] int start(const Launch& launch, Leftovers& leftovers);
  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when there is output, room for input, or when the program has ended.
  [[nodiscard]] int fd() const { return epoll_; }
  // False: fd() does not report the program's end, so call has_ended() at intervals.
  [[nodiscard]] bool end_is_seen() const { return pid_fd_ >= 0; }

  // Writes as much as the pipe takes. Closes standard input after the last byte, or when no process
  // reads. Returns the bytes of `rest` that are done.
  std::size_t write_input(std::string_view rest);
  // Returns bytes; 0: nothing now, or the end.
  std::size_t read_output(char* into, std::size_t room) { return read_from(&out_, into, room); }
  std::size_t read_errors(char* into, std::size_t room) { return read_from(&err_, into, room); }

  // Sends the signal to the whole group.
  void signal(int number) const;
  // Whether the program has ended. If so, the rest of its group is killed and no zombie stays.
  // Output that is still in the pipes can be read.
  [[nodiscard]] bool has_ended(ChildEnd* ended);

 private:
  void close_all();
  static void close_one(int* fd);
  void watch(int fd, std::uint32_t events) const;
  static std::size_t read_from(int* fd, char* into, std::size_t room);

  Leftovers* leftovers_ = nullptr;
  pid_t pid_ = 0;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  int status_ = -1;
  int pid_fd_ = -1;
  int epoll_ = -1;
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_CHILD_HPP
