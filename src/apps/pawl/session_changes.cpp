// transfer, evict, close, hold, handoff, change-session, drain, undrain, forget-device.
#include <chrono>

#include "apps/pawl/tool_commands.hpp"

namespace pawl::tool {
namespace {

using std::chrono::milliseconds;

struct Given {
  std::string session;
  std::string of;
  std::string to;
  std::string tag;
  std::string summary;
  std::string owner;
  std::optional<std::int64_t> stop_ms;
  std::optional<std::int64_t> hold_ms;
  bool force = false;
};

TransferOptions transfer_options(const Given& given) {
  TransferOptions options;
  if (given.stop_ms.has_value()) options.stop_timeout = milliseconds(*given.stop_ms);
  options.force = given.force;
  options.instance = given.of;
  return options;
}

CLI::App* add_session(Tool& tool, Given* given, const std::string& name, const std::string& help,
                      std::function<Status()> act) {
  CLI::App* const command = tool.add(name, help, [&tool, given, name, act = std::move(act)] {
    tool.must(act());
    tool.done(name, given->session);
    return kDone;
  });
  command->add_option("SESSION", given->session, "The session")->required()->type_name("");
  command->add_option("--of", given->of, "One that this instance opened; else a shared one")
      ->type_name("ID");
  return command;
}

// Only settings that are named change; 0 and an empty text are values, too.
struct Settings {
  std::optional<std::string> owner, kind;
  std::optional<std::int64_t> idle, close, close_notice, age, age_notice, rate, wait;
  std::optional<std::int64_t> activities, warning, burst;

  [[nodiscard]] SessionUpdate update() const {
    SessionUpdate out;
    if (owner.has_value()) out.owner_label = Name(*owner);
    if (kind.has_value()) out.kind = Name(*kind);
    const auto set = [](const std::optional<std::int64_t>& ms, std::optional<milliseconds>* to) {
      if (ms.has_value()) *to = milliseconds(*ms);
    };
    set(idle, &out.idle_timeout);
    set(close, &out.idle_close);
    set(close_notice, &out.idle_close_notice);
    set(age, &out.max_age);
    set(age_notice, &out.expiry_notice);
    set(rate, &out.rate_interval);
    set(wait, &out.rate_wait);
    out.max_activities = activities;
    out.activity_warning = warning;
    out.rate_burst = burst;
    return out;
  }
};

void add_settings(CLI::App* command, Settings* is) {
  command->add_option("--owner", is->owner, "Its owner label")->type_name("LABEL");
  command->add_option("--kind", is->kind, "Its kind")->type_name("KIND");
  add_duration(command, "--idle", &is->idle, "Released after so long without work");
  add_duration(command, "--close", &is->close, "Closed after so long without work");
  add_duration(command, "--close-notice", &is->close_notice, "A notice to the code so long before");
  add_duration(command, "--age", &is->age, "Expires so long after its opening");
  add_duration(command, "--age-notice", &is->age_notice, "A notice to the code so long before");
  add_count(command, "--activities", &is->activities, "How many may be scheduled");
  add_count(command, "--warning", &is->warning, "The activity of this number is reported");
  add_duration(command, "--rate", &is->rate, "One activity more in so long");
  add_count(command, "--burst", &is->burst, "So many at once");
  add_duration(command, "--wait", &is->wait, "An activity that is too early waits so long at most");
}

void add_moves(Tool& tool, const std::shared_ptr<Given>& given) {
  CLI::App* command = add_session(
      tool, given.get(), "transfer", "Moves a session when its running work has ended",
      [&tool, given] {
        return tool.client().transfer_session(given->session, given->to, transfer_options(*given));
      });
  command->add_option("--to", given->to, "To this worker; else away from its owner")
      ->type_name("NODE");
  add_duration(command, "--stop", &given->stop_ms, "Running work has so long to end");
  command->add_flag("--force", given->force, "Also an exclusive one whose work has not ended");
  command = add_session(
      tool, given.get(), "evict",
      "Takes a session from its owner now; results of what runs are refused", [&tool, given] {
        given->stop_ms = 0;
        given->force = true;
        return tool.client().transfer_session(given->session, given->to, transfer_options(*given));
      });
  command->add_option("--to", given->to, "To this worker; else to any")->type_name("NODE");
}

void add_verbs(Tool& tool, const std::shared_ptr<Given>& given) {
  CLI::App* command = add_session(
      tool, given.get(), "close", "Closes a session, as its code would", [&tool, given] {
        return tool.client().close_session(given->of, given->session, given->owner);
      });
  command->add_option("--owner", given->owner, "Only if it is of this owner label")
      ->type_name("LABEL");
  command = add_session(
      tool, given.get(), "hold", "It does not idle and makes no room for so long", [&tool, given] {
        return tool.client().hold_session(given->of, given->session, milliseconds(*given->hold_ms));
      });
  add_duration(command, "--for", &given->hold_ms, "From now on")->required();
  command =
      add_session(tool, given.get(), "handoff", "Hands it to the workers of a tag", [&tool, given] {
        return tool.client().handoff_session(given->of, given->session, given->tag, given->summary);
      });
  command->add_option("--tag", given->tag, "The tag; else those of its work")->type_name("TAG");
  command->add_option("--summary", given->summary, "For the next owner")->type_name("TEXT");
  auto settings = std::make_shared<Settings>();
  command = add_session(tool, given.get(), "change-session",
                        "Changes its settings; what is not named stays, 0 and \"\" are none",
                        [&tool, given, settings] {
                          return tool.client().change_session(given->of, given->session,
                                                              settings->update());
                        });
  add_settings(command, settings.get());
}

}  // namespace

void add_session_changes(Tool& tool) {
  auto given = std::make_shared<Given>();
  add_moves(tool, given);
  add_verbs(tool, given);

  auto node = std::make_shared<std::string>();
  CLI::App* command =
      tool.add("drain", "The worker takes nothing new and its sessions move", [&tool, node, given] {
        tool.must(tool.client().drain_worker(*node, transfer_options(*given)));
        tool.done("drain", *node);
        return kDone;
      });
  command->add_option("NODE", *node, "The worker")->required()->type_name("");
  add_duration(command, "--stop", &given->stop_ms, "Running work has so long to end");
  command = tool.add("undrain", "It takes new work again", [&tool, node] {
    tool.must(tool.client().undrain_worker(*node));
    tool.done("undrain", *node);
    return kDone;
  });
  command->add_option("NODE", *node, "The worker")->required()->type_name("");
  command = tool.add("forget-device", "Removes a device that no worker declares", [&tool, node] {
    tool.must(tool.client().forget_device(*node));
    tool.done("forget-device", *node);
    return kDone;
  });
  command->add_option("DEVICE", *node, "The device")->required()->type_name("");
}

}  // namespace pawl::tool
