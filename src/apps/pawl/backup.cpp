// backup, restore: copies a database to a file that can be carried away, and back.
#include <unistd.h>

#include "apps/pawl/file_place.hpp"
#include "apps/pawl/library.hpp"
#include "apps/pawl/tool_commands.hpp"
#include "apps/pawl/units.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

// Shown on a terminal's error output, so that standard output holds only the answer.
class Progress final : public CopyVisitor {
 public:
  Progress() : shows_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shows_) std::fputs("\r\x1b[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  bool on_copied(std::int64_t done, std::int64_t of) noexcept override {
    if (shows_ && of > 0) std::fprintf(stderr, "\r%3d %%", static_cast<int>(100 * done / of));
    pages = of;
    return true;
  }
  std::int64_t pages = 0;

 private:
  bool shows_;
};

void answer(Tool& tool, const char* command, const std::string& file, std::int64_t bytes) {
  if (tool.json())
    tool.out()
        .begin_object()
        .text("done", command)
        .text("file", file)
        .number("bytes", bytes)
        .end_object()
        .end_line();
  else
    StdoutSink().write(printable(file) + ": " + tool.screen().size(bytes) + ", checked\n");
}

// SQLite would take the old log for the new file's, and write pages of another database into it.
void refuse_log_beside(const std::string& path) {
  for (const char* const ending : {"-wal", "-journal"})
    if (bytes_of(path + ending) > 0)
      fail(kFailed, status_name(Status::kAlreadyExists),
           path + ending + " is there, of another file than the new one; move it away first");
}

int backup(Tool& tool, const std::string& to, bool force) {
  const std::string& path = tool.file_that_is_there("pg_dump copies the schema");
  check_output(to, path);
  if (exists(to) && !force)
    fail(kFailed, status_name(Status::kAlreadyExists),
         to + " is there already; --force replaces it");
  refuse_log_beside(to);
  FilePlace place(to, path);
  {
    Progress progress;
    Library().copy(path, place.temporary(), progress);
  }
  place.put_in_place();
  answer(tool, "backup", to, bytes_of(to));
  return kDone;
}

struct Restore {
  std::string backup;
  bool force = false;
  bool same_identity = false;
  bool new_identity = false;
};

// Refuses a copy whose unfinished work two machines would do twice, under one identity.
void refuse_fork(const DatabaseReport& copy, const std::string& file) {
  if (copy.unfinished == 0) return;
  fail(kFailed, "would_fork",
       file + " has " + counted(copy.unfinished, "instance that has", "instances that have") +
           " not ended. Where its database still runs elsewhere, their work "
           "would be done twice, on the same devices, under the same worker_node_id, with the same "
           "idempotency keys and session folders. --same-identity says that the other one never "
           "runs again, --new-identity that both go on, each by itself");
}

std::string id_of(Library& library, const std::string& path) {
  auto ignore = visit([](std::string_view /*finding*/) {});
  return library.check(path, true, ignore).id;
}

// Writes the log's content into the database, so that only one file is replaced. SQLite does this
// as far as it can read the file, even where Pawl refuses it.
void fold_log(Tool& tool) {
  try {
    static_cast<void>(tool.client());
  } catch (const ToolFailure&) {
  }
  tool.close();
}

// The old database stays beside the new one: a restore loses nothing. The old one's lock is held
// until the new one has the name, so a process that opens the database meanwhile notices.
void replace(const std::string& path, FilePlace* place) {
  const WholeLock lock(path);
  if (bytes_of(path + "-wal") > 0)
    fail(kFailed, status_name(Status::kIo),
         path + "-wal cannot be written back into the database; move both away, then restore");
  for (const char* const ending : {"-wal", "-shm", "-journal"})
    remove_file(path + ending);
  const std::string kept = path + ".replaced";
  check_output(kept, path);
  remove_file(kept);
  remove_file(kept + "-wal");
  place->change_places(kept);
}

// Makes a copy with the identity that was asked for.
void make_copy(const std::string& path, const Restore& given, bool replaces,
               const std::string& to) {
  Library library;
  // A restore over the same database makes no second one, whatever work is in it.
  const bool is_own = replaces && !given.same_identity && bytes_of(path) > 0 &&
                      id_of(library, path) == id_of(library, given.backup);
  Progress progress;
  library.copy(given.backup, to, progress);
  if (given.new_identity) return library.renew_identity(to);
  if (!is_own && !given.same_identity) {
    auto ignore = visit([](std::string_view /*finding*/) {});
    refuse_fork(library.check(to, true, ignore), given.backup);
  }
  library.skip_numbers(to);
}

int restore(Tool& tool, const Restore& given) {
  const std::string& path = tool.file("pg_restore puts back what pg_dump copied");
  if (given.same_identity && given.new_identity)
    fail(kUsage, "usage", "--same-identity and --new-identity say the opposite of each other");
  const bool replaces = exists(path);
  if (replaces && !given.force)
    fail(kFailed, status_name(Status::kAlreadyExists),
         path + " is there already; --force replaces it");
  if (!exists(given.backup))
    fail(kNotFound, status_name(Status::kNotFound), "there is no file " + given.backup);
  if (!replaces) refuse_log_beside(path);
  FilePlace place(path, given.backup);
  make_copy(path, given, replaces, place.temporary());
  remove_file(place.temporary() + "-wal");
  remove_file(place.temporary() + "-shm");
  if (replaces) {
    fold_log(tool);
    replace(path, &place);
  } else {
    place.put_in_free_place();
  }
  answer(tool, "restore", path, bytes_of(path));
  return kDone;
}

}  // namespace

Library::Library() {
  ProcessOptions options;
  options.connections_max = 2;
  for_sqlite_.resize(Process::required_memory(options));
  memory_.resize(maintenance_memory());
  must(process_.start(options, for_sqlite_.data(), for_sqlite_.size(), why_));
}

void Library::must(Status status) const {
  if (status != Status::kOk) fail(exit_of(status), status_name(status), std::string(why_.text()));
}

void Library::copy(const std::string& from, const std::string& to, CopyVisitor& visitor) {
  must(copy_database(process_, from, to, port_.port(), memory_.data(), memory_.size(), visitor,
                     why_));
}

DatabaseReport Library::check(const std::string& path, bool quick, FindingVisitor& visitor) {
  DatabaseReport report;
  must(check_database(process_, path, quick, port_.port(), memory_.data(), memory_.size(), visitor,
                      &report, why_));
  return report;
}

DatabaseReport Library::check_rows(const DatabasePlace& at, FindingVisitor& visitor) {
  DatabaseReport report;
  std::vector<unsigned char> memory(check_rows_memory(at));
  must(pawl::check_rows(process_, at, port_.port(), memory.data(), memory.size(), visitor, &report,
                        why_));
  return report;
}

void Library::renew_identity(const std::string& path) {
  must(pawl::renew_identity(process_, path, port_.port(), memory_.data(), memory_.size(), why_));
}

void Library::skip_numbers(const std::string& path) {
  must(pawl::skip_numbers(process_, path, port_.port(), memory_.data(), memory_.size(), why_));
}

void add_backup(Tool& tool) {
  auto to = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  CLI::App* command =
      tool.add("backup", "Copies the database while others use it, and checks the copy",
               [&tool, to, force] { return backup(tool, *to, *force); });
  command->add_option("FILE", *to, "The copy")->required()->type_name("");
  command->add_flag("--force", *force, "Replaces a file that is there");

  auto given = std::make_shared<Restore>();
  command = tool.add("restore", "Puts a backup in place of the database, which no process uses",
                     [&tool, given] { return restore(tool, *given); });
  command->add_option("BACKUP", given->backup, "What backup made")->required()->type_name("");
  command->add_flag("--force", given->force, "Replaces a database that is there; it stays beside");
  command->add_flag("--same-identity", given->same_identity,
                    "The database that it was copied from never runs again");
  command->add_flag("--new-identity", given->new_identity,
                    "It becomes a database of its own, beside that one");
}

}  // namespace pawl::tool
