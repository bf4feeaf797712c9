// Goal: a database may hold any value anywhere, from a bit that flipped, a tool or a hand. Whatever
// single value is wrong: no loop spins, no other work starves, nothing hangs, and no process dies
// of it.
//
// Method: a worker meets databases (image.hpp) in which one column of all rows, or of one row, has
// one of 24 hostile values, for every column of every table (sweep_case.hpp). Its limits are the
// usual ones, the least, the most or any, in turn. Work of the damaged row may stop. Healthy
// instances that are started beside it must complete, and ticks and commits must stay near those
// without the damage. start() may refuse such a database, with a text.
// PAWL_SWEEP=worker_queue.policy runs the cases with this text in their name, and prints them with
// their log. PAWL_SWEEP_SQL='UPDATE ...' runs a case of its own. PAWL_SWEEP_OPTIONS=1 gives each
// case the limits of the next one. PAWL_SWEEP_EVERY=1 and PAWL_SOAK=1 run all cases;
// PAWL_SWEEP_LIST=1 prints each that is not fine.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "option_drawer.hpp"
#include "store/sqlite/sqlite_vfs.hpp"
#include "sweep_case.hpp"

namespace pawl::hostile {
namespace {

// A sample takes one case in so many; the number is no multiple of two or three, so that every
// column has other values.
#ifdef NDEBUG
constexpr std::uint64_t kEvery = 1;
#else
constexpr std::uint64_t kEvery = 61;
#endif
// The limits above the undamaged run. Attempts at all damaged rows are some hundred; a loop that
// spins does more in a minute.
constexpr std::uint64_t kMoreCommits = 2'000;
constexpr std::uint64_t kMoreTicks = 5'000;
// The limit for the last five minutes, so that work that repeats slowly but for ever is found, too.
constexpr std::uint64_t kMoreIdleCommits = 60;
constexpr test::Draw kDraws[] = {test::Draw::kLeast, test::Draw::kMost, test::Draw::kAny};
constexpr std::size_t kBytesMax = 16 * 1024 * 1024;  // memory of a worker

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Value {
  const char* name;
  const char* sql;  // {c}: the column, {t}: the table
  // The value makes a row as large as a payload can be. Many such rows are more than SQLite's heap
  // has room for, and each tick would meet the next one; docs/architecture/crashes.md#damage says
  // so.
  bool one_row = false;
};

constexpr Value kValues[] = {
    {"null", "NULL"},
    {"0", "0"},
    {"1", "1"},
    {"-1", "-1"},
    {"2", "2"},
    {"3", "3"},
    {"5", "5"},
    {"max", "9223372036854775807"},
    {"max-1", "9223372036854775806"},
    {"min", "-9223372036854775807-1"},
    {"2^31", "2147483648"},
    {"2^32+1", "4294967297"},
    {"1e300", "1e300"},
    {"-0.5", "-0.5"},
    {"no text", "''"},
    {"x", "'x'"},
    {"300 bytes", "replace(hex(zeroblob(150)),'0','y')"},
    {"odd bytes", "CAST(x'610a1b00ff27223b2c3d' AS TEXT)"},
    {"no blob", "x''"},
    {"64 KiB blob", "zeroblob(65536)"},
    {"1 MiB text", "replace(hex(zeroblob(524288)),'0','z')", true},
    {"just past", "(SELECT mark-1 FROM meta)"},
    {"ten years on", "(SELECT mark+315360000000 FROM meta)"},
    {"another's", "(SELECT {c} FROM {t} ORDER BY {c} DESC LIMIT 1)"},
};
static_assert(std::size(kValues) == 24);

struct Column {
  std::string table, name;
  std::vector<std::string> key;  // the columns that distinguish rows
  std::uint64_t rows = 0;
};

// The tables of the image, with only the one of SQLite's own tables that Pawl reads.
class Catalogue {
 public:
  explicit Catalogue(sim::Machine& machine) : node_(machine) {
    const char* vfs = nullptr;
    EXPECT_EQ(sqlite::vfs_for(node_.port(), &vfs), Status::kOk);
    EXPECT_EQ(sqlite3_open_v2(kPath, &handle_, SQLITE_OPEN_READWRITE, vfs), SQLITE_OK);
  }
  ~Catalogue() {
    sqlite3_close(handle_);
    sqlite::forget_vfs(*node_.port().storage);
  }
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  std::vector<Column> columns() {
    std::vector<Column> out;
    for (const std::string& table :
         ask("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_stat%' "
             "ORDER BY name")) {
      const std::string quoted = "('" + table + "')";
      Column column;
      column.table = table;
      column.key = ask("SELECT name FROM pragma_table_info" + quoted + " WHERE pk>0 ORDER BY pk");
      if (column.key.empty()) column.key = {"rowid"};
      column.rows = std::stoull(ask("SELECT count(*) FROM " + table)[0]);
      // Generated columns are left out.
      for (const std::string& name : ask("SELECT name FROM pragma_table_info" + quoted)) {
        column.name = name;
        out.push_back(column);
      }
    }
    return out;
  }

 private:
  std::vector<std::string> ask(const std::string& sql) {
    std::vector<std::string> out;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK) << sql;
    while (sqlite3_step(statement) == SQLITE_ROW)
      out.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
    sqlite3_finalize(statement);
    return out;
  }
  sim::Node node_;
  sqlite3* handle_ = nullptr;
};

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts)
    out += (out.empty() ? "" : ",") + part;
  return out;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), by);
  return text;
}

// `row` counts from 0 in the order of the key, or is kAllRows.
constexpr std::uint64_t kAllRows = UINT64_MAX;
std::string damage_of(const Column& column, const Value& value, std::uint64_t row) {
  const std::string hostile =
      replaced(replaced(value.sql, "{c}", column.name), "{t}", column.table);
  std::string sql = "UPDATE " + column.table + " SET " + column.name + "=" + hostile;
  if (row == kAllRows) return sql;
  const std::string key = joined(column.key);
  return sql + " WHERE (" + key + ")=(SELECT " + key + " FROM " + column.table + " ORDER BY " +
         key + " LIMIT 1 OFFSET " + std::to_string(row) + ")";
}

// Failures by table and column, for people.
class Report {
 public:
  // `baseline` is the outcome without the damage, with the same options.
  void add(const Outcome& baseline, const std::string& column, const std::string& name,
           const Outcome& outcome) {
    ++counts_[static_cast<std::size_t>(outcome.verdict)];
    const bool is_listed = std::getenv("PAWL_SWEEP_LIST") != nullptr;
    if (outcome.verdict == Verdict::kFine || outcome.verdict == Verdict::kNotApplicable) {
      const bool is_other = outcome.verdict == Verdict::kFine && outcome.states != baseline.states;
      if (is_other) ++changed_;
      if (is_other && outcome.warnings == 0) {
        ++silent_;
        if (is_listed) std::printf("%s: silent\n", name.c_str());
      }
      if (outcome.calls_failed > 0) ++calls_failed_;
      return;
    }
    if (is_listed)
      std::printf("%s: %s: %s\n", name.c_str(), verdict_name(outcome.verdict),
                  outcome.text.c_str());
    if (outcome.verdict == Verdict::kRefused) {
      ++refused_[column];
      return;
    }
    failures_[column][outcome.verdict].push_back({name, outcome.text});
  }

  void print() const {
    for (std::size_t verdict = 0; verdict < kVerdicts; ++verdict)
      std::printf("%6llu %s\n", static_cast<unsigned long long>(counts_[verdict]),
                  verdict_name(static_cast<Verdict>(verdict)));
    std::printf(
        "of the fine ones %llu end otherwise than undamaged, %llu of these without a new "
        "warning; in %llu a call of the client failed\n",
        static_cast<unsigned long long>(changed_), static_cast<unsigned long long>(silent_),
        static_cast<unsigned long long>(calls_failed_));
    for (const auto& [column, count] : refused_)
      std::printf("refused: %s (%llu)\n", column.c_str(), static_cast<unsigned long long>(count));
  }

  // Reports one failure of the test for each column.
  void fail() const {
    for (const auto& [column, verdicts] : failures_) {
      std::string text = column + ":\n";
      for (const auto& [verdict, cases] : verdicts) {
        text += "  " + std::string(verdict_name(verdict)) + " (" + std::to_string(cases.size()) +
                "):\n";
        // The damage of each case, without the column; for the first case, also how to see it.
        for (const Failed& one : cases)
          text += "    " + one.name.substr(one.name.find('/', one.name.find('/') + 1) + 1) + "\n";
        text += "    e.g. PAWL_SWEEP='" + cases[0].name + "': " + cases[0].text + "\n";
      }
      ADD_FAILURE() << text;
    }
  }

 private:
  struct Failed {
    std::string name;
    std::string text;
  };
  std::uint64_t counts_[kVerdicts] = {};
  std::uint64_t changed_ = 0;
  std::uint64_t silent_ = 0;
  std::uint64_t calls_failed_ = 0;
  std::map<std::string, std::uint64_t> refused_;
  std::map<std::string, std::map<Verdict, std::vector<Failed>>> failures_;
};

struct SweepCase {
  std::string column;
  std::string name;
  std::string damage;
  std::size_t number = 0;  // selects the options that meet it
};

// All cases in one order: each value in all rows; and half of the values in one row, another row
// each time, so that a column's values meet many of its rows. Two images in sequence have both
// halves.
std::vector<SweepCase> cases_of(Ending ending, const std::vector<Column>& columns) {
  std::vector<SweepCase> out;
  std::uint64_t turn = static_cast<std::uint64_t>(ending);
  for (const Column& column : columns) {
    const std::string full = column.table + "." + column.name;
    const std::string start = std::string(ending_name(ending)) + "/" + full + "/";
    for (const Value& value : kValues) {
      if (column.rows > 0 && !value.one_row)
        out.push_back({full, start + "all/" + value.name, damage_of(column, value, kAllRows)});
      if (++turn % 2 == 0 && !value.one_row) continue;
      if (column.rows < (value.one_row ? 1U : 2U)) continue;
      const std::uint64_t row = turn / 2 % column.rows;
      out.push_back({full, start + "row " + std::to_string(row) + "/" + value.name,
                     damage_of(column, value, row)});
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].number = i;
  return out;
}

// The cases that PAWL_SWEEP, PAWL_SWEEP_SQL and PAWL_SWEEP_EVERY choose.
std::vector<SweepCase> chosen(Ending ending, const std::vector<SweepCase>& all) {
  if (const char* const sql = std::getenv("PAWL_SWEEP_SQL"); sql != nullptr)
    return {{"PAWL_SWEEP_SQL", sql, sql}};
  const char* const only = std::getenv("PAWL_SWEEP");
  const bool is_long = only != nullptr || std::getenv("PAWL_SOAK") != nullptr;
  const std::uint64_t every = is_long ? 1 : number_of("PAWL_SWEEP_EVERY", kEvery);
  // Each image has another sample, too.
  std::uint64_t number = static_cast<std::uint64_t>(ending) * 21;
  std::vector<SweepCase> out;
  for (const SweepCase& one : all) {
    if (number++ % every != 0) continue;
    if (only == nullptr || one.name.find(only) != std::string::npos) out.push_back(one);
  }
  // These cases always run, with all limits: in a large batch, other work went on after the
  // collision.
  for (std::size_t limits = 0; only == nullptr && limits < 1 + std::size(kDraws); ++limits)
    out.push_back({"meta.next_token", "tokens again with limits " + std::to_string(limits),
                   "UPDATE meta SET next_token=1", limits});
  return out;
}

bool is_watched() {
  return std::getenv("PAWL_SWEEP") != nullptr || std::getenv("PAWL_SWEEP_SQL") != nullptr;
}

void show(const std::string& name, const Outcome& outcome) {
  std::printf("%s: %s: %s (%llu ticks, %llu commits, %llu of them when idle)\n%s", name.c_str(),
              verdict_name(outcome.verdict), outcome.text.c_str(),
              static_cast<unsigned long long>(outcome.ticks),
              static_cast<unsigned long long>(outcome.commits),
              static_cast<unsigned long long>(outcome.idle_commits), outcome.log.c_str());
}

// The usual options, the least, the most, and any. Options that decide which worker gets which
// work, and when, stay: healthy neighbours need them.
std::vector<Options> drawn_options(Ending ending) {
  const Options usual = options_of("a");
  std::vector<Options> all = {usual};
  test::Rng random(static_cast<std::uint64_t>(ending));
  for (const test::Draw how : kDraws) {
    Options one = test::draw_options(usual, how, random, kBytesMax);
    // The code needs at least these limits.
    LimitOptions& limits = one.limits;
    limits.orchestrations_max = std::max(limits.orchestrations_max, 64U);
    limits.activities_max = std::max(limits.activities_max, 8U);
    limits.history_events_max = std::max(limits.history_events_max, 128U);
    limits.commands_a_turn_max = std::max(limits.commands_a_turn_max, 16U);
    limits.queue_messages_max = std::max(limits.queue_messages_max, 16U);
    limits.kv_keys_max = std::max(limits.kv_keys_max, 8U);
    limits.warm_bytes = std::max<std::size_t>(limits.warm_bytes, 128 * 1024);
    // With one strike, work that shares a tick with the damaged row is poisoned before the row is
    // found.
    limits.strikes_max = std::max(limits.strikes_max, usual.limits.strikes_max);
    one.run_orchestrations = true;
    one.slots = usual.slots;
    one.leases = usual.leases;
    one.sessions = usual.sessions;
    one.timing = usual.timing;
    one.retention = usual.retention;
    one.space.quota_bytes = 0;
    one.space.log_bytes_max = std::max(one.space.log_bytes_max, usual.space.log_bytes_max);
    all.push_back(one);
  }
  return all;
}

struct Meeting {
  Options options;
  Outcome baseline;
  Expectation expected;
};

void sweep(Ending ending) {
  Process process;
  ProcessOptions host;
  host.sqlite_memory = SqliteMemory::kHost;
  Diagnostic diagnostic;
  ASSERT_EQ(process.start(host, nullptr, 0, diagnostic), Status::kOk) << diagnostic.text();
  sim::Machine image(11);
  make_image(ending, process, image);
  const std::vector<Column> columns = Catalogue(image).columns();
  for (const Column& column : columns)  // stopped in order, workers leave no declarations or tags
    EXPECT_TRUE(column.rows > 0 || ending == Ending::kStopped) << column.table;

  const std::size_t log_lines = is_watched() ? 60 : 0;
  std::vector<Meeting> meetings;
  for (const Options& options : drawn_options(ending)) {
    Meeting one{options, run_case(image, options, "", Expectation(), log_lines), {}};
    show("undamaged", one.baseline);
    ASSERT_EQ(one.baseline.verdict, Verdict::kFine) << test::text_of(options);
    one.expected = {one.baseline.ticks + kMoreTicks, one.baseline.commits + kMoreCommits,
                    one.baseline.idle_commits + kMoreIdleCommits, one.baseline.received};
    meetings.push_back(one);
  }
  Report report;
  const auto shift = static_cast<std::size_t>(number_of("PAWL_SWEEP_OPTIONS", 0));
  for (const SweepCase& one : chosen(ending, cases_of(ending, columns))) {
    const Meeting& meeting = meetings[(one.number + shift) % meetings.size()];
    const Outcome outcome =
        run_case(image, meeting.options, one.damage, meeting.expected, log_lines);
    report.add(meeting.baseline, one.column, one.name, outcome);
    if (is_watched()) show(one.name, outcome);
  }
  report.print();
  report.fail();
  EXPECT_EQ(process.stop(), Status::kOk);
}

TEST(HostileValues, workers_stopped) { sweep(Ending::kStopped); }
TEST(HostileValues, workers_killed) { sweep(Ending::kKilled); }
TEST(HostileValues, machine_rebooted) { sweep(Ending::kRebooted); }

}  // namespace
}  // namespace pawl::hostile
