#include "apps/pawld/http_endpoint.hpp"

#ifdef PAWLD_WITH_ENDPOINT
#include "apps/pawld/options.hpp"
#include "pawl/endpoint.hpp"
#endif

namespace pawld {

#ifdef PAWLD_WITH_ENDPOINT

struct HttpEndpoint::Parts {
  pawl::Endpoint endpoint;
};

pawl::Status HttpEndpoint::start(const Config& config, pawl::Host& host, pawl::Diagnostic& why) {
  if (!config.endpoint.has_value()) return pawl::Status::kOk;
  const EndpointConfig& wanted = *config.endpoint;
  pawl::EndpointOptions options;
  options.socket_path = wanted.socket;
  if (wanted.port > 0) {
    pawl::EndpointTcp& tcp = options.tcp.emplace();
    tcp.port = static_cast<std::uint16_t>(wanted.port);
    tcp.address = wanted.address;
    tcp.allow_others = wanted.allow_others;
    tcp.token_file = wanted.token_file;
    tcp.host_name = wanted.host_name;
  }
  options.read_only = wanted.read_only;
  options.metrics_file = wanted.metrics_file;
  options.client.payload_bytes_max = static_cast<std::size_t>(config.payload_max);
  options.port = port_options(config);
  parts_ = std::make_unique<Parts>();
  return parts_->endpoint.start(host, options, why);
}

pawl::Status HttpEndpoint::stop() {
  return parts_ == nullptr ? pawl::Status::kOk : parts_->endpoint.stop();
}

#else

struct HttpEndpoint::Parts {};

pawl::Status HttpEndpoint::start(const Config& config, pawl::Host& /*host*/,
                                 pawl::Diagnostic& why) {
  if (!config.endpoint.has_value()) return pawl::Status::kOk;
  why.format("this pawld was built without libmicrohttpd; take \"endpoint\" out of the file");
  return pawl::Status::kUnsupported;
}

pawl::Status HttpEndpoint::stop() { return pawl::Status::kOk; }

#endif

HttpEndpoint::HttpEndpoint() = default;
HttpEndpoint::~HttpEndpoint() = default;

}  // namespace pawld
