#include <endian.h>
#include <libpq-fe.h>

#include <cstring>
#include <optional>
#include <vector>

#include "bare.hpp"
#include "machine.hpp"
#include "store/postgres/postgres_text.hpp"

namespace bench {
namespace {

constexpr int kValuesMax = 16;

// So a statement takes the same ways to its rows as that of Pawl does.
constexpr char kSettings[] =
    "SET search_path=pawl,pg_catalog;SET enable_seqscan=off;SET enable_bitmapscan=off;SET jit=off;"
    "SET plan_cache_mode=force_generic_plan";

// The tables are those of the real thing: a Runtime makes them.
std::string make_tables(const Setup& setup) {
  Figures unused;
  Machine machine(setup, unused);
  static_cast<void>([&] {
    PAWL_TRY(machine.start_process());
    PAWL_TRY(machine.start(machine.default_options()));
    return machine.stop();
  }());
  return machine.error();
}

// Each statement is sent without waiting. The answers come with that of the commit, in one trip.
class BareServer final : public Bare {
 public:
  explicit BareServer(const Setup& setup) : handle_(::PQconnectdb(setup.server.c_str())) {
    const std::string error = make_tables(setup);
    if (!error.empty()) fail(error);
    if (well()) check(::PQexec(handle_, kSettings), PGRES_COMMAND_OK);
    char text[pawl::postgres::kPostgresTextBytesMax];
    for (int i = 0; well() && i < kSqlCount; ++i) {
      pawl::postgres::translate(i == kBegin ? "BEGIN" : kTexts[i], text);
      check(::PQprepare(handle_, name_of(i).c_str(), text, 0, nullptr), PGRES_COMMAND_OK);
    }
  }
  ~BareServer() override { ::PQfinish(handle_); }

  [[nodiscard]] Value new_row(std::int64_t number) const override { return number; }
  [[nodiscard]] std::int64_t last_row() const override { return last_row_; }
  [[nodiscard]] std::uint64_t trips() const override { return trips_; }

 private:
  static std::string name_of(int which) { return "s" + std::to_string(which); }

  void run_with(Sql which, const Value* values, int count) override {
    const char* texts[kValuesMax] = {};
    std::uint64_t numbers[kValuesMax];
    int sizes[kValuesMax] = {};
    int formats[kValuesMax];
    for (int i = 0; i < count; ++i) {
      const Value& value = values[i];
      const bool is_number = value.kind == Value::kIsNumber;
      formats[i] = 1;  // binary
      numbers[i] = htobe64(static_cast<std::uint64_t>(value.number));
      if (is_number) texts[i] = reinterpret_cast<const char*>(&numbers[i]);
      if (value.kind == Value::kIsText) texts[i] = value.text.data();
      sizes[i] = static_cast<int>(is_number ? sizeof(numbers[i]) : value.text.size());
    }
    if (which == kInsertEvent) last_row_ = values[0].number;
    if (sent_.empty() && ::PQenterPipelineMode(handle_) != 1) return fail_now();
    if (::PQsendQueryPrepared(handle_, name_of(which).c_str(), count, texts, sizes, formats, 1) !=
        1)
      return fail_now();
    sent_.push_back(which);
    if (which == kCommit || which == kTrip) wait();
  }
  void wait() {
    ++trips_;
    if (::PQpipelineSync(handle_) != 1) return fail_now();
    for (const Sql which : sent_) {
      PGresult* const result = ::PQgetResult(handle_);
      if (changes_one_row(which) && std::strcmp(::PQcmdTuples(result), "1") != 0)
        fail(std::string("changed no row: ") + kTexts[which] + ": " + ::PQerrorMessage(handle_));
      check(result, which == kTrip ? PGRES_TUPLES_OK : PGRES_COMMAND_OK);
      check(::PQgetResult(handle_), std::nullopt);  // the end of this answer
    }
    check(::PQgetResult(handle_), PGRES_PIPELINE_SYNC);
    sent_.clear();
    if (::PQexitPipelineMode(handle_) != 1) fail_now();
  }
  void check(PGresult* result, std::optional<ExecStatusType> wanted) {
    if (wanted.has_value() ? ::PQresultStatus(result) != *wanted : result != nullptr) fail_now();
    ::PQclear(result);
  }
  void fail_now() { fail(std::string("libpq: ") + ::PQerrorMessage(handle_)); }

  PGconn* handle_;
  std::vector<Sql> sent_;
  std::int64_t last_row_ = 0;
  std::uint64_t trips_ = 0;
};

}  // namespace

std::unique_ptr<Bare> open_server(const Setup& setup) {
  return std::make_unique<BareServer>(setup);
}

}  // namespace bench
