// A new folder and Linux ports on it.
#ifndef PAWL_TEST_PORT_POSIX_HOST_HPP
#define PAWL_TEST_PORT_POSIX_HOST_HPP

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "pawl/port_posix.hpp"
#include "port_conformance.hpp"

namespace pawl::port_test {

inline std::string file_text(const char* path) {
  std::string text;
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

inline void remove_tree(const std::string& path) {
  if (DIR* folder = ::opendir(path.c_str())) {
    while (const dirent* entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") remove_tree(path + "/" + name);
    }
    ::closedir(folder);
  }
  std::remove(path.c_str());
}

class PosixHost {
 public:
  PosixHost() {
    char name[] = "port.XXXXXX";
    const char* made = ::mkdtemp(name);
    EXPECT_NE(made, nullptr);
    char here[2048] = {};
    EXPECT_NE(::getcwd(here, sizeof(here)), nullptr);
    folder_ = std::string(here) + "/" + name;
    database_ = folder_ + "/t.db";
    root_ = folder_ + "/dirs";
    EXPECT_EQ(::mkdir(root_.c_str(), S_IRWXU), 0);
  }
  ~PosixHost() {
    drop_all();
    remove_tree(folder_);
  }
  PosixHost(const PosixHost&) = delete;
  PosixHost& operator=(const PosixHost&) = delete;

  const char* database() { return database_.c_str(); }
  const char* root() { return root_.c_str(); }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  Port add() { return add(options_); }
  Port add(const posix::PortOptions& options) {
    ports_.push_back(std::make_unique<posix::SystemPort>(options));
    return ports_.back()->port();
  }
  Port ready(const posix::PortOptions& options = posix::PortOptions()) {
    const Port port = add(options);
    Diagnostic diagnostic;
    EXPECT_EQ(port.clock->open(diagnostic), Status::kOk) << diagnostic.text();
    EXPECT_EQ(port.threads->open(database(), diagnostic), Status::kOk) << diagnostic.text();
    return port;
  }
  void drop_all() { ports_.clear(); }

 protected:
  posix::PortOptions options_;

 private:
  std::string folder_;
  std::string database_;
  std::string root_;
  std::vector<std::unique_ptr<posix::SystemPort>> ports_;
};

}  // namespace pawl::port_test

#endif  // PAWL_TEST_PORT_POSIX_HOST_HPP
