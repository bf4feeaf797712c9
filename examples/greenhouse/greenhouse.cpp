// greenhouse: the process that runs the orchestrations, and has the soil sensors of the beds.
#include <cstdio>
#include <cstring>
#include <string>

#include "field.hpp"
#include "garden.hpp"
#include "host.hpp"
#include "tend.hpp"

namespace {

using greenhouse::Bed;
using greenhouse::Field;
using greenhouse::Reading;

constexpr char kUsage[] =
    R"(greenhouse --db FILE --field FOLDER --beds N [--release 1]

Tends the beds that greenhouse-ctl starts, and reads the soil of beds 1 to N. Release 1 is the older program, which
knows version 1 only; the newer one has both, and beds of version 1 go on with theirs.
)";

pawl::Reply<Reading> measure(pawl::ActivityContext& ctx, const Bed& bed) {
  const Field& field = *static_cast<const Field*>(ctx.user());
  Reading reading{bed.bed, 0};
  if (!field.measure(bed.bed, &reading.moisture)) return ctx.fail("the sensor does not answer");
  return reading;
}

void on_declared(void* /*user*/, pawl::Status status) noexcept {
  if (status != pawl::Status::kOk)
    std::fprintf(stderr, "greenhouse: a sensor: %s\n", pawl::status_name(status));
}

int run(const char* path, Field& field, int beds, bool is_release_1) {
  pawl::HostOptions options = example::small_host(path, "greenhouse");
  options.runtime.slots.inline_activities = 8;
  pawl::Host host(options);
  host.add_orchestration(greenhouse::kTend, greenhouse::tend_1, "1.0.0");
  if (!is_release_1) host.add_orchestration(greenhouse::kTend, greenhouse::tend_2, "2.0.0");
  host.add_orchestration(greenhouse::kWater, greenhouse::water);
  host.add_orchestration(greenhouse::kSurvey, greenhouse::survey);
  host.add_activity(greenhouse::kMeasure, measure, pawl::ActivityMode::kInline, &field);
  for (int bed = 1; bed <= beds && host.start() == pawl::Status::kOk; ++bed)
    on_declared(nullptr,
                host.runtime().declare_session(greenhouse::soil_device(bed), false, on_declared));
  return host.run();
}

}  // namespace

int main(int argc, char** argv) {
  const auto option = [&](const char* name) -> const char* {
    for (int i = 1; i + 1 < argc; ++i)
      if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
    return nullptr;
  };
  const char* const folder = option("--field");
  const int beds = option("--beds") == nullptr ? 0 : greenhouse::number_of(option("--beds"));
  if (option("--db") == nullptr || folder == nullptr || beds < 1) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Field field(folder);
  const char* const release = option("--release");
  return run(option("--db"), field, beds, release != nullptr && std::strcmp(release, "1") == 0);
}
