// doctor: is the database sound, is the disk fast enough, and how long will it last?
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "apps/pawl/card.hpp"
#include "apps/pawl/file_place.hpp"
#include "apps/pawl/library.hpp"
#include "apps/pawl/process_io.hpp"
#include "apps/pawl/session_look.hpp"
#include "apps/pawl/tool_commands.hpp"
#include "apps/pawl/units.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

constexpr std::size_t kFlushes = 20;
constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kFreeLeast =
    4 * 1024 * 1024;  // below it a burst of commits may fill the disk

struct DoctorGiven {
  std::optional<std::int64_t> for_ms;
  std::optional<std::int64_t> endurance_bytes;
  std::vector<std::string> folders;
  bool quick = false;
};

struct Flushes {
  std::int64_t median_us = 0;
  std::int64_t most_us = 0;
  // Bytes of all programs that the device got meanwhile, a flush. None: it has no such count.
  std::optional<std::int64_t> card_bytes;
};

std::int64_t now_us() {
  std::timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

// Measures flushes of a page that is appended, as a log appends it.
Flushes measure_flushes(const std::string& database) {
  FilePlace place(database + "-doctor", database);
  const int file = posix::open_own(place.temporary().c_str(), O_WRONLY);
  if (file < 0) fail(kFailed, status_name(Status::kIo), place.temporary() + " cannot be written");
  std::array<char, 4096> page = {};
  std::array<std::int64_t, kFlushes> took = {};
  bool good = true;
  const std::optional<std::int64_t> before = given_to_card_of(place.temporary());
  for (std::int64_t& one : took) {
    const std::int64_t begin = now_us();
    good = good && ::write(file, page.data(), page.size()) > 0 && ::fdatasync(file) == 0;
    one = now_us() - begin;
  }
  ::close(file);
  if (!good) fail(kFailed, status_name(Status::kIo), place.temporary() + " cannot be flushed");
  std::sort(took.begin(), took.end());
  Flushes flushes = {took[kFlushes / 2], took[kFlushes - 1], std::nullopt};
  const std::optional<std::int64_t> after = given_to_card_of(place.temporary());
  if (before.has_value() && after.has_value() && *after >= *before)
    flushes.card_bytes = (*after - *before) / std::int64_t{kFlushes};
  return flushes;
}

// The file and what it is on.
struct OfFile {
  std::int64_t bytes = 0;
  std::int64_t log_bytes = 0;
  std::int64_t disk_free_bytes = 0;
  Flushes flushes;
  Card card;
};

// The result: facts and findings.
struct Diagnosis {
  DatabaseReport report;
  std::vector<std::string> findings;
  Metrics metrics;
  bool clock_is_trusted = false;
  std::optional<OfFile> file;  // none: it is on a server
  std::int64_t unserved = 0;
  std::size_t workers = 0;
  SessionLook sessions;
  WriteRate written;
};

// The first names, for a line that people read; the count says how many there are.
std::string first_of(const Counted& all) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  for (std::size_t i = 0; i < all.first.size() && i < kNamed; ++i)
    text.append(i == 0 ? "" : ", ").append(all.first[i]);
  return text + (all.count > static_cast<std::int64_t>(kNamed) ? ", .." : "");
}

void add_findings(const SessionLook& is, std::vector<std::string>* findings) {
  const auto find = [findings](const Counted& all, const char* one, const char* more) {
    if (all.count > 0) findings->push_back(counted(all.count, one, more) + ": " + first_of(all));
  };
  find(is.waiting_devices, "device has work, and no living worker serves it",
       "devices have work, and no living worker serves them");
  find(is.orphaned_folders, "session folder belongs to no open session, until a worker removes it",
       "session folders belong to no open session, until a worker removes them");
  find(is.missing_folders, "open session has lost its folder",
       "open sessions have lost their folder");
  find(is.unread_roots, "place of session folders cannot be read",
       "places of session folders cannot be read");
}

void add_findings(const Metrics& is, std::int64_t unowned_devices,
                  std::vector<std::string>* findings) {
  const auto find = [findings](std::int64_t count, const char* one, const char* more) {
    if (count > 0) findings->push_back(counted(count, one, more));
  };
  find(is.instances_stopped, "stopped instance: pawl list --state stopped",
       "stopped instances: pawl list --state stopped");
  find(is.sessions_waiting - unowned_devices, "session waits for a worker: pawl sessions",
       "sessions wait for a worker: pawl sessions");
  // refuses_new is also set if only the reserve is missing, which a Runtime makes at its start.
  if (is.quota_bytes > 0 && is.used_bytes + is.log_bytes > is.quota_bytes)
    findings->emplace_back("what is new is refused: over the quota");
}

void look_at_work(Tool& tool, Diagnosis* is) {
  auto count = visit([is](const WorkInfo& one) {
    if (one.is_unserved) ++is->unserved;
  });
  Page page;
  page.rows_max = 1'000;
  do {
    tool.must(tool.client().list_work(WorkListFilter(), &page, count));
  } while (page.more);
  if (is->unserved > 0)
    is->findings.push_back(counted(is->unserved,
                                   "activity waits for a worker that has its name: pawl queue",
                                   "activities wait for a worker that has their name: pawl queue"));
}

void look_at_rows(Tool& tool, const std::string& path, const DoctorGiven& given, Diagnosis* is) {
  std::vector<std::int64_t> pids;
  tool.must(tool.client().get_metrics(&is->metrics));
  tool.must(tool.client().list_workers(
      visit([&pids](const WorkerInfo& one) { pids.push_back(one.pid); })));
  is->workers = pids.size();
  is->sessions = look_at_sessions(tool, path, is->report.id, given.folders);
  add_findings(is->metrics, is->sessions.unowned, &is->findings);
  add_findings(is->sessions, &is->findings);
  look_at_work(tool, is);
  if (!given.for_ms.has_value()) return;
  is->written.read(pids);
  ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(*given.for_ms, kDayMs)));
  is->written.read(pids);
}

void look_at_file(const std::string& path, Diagnosis* is) {
  OfFile file;
  file.bytes = bytes_of(path);
  file.log_bytes = bytes_of(path + "-wal");
  file.disk_free_bytes = free_bytes_beside(path);
  if (file.disk_free_bytes < kFreeLeast)
    is->findings.push_back("the disk has " + size_text(file.disk_free_bytes) + " left");
  file.flushes = measure_flushes(path);
  file.card = card_of(path);
  is->file = file;
}

Diagnosis diagnose(Tool& tool, const DoctorGiven& given) {
  Diagnosis is;
  const DatabasePlace place = tool.place();
  if (place.database != nullptr && (given.for_ms.has_value() || !given.folders.empty()))
    fail(kUsage, "usage",
         "--for and --folders are for a file: a server has workers on other machines, too");
  const std::string path(place.path.view());
  {
    Library library;
    auto find = visit([&is](std::string_view text) { is.findings.emplace_back(text); });
    is.report = place.database == nullptr ? library.check(path, given.quick, find)
                                          : library.check_rows(place, find);
    is.clock_is_trusted = library.clock_is_trusted();
  }
  if (place.database == nullptr) look_at_file(path, &is);
  if (is.report.orphans > 0)
    is.findings.push_back(counted(is.report.orphans, "row belongs to an instance that is not there",
                                  "rows belong to instances that are not there"));
  // With damaged pages a listing may end anywhere.
  if (is.report.findings == 0) look_at_rows(tool, path, given, &is);
  return is;
}

std::optional<std::int64_t> days_left(const DoctorGiven& given, const Diagnosis& is) {
  const std::int64_t a_day = is.written.bytes_a_day();
  if (!given.endurance_bytes.has_value() || a_day == 0) return std::nullopt;
  return *given.endurance_bytes / a_day;
}

void print_json(JsonOut& out, const char* count, const char* list, const Counted& all) {
  out.number(count, all.count).begin_list(list);
  for (const std::string& one : all.first)
    out.text(one);
  out.end_list();
}

void print_json(JsonOut& out, const SessionLook& is) {
  print_json(out, "devices_waiting", "devices_waiting_first", is.waiting_devices);
  print_json(out, "folders_orphaned", "folders_orphaned_first", is.orphaned_folders);
  print_json(out, "folders_missing", "folders_missing_first", is.missing_folders);
  print_json(out, "folder_roots_unread", "folder_roots_unread_first", is.unread_roots);
  out.number("folder_roots", is.roots)
      .number("folders_foreign", is.foreign_folders)
      .flag("folders_complete", is.complete);
}

void print_json(JsonOut& out, const DatabaseReport& report, const OfFile& is) {
  out.number("format", report.format)
      .number("file_bytes", is.bytes)
      .number("log_bytes", is.log_bytes)
      .number("free_bytes", report.free_pages * report.page_bytes)
      .number("disk_free_bytes", is.disk_free_bytes)
      .number("flush_median_us", is.flushes.median_us)
      .number("flush_most_us", is.flushes.most_us);
  if (!is.card.file_system.empty())
    out.text("file_system", is.card.file_system)
        .text("device", is.card.device)
        .text("mount_options", is.card.options)
        .flag("keeps_flushes", is.card.keeps_flushes);
  if (is.flushes.card_bytes.has_value()) out.number("flush_card_bytes", *is.flushes.card_bytes);
}

void print_json(Tool& tool, const DoctorGiven& given, const Diagnosis& is) {
  JsonOut& out = tool.out();
  out.begin_object().flag("healthy", is.findings.empty()).begin_list("findings");
  for (const std::string& one : is.findings)
    out.text(one);
  out.end_list().text("database_id", is.report.id);
  if (is.file.has_value()) print_json(out, is.report, *is.file);
  out.flag("clock_is_trusted", is.clock_is_trusted)
      .flag("clock_was_trusted", is.report.clock_was_trusted)
      .number("orphans", is.report.orphans)
      .number("unserved", is.unserved)
      .number("unfinished", is.report.unfinished)
      .number("workers", static_cast<std::int64_t>(is.workers));
  print_json(out, is.sessions);
  if (is.written.bytes().has_value()) out.number("bytes_a_day", is.written.bytes_a_day());
  const std::optional<std::int64_t> days = days_left(given, is);
  if (days.has_value()) out.number("endurance_days", *days);
  out.end_object().end_line();
}

void print_wear(const Screen& screen, const DoctorGiven& given, const Diagnosis& is) {
  if (!given.for_ms.has_value()) return;
  if (!is.written.bytes().has_value()) {
    print_field(screen, "writes", "unknown: no worker runs here whose /proc/PID/io can be read");
    return;
  }
  print_field(screen, "writes",
              screen.size(*is.written.bytes()) + " in " + screen.duration(is.written.ms()) +
                  " by the workers' processes; a day of it is " +
                  screen.size(is.written.bytes_a_day()));
  const std::optional<std::int64_t> days = days_left(given, is);
  if (days.has_value())
    print_field(screen, "endurance",
                counted(*days, "day", "days") + ", without what the card itself writes more");
}

// A mount without flushes is no finding: a disk whose cache has a battery is mounted so.
void print_card(const Screen& screen, const OfFile& is) {
  if (is.card.file_system.empty()) return print_field(screen, "card", "unknown mount");
  print_field(screen, "card",
              is.card.file_system + " on " + is.card.device + " (" + is.card.options + ")" +
                  (is.card.keeps_flushes ? "" : ", without flushes: a power cut may damage it"));
  if (is.flushes.card_bytes.has_value())
    print_field(screen, "card writes",
                screen.size(*is.flushes.card_bytes) + " a flush, by all programs of the machine");
}

std::string folders_text(const SessionLook& is) {
  if (is.roots == 0) return "none known; --folders says where they would be";
  return std::to_string(is.orphaned_folders.count) + " orphaned, " +
         std::to_string(is.missing_folders.count) + " missing, " +
         std::to_string(is.foreign_folders) + " of other databases, in " +
         counted(is.roots, "place", "places") +
         (is.complete ? "" : "; there are more than were looked at");
}

void print_file(const Screen& screen, const DatabaseReport& report, const OfFile& is) {
  print_field(screen, "format", std::to_string(report.format));
  print_field(
      screen, "file",
      screen.size(is.bytes) + ", of it free " + screen.size(report.free_pages * report.page_bytes));
  print_field(screen, "log", is.log_bytes == 0 ? "0" : screen.size(is.log_bytes));
  print_field(screen, "disk", screen.size(is.disk_free_bytes) + " free");
  print_field(screen, "flush",
              "median " + std::to_string(is.flushes.median_us) + " us, longest " +
                  std::to_string(is.flushes.most_us) + " us, of " + std::to_string(kFlushes));
  print_card(screen, is);
}

void print_people(Tool& tool, const DoctorGiven& given, const Diagnosis& is) {
  const Screen& screen = tool.screen();
  print_field(screen, "database", is.report.id);
  if (is.file.has_value()) print_file(screen, is.report, *is.file);
  print_field(screen, "clock",
              std::string(is.clock_is_trusted ? "trusted now" : "not trusted now") +
                  (is.report.clock_was_trusted ? ", trusted before" : ", never trusted before"));
  print_field(screen, "workers", std::to_string(is.workers));
  print_field(screen, "unfinished", std::to_string(is.report.unfinished));
  print_field(screen, "devices", counted(is.sessions.waiting_devices.count, "waits", "wait"));
  if (is.file.has_value()) print_field(screen, "folders", folders_text(is.sessions));
  print_wear(screen, given, is);
  for (const std::string& one : is.findings)
    print_field(screen, "finding", one);
  print_field(screen, "verdict", is.findings.empty() ? "healthy" : "not healthy");
}

int doctor(Tool& tool, const DoctorGiven& given) {
  const Diagnosis is = diagnose(tool, given);
  if (tool.json())
    print_json(tool, given, is);
  else
    print_people(tool, given, is);
  return is.findings.empty() ? kDone : kBad;
}

}  // namespace

void add_doctor(Tool& tool) {
  auto given = std::make_shared<DoctorGiven>();
  CLI::App* const command =
      tool.add("doctor", "Looks at all of the database, and measures the disk of a file",
               [&tool, given] { return doctor(tool, *given); });
  command->add_flag("--quick", given->quick, "Without comparing each index with its table");
  add_duration(command, "--for", &given->for_ms, "Measures so long what the workers write");
  add_size(command, "--endurance", &given->endurance_bytes,
           "What the card bears; with --for: how long that is");
  command->add_option("--folders", given->folders, "Where session folders are, too; repeatable")
      ->type_name("FOLDER")
      ->allow_extra_args(false);
}

}  // namespace pawl::tool
