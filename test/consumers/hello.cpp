// A durable hello, built as a user builds it: outside of the tree, and in many ways. It says hello
// and dies; started again, it goes on with goodbye, without a second hello.
// usage: hello DATABASE [die]    with WITH_SERVER: on the server of PAWL_POSTGRES
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "pawl/host.hpp"
#include "pawl/version.h"

#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

#if __has_include("arena.hpp") || __has_include("ids.hpp") || __has_include("engine.hpp")
#error "a header of src/ is within reach of a user"
#endif

#ifdef WITH_SERVER
#include "pawl/postgres.hpp"
#endif

#ifdef WITH_OWN_LIBRARIES
#include <sqlite3.h>

extern "C" {
#include "cJSON.h"
}
#endif

using Text = std::string_view;
constexpr pawl::ActivityType<Text, Text> kSay{"say"};
constexpr pawl::ActivityType<pawl::Nothing, pawl::Nothing> kWork{"work"};
constexpr pawl::OrchestrationType<pawl::Nothing, Text> kGreet{"greet"};

pawl::Reply<Text> say(pawl::ActivityContext&, const Text& text) {
  std::printf("%.*s\n", PAWL_TEXT(text));
  std::fflush(stdout);
#if defined(__cpp_exceptions)
  try {
    throw std::runtime_error("exceptions pass here");
  } catch (const std::exception&) {
  }
#endif
  return text;
}

bool must_die = false;
pawl::Reply<pawl::Nothing> work(pawl::ActivityContext&, const pawl::Nothing&) {
  if (must_die) std::_Exit(3);
  return pawl::Nothing();
}

pawl::PollOf<pawl::Nothing, Text> greet(pawl::OrchestrationContext& ctx, const pawl::Nothing&) {
  PAWL_AWAIT(hello, ctx.schedule_activity(kSay, "hello"));
  if (!hello.ok()) return ctx.fail(hello.error());
  PAWL_AWAIT(worked, ctx.schedule_activity(kWork, {}));
  if (!worked.ok()) return ctx.fail(worked.error());
  PAWL_AWAIT(goodbye, ctx.schedule_activity(kSay, "goodbye"));
  return ctx.complete(goodbye.value());
}

#ifdef WITH_OWN_LIBRARIES
// The program brings its own SQLite, and its own cJSON with its own hooks, which Pawl must not
// reach.
int allocations = 0;
void* count_and_allocate(std::size_t size) {
  ++allocations;
  return std::malloc(size);
}

bool reads_history_itself(const char* path) {
  cJSON_Hooks hooks = {count_and_allocate, std::free};
  cJSON_InitHooks(&hooks);
  sqlite3* database = nullptr;
  sqlite3_stmt* rows = nullptr;
  int found = 0;
  if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
      sqlite3_prepare_v2(database, "SELECT meta FROM history WHERE meta LIKE '%say%'", -1, &rows,
                         nullptr) == SQLITE_OK) {
    while (sqlite3_step(rows) == SQLITE_ROW) {
      cJSON* meta = cJSON_Parse(reinterpret_cast<const char*>(sqlite3_column_text(rows, 0)));
      const cJSON* name = cJSON_GetObjectItem(meta, "name");
      found += name != nullptr && std::strcmp(name->valuestring, "say") == 0 ? 1 : 0;
      cJSON_Delete(meta);
    }
  }
  sqlite3_finalize(rows);
  sqlite3_close(database);
  return found == 2 && allocations > 0;
}
#endif

int main(int argument_count, char** arguments) {
  const std::string built = std::to_string(PAWL_VERSION_MAJOR) + "." +
                            std::to_string(PAWL_VERSION_MINOR) + "." +
                            std::to_string(PAWL_VERSION_PATCH);
  if (argument_count < 2 || built != pawl::version()) return 2;
  must_die = argument_count == 3;
  pawl::HostOptions options;
  options.runtime.database_path = arguments[1];
#ifdef WITH_SERVER
  const pawl::ServerDatabase server = pawl::postgresql(std::getenv("PAWL_POSTGRES"));
  options.runtime.database = &server;
#endif
  pawl::Host host{options};
  host.add_orchestration(kGreet, greet).add_activity(kSay, say).add_activity(kWork, work);
  host.start_once(kGreet, pawl::InstanceId("first"), {});
  const int status = host.run_until_done("first");
#ifdef WITH_OWN_LIBRARIES
  if (!reads_history_itself(arguments[1])) return 4;
#endif
  return status;
}
