// cancel, terminate, suspend, resume, time-limit, restart; delete, delete-ended, prune, quota.
#include <chrono>

#include "apps/pawl/tool_commands.hpp"
#include "apps/pawl/units.hpp"

namespace pawl::tool {
namespace {

struct Given {
  std::string id;
  std::string reason;
  InstanceChoice choice;
  bool all = false;
};

void write_line(const std::string& text) { StdoutSink().write(text + "\n"); }

// Accepts one ID or a filter; all instances only with --all.
void check_choice(const Given& given) {
  const bool many = given.all || given.choice.any();
  if (given.id.empty() && !many)
    fail(kUsage, "usage", "which instances? Give an ID, --name, --state, --prefix, or --all");
  if (!given.id.empty() && many)
    fail(kUsage, "usage", "an ID, or --name, --state, --prefix and --all: not both");
}

void add_choice_or_id(CLI::App* command, Given* given) {
  command->add_option("ID", given->id, "The instance")->type_name("");
  add_choice_of_instances(command, &given->choice);
  command->add_flag("--all", given->all, "All of them");
}

int cancel(Tool& tool, const Given& given) {
  check_choice(given);
  if (!given.id.empty()) {
    tool.must(tool.client().cancel_instance(given.id, given.reason));
    tool.done("cancel", given.id);
    return kDone;
  }
  Page page;
  std::int64_t sum = 0;
  do {
    std::int64_t asked = 0;
    tool.must(tool.client().cancel_instances(given.choice.filter(), &page, given.reason, &asked));
    sum += asked;
  } while (page.more);
  if (tool.json())
    tool.out()
        .begin_object()
        .text("done", "cancel")
        .number("instances", sum)
        .end_object()
        .end_line();
  else
    write_line(counted(sum, "instance", "instances"));
  return kDone;
}

void print_removed(Tool& tool, const Removed& removed) {
  if (tool.json()) return tool.print_json(removed);
  write_line(counted(removed.instances, "instance", "instances") + ", " +
             counted(removed.executions, "execution", "executions") + ", " +
             counted(removed.events, "event", "events"));
}

void add_to(const Removed& some, Removed* sum) {
  sum->instances += some.instances;
  sum->executions += some.executions;
  sum->events += some.events;
}

struct EndedGiven {
  InstanceChoice choice;
  std::int64_t before_ms = 0;
  std::optional<std::int64_t> limit;
};

int delete_ended(Tool& tool, const EndedGiven& given) {
  InstanceFilter filter = given.choice.filter();
  filter.updated_before_ms = given.before_ms;  // the update of an ended instance is its end
  const std::int64_t limit = given.limit.value_or(0);
  Page page;
  Removed sum;
  for (std::int64_t left = limit; limit == 0 || left > 0;) {
    if (limit > 0) page.rows_max = 1;
    Removed removed;
    const Status status = tool.client().delete_instances(filter, &page, &removed);
    add_to(removed, &sum);
    if (status != Status::kOk) print_removed(tool, sum);
    tool.must(status);
    if (!page.more) break;
    if (removed.instances > 0) --left;
  }
  print_removed(tool, sum);
  return kDone;
}

struct PruneGiven : Given {
  std::optional<std::int64_t> keep = 1;
  std::int64_t before_ms = 0;
};

int prune(Tool& tool, const PruneGiven& given) {
  check_choice(given);
  const std::int64_t keep = given.keep.value_or(1);
  Removed sum;
  if (!given.id.empty()) {
    tool.must(tool.client().prune_executions(given.id, keep, given.before_ms, &sum));
    print_removed(tool, sum);
    return kDone;
  }
  Page page;
  do {
    Removed removed;
    tool.must(tool.client().prune_instances(given.choice.filter(), &page, keep, given.before_ms,
                                            &removed));
    add_to(removed, &sum);
  } while (page.more);
  print_removed(tool, sum);
  return kDone;
}

struct RestartGiven {
  std::string id;
  std::optional<std::size_t> from;
  std::string version;
  std::string by;
};

int restart(Tool& tool, const RestartGiven& given) {
  RestartOptions options;
  if (!given.version.empty()) options.version = Name(given.version);
  options.by = given.by;
  const RestartFrom from =
      given.from.value_or(1) == 0 ? RestartFrom::kStart : RestartFrom::kLastGoodEvent;
  tool.must(tool.client().restart_instance(given.id, from, options));
  tool.done("restart", given.id);
  return kDone;
}

// A limit of 0 is none.
int change_time_limit(Tool& tool, const std::string& id, std::int64_t limit_ms) {
  std::optional<std::chrono::milliseconds> limit;
  if (limit_ms > 0) limit = std::chrono::milliseconds(limit_ms);
  tool.must(tool.client().change_time_limit(id, limit));
  tool.done("time-limit", id);
  return kDone;
}

using Verb = Status (Client::*)(std::string_view);

void add_verb(Tool& tool, const std::string& name, const std::string& help, Verb verb) {
  auto id = std::make_shared<std::string>();
  CLI::App* const command = tool.add(name, help, [&tool, id, name, verb] {
    tool.must((tool.client().*verb)(*id));
    tool.done(name, *id);
    return kDone;
  });
  add_id(command, id.get());
}

}  // namespace

void add_instance_changes(Tool& tool) {
  auto given = std::make_shared<Given>();
  CLI::App* command = tool.add("cancel", "Asks the code of one, or of all that pass, to stop",
                               [&tool, given] { return cancel(tool, *given); });
  add_choice_or_id(command, given.get());
  command->add_option("--reason", given->reason, "The reason that its code gets")
      ->type_name("TEXT");

  command = tool.add("terminate", "Ends it now, without its code", [&tool, given] {
    tool.must(tool.client().terminate_instance(given->id, given->reason));
    tool.done("terminate", given->id);
    return kDone;
  });
  add_id(command, &given->id);
  command->add_option("--reason", given->reason, "The text of the error")->type_name("TEXT");

  add_verb(tool, "suspend", "No turns until it is resumed", &Client::suspend_instance);
  add_verb(tool, "resume", "Lets a suspended or stopped one go on", &Client::resume_instance);

  auto id = std::make_shared<std::string>();
  auto limit = std::make_shared<std::optional<std::int64_t>>();
  command = tool.add("time-limit", "How long it may take from now on; 0: no limit",
                     [&tool, id, limit] { return change_time_limit(tool, *id, **limit); });
  add_id(command, id.get());
  add_duration(command, "DURATION", limit.get(), "The limit")->required();

  auto again = std::make_shared<RestartGiven>();
  command = tool.add("restart", "Lets one that failed or is stopped go on",
                     [&tool, again] { return restart(tool, *again); });
  add_id(command, &again->id);
  add_choice(command, "--from", {"start", "last-good-event"}, &again->from,
             "From where; by default last-good-event");
  command->add_option("--version", again->version, "Of the code; with --from start")
      ->type_name("VERSION");
  command->add_option("--by", again->by, "Who asked: stays in its history")->type_name("WHO");
}

void add_removals(Tool& tool) {
  auto id = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  CLI::App* command = tool.add("delete", "Removes an ended tree by its root", [&tool, id, force] {
    Removed removed;
    tool.must(tool.client().delete_instance(*id, *force, &removed));
    print_removed(tool, removed);
    return kDone;
  });
  add_id(command, id.get());
  command->add_flag("--force", *force, "Also one that has not ended");

  const std::int64_t now = tool.screen().now_ms;
  auto ended = std::make_shared<EndedGiven>();
  command = tool.add("delete-ended", "Removes all ended trees, or those that pass",
                     [&tool, ended] { return delete_ended(tool, *ended); });
  add_choice_of_instances(command, &ended->choice);
  add_time(command, "--before", now, &ended->before_ms, "That ended earlier");
  add_count(command, "--limit", &ended->limit, "So many trees at most; 0: all");

  auto pruned = std::make_shared<PruneGiven>();
  command = tool.add("prune", "Removes earlier executions of one, or of all that pass",
                     [&tool, pruned] { return prune(tool, *pruned); });
  add_choice_or_id(command, pruned.get());
  add_count(command, "--keep", &pruned->keep, "How many stay; by default 1");
  add_time(command, "--before", now, &pruned->before_ms, "That ended earlier");

  tool.begin_group("The database");
  auto bytes = std::make_shared<std::optional<std::int64_t>>();
  command =
      tool.add("quota", "How much pages in use and the log may take; 0: no limit", [&tool, bytes] {
        tool.must(tool.client().set_quota(**bytes));
        tool.done("quota", std::to_string(**bytes));
        return kDone;
      });
  add_size(command, "SIZE", bytes.get(), "The quota")->required();
}

}  // namespace pawl::tool
