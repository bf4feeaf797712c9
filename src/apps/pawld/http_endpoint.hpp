// HttpEndpoint: the library's endpoint, set up by the configuration.
//
// Purpose: only this class knows whether pawld was built with the endpoint's library. Ownership: it
// ends before the Host that it was started with. Thread rule: the daemon's thread.
#ifndef PAWL_APPS_PAWLD_HTTP_ENDPOINT_HPP
#define PAWL_APPS_PAWLD_HTTP_ENDPOINT_HPP

#include <memory>

#include "apps/pawld/config.hpp"
#include "pawl/host.hpp"

namespace pawld {

class HttpEndpoint {
 public:
  static constexpr char kThreadName[] = "pawl-endpoint";

  HttpEndpoint();
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // Does nothing if the configuration has no endpoint.
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

#endif  // PAWL_APPS_PAWLD_HTTP_ENDPOINT_HPP
