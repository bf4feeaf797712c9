// workers, sessions, leaks, queue, metrics: lists over the whole database.
#include <algorithm>

#include "apps/pawl/tool_commands.hpp"
#include "parts/fields/client_fields.hpp"
#include "pawl/options.hpp"
#include "pawl/prometheus.hpp"
#include "pawl/visit.hpp"

namespace pawl::tool {
namespace {

using fields::Field;
using fields::FieldsOf;

std::string number(std::int64_t value) { return std::to_string(value); }
std::string copy(std::string_view text) { return std::string(text); }

// Joins names that stand on lines of their own with commas.
std::string listed(std::string_view lines) {
  std::string text;
  for (const char c : lines)
    text.append(c == '\n' ? ", " : std::string(1, c));
  return text;
}

std::string tags_of(const WorkerInfo& one) {
  if (one.any_tag) return "any";
  std::string tags = listed(one.tags);
  if (!one.takes_untagged) return tags;
  return tags.empty() ? "untagged" : "untagged, " + tags;
}

std::string marks_of(const SessionInfo& one) {
  std::string marks;
  const auto mark = [&marks](bool is, const char* name) {
    if (is) marks.append(marks.empty() ? "" : " ").append(name);
  };
  mark(one.device, "device");
  mark(one.exclusive, "exclusive");
  mark(one.stopping, "stopping");
  return marks;
}

std::string kind_of(const MessageInfo& one) {
  if (one.is_timer) return "timer";
  return one.is_unread ? std::string("unread ") + one.kind : one.kind;
}

// A worker that is cut off from its server does nothing, whether it drains or not.
std::string state_of(const WorkerInfo& one) {
  if (one.disconnected) return "disconnected";
  return one.draining ? "draining" : "";
}

int list_workers(Tool& tool) {
  TextTable table(tool.screen(), {"NODE", "PID", "LEASE", "SESSIONS", "MOST", "BUSY", "DEVICES",
                                  "STATE", "TAGS", "ACTIVITIES"});
  tool.must(tool.client().list_workers(visit([&](const WorkerInfo& one) {
    if (tool.json()) return tool.print_json(one);
    table.row({copy(one.node), number(one.pid), tool.screen().duration(one.lease_ends_in_ms),
               number(one.sessions), number(one.sessions_max), number(one.sessions_busy),
               number(one.devices), state_of(one), tags_of(one), listed(one.handlers)});
  })));
  return kDone;
}

struct QueueGiven {
  std::string id;
  std::string name;
  std::string tag;
  std::string session;
  std::optional<std::size_t> state;
  std::optional<std::int64_t> limit;
};

void print_work(Tool& tool, const QueueGiven& given) {
  WorkListFilter filter;
  filter.name = given.name;
  filter.tag = given.tag;
  filter.session = given.session;
  filter.instance_id = given.id;
  if (given.state.has_value()) filter.state = static_cast<ActivityState>(*given.state);
  TextTable table(tool.screen(), {"WORK", "INSTANCE", "ACTIVITY", "NAME", "STATE", "ATTEMPT",
                                  "SESSION", "TAG", "NODE", "WAITS FOR"});
  std::size_t printed = 0;
  auto print = visit([&](const WorkInfo& one) {
    ++printed;
    if (tool.json()) return tool.print_json_as("work", one);
    table.row({"work " + number(one.key), copy(one.instance_id), number(one.activity_id),
               copy(one.name), activity_state_name(one.state), number(one.attempt),
               copy(one.session), copy(one.tag), copy(one.node),
               one.is_unserved ? "a worker that has it"
               : one.outside_since_ms != 0
                   ? "an answer since " + tool.screen().time(one.outside_since_ms)
                   : ""});
  });
  Page page;
  do {
    if (given.limit.value_or(0) > 0) {
      const auto limit = static_cast<std::size_t>(*given.limit);
      if (printed >= limit) break;
      page.rows_max = std::min(page.rows_max, limit - printed);
    }
    tool.must(tool.client().list_work(filter, &page, print));
  } while (page.more);
}

int queue(Tool& tool, const QueueGiven& given) {
  print_work(tool, given);
  if (given.id.empty()) return kDone;
  TextTable table(tool.screen(), {"MESSAGE", "KIND", "NAME", "SIZE", "PAYLOAD"});
  auto print = visit([&](const MessageInfo& one) {
    if (tool.json()) return tool.print_json_as("message", one);
    table.row({"message " + number(one.number), kind_of(one), copy(one.name),
               tool.screen().size(static_cast<std::int64_t>(one.payload.size())),
               copy(one.payload)});
  });
  Page page;
  do {
    tool.must(tool.client().list_messages(given.id, &page, print));
  } while (page.more);
  return kDone;
}

void add_queue(Tool& tool) {
  auto given = std::make_shared<QueueGiven>();
  CLI::App* const command =
      tool.add("queue", "Lists work that waits or runs; of an instance its messages, too",
               [&tool, given] { return queue(tool, *given); });
  command->add_option("ID", given->id, "Of this instance; else work of all")->type_name("");
  command->add_option("--name", given->name, "Work of this activity")->type_name("NAME");
  command->add_option("--tag", given->tag, "Work with this tag")->type_name("TAG");
  command->add_option("--session", given->session, "Work on this session")->type_name("SESSION");
  // The words are in the order of ActivityState.
  add_choice(command, "--state", words_of(kActivityStateCount, activity_state_name), &given->state,
             "In this state");
  add_count(command, "--limit", &given->limit, "So many items of work at most; 0: all");
}

struct SessionChoice {
  std::string node;
  std::string of;
  std::string owner;
  std::string kind;
  std::optional<std::size_t> state;
  std::optional<std::int64_t> open_ms;
  std::optional<std::int64_t> unused_ms;
  [[nodiscard]] SessionFilter filter() const {
    SessionFilter filter;
    filter.node = node;
    filter.instance_id = of;
    filter.owner_label = owner;
    filter.kind = kind;
    filter.any_state = !state.has_value();
    if (state.has_value()) filter.state = static_cast<SessionState>(*state);
    filter.open_for_ms = open_ms.value_or(0);
    filter.unused_for_ms = unused_ms.value_or(0);
    return filter;
  }
};

int list_sessions(Tool& tool, const SessionFilter& filter) {
  const Screen& screen = tool.screen();
  TextTable table(screen, {"SESSION", "NODE", "STATE", "EPOCH", "ACTIVITIES", "LEASE", "AGE",
                           "QUIET", "OF", "OWNER", "KIND", "EXPIRES", "WAITS", "MARKS", "FOLDER"});
  auto print = visit([&](const SessionInfo& one) {
    if (tool.json()) return tool.print_json(one);
    table.row(
        {copy(one.name), copy(one.node), session_state_name(one.state), number(one.epoch),
         number(one.activities), one.node.empty() ? "" : screen.duration(one.lease_ends_in_ms),
         screen.duration(one.age_ms), screen.duration(one.quiet_for_ms), copy(one.instance_id),
         copy(one.owner_label), copy(one.kind), screen.duration(one.expires_in_ms),
         screen.duration(one.waits_for_ms), marks_of(one), copy(one.folder)});
  });
  Page page;
  do {
    tool.must(tool.client().list_sessions(filter, &page, print));
  } while (page.more);
  return kDone;
}

// Uses the limits of the log's leak warnings unless an option gives others.
int list_leaks(Tool& tool, const SessionChoice& choice) {
  SessionFilter filter = choice.filter();
  if (filter.open_for_ms == 0 && filter.unused_for_ms == 0) {
    const SessionOptions usual;
    filter.open_for_ms = usual.leak_open.count();
    filter.unused_for_ms = usual.leak_unused.count();
  }
  return list_sessions(tool, filter);
}

void add_owner_and_kind(CLI::App* command, SessionChoice* choice) {
  command->add_option("--owner", choice->owner, "Of this owner label")->type_name("LABEL");
  command->add_option("--kind", choice->kind, "Of this kind")->type_name("KIND");
}

void print_histogram(const Screen& screen, const std::string& name,
                     const fields::HistogramView& is) {
  const auto count = [&is](std::size_t i) {
    return number(static_cast<std::int64_t>(is.counts[i]));
  };
  for (std::size_t i = 0; i < is.bound_count; ++i)
    print_field(screen, name + "_up_to_" + number(is.bounds[i]), count(i));
  print_field(screen, name + "_beyond", count(is.bound_count));
  print_field(screen, name + "_total", number(is.total));
  print_field(screen, name + "_most", number(is.most));
}

// Prints the database's part of the endpoint's /metrics; a runtime's counters exist only in its
// process.
int print_prometheus(Tool& tool) {
  if (tool.json()) fail(kUsage, "usage", "--json and --prometheus are two forms: give one");
  PrometheusCounts counts;
  tool.must(count_for_prometheus(tool.client(), &counts));
  PrometheusSources sources = counts.sources();
  sources.clock_trusted = tool.clock_is_trusted();
  StdoutSink sink;
  if (write_prometheus(sources, sink) != Status::kOk) tool.flush();  // flush() throws
  return kDone;
}

int print_metrics(Tool& tool) {
  Metrics is;
  tool.must(tool.client().get_metrics(&is));
  if (tool.json()) {
    tool.print_json(is);
    return kDone;
  }
  const Screen& screen = tool.screen();
  for (const Field& field : FieldsOf<Metrics>::kAll) {
    if (fields::is_histogram(field.kind) || field.offset == offsetof(Metrics, complete)) continue;
    const std::int64_t value = number_at(field.kind, fields::place_of(field.offset, &is));
    const bool is_size = field.kind == fields::FieldKind::kBytes && value != 0;
    print_field(screen, field.name, is_size ? screen.size(value) : number(value));
  }
  for (const Field& field : FieldsOf<Metrics>::kAll)
    if (fields::is_histogram(field.kind))
      print_histogram(screen, field.name,
                      histogram_at(field.kind, fields::place_of(field.offset, &is)));
  if (!is.complete) print_field(screen, "incomplete", "there is more than was counted");
  return kDone;
}

}  // namespace

void add_directory_lists(Tool& tool) {
  tool.add("workers", "Lists the registered workers", [&tool] { return list_workers(tool); });
  add_queue(tool);
  auto for_prometheus = std::make_shared<bool>(false);
  tool.add("metrics", "Counts what the database holds",
           [&tool, for_prometheus] {
             return *for_prometheus ? print_prometheus(tool) : print_metrics(tool);
           })
      ->add_flag("--prometheus", *for_prometheus, "As text that Prometheus reads");

  auto choice = std::make_shared<SessionChoice>();
  CLI::App* command = tool.add("sessions", "Lists sessions, and who owns them",
                               [&tool, choice] { return list_sessions(tool, choice->filter()); });
  add_owner_and_kind(command, choice.get());
  command->add_option("--node", choice->node, "That this worker owns")->type_name("NODE");
  command->add_option("--of", choice->of, "That this instance opened")->type_name("ID");
  // The words are in the order of SessionState.
  add_choice(command, "--state", words_of(kSessionStateCount, session_state_name), &choice->state,
             "In this state");

  command = tool.add("leaks", "Lists sessions that instances opened and left open",
                     [&tool, choice] { return list_leaks(tool, *choice); });
  add_owner_and_kind(command, choice.get());
  add_duration(command, "--open", &choice->open_ms, "For so long; as by default a day");
  add_duration(command, "--unused", &choice->unused_ms,
               "Without any use for so long; as by default an hour");
}

}  // namespace pawl::tool
