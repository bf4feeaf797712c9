// Tool: the shared part of all commands of `pawl`: the database, the form of answers, failures.
//
// Purpose: a command says which options it takes (CLI11) and what it does; opening, errors and exit
// codes are here. The tool is a program like a user's: it links pawl::pawl and includes public
// headers alone. Unlike Pawl it may throw. Ownership: main() owns the one Tool. Thread rule: one
// thread.
#ifndef PAWL_APPS_PAWL_TOOL_HPP
#define PAWL_APPS_PAWL_TOOL_HPP

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/pawl/console.hpp"
#include "pawl/export.hpp"
#include "pawl/host_client.hpp"
#include "pawl/json_out.hpp"
#include "pawl/maintenance.hpp"

namespace pawl::tool {

// docs/tool.md has the list; a test compares it.
enum Exit : int {
  kDone = 0,
  kFailed = 1,    // refused or failed
  kUsage = 2,     // wrong command line
  kNotFound = 3,  // no such instance, file or other name
  kTimeout = 4,   // the given time ran out
  kBad = 5,       // done, and the answer is no: a failed instance, a no-go, a finding
  kHalted = 6,    // wait: the instance is stopped
};

// Ends a command. `name` is the name of a status, or "usage".
struct ToolFailure {
  int exit;
  std::string name;
  std::string text;
  bool shows_commands = false;  // no command was given
};
[[noreturn]] void fail(int exit, std::string name, std::string text);
[[nodiscard]] int exit_of(Status status);

class Tool {
 public:
  Tool();
  ~Tool();
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  // Adds a command with the options that all commands have. `run` returns the exit code.
  CLI::App* add(const std::string& name, const std::string& help, std::function<int()> run);
  // Parses, runs, and reports a failure. Returns main()'s exit code.
  int run(int argc, const char* const* argv);

  // Opens the database on first use.
  Client& client();
  [[nodiscard]] bool is_on_server();
  // The path from --db, or from PAWL_DB, for a command about the file. Throws kUnsupported if the
  // database is on a server; `instead` says what to do there.
  [[nodiscard]] const std::string& file(const char* instead);
  // The same; throws kNotFound if there is no such file.
  [[nodiscard]] const std::string& file_that_is_there(const char* instead = "");
  // The place of the database, for a command that opens it by itself. Throws kNotFound if it is a
  // file that is not there.
  [[nodiscard]] DatabasePlace place();
  // A path in a folder of this run alone.
  [[nodiscard]] std::string path_beside();
  // Throws on a server unless --beside leads to the files of its workers.
  void must_see_workers();
  // Opens the database, too.
  [[nodiscard]] bool clock_is_trusted();
  // Throws unless kOk, with the client's text.
  void must(Status status);
  // Closes the database, so that it can be opened again or replaced.
  void close();

  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] JsonOut& out() { return out_; }
  [[nodiscard]] const Screen& screen() const { return screen_; }
  // Prints one object on a line of its own.
  template <typename Value>
  void print_json(const Value& value) {
    write_json(value, out_);
    out_.end_line();
  }
  // Prints the same as the only member of an object; the member's name says what it is.
  template <typename Value>
  void print_json_as(const char* what, const Value& value) {
    write_json(value, out_.begin_object().key(what));
    out_.end_object().end_line();
  }
  // Prints the answer of a command without a result: nothing, or {"done":command, "id":id}.
  void done(std::string_view command, std::string_view id);
  // Throws if the reader has gone or the disk is full.
  void flush();
  [[nodiscard]] CLI::App& app() { return app_; }
  // The help shows the commands that are added from here on under this title.
  void begin_group(const char* title) { group_ = title; }

 private:
  void add_common(CLI::App* app, const char* json);
  void open();
  void open_server(HostClientOptions* options);
  void find_server();
  int report(const ToolFailure& failure) const;
  [[nodiscard]] ToolFailure usage_failure(const CLI::ParseError& error) const;

  CLI::App app_;
  std::string database_;
  std::string schema_;
  std::string beside_;
  std::string own_folder_;  // empty: there is none, and nothing to remove
  bool json_ = false;
  Screen screen_ = Screen::of_stdout();
  StdoutSink stdout_;
  JsonOut out_;
  std::function<int()> chosen_;
  std::string group_;
  std::optional<ServerDatabase> server_;
  std::unique_ptr<HostClient> client_;
};

// ---- options whose values people write ----

// Each adds an option, or a positional argument if the name has no dashes. For a wrong value it
// says what is wrong and what was probably meant.
CLI::Option* add_duration(CLI::App* app, const std::string& name, std::optional<std::int64_t>* ms,
                          const std::string& help);
CLI::Option* add_size(CLI::App* app, const std::string& name, std::optional<std::int64_t>* bytes,
                      const std::string& help);
CLI::Option* add_time(CLI::App* app, const std::string& name, std::int64_t now_ms, std::int64_t* ms,
                      const std::string& help);
CLI::Option* add_count(CLI::App* app, const std::string& name, std::optional<std::int64_t>* count,
                       const std::string& help);
// The words of an enumeration, in its order.
template <typename State>
std::vector<std::string> words_of(std::size_t count, const char* (*name)(State)) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i)
    words.emplace_back(name(static_cast<State>(i)));
  return words;
}
// One of these words; *index is its index.
CLI::Option* add_choice(CLI::App* app, const std::string& name,
                        const std::vector<std::string>& words, std::optional<std::size_t>* index,
                        const std::string& help);
// A literal, @FILE, or - for standard input; @@ at the beginning is an @ of the literal. Read when
// the command runs.
CLI::Option* add_payload(CLI::App* app, const std::string& name, std::string* text,
                         const std::string& help);
[[nodiscard]] std::string read_payload(const std::string& given);

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_TOOL_HPP
