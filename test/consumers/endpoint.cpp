// A program with an endpoint of its own, built outside of the tree. An activity reads /health of
// its own process.
// usage: endpoint DATABASE
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "pawl/endpoint.hpp"
#include "pawl/host.hpp"

namespace {

std::string ask(const std::string& path, const char* request) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::write(fd, request, std::strlen(request)) == static_cast<ssize_t>(std::strlen(request))) {
    char part[1024];
    for (ssize_t got = 0; (got = ::read(fd, part, sizeof part)) > 0;)
      answer.append(part, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return answer;
}

std::string socket_path;

pawl::ActivityResult look(pawl::ActivityContext& ctx) {
  const std::string answer =
      ask(socket_path, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const bool good = answer.compare(0, 12, "HTTP/1.1 200") == 0 &&
                    answer.find("\"status\":\"ok\"") != std::string::npos;
  std::printf("%s\n", good ? "healthy" : answer.c_str());
  return ctx.ok(good ? "good" : "bad");
}

pawl::Poll check(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("look", ""));
  return ctx.complete(got.value());
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return 2;
  pawl::Host host{pawl::Path(arguments[1])};
  host.add_activity("look", look).add_orchestration("check", check);
  pawl::Endpoint endpoint;
  pawl::Diagnostic why;
  if (endpoint.start(host, {}, why) != pawl::Status::kOk) {
    std::printf("%.*s\n", PAWL_TEXT(why.text()));
    return 1;
  }
  socket_path = std::string(arguments[1]) + "-http";
  host.start_once("check", pawl::InstanceId("first"), "");
  return host.run_until_done("first");
}
