// pawl-bench: the cost of a step in time, flushes, bytes and memory.
//
// One run is one scenario in a fresh database. `floor` writes the same rows in the same number of
// commits by SQLite alone, or by libpq on a server. The scenario cannot cost less, so Pawl's
// overhead is a ratio on one machine.
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "measure.hpp"
#include "processes.hpp"

namespace {

constexpr char kUsage[] =
    "usage: pawl-bench [floor] SCENARIO N [--db PATH] [--server ADDRESS]\n"
    "                  [--sync full|normal] [--slots N] [--processes N] [--window MS]\n"
    "                  [--batch N] [--tick MS] [--seconds N] [--lead MS]\n"
    "                  [--pages FILE] [--json]\n"
    "\n"
    "  --db PATH   a database to make, which is kept; otherwise one in the current folder, "
    "removed\n"
    "  --server    a PostgreSQL server that has no schema pawl yet, in place of SQLite\n"
    "  --sync      full: every commit is flushed (default); normal: flushed at checkpoints\n"
    "  --slots     activities at once in stress (8)\n"
    "  --processes workers of multi and multi_session (2)\n"
    "  --window    commit_window_ms, 1 or more (none)\n"
    "  --batch     batch and inline_slots (64)\n"
    "  --tick      tick_ms_max: on a slow machine a tick carries less than a batch (50)\n"
    "  --seconds   how long idle measures (10)\n"
    "  --lead      timer, burst: due so long after the first is set, or longer (2000)\n"
    "  --pages     a file to write: of each page, how often the log has it\n"
    "  --json      one line of JSON\n";

void print_usage(std::FILE* to) {
  std::fputs(kUsage, to);
  std::fputs("\nscenarios\n", to);
  for (const bench::Name& name : bench::scenario_list())
    std::fprintf(to, "  %-17s %s\n", name.name, name.what);
  std::fputs("\nfloor: the same rows and commits by SQLite alone, or by libpq\n", to);
  for (const bench::Name& name : bench::floor_list())
    std::fprintf(to, "  %-17s %s\n", name.name, name.what);
}

bool is_among(const std::vector<bench::Name>& names, const std::string& name) {
  for (const bench::Name& known : names)
    if (name == known.name) return true;
  return false;
}

struct Arguments {
  bench::Setup setup;
  std::string role;   // role of a process that a scenario started
  std::string pages;  // a file for page counts; empty: none
  bool json = false;
  bool help = false;
};

bool parse_count(const char* text, std::size_t* out) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != 0 || *text == '-' || value == 0 || value > SIZE_MAX)
    return false;
  *out = static_cast<std::size_t>(value);
  return true;
}

bool parse_positional(int count, char** values, bench::Setup* setup) {
  if (count > 0 && std::strcmp(*values, "floor") == 0) {
    setup->floor = true;
    --count;
    ++values;
  }
  if (count != 2 || !parse_count(values[1], &setup->n)) return false;
  setup->scenario = values[0];
  return is_among(setup->floor ? bench::floor_list() : bench::scenario_list(), setup->scenario);
}

bool parse(int argc, char** argv, Arguments* out) {
  static constexpr option kOptions[] = {{"db", required_argument, nullptr, 'd'},
                                        {"sync", required_argument, nullptr, 's'},
                                        {"slots", required_argument, nullptr, 'a'},
                                        {"processes", required_argument, nullptr, 'p'},
                                        {"window", required_argument, nullptr, 'w'},
                                        {"batch", required_argument, nullptr, 'b'},
                                        {"tick", required_argument, nullptr, 't'},
                                        {"seconds", required_argument, nullptr, 'S'},
                                        {"lead", required_argument, nullptr, 'l'},
                                        {"pages", required_argument, nullptr, 'g'},
                                        {"role", required_argument, nullptr, 'r'},
                                        {"json", no_argument, nullptr, 'j'},
                                        {"server", required_argument, nullptr, 'D'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {nullptr, 0, nullptr, 0}};
  for (int found = 0; (found = ::getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (found) {
      case 'd': out->setup.database = ::optarg; break;
#ifdef BENCH_POSTGRES
      case 'D': out->setup.server = ::optarg; break;
#endif
      case 's':
        out->setup.synchronous_full = std::strcmp(::optarg, "full") == 0;
        if (!out->setup.synchronous_full && std::strcmp(::optarg, "normal") != 0) return false;
        break;
      case 'a':
        if (!parse_count(::optarg, &out->setup.slots)) return false;
        break;
      case 'p':
        if (!parse_count(::optarg, &out->setup.processes)) return false;
        break;
      case 'w':
        if (!parse_count(::optarg, &out->setup.window_ms)) return false;
        break;
      case 'b':
        if (!parse_count(::optarg, &out->setup.batch)) return false;
        break;
      case 't':
        if (!parse_count(::optarg, &out->setup.tick_ms)) return false;
        break;
      case 'S':
        if (!parse_count(::optarg, &out->setup.seconds)) return false;
        break;
      case 'l':
        if (!parse_count(::optarg, &out->setup.lead_ms)) return false;
        break;
      case 'g': out->pages = ::optarg; break;
      case 'r': out->role = ::optarg; break;
      case 'j': out->json = true; break;
      case 'h': out->help = true; return true;
      default: return false;
    }
  }
  return parse_positional(argc - ::optind, argv + ::optind, &out->setup);
}

// Makes a name for a new database, with its folder in canonical form.
bool place(std::string* database, std::string* own_folder) {
  if (database->empty()) {
    char name[] = "pawl-bench-XXXXXX";
    if (::mkdtemp(name) == nullptr) return false;
    *own_folder = name;
    *database = *own_folder + "/bench.db";
  }
  struct stat info {};
  if (::stat(database->c_str(), &info) == 0) {
    errno = EEXIST;
    return false;
  }
  const std::size_t slash = database->rfind('/');
  const std::string folder = slash == std::string::npos ? "." : database->substr(0, slash + 1);
  char canonical[PATH_MAX];
  if (::realpath(folder.c_str(), canonical) == nullptr) return false;
  *database = std::string(canonical) + "/" +
              (slash == std::string::npos ? *database : database->substr(slash + 1));
  return true;
}

void remove_own(const std::string& database, const std::string& folder) {
  if (folder.empty()) return;
  for (const char* suffix : {"", "-wal", "-shm", "-bell"})
    ::unlink((database + suffix).c_str());
  ::rmdir((database + "-workers").c_str());
  ::rmdir(folder.c_str());
}

std::uint64_t bytes_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

struct Field {
  std::string name;
  std::string value;
  bool is_text = false;
};

std::string decimal(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", places, value);
  return text;
}

// The percentiles 0, 5, ..., 95, 99 and 100.
std::string distribution(const std::vector<double>& latencies_ms) {
  std::string list = "[";
  for (int percent = 0; percent <= 95; percent += 5)
    list += decimal(bench::percentile(latencies_ms, percent), 3) + ",";
  return list + decimal(bench::percentile(latencies_ms, 99), 3) + "," +
         decimal(bench::percentile(latencies_ms, 100), 3) + "]";
}

// bytes_*_total and fsyncs_total count from the start of the process, for observers that do not see
// the marks.
std::vector<Field> fields_of(const bench::Setup& setup, bench::Figures& figures) {
  const auto rate = [&](std::uint64_t count) {
    return decimal(figures.wall_s > 0 ? static_cast<double>(count) / figures.wall_s : 0, 1);
  };
  const auto latency = [&](double percent) {
    return decimal(bench::percentile(figures.latencies_ms, percent), 3);
  };
  const auto per_step = [&](std::uint64_t count, int places) {
    return decimal(
        static_cast<double>(count) / static_cast<double>(figures.steps == 0 ? 1 : figures.steps),
        places);
  };
  const bench::IoCounts total = bench::io_counts();
  std::vector<Field> fields = {{"scenario", (setup.floor ? "floor " : "") + setup.scenario, true},
                               {"n", std::to_string(setup.n)},
                               {"wall_s", decimal(figures.wall_s, 6)},
                               {"orchestrations_per_s", rate(figures.orchestrations)},
                               {"activities_per_s", rate(figures.activities)},
                               {"step", figures.step, true},
                               {"steps", std::to_string(figures.steps)},
                               {"steps_per_s", rate(figures.steps)},
                               {"p50_ms", latency(50)},
                               {"p95_ms", latency(95)},
                               {"p99_ms", latency(99)},
                               {"percentiles_ms", distribution(figures.latencies_ms)},
                               {"rss_kib", std::to_string(figures.rss_kib)},
                               {"vmhwm_kib", std::to_string(figures.vmhwm_kib)},
                               {"db_bytes", std::to_string(bytes_of(setup.database))},
                               {"fsyncs", std::to_string(figures.io.fsyncs)},
                               {"fsyncs_per_step", per_step(figures.io.fsyncs, 4)},
                               {"bytes_written", std::to_string(figures.io.bytes_written)},
                               {"bytes_per_step", per_step(figures.io.bytes_written, 0)},
                               {"commits", std::to_string(figures.commits)},
                               {"commits_per_step", per_step(figures.commits, 4)},
                               {"server_trips_per_step", per_step(figures.server_trips, 3)},
                               {"allocs_after_start", std::to_string(figures.allocs_after_start)},
                               {"sync", setup.synchronous_full ? "full" : "normal", true},
                               {"fsyncs_total", std::to_string(total.fsyncs)},
                               {"bytes_written_total", std::to_string(total.bytes_written)},
                               {"fsyncs_told", std::to_string(figures.io_reported.fsyncs)},
                               {"bytes_told", std::to_string(figures.io_reported.bytes_written)}};
  for (const auto& [name, value] : figures.more)
    fields.push_back({name, decimal(value, 3)});
  return fields;
}

void print(const std::vector<Field>& fields, bool json) {
  const char* before = "{";
  for (const Field& field : fields) {
    if (json) {
      const char* quote = field.is_text ? "\"" : "";
      std::printf("%s\"%s\":%s%s%s", before, field.name.c_str(), quote, field.value.c_str(), quote);
    } else {
      std::printf("%-30s%s\n", field.name.c_str(), field.value.c_str());
    }
    before = ",";
  }
  if (json) std::puts("}");
}

// Runs a role for the process that started this one.
int play(const bench::Setup& setup, const std::string& role) {
  bench::io_watch(setup.database.c_str());
  std::string error;
  if (bench::run_role(setup, role, &error)) return 0;
  std::fprintf(stderr, "pawl-bench: %s\n", error.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    print_usage(stderr);
    return 2;
  }
  if (arguments.help) {
    print_usage(stdout);
    return 0;
  }
  bench::Setup& setup = arguments.setup;
  char program[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", program, sizeof(program) - 1) > 0) setup.program = program;
  if (!arguments.role.empty()) return play(setup, arguments.role);
  std::string own_folder;
  if (!place(&setup.database, &own_folder)) {
    std::fprintf(stderr, "pawl-bench: %s: %s\n", setup.database.c_str(), std::strerror(errno));
    return 1;
  }
  bench::io_watch(setup.database.c_str());
  bench::Figures figures;
  std::string error;
  bool done = setup.floor ? bench::run_floor(setup, &figures, &error)
                          : bench::run_pawl(setup, &figures, &error);
  if (done && !arguments.pages.empty() && !bench::io_write_pages(arguments.pages.c_str())) {
    done = false;
    error = arguments.pages + ": " + std::strerror(errno);
  }
  if (done) print(fields_of(setup, figures), arguments.json);
  remove_own(setup.database, own_folder);
  if (!done) std::fprintf(stderr, "pawl-bench: %s\n", error.c_str());
  return done ? 0 : 1;
}
