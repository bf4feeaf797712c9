#include "apps/pawl/tool.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/common/message.hpp"
#include "apps/common/server.hpp"
#include "apps/pawl/file_place.hpp"
#include "apps/pawl/units.hpp"
#include "pawl/files.hpp"
#include "pawl/version.h"

namespace pawl::tool {
namespace {

class StderrSink final : public TextSink {
 public:
  bool write(std::string_view text) noexcept override {
    return text.empty() || std::fwrite(text.data(), 1, text.size(), stderr) == text.size();
  }
};

// The word that the parser did not expect.
std::string unexpected(const CLI::App& app) {
  for (const std::string& word : app.remaining(true))
    if (word != "--") return word;
  return {};
}

const CLI::App& innermost(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

std::string with_meant(std::string text, const std::optional<std::string>& meant) {
  return meant.has_value() ? text.append("; did you mean ").append(*meant).append("?") : text;
}

bool has_word(int argc, const char* const* argv, const char* word) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], word) == 0) return true;
  return false;
}

// Sets an option that was not given to what the environment has.
void take_usual(std::string* option, const char* variable) {
  const char* const usual = std::getenv(variable);
  if (option->empty() && usual != nullptr) *option = usual;
}

// A folder of this run alone, since a Client needs one for what lies beside its database.
std::string make_folder() {
  const char* const temporary = std::getenv("TMPDIR");
  std::string folder = std::string(temporary == nullptr ? "/tmp" : temporary) + "/pawl-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    fail(kFailed, status_name(Status::kIo), folder + " cannot be made; --beside names a place");
  return folder;
}

// Checks the outputs that the shell opened, since the command writes to them.
void check_streams(const std::string& database) {
  Diagnostic why;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    const Status status = posix::check_output(descriptor, database.c_str(), why);
    if (status != Status::kOk) fail(kFailed, status_name(status), std::string(why.text()));
  }
}

}  // namespace

void fail(int exit, std::string name, std::string text) {
  throw ToolFailure{exit, std::move(name), std::move(text)};
}

int exit_of(Status status) {
  switch (status) {
    case Status::kOk: return kDone;
    case Status::kNotFound: return kNotFound;
    case Status::kTimeout: return kTimeout;
    default: return kFailed;
  }
}

Tool::Tool() : app_("Looks into a Pawl database, and changes it.", "pawl"), out_(stdout_) {
  app_.require_subcommand(1, 1);
  add_common(&app_, "Answers and errors as JSON, an object a line");
  app_.set_version_flag("--version", std::string("pawl ") + version(), "Its version, and no more");
  app_.footer(
      "pawl COMMAND --help has the options of a command. Exit codes: 0 done, 1 refused or "
      "failed, 2 wrong usage, 3 not found, 4 time ran out, 5 done and the answer is no, "
      "6 the instance is stopped.");
}

Tool::~Tool() {
  client_.reset();
  if (own_folder_.empty()) return;
  ::unlink((own_folder_ + "/pawl-bell").c_str());
  ::rmdir(own_folder_.c_str());
}

void Tool::add_common(CLI::App* app, const char* json) {
  app->add_option("--db", database_,
                  "The database: a file, or postgresql://..; else the environment's PAWL_DB")
      ->type_name("FILE");
  app->add_option("--schema", schema_, "Its schema on a server; else PAWL_SCHEMA, else pawl")
      ->type_name("NAME");
  app->add_option("--beside", beside_,
                  "On a server: the path that files of its workers begin with; else PAWL_BESIDE")
      ->type_name("PATH");
  app->add_flag("--json", json_, json);
}

CLI::App* Tool::add(const std::string& name, const std::string& help, std::function<int()> run) {
  CLI::App* const command = app_.add_subcommand(name, help);
  command->group(group_);
  add_common(command, "The answer and errors as JSON, an object a line");
  command->callback([this, run = std::move(run)] { chosen_ = run; });
  return command;
}

// The unknown word, with the word that was probably meant. If neither a command nor an option is
// unknown, the parser's own text.
ToolFailure Tool::usage_failure(const CLI::ParseError& error) const {
  const std::string word = unexpected(app_);
  const CLI::App& command = innermost(app_);
  const bool is_option = word.size() > 1 && word[0] == '-';
  const bool is_command = &command == &app_ && !word.empty() && !is_option;
  std::string text = error.what();
  if (error.get_name() == "ValidationError") {
    // The parser's text names the option and the value.
  } else if (is_command) {
    text = with_meant("unknown command " + word, programs::nearest(word, names_of_commands(app_)));
  } else if (is_option) {
    const std::string name = word.substr(0, word.find('='));
    text = with_meant("unknown option " + name, programs::nearest(name, names_of_options(command)));
  } else if (!word.empty()) {
    text = "one argument too many: " + word;
  } else if (&command == &app_ && error.get_name() == "RequiredError") {
    return {kUsage, "usage", "no command", true};
  }
  return {kUsage, "usage", text};
}

int Tool::report(const ToolFailure& failure) const {
  StderrSink sink;
  const std::string text = programs::without_address(failure.text);
  if (json_) {
    JsonOut out(sink);
    out.begin_object()
        .text("error", failure.name)
        .text("text", text)
        .number("exit", failure.exit)
        .end_object()
        .end_line();
    return failure.exit;
  }
  const CLI::App& command = innermost(app_);
  sink.write("pawl: ");
  if (failure.exit != kUsage) sink.write(printable(failure.name + ": "));
  sink.write(printable(text));
  sink.write("\n");
  if (failure.exit == kUsage) {
    if (failure.shows_commands) sink.write(app_.help("", CLI::AppFormatMode::Normal));
    sink.write("usage: pawl ");
    sink.write(&command == &app_ ? "COMMAND" : command.get_name());
    sink.write(" --help says more\n");
  }
  return failure.exit;
}

int Tool::run(int argc, const char* const* argv) {
  try {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForVersion& answer) {
      StdoutSink().write(answer.what() + std::string("\n"));
      flush();
      return kDone;
    } catch (const CLI::Success&) {
      StdoutSink().write(innermost(app_).help("", CLI::AppFormatMode::Normal));
      flush();
      return kDone;
    } catch (const CLI::ParseError& error) {
      if (has_word(argc, argv, "--json")) json_ = true;
      throw usage_failure(error);
    }
    const int exit = chosen_();
    flush();
    return exit;
  } catch (const ToolFailure& failure) {
    static_cast<void>(std::fflush(stdout));
    return report(failure);
  } catch (const std::exception& error) {
    return report({kFailed, "failed", error.what()});
  }
}

bool Tool::is_on_server() {
  take_usual(&database_, "PAWL_DB");
  if (database_.empty()) fail(kUsage, "usage", "no database: give --db FILE, or set PAWL_DB");
  const bool is_server = programs::is_server(database_);
  if (!is_server && !(schema_.empty() && beside_.empty()))
    fail(kUsage, "usage", "--schema and --beside are for a database on a server");
  return is_server;
}

const std::string& Tool::file(const char* instead) {
  if (is_on_server())
    fail(kFailed, status_name(Status::kUnsupported),
         std::string("the database is on a server, and this command is for a file; ") + instead);
  check_streams(database_);
  return database_;
}

const std::string& Tool::file_that_is_there(const char* instead) {
  if (!exists(file(instead)))
    fail(kNotFound, status_name(Status::kNotFound), "there is no file " + database_);
  return database_;
}

void Tool::must_see_workers() {
  if (!is_on_server()) return;
  take_usual(&beside_, "PAWL_BESIDE");
  if (beside_.empty())
    fail(kUsage, "usage", "workers report into files: give --beside PATH, or set PAWL_BESIDE");
}

void Tool::find_server() {
  take_usual(&schema_, "PAWL_SCHEMA");
  take_usual(&beside_, "PAWL_BESIDE");
  server_ = programs::server_at(database_, schema_.empty() ? programs::kUsualSchema : schema_);
  if (!server_.has_value())
    fail(kFailed, status_name(Status::kUnsupported), "this pawl was built without PostgreSQL");
}

std::string Tool::path_beside() {
  if (own_folder_.empty()) own_folder_ = make_folder();
  return own_folder_ + "/pawl";
}

DatabasePlace Tool::place() {
  if (!is_on_server()) return {file_that_is_there(), nullptr};
  find_server();
  return {beside_.empty() ? path_beside() : beside_, &*server_};
}

// Without the files of the workers nothing rings when one has written, so a wait looks by itself.
void Tool::open_server(HostClientOptions* options) {
  constexpr int kLookMs = 500;
  find_server();
  if (beside_.empty()) options->port.poll_ms = kLookMs;
  options->client.database = &*server_;
  options->client.database_path = beside_.empty() ? path_beside() : beside_;
  check_streams(std::string(options->client.database_path.view()));
}

void Tool::open() {
  HostClientOptions options;
  if (is_on_server())
    open_server(&options);
  else
    options.client.database_path = file_that_is_there();
  options.client.create = false;
  options.client.payload_bytes_max = options.process.payload_bytes_max;  // the largest value
  client_ = std::make_unique<HostClient>(options);
  must(client_->status());
}

Client& Tool::client() {
  if (client_ == nullptr) open();
  return *client_;
}

bool Tool::clock_is_trusted() {
  static_cast<void>(client());
  return client_->clock().synced();
}

void Tool::close() { client_.reset(); }

void Tool::must(Status status) {
  if (status != Status::kOk)
    fail(exit_of(status), status_name(status), std::string(client_->error_text()));
}

void Tool::done(std::string_view command, std::string_view id) {
  if (!json_) return;
  out_.begin_object().text("done", command).text("id", id).end_object().end_line();
}

void Tool::flush() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    fail(kFailed, status_name(Status::kIo), "the output could not be written");
}

}  // namespace pawl::tool
