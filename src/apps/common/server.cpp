#include "apps/common/server.hpp"

#include <algorithm>

#ifdef PAWL_WITH_POSTGRES
#include "pawl/postgres.hpp"
#endif

namespace pawl::programs {
namespace {

constexpr std::string_view kSchemes[] = {"postgresql://", "postgres://"};
constexpr std::string_view kPassword = "password=";

}  // namespace

bool is_server(std::string_view database) {
  return std::any_of(std::begin(kSchemes), std::end(kSchemes), [database](std::string_view scheme) {
    return database.substr(0, scheme.size()) == scheme;
  });
}

std::optional<ServerDatabase> server_at([[maybe_unused]] std::string_view address,
                                        [[maybe_unused]] std::string_view schema) {
#ifdef PAWL_WITH_POSTGRES
  return postgresql(address, schema);
#else
  return std::nullopt;
#endif
}

std::string without_address(std::string_view text) {
  std::size_t end = text.find(kPassword);
  for (const std::string_view scheme : kSchemes) {
    const std::size_t at = text.find(scheme);
    if (at != std::string_view::npos) end = std::min(end, at + scheme.size());
  }
  if (end == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace pawl::programs
