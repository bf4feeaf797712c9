// PluggedDevices: which device files exist, and the kernel's lock on those that this worker owns.
//
// Purpose: a device is declared while its file exists and withdrawn when the file has gone. While
// this worker owns it, its file is open and locked (flock), so that no other gateway's program uses
// it. look() is called at intervals, since a folder such as /dev/serial/by-id itself comes and
// goes.
// Ownership: outlives the Runtime whose listener it is. Thread rule: the Runtime's thread.
#ifndef PAWL_APPS_PAWLD_PLUGGED_DEVICES_HPP
#define PAWL_APPS_PAWLD_PLUGGED_DEVICES_HPP

#include <string>
#include <string_view>
#include <vector>

#include "pawl/pawl.hpp"

namespace pawld {

class PluggedDevices final : public pawl::SessionListener {
 public:
  PluggedDevices(const std::vector<std::string>& paths, pawl::LogSink& log);
  ~PluggedDevices();
  PluggedDevices(const PluggedDevices&) = delete;
  PluggedDevices& operator=(const PluggedDevices&) = delete;

  // Declares devices whose file came and withdraws those whose file went.
  void look(pawl::Runtime& runtime);
  [[nodiscard]] bool empty() const { return devices_.empty(); }
  [[nodiscard]] bool knows(std::string_view path) const;
  // The open and locked file. Returns -1, with `why`: not owned by this worker, or not available
  // now.
  [[nodiscard]] int open_locked(std::string_view path, std::string* why);

  void on_session_claimed(std::string_view session, std::int64_t epoch) noexcept override;
  void on_session_lost(std::string_view session, std::int64_t epoch) noexcept override;

 private:
  enum class State { kAbsent, kAsked, kDeclared };
  struct Device {
    PluggedDevices* all = nullptr;
    std::string path;
    State state = State::kAbsent;
    bool is_ours = false;
    int fd = -1;
  };
  static void on_declared(void* user, pawl::Status status) noexcept;
  void note(const Device& device, const char* event, std::string_view text) const;
  Device* find(std::string_view path);

  std::vector<Device> devices_;
  pawl::LogSink& log_;
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_PLUGGED_DEVICES_HPP
