// pawld's configuration file: each error is named with position, path and expectation.
#include "apps/pawld/config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace pawld {
namespace {

std::string sample() {
  std::ifstream file(PAWL_SOURCE_DIR "/examples/pawld/gateway.json");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> problems_of(std::string_view text) { return Config().read("f", text); }

std::string first_problem(std::string_view text) {
  const std::vector<std::string> problems = problems_of(text);
  return problems.empty() ? "ok" : problems.front();
}

constexpr char kBase[] =
    R"({"database": "/d", "activities": {"a": {"argv": ["/a"]@A}}, "orchestrations": {"o": @O}@T})";
constexpr char kSequence[] = R"({"type": "sequence", "steps": [{"activity": "a"}]})";

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  const std::size_t at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), by);
}

// The first problem, without its position, of a file that is right except for one part.
std::string wrong(std::string_view activity, std::string_view orchestration,
                  std::string_view top = "") {
  std::string text = replaced(kBase, "@A", activity);
  text = replaced(text, "@O", orchestration.empty() ? kSequence : orchestration);
  const std::string problem = first_problem(replaced(text, "@T", top));
  const std::size_t place = problem.find(": ");
  return place == std::string::npos ? problem : problem.substr(place + 2);
}

TEST(PawldConfig, TheSampleIsGood) {
  Config config;
  ASSERT_EQ(config.read("f", sample()), std::vector<std::string>());
  EXPECT_EQ(config.activities.size(), 3U);
  EXPECT_EQ(config.definitions.size(), 4U);
  EXPECT_EQ(config.start.size(), 3U);
  EXPECT_EQ(config.find_activity("read_soil")->policy.timeout_ms, 10'000);
  EXPECT_EQ(config.find_activity("read_soil")->policy.retry.max_attempts, 3);
  EXPECT_EQ(config.quota_bytes, 64 * 1024 * 1024);
  EXPECT_EQ(config.retention_age_ms, std::int64_t{30} * 24 * 3'600'000);
}

TEST(PawldConfig, SyntaxErrorsNameLineAndColumn) {
  struct Row {
    const char* text;
    const char* problem;
  };
  for (const Row& row : {
           Row{"", "f:1:1: the text ends too early"},
           {"{\"a\": 1,\n}", "f:2:1: a comma too many before \"}\""},
           {"{\"a\": [1,]}", "f:1:10: a comma too many before \"]\""},
           {"{\"a\" 1}", "f:1:6: expected \":\" behind the name of a member"},
           {"{a: 1}", "f:1:2: expected the name of a member in quotes"},
           {"{\"a\": 'x'}", "f:1:7: texts stand in double quotes"},
           {"// x\n{}", "f:1:1: JSON has no comments"},
           {"{\"a\": 01}", "f:1:9: a number does not begin with 0"},
           {"{\"a\": 1.}", "f:1:9: a number needs a digit here"},
           {"{\"a\": -}", "f:1:8: a number needs a digit here"},
           {"{\"a\": tru}", "f:1:7: expected true; texts stand in double quotes"},
           {"{\"a\": \"x", "f:1:9: the text ends too early: a quote is missing"},
           {"{\"a\": \"\n\"}",
            "f:1:8: a line end or control character in a text; write it as \\\\n or \\\\u00XX"},
           {"{\"a\": \"\\x\"}", "f:1:9: an escape that JSON does not have"},
           {"{\"a\": \"\\ud800\"}", "f:1:13: half a surrogate pair"},
           {"{\"a\": \"\\u12\"}", "f:1:9: \\\\u needs four hexadecimal digits"},
           {"{\"a\": 1", "f:1:8: the text ends too early: \"}\" is missing"},
           {"{\"a\": 1 \"b\": 2}", "f:1:9: expected \",\" or \"}\", found \"\"\""},
           {"{} {}", "f:1:4: there is something behind the end: \"{\""},
           {"\xef\xbb\xbf{}",
            "f:1:1: it begins with a byte order mark; save it as UTF-8 without one"},
       })
    EXPECT_EQ(first_problem(row.text), row.problem) << row.text;
  EXPECT_EQ(first_problem(std::string(40, '[')), "f:1:34: more than 32 levels");
  EXPECT_EQ(first_problem(std::string(300'000, ' ')), "f:1:1: the file is longer than 256 KiB");
}

TEST(PawldConfig, EachWrongMemberIsNamed) {
  struct Row {
    const char* activity;
    const char* orchestration;
    const char* top;
    const char* problem;
  };
  for (
      const Row& row : {
          Row{"", "", "", "ok"},
          {"", "", R"(, "databse": 1)", "databse: is not known here; did you mean \"database\"?"},
          {"", "", R"(, "node": "")", "node: is empty"},
          {"", "", R"(, "log": "inf")",
           "log: is \"inf\", expected one of \"debug\", \"info\", \"warning\", \"error\"; did you "
           "mean "
           "\"info\"?"},
          {"", "", R"(, "log_to": "journald")",
           "log_to: is \"journald\", expected one of \"auto\", \"stderr\", \"journal\", "
           "\"syslog\"; did you mean \"journal\"?"},
          {"", "", R"(, "log_form": "xml")",
           "log_form: is \"xml\", expected one of \"text\", \"timed\", \"json\""},
          {"", "", R"(, "endpoint": {})", "ok"},
          {"", "", R"(, "endpoint": {"port": 8080, "token_file": "/t", "read_only": true})", "ok"},
          {"", "", R"(, "endpoint": {"sockets": "/s"})",
           "endpoint.sockets: is not known here; did you mean \"socket\"?"},
          {"", "", R"(, "endpoint": {"socket": "s"})",
           "endpoint.socket: is \"s\", expected an absolute path"},
          {"", "", R"(, "endpoint": {"port": 8080})",
           "endpoint.token_file: is missing: a file with the token that each request shows"},
          {"", "", R"(, "endpoint": {"port": 0, "token_file": "/t"})",
           "endpoint.port: is 0, expected a whole number, 1 to 65535"},
          {"", "", R"(, "endpoint": {"socket": "/s", "port": 80, "token_file": "/t"})",
           "endpoint.socket: and \"port\" exclude each other"},
          {"", "", R"(, "endpoint": {"token_file": "/t"})",
           "endpoint.token_file: is for \"port\", which is not there"},
          {"", "", R"(, "endpoint": 8080)", "endpoint: is a number, expected an object {...}"},
          {"", "", R"(, "limits": {"programs": 0})",
           "limits.programs: is 0, expected a whole number, 1 to 64"},
          {"", "", R"(, "limits": {"programs": "4"})",
           "limits.programs: is a text, expected a whole number, 1 to 64"},
          {"", "", R"(, "limits": {"payload": "64K"})",
           "limits.payload: is \"64K\", expected a size such as \"64KiB\" (B, KiB, MiB or GiB)"},
          {"", "", R"(, "limits": {"payload": "2MiB"})",
           "limits.payload: is \"2MiB\", expected 256B to 1MiB"},
          {"", "", R"(, "retention": 5)", "retention: is a number, expected an object {...}"},
          {"", "", R"(, "start": [{"name": "p"}])",
           "start[0].name: there is no orchestration \"p\"; did you mean \"o\"?"},
          {"", "", R"(, "start": [{"name": "o"}, {"name": "o"}])",
           "start[1].id: \"o\" is there twice; give each its own \"id\""},
          {"", "", R"(, "node": "a ")", "node: is \".\" or \"..\", or begins or ends with a blank"},
          {"", "", R"(, "start": [{"name": "o", "id": ".."}])",
           "start[0].id: is \".\" or \"..\", or begins or ends with a blank"},
          {"", "", R"(, "start": [{"name": "o", "id": "a::b"}])",
           "start[0].id: expected 1 to 256 bytes without control characters and without \"::\""},
          {R"(, "timeout": 10)", "", "",
           "activities.a.timeout: is a number, expected a duration such as \"30s\" (ms, s, m, h or "
           "d)"},
          {R"(, "timeout": "10")", "", "",
           "activities.a.timeout: is \"10\", expected a duration such as \"30s\" (ms, s, m, h or "
           "d)"},
          {R"(, "timeout": "9999d")", "", "",
           "activities.a.timeout: is \"9999d\", expected 0ms to 365d"},
          {R"(, "timout": "1s")", "", "",
           "activities.a.timout: is not known here; did you mean \"timeout\"?"},
          {R"(, "timeout": "1s", "timeout": "2s")", "", "", "activities.a.timeout: is there twice"},
          {R"(, "env": {"A=B": "x"})", "", "",
           "activities.a.env.A=B: is no name of an environment variable"},
          {R"(, "env": {"PAWL_X": "x"})", "", "",
           "activities.a.env.PAWL_X: begins with PAWL_, which are set by pawld"},
          {R"(, "env": {"A": "x\u0000y"})", "", "",
           "activities.a.env.A: has a zero character in it"},
          {R"(, "cwd": "x")", "", "", "activities.a.cwd: is \"x\", expected an absolute path"},
          {R"(, "session": "bed-{bed")", "", "",
           "activities.a.session: a \"{\" without its \"}\"; a brace itself is written \"{{\""},
          {R"(, "device": "ttyUSB0")", "", "",
           "activities.a.device: is \"ttyUSB0\", expected an absolute path"},
          {R"(, "device": "/dev/x", "session": "s")", "", "",
           "activities.a.session: stands beside \"device\", which is a session of its own"},
          {R"(, "exclusive": true)", "", "", "activities.a.exclusive: needs a \"session\""},
          {R"(, "exit_codes": {"retry": [300]})", "", "",
           "activities.a.exit_codes.retry[0]: is 300, expected an exit code, 1 to 255"},
          {R"(, "exit_codes": {"retry": [64]})", "", "",
           "activities.a.exit_codes: 64 is both \"retry\" and \"permanent\""},
          {R"(, "retry": {"attempts": 0})", "", "",
           "activities.a.retry.attempts: is 0, expected a whole number, 1 to 1000000"},
          {R"(, "retry": {"base": "2s", "cap": "1s"})", "", "",
           "activities.a.retry.cap: is shorter than \"base\""},
          {R"(, "retry": {"backoff": "linar"})", "", "",
           "activities.a.retry.backoff: is \"linar\", expected one of \"none\", \"fixed\", "
           "\"linear\", "
           "\"exponential\"; did you mean \"linear\"?"},
          {"", R"({"steps": []})", "",
           "orchestrations.o.type: is missing: one of \"sequence\", \"fan-out\", "
           "\"watch-and-alarm\", "
           "\"schedule\""},
          {"", R"({"type": "sequense"})", "",
           "orchestrations.o.type: is \"sequense\", expected one of \"sequence\", \"fan-out\", "
           "\"watch-and-alarm\", \"schedule\"; did you mean \"sequence\"?"},
          {"", R"({"type": "sequence", "steps": []})", "", "orchestrations.o.steps: has no step"},
          {"", R"({"type": "sequence", "steps": [{}]})", "",
           "orchestrations.o.steps[0]: has neither \"activity\" nor \"pause\""},
          {"", R"({"type": "sequence", "steps": [{"activity": "b"}]})", "",
           "orchestrations.o.steps[0].activity: there is no activity \"b\"; did you mean \"a\"?"},
          {"", R"({"type": "sequence", "steps": [{"activity": "a"}, {"activity": "a"}]})", "",
           "orchestrations.o.steps[1]: is the second step of the name \"a\"; give it a \"name\" of "
           "its "
           "own"},
          {"", R"({"type": "sequence", "steps": [{"activity": "a", "input": "{steps.a}"}]})", "",
           "orchestrations.o.steps[0].input: {steps.a} is not known here, expected one of {input}, "
           "{instance}"},
          {"",
           R"({"type": "sequence", "steps": [{"activity": "a", "input": {"x": ["{inptu.x}"]}}]})",
           "",
           "orchestrations.o.steps[0].input: {inptu.x} is not known here, expected one of {input}, "
           "{instance}; did you mean \"input\"?"},
          {"", R"({"type": "sequence", "time_limit": "2h", "steps": [{"pause": "1s"}]})", "", "ok"},
          {"", R"({"type": "sequence", "time_limit": "0s", "steps": [{"pause": "1s"}]})", "",
           "orchestrations.o.time_limit: is \"0s\", expected 1ms to 365d"},
          {"", R"({"type": "schedule", "cron": "0 6 * * *", "run": "o", "time_limit": "2h"})", "",
           "orchestrations.o.time_limit: is not known here"},
          {"", R"({"type": "fan-out", "activity": "a"})", "",
           "orchestrations.o.over: is missing: a placeholder for an array, such as "
           "\"{input.beds}\""},
          {"", R"({"type": "fan-out", "activity": "a", "over": "{input}", "at_once": 65})", "",
           "orchestrations.o.at_once: is 65, expected a whole number, 1 to 64"},
          {"", R"({"type": "watch-and-alarm", "sample": {"activity": "a"}, "every": "1s",
                    "alarm": {"activity": "a"}})",
           "",
           "orchestrations.o.alarm_above: exactly one of \"alarm_above\" and \"alarm_below\" is "
           "needed"},
          {"", R"({"type": "watch-and-alarm", "sample": {"activity": "a"}, "every": "1s",
                    "alarm": {"activity": "a"}, "alarm_above": 5, "clear_below": 6})",
           "", "orchestrations.o.clear_below: is above \"alarm_above\""},
          {"", R"({"type": "watch-and-alarm", "sample": {"activity": "a"}, "every": "1ms",
                    "alarm": {"activity": "a"}, "alarm_above": 5})",
           "", "orchestrations.o.every: is \"1ms\", expected 100ms to 365d"},
          {"", R"({"type": "schedule", "cron": "0 6 * * *", "run": "p"})", "",
           "orchestrations.o.run: there is no orchestration \"p\"; did you mean \"o\"?"},
      })
    EXPECT_EQ(wrong(row.activity, row.orchestration, row.top), row.problem)
        << row.activity << row.orchestration << row.top;
  EXPECT_EQ(first_problem("[]"), "f:1:1: is an array, expected an object {...}");
  EXPECT_EQ(first_problem("{}"),
            "f:1:1: database: is missing: the path of the database, such as "
            "\"/var/lib/pawl/pawl.db\"");
}

TEST(PawldConfig, CronTextsAreReadByTheLibrary) {
  const std::string problem =
      wrong("", R"({"type": "schedule", "cron": "61 6 * * *", "run": "o"})");
  EXPECT_NE(problem.find("orchestrations.o.cron: "), std::string::npos) << problem;
  EXPECT_NE(problem.find("minute"), std::string::npos) << problem;
}

TEST(PawldConfig, AllProblemsAreNamedAtOnceAndTheyAreBounded) {
  const std::vector<std::string> two = problems_of(R"({"database": "x", "lgo": "info"})");
  ASSERT_EQ(two.size(), 2U);
  std::string many = R"({"database": "/d")";
  for (int i = 0; i < 200; ++i)
    many.append(", \"x").append(std::to_string(i)).append("\": 1");
  EXPECT_EQ(problems_of(many + "}").size(), Problems::kMost + 1);
}

TEST(PawldConfig, NothingOfTheFileReachesATerminalAsItIs) {
  const std::string problem = first_problem("{\"database\": \"/d\", \"\\u001b[2J\": 1}");
  EXPECT_EQ(problem.find('\x1b'), std::string::npos);
  EXPECT_NE(problem.find("\\x1b[2J"), std::string::npos) << problem;
}

// Changes one byte of the sample: it is read, or refused with a reason.
TEST(PawldConfig, EachByteOfTheSampleDroppedOrReplaced) {
  const std::string good = sample();
  ASSERT_FALSE(good.empty());
  std::size_t refused = 0;
  const auto look = [&](const std::string& text) {
    Config config;
    const std::vector<std::string> problems = config.read("f", text);
    if (problems.empty()) return;
    ++refused;
    ASSERT_GT(problems.front().size(), 6U);
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    look(good.substr(0, i) + good.substr(i + 1));
    look(good.substr(0, i));
    for (const char by : {'"', '}', '{', '\0', '9', '\xff', '\\'}) {
      std::string text = good;
      text[i] = by;
      look(text);
    }
  }
  EXPECT_GT(refused, good.size());
}

TEST(PawldConfig, ADefinitionIsReadBackFromItsRecord) {
  Config config;
  ASSERT_TRUE(config.read("f", sample()).empty());
  for (const NamedDefinition& one : config.definitions) {
    Definition definition;
    std::string why;
    ASSERT_TRUE(read_record(one.record, &definition, &why)) << one.name << ": " << why;
    EXPECT_EQ(definition.type, one.definition.type);
    EXPECT_EQ(activities_of(definition), activities_of(one.definition));
    // Programs, arguments and variables are not recorded: they may hold secrets, and may be
    // corrected.
    EXPECT_EQ(one.record.find("argv"), std::string::npos);
    EXPECT_EQ(one.record.find("VALVES"), std::string::npos);
  }
  Definition definition;
  std::string why;
  ASSERT_TRUE(read_record(config.find_definition("water_bed")->record, &definition, &why));
  const Policy& policy = definition.sequence.steps[0].call->policy;
  EXPECT_EQ(policy.timeout_ms, 10'000);
  EXPECT_EQ(policy.retry.max_attempts, 3);
  EXPECT_EQ(policy.session, "bed-{bed}");
  EXPECT_FALSE(read_record(R"({"format": 2})", &definition, &why));
  EXPECT_EQ(why, "the definition was recorded by another pawld, in format 2");
  EXPECT_FALSE(read_record("{", &definition, &why));
  EXPECT_FALSE(read_record(R"({"format": 1})", &definition, &why));
}

TEST(PawldConfig, ARecordDoesNotDependOnBlanks) {
  Config config;
  Config spread;
  ASSERT_TRUE(config.read("f", sample()).empty());
  std::string text = sample();
  for (std::size_t at = 0; (at = text.find(", ", at)) != std::string::npos; at += 4)
    text.replace(at, 2, ",\n  ");
  ASSERT_TRUE(spread.read("f", text).empty());
  for (std::size_t i = 0; i < config.definitions.size(); ++i)
    EXPECT_EQ(config.definitions[i].record, spread.definitions[i].record);
}

TEST(PawldConfig, ExitCodesHaveOneMeaning) {
  using Outcome = ProgramActivity::Outcome;
  ProgramActivity activity;
  EXPECT_EQ(activity.outcome_of(0), Outcome::kDone);
  EXPECT_EQ(activity.outcome_of(1), Outcome::kRetry);
  EXPECT_EQ(activity.outcome_of(75), Outcome::kRetry);
  EXPECT_EQ(activity.outcome_of(64), Outcome::kPermanent);
  activity.others_are_permanent = true;
  EXPECT_EQ(activity.outcome_of(1), Outcome::kPermanent);
  EXPECT_EQ(activity.outcome_of(75), Outcome::kRetry);
}

}  // namespace
}  // namespace pawld
