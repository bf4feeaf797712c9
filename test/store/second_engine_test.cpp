// Goal: the tables reach an engine only through sql::Connection. Here a second engine stands
// between them and SQLite. It records each statement that comes through it and checks how it is
// used, and SQLite itself reports what it ran. Marks show the parts of a statement that only SQLite
// has (sql/query.hpp): without these parts the statement means the same.
#include <map>
#include <set>

#include "pawl/management.hpp"
#include "pawl/visit.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store_world.hpp"

namespace pawl::test {
namespace {

using Strings = std::vector<std::string>;

std::string text_of(sql::QueryRef query) {
  char text[sql::kTextBytesMax];
  return {text, sql::expand(query.encoded(), text)};
}

// The text for an engine that has none of the parts marked as SQLite's.
std::string common(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\f') {
      out += text[at];
      continue;
    }
    const std::size_t end = text.find('\r', at);
    const std::string part = text.substr(at + 1, end - at - 1);
    const std::string type_of = "typeof(";
    if (part.rfind(type_of, 0) == 0) {
      out += part.substr(type_of.size(), part.find(')') - type_of.size()) + " IS NOT NULL";
    } else {
      out += part.rfind("CAST(", 0) == 0 ? part : " ";  // the bytes of a text
    }
    at = end;
  }
  return out;
}

class SecondEngine final : public sqlite::Connection {
 public:
  bool leaves_marked_parts_out = false;
  Strings came;  // statements in the order of their first steps
  std::set<std::string> texts;
  Strings misuses;

 protected:
  void* prepare(sql::QueryRef query, int* failure) override {
    const Common& without = common_of(query);
    const sql::QueryRef used = leaves_marked_parts_out ? without.query : query;
    void* const prepared = sqlite::Connection::prepare(used, failure);
    texts.insert(text_of(query));
    if (prepared != nullptr && !open_.emplace(prepared, Use{text_of(used), 0, false}).second)
      misuses.push_back("used twice at a time: " + text_of(query));
    return prepared;
  }
  void release(void* prepared) override {
    if (open_.erase(prepared) == 0) misuses.emplace_back("released, and was not in use");
    sqlite::Connection::release(prepared);
  }
  int bind_integer(void* prepared, int at, std::int64_t value) override {
    note_bind(prepared, at);
    return sqlite::Connection::bind_integer(prepared, at, value);
  }
  int bind_nothing(void* prepared, int at, sql::ValueType type) override {
    note_bind(prepared, at);
    return sqlite::Connection::bind_nothing(prepared, at, type);
  }
  int bind_characters(void* prepared, int at, std::string_view value) override {
    note_bind(prepared, at);
    return sqlite::Connection::bind_characters(prepared, at, value);
  }
  int bind_bytes(void* prepared, int at, std::string_view value) override {
    note_bind(prepared, at);
    return sqlite::Connection::bind_bytes(prepared, at, value);
  }
  Step step(void* prepared, int* slices, int* failure) override {
    Use& use = open_[prepared];
    if (!use.stepped) {
      came.push_back(use.text);
      const int wanted = sqlite3_bind_parameter_count(statement_of(prepared));
      if (use.binds != wanted) misuses.push_back("not all is bound: " + use.text);
    }
    use.stepped = true;
    return sqlite::Connection::step(prepared, slices, failure);
  }

 private:
  struct Common {
    explicit Common(sql::QueryRef of)
        : marks_and_text(std::string(sql::kMarkBytes, '\0') + common(text_of(of))),
          query(marks_and_text.c_str()) {}
    std::string marks_and_text;
    sql::QueryRef query;
  };
  const Common& common_of(sql::QueryRef query) {
    const auto [found, is_new] = common_.try_emplace(query.encoded(), query);
    const std::string text = text_of(found->second.query);
    if (!is_new || (query.marks() & sql::kEnginesOwn) != 0) return found->second;
    for (const char* const word :
         {"INDEXED", "CROSS", "OR IGNORE", "OR REPLACE", "IMMEDIATE", "typeof", "PRAGMA", "sqlite_",
          "rowid", "ROWID", "ifnull", "GLOB"})
      if (text.find(word) != std::string::npos) misuses.push_back("is for SQLite alone: " + text);
    return found->second;
  }

  struct Use {
    std::string text;
    int binds = 0;
    bool stepped = false;
  };
  void note_bind(void* prepared, int at) {
    Use& use = open_[prepared];
    if (use.stepped) misuses.push_back("bound after its first step: " + use.text);
    if (at != ++use.binds) misuses.push_back("bound out of order: " + use.text);
  }
  std::map<void*, Use> open_;
  std::map<const char*, Common> common_;
};

class SecondEngineTest : public StoreWorld {
 protected:
  SecondEngineTest() : store_(&engine_) {}
  ~SecondEngineTest() override {
    if (at_ != nullptr) at_->store = nullptr;
    store_.close();
  }
  Site& open_over_it() {
    at_ = &process();
    at_->store = &store_;
    StoreOptions options;
    options.busy_ms_max = 0;
    options.path = path();
    EXPECT_EQ(store_.open(options, at_->port, at_->diagnostic), Status::kOk)
        << at_->diagnostic.text();
    engine_.came.clear();
    EXPECT_EQ(sqlite3_trace_v2(engine_.handle(), SQLITE_TRACE_STMT, note, this), SQLITE_OK);
    return *at_;
  }
  void use_it();
  SecondEngine engine_;
  Strings ran_;

 private:
  static int note(unsigned, void* self, void*, void* text) {
    static_cast<SecondEngineTest*>(self)->ran_.emplace_back(static_cast<const char*>(text));
    return 0;
  }
  store::SqliteStore store_;
  Site* at_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Ports, SecondEngineTest, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

void SecondEngineTest::use_it() {
  Site& at = open_over_it();
  const Incarnation me = worker(at, "node");
  const InstanceKey key = create(at, "a");
  start(at, key, {{1, TimerBase::kPawlTime, 5'000}});
  const InstanceKey other = create(at, "b");
  const WorkDone done = hand_over(at, other);
  must_batch(at, [&] { return at->work().items.note_progress(done, "half", clock.boot); });
  must_batch(at, [&] { return at->work().items.ack_work_item(done, {}); });
  must_batch(at, [&] { return at->session().moves.claim_session(me, "s", WorkerTerms()); });
  std::size_t count = 0;
  std::size_t released = 0;
  must_batch(at, [&] {
    return at->session().owners.renew_session_lock(me, WorkerTerms(), &count, &released);
  });
  clock.advance(6'000);
  wake_delayed(at, 16);
  fetched(at, key);
  ready(at, me);
  NextDue due;
  EXPECT_EQ(at->due().next_due(me, true, &due), Status::kOk);
  must_batch(at, [&] { return at->instance().verbs.suspend_instance("a"); });
  must_batch(at, [&] { return at->instance().verbs.terminate_instance("a", "why"); });
  int listed = 0;
  auto seen = visit([&listed](const InstanceInfo&) { ++listed; });
  Page page;
  EXPECT_EQ(at->instance().directory.list_instances({}, &page, seen), Status::kOk);
  EXPECT_EQ(listed, 2);
  Metrics metrics;
  EXPECT_EQ(at->instance().directory.get_metrics(&metrics), Status::kOk);
  must_batch(at, [&] { return at->instance().removal.delete_instance(other, true); });
  Removed removed;
  bool more = false;
  must_batch(at, [&] { return at->instance().removal.sweep_deleted(100, &removed, &more); });
  must_batch(at, [&] { return at->worker().unregister_worker(me); });
  EXPECT_EQ(at->place().empty_log(), Status::kOk);
}

TEST_P(SecondEngineTest, NothingGoesRoundIt) {
  use_it();
  EXPECT_EQ(engine_.misuses, Strings());
  EXPECT_GT(engine_.texts.size(), 80U);
  ASSERT_EQ(ran_.size(), engine_.came.size());
  for (std::size_t i = 0; i < ran_.size(); ++i)
    EXPECT_EQ(ran_[i], engine_.came[i]) << "the " << i << "th that SQLite ran";
}

TEST_P(SecondEngineTest, MarkedPartsOfStatementsCanBeLeftOut) {
  engine_.leaves_marked_parts_out = true;
  use_it();
  EXPECT_EQ(engine_.misuses, Strings());
  for (const std::string& text : ran_)
    EXPECT_EQ(text.find_first_of("\f\r"), std::string::npos) << text;
}

}  // namespace
}  // namespace pawl::test
