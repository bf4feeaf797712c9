// HttpEndpoint: the endpoint of the library, as the configuration asks for it.
//
// Purpose: the one place that knows whether this pawld was built with the library of the endpoint.
// Ownership: it ends before the Host that it was started with. Thread rule: the daemon's thread.
#ifndef PAWL_DAEMON_HTTP_ENDPOINT_HPP
#define PAWL_DAEMON_HTTP_ENDPOINT_HPP

#include <memory>

#include "config.hpp"
#include "pawl/host.hpp"

namespace pawld {

class HttpEndpoint {
 public:
  static constexpr char kThreadName[] = "pawl-endpoint";

  HttpEndpoint();
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // Does nothing where the configuration asks for none.
  // Returns kOk; kUnsupported: pawld was built without it; as pawl::Endpoint::start().
  // Requires: before host.start().
  pawl::Status start(const Config& config, pawl::Host& host, pawl::Diagnostic& why);
  // Returns as pawl::Endpoint::stop().
  pawl::Status stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawld

#endif  // PAWL_DAEMON_HTTP_ENDPOINT_HPP
