// Goal: each statement means the same on both engines. Method: the storage runs on SQLite, and each
// statement that it runs is also run by PostgreSQL with the same parameters, in transactions that
// begin and end together. Every row, its order and the count of changed rows are compared. The
// tests are those of the storage's contract.
//
// The texts that ran, the types of their parameters, and the settings of the connection are left in
// tables of the schema public, for plans.py.
//
// A test that writes what a typed column cannot hold has no equal on PostgreSQL; from there on it
// runs on SQLite alone. So does one whose transaction SQLite itself has ended.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine_beside.hpp"
#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "server_by_hand.hpp"
#include "store/postgres/postgres_connection.hpp"
#include "store/postgres/postgres_schema.hpp"
#include "store/postgres/postgres_text.hpp"
#include "store/sql/schema.hpp"

namespace pawl::test {
namespace {

std::string text_of(sql::QueryRef query) {
  char text[sql::kTextBytesMax];
  return {text, sql::expand(query.encoded(), text)};
}

struct Value {
  std::optional<std::int64_t> integer;
  std::optional<std::string> bytes;
  sql::ValueType type = sql::ValueType::kInteger;
};

void bind(sql::Statement& to, const Value& value) {
  if (value.integer.has_value()) {
    to.bind(*value.integer);
  } else if (!value.bytes.has_value()) {
    to.bind_null(value.type);
  } else if (value.type == sql::ValueType::kText) {
    to.bind_text(*value.bytes);
  } else {
    to.bind_blob(*value.bytes);
  }
}

// All connections of a world share it.
struct Beside {
  bool is_on = true;  // false: the rest of this test runs on SQLite alone
  bool has_meta = false;
  std::set<std::string>* texts = nullptr;
  std::int64_t compared = 0;
  port::Port port;
};

// A link that is lost stays so.
class NotReconnecting final : public postgres::Reconnecting {
 public:
  Status restore() override { return Status::kOk; }
};

Status open_in(postgres::Connection& server, const Beside& beside) {
  static NotReconnecting not_reconnecting;
  static std::int64_t node = 0;
  server.transaction().set_up(++node, {}, {}, not_reconnecting);
  server.link().set_up(ServerByHand::address(), *beside.port.clock, 60'000);
  PAWL_TRY(server.connect(60'000));
  return postgres::enter_schema(server, "pawl");
}

class BothEngines final : public sqlite::Connection {
 public:
  BothEngines(Beside& beside, postgres::Connection& server) : beside_(beside), server_(server) {}
  ~BothEngines() override {
    uses_.clear();
    if (server_.in_transaction()) static_cast<void>(server_.execute("ROLLBACK"));
  }

  void execute_beside(const std::string& sql) {
    if (server_.execute(sql.c_str()) != Status::kOk) beside_.is_on = false;
  }

 protected:
  void* prepare(sql::QueryRef query, int* failure) override {
    void* const prepared = sqlite::Connection::prepare(query, failure);
    if (prepared != nullptr) uses_.emplace(prepared, Use{query, text_of(query), {}, nullptr});
    return prepared;
  }
  void release(void* prepared) override {
    uses_.erase(prepared);
    sqlite::Connection::release(prepared);
  }
  int bind_integer(void* prepared, int at, std::int64_t value) override {
    uses_.at(prepared).values.push_back({value, {}, sql::ValueType::kInteger});
    return sqlite::Connection::bind_integer(prepared, at, value);
  }
  int bind_nothing(void* prepared, int at, sql::ValueType type) override {
    uses_.at(prepared).values.push_back({{}, {}, type});
    return sqlite::Connection::bind_nothing(prepared, at, type);
  }
  int bind_characters(void* prepared, int at, std::string_view value) override {
    uses_.at(prepared).values.push_back({{}, std::string(value), sql::ValueType::kText});
    return sqlite::Connection::bind_characters(prepared, at, value);
  }
  int bind_bytes(void* prepared, int at, std::string_view value) override {
    uses_.at(prepared).values.push_back({{}, std::string(value), sql::ValueType::kBytes});
    return sqlite::Connection::bind_bytes(prepared, at, value);
  }
  Step step(void* prepared, int* slices, int* failure) override {
    Use& use = uses_.at(prepared);
    const bool is_first = use.beside == nullptr;
    const Step mine = sqlite::Connection::step(prepared, slices, failure);
    if (!beside_.is_on || mine == Step::kFailed) return mine;
    if (is_first && !begin(use)) return mine;
    compare(prepared, use, mine);
    return mine;
  }

 private:
  struct Use {
    sql::QueryRef query;
    std::string text;
    std::vector<Value> values;
    std::unique_ptr<sql::Statement> beside;
  };

  // The row number that SQLite has made.
  void name_key(Use& use) const {
    for (const char* const table : {"workers", "sessions", "instances", "history"}) {
      const std::string begins = std::string("INSERT INTO ") + table + "(";
      if (use.text.compare(0, begins.size(), begins) != 0) continue;
      Value& key = std::string(table) == "history" ? use.values.front() : use.values.back();
      if (!key.integer.has_value()) key.integer = last_insert_id();
    }
  }

  // The engine would count the time as a node of a fleet, and write that to meta.
  bool run_transaction(const std::string& text) {
    const bool begins = text.compare(0, 5, "BEGIN") == 0;
    if (begins && server_.in_transaction()) static_cast<void>(server_.execute("ROLLBACK"));
    if (!beside_.is_on) return false;
    const bool locks = text == "BEGIN IMMEDIATE";
    const char* const run = locks    ? "BEGIN;SELECT 1 FROM meta WHERE id=1 FOR UPDATE NOWAIT"
                            : begins ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
                                     : text.c_str();
    // A process that was killed in a transaction has no lock in SQLite, and its connection to
    // PostgreSQL is still open.
    const Status status = server_.execute(run);
    if (locks && status == Status::kBusy) {
      beside_.is_on = false;
    } else {
      EXPECT_EQ(status, Status::kOk) << run << ": " << server_.diagnostic().text();
    }
    return false;
  }

  // False: there is nothing to compare.
  bool begin(Use& use) {
    if (use.text.compare(0, 5, "BEGIN") == 0 || use.text == "COMMIT" || use.text == "ROLLBACK")
      return run_transaction(use.text);
    if ((use.query.marks() & sql::kEnginesOwn) != 0) return false;
    // A second database of one test.
    const bool is_meta = use.text.compare(0, 17, "INSERT INTO meta(") == 0;
    if (is_meta && beside_.has_meta) beside_.is_on = false;
    beside_.has_meta = beside_.has_meta || is_meta;
    if (!beside_.is_on) return false;
    beside_.texts->insert(use.text);
    name_key(use);
    use.beside.reset(new sql::Statement(server_.use(use.query)));
    for (const Value& value : use.values)
      bind(*use.beside, value);
    return true;
  }

  void compare(void* prepared, Use& use, Step mine) {
    ++beside_.compared;
    const bool row = use.beside->row();
    if (use.beside->status() != Status::kOk)
      differ(use, std::string("fails: ") + server_.diagnostic().text().data());
    if (!beside_.is_on) return;
    if (row != (mine == Step::kRow)) return differ(use, row ? "has more rows" : "has fewer rows");
    if (row) return compare_row(prepared, use);
    const bool writes = use.text[0] == 'I' || use.text[0] == 'U' || use.text[0] == 'D';
    if (writes && changes() != server_.link().changes())
      differ(use, "changes " + std::to_string(server_.link().changes()) + " rows, and not " +
                      std::to_string(changes()));
  }

  void compare_row(void* prepared, const Use& use) {
    sqlite3_stmt* const mine = statement_of(prepared);
    for (int column = 0; column < sqlite3_column_count(mine); ++column) {
      const std::string name = sqlite3_column_name(mine, column);
      const bool is_null = sqlite3_column_type(mine, column) == SQLITE_NULL;
      if (is_null != use.beside->is_null(column)) return differ(use, name + " is NULL in one");
      if (is_null) continue;
      if (sqlite3_column_type(mine, column) == SQLITE_INTEGER) {
        bool whole = true;
        const std::int64_t theirs = use.beside->integer(column, &whole);
        const std::int64_t ours = sqlite3_column_int64(mine, column);
        if (!whole || theirs != ours)
          return differ(
              use, name + " is " + std::to_string(theirs) + ", and not " + std::to_string(ours));
      } else if (use.beside->bytes(column) != read_bytes(prepared, column)) {
        return differ(use, name + " has other bytes");
      }
    }
  }

  void differ(const Use& use, const std::string& how) {
    std::string values;
    for (const Value& value : use.values)
      values +=
          (values.empty() ? "" : ", ") + (value.integer.has_value() ? std::to_string(*value.integer)
                                          : value.bytes.has_value() ? "'" + *value.bytes + "'"
                                                                    : std::string("NULL"));
    ADD_FAILURE() << "on PostgreSQL it " << how << ": " << use.text << "\nwith " << values;
    beside_.is_on = false;
  }

  Beside& beside_;
  postgres::Connection& server_;
  std::map<void*, Use> uses_;
};

class Both final : public EngineBeside {
 public:
  void begin() override {
    beside_ = Beside();
    beside_.port = system_.port();
    beside_.texts = &texts_;
    ++worlds_;
    if (worlds_ == 1) make_tables();
    EXPECT_EQ(server_.execute(delete_all_.c_str()), Status::kOk) << server_.diagnostic().text();
  }
  sqlite::Connection& connect() override {
    const std::size_t at = engines_.size() % kConnections;
    if (engines_.size() >= kConnections) beside_.is_on = false;  // a test of many deaths
    if (at == servers_.size()) {
      servers_.push_back(std::make_unique<postgres::Connection>());
      EXPECT_EQ(open_in(*servers_[at], beside_), Status::kOk) << servers_[at]->diagnostic().text();
      EXPECT_EQ(servers_[at]->transaction().connected(), Status::kOk);
    }
    engines_.push_back(std::make_unique<BothEngines>(beside_, *servers_[at]));
    return *engines_.back();
  }
  void changed(const std::string& sql) override {
    if (beside_.is_on && !engines_.empty()) engines_.front()->execute_beside(sql);
  }
  void end() override {
    compared_ += beside_.compared;
    alone_ += beside_.is_on ? 0 : 1;
    engines_.clear();
  }
  // A text of SQLite, as it is written, and that of PostgreSQL with the types of its parameters.
  void leave_texts() {
    EXPECT_EQ(server_.execute("CREATE TABLE IF NOT EXISTS public.settings AS "
                              "SELECT name,setting FROM pg_settings WHERE source='session'"),
              Status::kOk);
    EXPECT_EQ(server_.execute(
                  "CREATE TABLE IF NOT EXISTS public.ran_texts(ours text PRIMARY KEY,theirs text);"
                  "CREATE TABLE IF NOT EXISTS public.prepared(theirs text,types text)"),
              Status::kOk);
    for (const std::string& text : texts_) {
      char theirs[postgres::kPostgresTextBytesMax];
      static_cast<void>(postgres::is_unlimited(text) ? postgres::translate_page(text, theirs)
                                                     : postgres::translate(text, theirs));
      EXPECT_EQ(server_.execute(("INSERT INTO public.ran_texts VALUES($text$" + text +
                                 "$text$,$text$" + theirs + "$text$) ON CONFLICT DO NOTHING")
                                    .c_str()),
                Status::kOk)
          << server_.diagnostic().text();
    }
    for (const auto& server : servers_)
      EXPECT_EQ(server->execute("INSERT INTO public.prepared SELECT statement,"
                                "array_to_string(parameter_types,',') FROM pg_prepared_statements"),
                Status::kOk);
  }
  [[nodiscard]] std::string summary() const {
    return std::to_string(compared_) + " steps of statements compared in " +
           std::to_string(worlds_) + " tests, of which " + std::to_string(alone_) +
           " ended on SQLite alone";
  }

 private:
  void make_tables() {
    EXPECT_EQ(open_in(server_, beside_), Status::kOk) << server_.diagnostic().text();
    EXPECT_EQ(server_.execute("DROP SCHEMA IF EXISTS pawl CASCADE;CREATE SCHEMA pawl;BEGIN"),
              Status::kOk);
    EXPECT_EQ(postgres::make_schema(server_), Status::kOk) << server_.diagnostic().text();
    EXPECT_EQ(server_.execute("COMMIT"), Status::kOk) << server_.diagnostic().text();
    const std::string schema = store::kSchema;
    const std::string begins = "CREATE TABLE ";
    for (std::size_t at = schema.find(begins); at != std::string::npos;
         at = schema.find(begins, at + 1)) {
      const std::size_t name = at + begins.size();
      delete_all_ += "DELETE FROM " + schema.substr(name, schema.find('(', name) - name) + ";";
    }
  }

  static constexpr std::size_t kConnections = 20;

  posix::SystemPort system_;
  postgres::Connection server_;
  // Used again by each test, with the statements that they have prepared.
  std::vector<std::unique_ptr<postgres::Connection>> servers_;
  std::string delete_all_;
  Beside beside_;
  std::vector<std::unique_ptr<BothEngines>> engines_;
  std::set<std::string> texts_;
  int worlds_ = 0;
  int alone_ = 0;
  std::int64_t compared_ = 0;
};

class Summary final : public ::testing::Environment {
 public:
  explicit Summary(Both& of) : of_(of) {}
  void TearDown() override {
    of_.leave_texts();
    std::printf("%s\n", of_.summary().c_str());
  }

 private:
  Both& of_;
};

Both g_both;
const bool g_is_set = [] {
  EngineBeside::current = &g_both;
  ::testing::AddGlobalTestEnvironment(new Summary(g_both));
  return true;
}();

}  // namespace
}  // namespace pawl::test
