// list, show, explain, children, tree, history, values: views of instances.
#include <algorithm>

#include "apps/pawl/tool_commands.hpp"
#include "apps/pawl/units.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }
std::string copy(std::string_view text) { return std::string(text); }

class PrintInstances final : public InstanceVisitor {
 public:
  explicit PrintInstances(Tool& tool)
      : tool_(tool),
        table_(tool.screen(), {"ID", "NAME", "STATE", "EXECUTION", "CREATED", "UPDATED", "NOTE"}) {}
  void on_instance(const InstanceInfo& info) noexcept override {
    ++printed;
    if (tool_.json()) return tool_.print_json(info);
    const Screen& screen = tool_.screen();
    table_.row({copy(info.id), copy(info.name), orchestration_state_name(info.state),
                number(info.execution_id), screen.time(info.created_ms),
                screen.time(info.updated_ms), note_of(info)});
  }
  std::size_t printed = 0;

 private:
  std::string note_of(const InstanceInfo& info) const {
    if (info.time_left_ms.has_value())
      return tool_.screen().duration(info.time_left_ms.value()) + " left";
    if (info.unread_messages > 0) return number(info.unread_messages) + " unread messages";
    if (info.timers_without_clock == 0) return "";
    return number(info.timers_without_clock) + " timers wait for a trusted clock";
  }

  Tool& tool_;
  TextTable table_;
};

class PrintExecutions final : public ExecutionVisitor {
 public:
  PrintExecutions(Tool& tool, std::int64_t current)
      : tool_(tool),
        current_(current),
        table_(tool.screen(), {"EXECUTION", "STATE", "EVENTS", "STARTED", "ENDED", "OUTPUT"}) {}
  void on_execution(const ExecutionInfo& one) noexcept override {
    if (tool_.json()) return write_json(one, tool_.out());
    const Screen& screen = tool_.screen();
    // The current execution's output is shown above.
    table_.row({"execution " + number(one.execution_id), execution_state_name(one.state),
                number(one.events) + " events", screen.time(one.started_ms),
                one.ended_ms == 0 ? "" : screen.time(one.ended_ms),
                one.execution_id == current_ ? "" : copy(one.output)});
  }

 private:
  Tool& tool_;
  std::int64_t current_;
  TextTable table_;
};

class PrintActivities final : public ActivityVisitor {
 public:
  explicit PrintActivities(Tool& tool)
      : tool_(tool),
        table_(tool.screen(), {"ACTIVITY", "NAME", "STATE", "ATTEMPT", "TRY", "ON", "SINCE",
                               "PROGRESS", "LAST ERROR"}) {}
  void on_activity(const ActivityInfo& one) noexcept override {
    if (tool_.json()) return write_json(one, tool_.out());
    table_.row({"activity " + number(one.activity_id), copy(one.name),
                activity_state_name(one.state), number(one.attempt), number(one.retry_attempt),
                copy(one.node),
                one.outside_since_ms == 0 ? "" : tool_.screen().time(one.outside_since_ms),
                copy(one.last_progress), copy(one.last_error)});
  }

 private:
  Tool& tool_;
  TextTable table_;
};

// Not a table: each cause is a sentence, and what helps another.
class PrintCauses final : public CauseVisitor {
 public:
  explicit PrintCauses(Tool& tool) : tool_(tool) {}
  void on_cause(const Cause& one) noexcept override {
    if (tool_.json()) return write_json(one, tool_.out());
    print_field(tool_.screen(), cause_kind_name(one.kind), text_of(one));
    print_field(tool_.screen(), "", cause_help(one.kind));
  }

 private:
  std::string text_of(const Cause& one) const {
    const Screen& screen = tool_.screen();
    std::string text = one.event_id == 0 ? "" : "event " + number(one.event_id);
    const auto add = [&text](const std::string& before, const std::string& value) {
      if (!value.empty()) text += (text.empty() ? "" : ", ") + before + value;
    };
    add("", copy(one.name));
    add("of ", copy(one.subject));
    add("on ", copy(one.node));
    if (one.attempt > 0) add("attempt ", number(one.attempt));
    if (one.since_ms != 0) add("since ", screen.time(one.since_ms));
    if (one.ends_in_ms.has_value()) add("by itself in ", screen.duration(one.ends_in_ms.value()));
    add("error: ", copy(one.error));
    return text;
  }

  Tool& tool_;
};

struct ListOptions {
  InstanceChoice choice;
  std::optional<std::int64_t> limit;
  std::int64_t created_from_ms = 0;
  std::int64_t created_before_ms = 0;
  bool roots = false;
};

int list(Tool& tool, const ListOptions& options) {
  InstanceFilter filter = options.choice.filter();
  filter.roots_only = options.roots;
  filter.created_from_ms = options.created_from_ms;
  filter.created_before_ms = options.created_before_ms;
  PrintInstances print(tool);
  Page page;
  do {
    if (options.limit.value_or(0) > 0) {
      const auto limit = static_cast<std::size_t>(*options.limit);
      if (print.printed >= limit) break;
      page.rows_max = std::min(page.rows_max, limit - print.printed);
    }
    tool.must(tool.client().list_instances(filter, &page, print));
  } while (page.more);
  return kDone;
}

void show_fields(Tool& tool, const std::string& id) {
  InstanceInfo info;
  tool.must(tool.client().get_instance_info(id, &info));
  const Screen& screen = tool.screen();
  print_field(screen, "id", info.id);
  print_field(screen, "name", info.name);
  print_field(screen, "version", info.version);
  print_field(screen, "parent", info.parent_id);
  print_field(screen, "state", orchestration_state_name(info.state));
  print_field(screen, "execution", number(info.execution_id));
  print_field(screen, "created", screen.time(info.created_ms));
  print_field(screen, "updated", screen.time(info.updated_ms));
  if (info.timers_without_clock > 0)
    print_field(screen, "clock",
                number(info.timers_without_clock) + " timers wait for a trusted clock");
  if (info.time_limit_ms.has_value())
    print_field(screen, "time limit",
                screen.duration(info.time_limit_ms.value()) +
                    (info.time_left_ms.has_value()
                         ? ", " + screen.duration(info.time_left_ms.value()) + " left"
                         : ""));
  OrchestrationStatus status;
  tool.must(tool.client().get_status(id, &status));
  if (status.error != ErrorKind::kNone) print_field(screen, "error", error_kind_name(status.error));
  print_field(screen, "custom status", status.custom_status);
  print_field(screen, "output", status.output);
  InstanceStats stats;
  tool.must(tool.client().get_instance_stats(id, &stats));
  print_field(screen, "history",
              number(stats.history_events) + " events, " + number(stats.history_bytes) + " bytes");
  print_field(screen, "messages", number(stats.messages_waiting));
  if (info.unread_messages > 0) print_field(screen, "unread", number(info.unread_messages));
  print_field(screen, "values",
              number(stats.kv_keys) + " keys, " + number(stats.kv_bytes) + " bytes");
}

std::int64_t current_execution(Tool& tool, const std::string& id) {
  InstanceInfo info;
  tool.must(tool.client().get_instance_info(id, &info));
  return info.execution_id;
}

int show_json(Tool& tool, const std::string& id) {
  Client& client = tool.client();
  JsonOut& out = tool.out();
  InstanceInfo info;
  tool.must(client.get_instance_info(id, &info));
  write_json(info, out.begin_object().key("instance"));
  OrchestrationStatus status;
  tool.must(client.get_status(id, &status));
  write_json(status, out.key("status"));
  InstanceStats stats;
  tool.must(client.get_instance_stats(id, &stats));
  write_json(stats, out.key("stats"));
  PrintExecutions executions(tool, 0);
  out.begin_list("executions");
  tool.must(client.list_executions(id, executions));
  PrintActivities activities(tool);
  out.end_list().begin_list("activities");
  tool.must(client.list_activities(id, activities));
  PrintCauses causes(tool);
  out.end_list().begin_list("causes");
  tool.must(client.explain(id, causes));
  out.end_list().end_object().end_line();
  return kDone;
}

int show(Tool& tool, const std::string& id) {
  if (tool.json()) return show_json(tool, id);
  show_fields(tool, id);
  {
    PrintExecutions executions(tool, current_execution(tool, id));
    tool.must(tool.client().list_executions(id, executions));
  }
  {
    PrintActivities activities(tool);
    tool.must(tool.client().list_activities(id, activities));
  }
  PrintCauses causes(tool);
  tool.must(tool.client().explain(id, causes));
  return kDone;
}

struct ExplainOptions {
  std::string id;
  std::string session;
};

int explain(Tool& tool, const ExplainOptions& options) {
  if (options.id.empty() && options.session.empty())
    fail(kUsage, "usage", "give the ID of an instance, or --session NAME");
  PrintCauses causes(tool);
  auto print = visit([&](const Cause& one) {
    if (tool.json()) return tool.print_json(one);
    causes.on_cause(one);
  });
  tool.must(options.session.empty()
                ? tool.client().explain(options.id, print)
                : tool.client().explain_session(options.id, options.session, print));
  return kDone;
}

template <typename List>
int print_pages(Tool& tool, List&& list) {
  PrintInstances print(tool);
  Page page;
  do {
    tool.must(list(&page, print));
  } while (page.more);
  return kDone;
}

// A table has no room for a large payload; --json has it.
constexpr std::size_t kShownWhole = 80;

int history(Tool& tool, const std::string& id, std::int64_t execution) {
  TextTable table(tool.screen(),
                  {"EVENT", "TIME", "KIND", "OF", "NAME", "TAG", "ERROR", "SIZE", "PAYLOAD"});
  tool.must(tool.client().read_history(
      id, execution, visit([&](const HistoryEvent& event) {
        if (tool.json()) return tool.print_json(event);
        const std::size_t size = event.payload.size();
        table.row({number(event.id), tool.screen().time(event.time_ms), event.kind,
                   event.ref == 0 ? "" : number(event.ref), copy(event.name), copy(event.tag),
                   event.error == ErrorKind::kNone ? "" : error_kind_name(event.error),
                   size == 0 ? "" : counted(static_cast<std::int64_t>(size), "byte", "bytes"),
                   size <= kShownWhole ? copy(event.payload) : ""});
      })));
  return kDone;
}

int values(Tool& tool, const std::string& id) {
  TextTable table(tool.screen(), {"KEY", "SIZE", "UPDATED", "VALUE"});
  auto print = visit([&](const KvEntry& one) {
    if (tool.json()) return tool.print_json(one);
    table.row({copy(one.key), tool.screen().size(static_cast<std::int64_t>(one.value.size())),
               tool.screen().time(one.updated_ms), copy(one.value)});
  });
  KvPage page;
  do {
    tool.must(tool.client().get_all_kv_values(id, &page, print));
  } while (page.more);
  return kDone;
}

}  // namespace

InstanceFilter InstanceChoice::filter() const {
  InstanceFilter filter;
  filter.name = name;
  filter.id_prefix = prefix;
  filter.any_state = !state.has_value();
  if (state.has_value()) filter.state = static_cast<OrchestrationState>(*state);
  return filter;
}

void add_choice_of_instances(CLI::App* app, InstanceChoice* choice) {
  app->add_option("--name", choice->name, "Of this orchestration")->type_name("NAME");
  app->add_option("--prefix", choice->prefix, "Whose id begins so")->type_name("TEXT");
  add_choice(app, "--state", words_of(kOrchestrationStateCount, orchestration_state_name),
             &choice->state, "In this state");
}

CLI::Option* add_id(CLI::App* app, std::string* id) {
  return app->add_option("ID", *id, "The instance")->required()->type_name("");
}

void add_instance_lists(Tool& tool) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = tool.add("list", "Lists instances in order of creation",
                               [&tool, options] { return list(tool, *options); });
  add_choice_of_instances(command, &options->choice);
  const std::int64_t now = tool.screen().now_ms;
  add_time(command, "--since", now, &options->created_from_ms, "Created then or later");
  add_time(command, "--before", now, &options->created_before_ms, "Created earlier");
  add_count(command, "--limit", &options->limit, "So many at most; 0: all");
  command->add_flag("--roots", options->roots, "No children");

  auto id = std::make_shared<std::string>();
  add_id(tool.add("show", "Shows an instance, its result, executions and open activities",
                  [&tool, id] { return show(tool, *id); }),
         id.get());
  auto explained = std::make_shared<ExplainOptions>();
  command = tool.add("explain", "Says why an instance or a session does not go on, and what helps",
                     [&tool, explained] { return explain(tool, *explained); });
  command->add_option("ID", explained->id, "The instance; with --session: that opened it")
      ->type_name("");
  command->add_option("--session", explained->session, "A session, else a shared one")
      ->type_name("NAME");
  add_id(tool.add("children", "Lists the children that it started",
                  [&tool, id] {
                    return print_pages(tool, [&](Page* page, InstanceVisitor& visitor) {
                      return tool.client().list_children(*id, page, visitor);
                    });
                  }),
         id.get());
  add_id(tool.add("tree", "Lists all of its tree, the root first",
                  [&tool, id] {
                    return print_pages(tool, [&](Page* page, InstanceVisitor& visitor) {
                      return tool.client().get_instance_tree(*id, page, visitor);
                    });
                  }),
         id.get());
  auto execution = std::make_shared<std::optional<std::int64_t>>();
  command = tool.add("history", "Lists the events of an execution",
                     [&tool, id, execution] { return history(tool, *id, execution->value_or(0)); });
  add_id(command, id.get());
  add_count(command, "--execution", execution.get(), "Its number; else the current one");
  add_id(tool.add("values", "Lists what it keeps under keys",
                  [&tool, id] { return values(tool, *id); }),
         id.get());
}

}  // namespace pawl::tool
