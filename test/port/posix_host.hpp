// A new folder and Linux ports on it.
#ifndef PAWL_TEST_PORT_POSIX_HOST_HPP
#define PAWL_TEST_PORT_POSIX_HOST_HPP

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "folder.hpp"
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

class PosixHost {
 public:
  PosixHost() { EXPECT_EQ(::mkdir(root_.c_str(), S_IRWXU), 0); }
  ~PosixHost() { drop_all(); }
  PosixHost(const PosixHost&) = delete;
  PosixHost& operator=(const PosixHost&) = delete;

  const char* database() { return database_.c_str(); }
  const char* root() { return root_.c_str(); }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
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
  test::Folder folder_;
  std::string database_ = folder_.file("t.db");
  std::string root_ = folder_.file("dirs");
  std::vector<std::unique_ptr<posix::SystemPort>> ports_;
};

}  // namespace pawl::port_test

#endif  // PAWL_TEST_PORT_POSIX_HOST_HPP
