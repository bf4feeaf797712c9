// The template of a port: copy this folder, rename it, and write function after function.
//
// Every function here returns kUnsupported or the neutral value of its documentation, so a
// half-written port fails at the first thing it lacks and says so. The comments in the .cpp files
// say what to write; the order is that of docs/porting.md. The contracts are in pawl/port.hpp and
// are not repeated.
#ifndef PAWL_PORT_TEMPLATE_TEMPLATE_PORT_HPP
#define PAWL_PORT_TEMPLATE_TEMPLATE_PORT_HPP

#include "pawl/port.hpp"

namespace pawl::port_template {

class TemplateClock final : public port::Clock {
 public:
  Status open(Diagnostic& diagnostic) override;
  std::int64_t boot_ms() override;
  std::int64_t wall_ms() override;
  bool synced() override;
  port::BootId boot_id() override;
  void random(void* out, std::size_t size) override;
};

class TemplateStorage final : public port::Storage {
 public:
  [[nodiscard]] const char* native_vfs() const override;

  Result<port::FileHandle> open(const char* path, OpenMode mode) override;
  Status close(port::FileHandle file) override;
  Result<std::size_t> read(port::FileHandle file, void* out, std::size_t size,
                           std::int64_t offset) override;
  Status write(port::FileHandle file, const void* data, std::size_t size,
               std::int64_t offset) override;
  Status truncate(port::FileHandle file, std::int64_t size) override;
  Status sync(port::FileHandle file) override;
  Result<std::int64_t> size(port::FileHandle file) override;
  Status remove(const char* path) override;
  Result<bool> exists(const char* path) override;
  Status lock(port::FileHandle file, int level) override;
  Status unlock(port::FileHandle file, int level) override;
  Result<bool> reserved(port::FileHandle file) override;
  Status shm_map(port::FileHandle file, int index, std::size_t size, bool extend,
                 void volatile** out) override;
  Status shm_lock(port::FileHandle file, int first, int count, bool take, bool exclusive) override;
  void shm_barrier(port::FileHandle file) override;
  Status shm_unmap(port::FileHandle file, bool remove) override;

  Status create_whole(const char* path, const void* data, std::size_t size) override;
  Status allocate(const char* path, std::int64_t size) override;

  Status check_place(const char* database_path, Diagnostic& diagnostic) override;
  Result<std::int64_t> free_bytes(const char* database_path) override;

  Result<WorkerFile> worker_create(const char* database_path, std::int64_t incarnation,
                                   std::size_t notes_bytes) override;
  void worker_close(const char* database_path, std::int64_t incarnation, WorkerFile file) override;
  port::Held worker_test(const char* database_path, std::int64_t incarnation) override;
  std::size_t worker_notes(const char* database_path, std::int64_t incarnation, std::size_t offset,
                           void* out, std::size_t size) override;
  void worker_remove(const char* database_path, std::int64_t incarnation) override;

  void ring(const char* database_path) override;
};

class TemplateThreads final : public port::Threads {
 public:
  Status open(const char* database_path, Diagnostic& diagnostic) override;
  void close() override;
  port::WakeReasons wait(OptionalMs due_boot_ms) override;
  port::WakeReasons drain() override;
  [[nodiscard]] int fd() const override;
  void arm(OptionalMs due_boot_ms) override;
  void wake() override;
  [[nodiscard]] bool watches_files() const override;
  Status watch_process(std::int64_t pid, std::int64_t start_time) override;
  void unwatch_process(std::int64_t pid) override;
  Status add_descriptor(int fd) override;
  void remove_descriptor(int fd) override;
  [[nodiscard]] bool descriptor_ready(int fd) override;
  [[nodiscard]] std::int64_t process_id() override;
  [[nodiscard]] std::int64_t process_start_time(std::int64_t pid) override;
  [[nodiscard]] bool on_owner_thread() override;
  Status executor_start(unsigned count, std::size_t stack_bytes) override;
  void executor_submit(unsigned slot, void (*job)(void*), void* argument) override;
  bool executor_idle(unsigned slot) override;
  bool executor_stop(std::int64_t wait_ms) override;
};

class TemplateFolders final : public port::Folders {
 public:
  Status check_root(const char* root, Diagnostic& diagnostic) override;
  Status make(const char* root, const char* name, Diagnostic& diagnostic) override;
  Status remove_some(const char* root, const char* name, std::size_t steps_max, bool* more,
                     Diagnostic& diagnostic) override;
  Status begin_list(const char* root, Diagnostic& diagnostic) override;
  Result<std::string_view> next_name() override;
  void end_list() override;
};

// The port of one process. It outlives the Runtime or Client given its port().
class TemplatePort {
 public:
  [[nodiscard]] port::Port port() { return {&clock_, &storage_, &threads_, &folders_}; }

 private:
  TemplateClock clock_;
  TemplateStorage storage_;
  TemplateThreads threads_;
  TemplateFolders folders_;
};

}  // namespace pawl::port_template

#endif  // PAWL_PORT_TEMPLATE_TEMPLATE_PORT_HPP
