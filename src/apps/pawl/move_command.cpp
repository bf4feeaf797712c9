// move: carries the database over to another place, a file or a schema of a server.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "apps/common/server.hpp"
#include "apps/common/upgrade.hpp"
#include "apps/pawl/library.hpp"
#include "apps/pawl/tool_commands.hpp"
#include "pawl/files.hpp"

namespace pawl::tool {
namespace {

// Shown on the error output, so that standard output holds only the answer.
class Progress final : public MoveVisitor {
 public:
  Progress() : shows_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shows_) std::fputs("\r\x1b[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  bool on_rows(std::int64_t rows) noexcept override {
    if (shows_) std::fprintf(stderr, "\r%lld rows", static_cast<long long>(rows));
    return true;
  }

 private:
  bool shows_;
};

struct MoveGiven {
  std::string to;
  std::string schema;
};

int move(Tool& tool, const MoveGiven& given) {
  DatabasePlace from = tool.place();
  std::optional<ServerDatabase> server;
  DatabasePlace to;
  if (programs::is_server(given.to)) {
    server = programs::server_at(
        given.to, given.schema.empty() ? programs::kUsualSchema : std::string_view(given.schema));
    if (!server.has_value())
      fail(kFailed, status_name(Status::kUnsupported), "this pawl was built without PostgreSQL");
    to.path = tool.path_beside();
    to.database = &*server;
  } else {
    if (!given.schema.empty()) fail(kUsage, "usage", "--to-schema is for a database on a server");
    to.path = given.to;
  }
  std::int64_t rows = 0;
  {
    Progress progress;
    rows = Library().move(from, to, progress);
  }
  if (tool.json())
    tool.out().begin_object().text("done", "move").number("rows", rows).end_object().end_line();
  else
    StdoutSink().write("moved, " + std::to_string(rows) + " rows, compared\n");
  return kDone;
}

}  // namespace

std::int64_t Library::move(const DatabasePlace& from, const DatabasePlace& to,
                           MoveVisitor& visitor) {
  std::int64_t rows = 0;
  std::vector<unsigned char> memory(move_memory(from, to));
  const Status status = move_database(process_, from, to, port_.port(), memory.data(),
                                      memory.size(), visitor, &rows, why_);
  const std::string path(from.path.view());
  // The text begins with the place that is busy.
  const bool is_from =
      from.database == nullptr && why_.text().substr(0, path.size() + 1) == path + ":";
  if (status == Status::kBusy && is_from) {
    const int file = posix::open_own(path.c_str(), O_RDWR);
    if (file >= 0) fail(kFailed, status_name(status), programs::in_use(path, file));
  }
  must(status);
  return rows;
}

void add_move(Tool& tool) {
  auto given = std::make_shared<MoveGiven>();
  CLI::App* const command =
      tool.add("move", "Moves the database, which no process uses, to another place",
               [&tool, given] { return move(tool, *given); });
  command->add_option("TO", given->to, "The place: a file, or postgresql://..")
      ->required()
      ->type_name("");
  command->add_option("--to-schema", given->schema, "The schema on a server; else pawl")
      ->type_name("NAME");
}

}  // namespace pawl::tool
