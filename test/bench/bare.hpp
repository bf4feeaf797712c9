// Bare: an engine that writes the rows of a floor without Pawl, SQLite or libpq on a server.
#ifndef PAWL_BENCH_BARE_HPP
#define PAWL_BENCH_BARE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "measure.hpp"

namespace bench {

enum Sql {
  kBegin,
  kCommit,
  kInsertInstance,
  kInsertEvent,
  kWriteExecution,
  kInsertWork,
  kInsertHandedOver,
  kGoOn,
  kGoOnAsBefore,
  kNextToken,
  kHandOver,
  kDeleteWork,
  kFinish,
  kWriteTimer,
  kTrip,
  kSqlCount
};

inline constexpr const char* kTexts[kSqlCount] = {
    "BEGIN IMMEDIATE",
    "COMMIT",
    "INSERT INTO instances(id,name,version,state,execution,revision,home,crashes,strikes,reboots,"
    "created_stamp,updated_stamp,key) VALUES(?1,'hello','1.0.0',0,1,0,0,0,0,0,?2,?2,?3)",
    "INSERT INTO history(row_number,instance,execution,id,prev,kind,branch,ordinal,ref,time,meta,"
    "payload,crc) VALUES(?,?,1,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO executions(instance,execution,end,last_event,last_row,started_stamp,ended_stamp) "
    "VALUES(?1,1,?2,?3,?4,?5,?6) ON CONFLICT(instance,execution) DO UPDATE SET end=excluded.end,"
    "last_event=excluded.last_event,last_row=excluded.last_row,ended_stamp=excluded.ended_stamp",
    "INSERT INTO worker_queue(id,instance,execution,event,event_row,state,attempt,crashes,strikes,"
    "reboots,unregistered) VALUES(?1,?2,1,?3,?4,0,0,0,0,0,0)",
    "INSERT INTO worker_queue(id,instance,execution,event,event_row,state,attempt,crashes,strikes,"
    "reboots,unregistered,token,inc,epoch,locked_until,boot_seq) "
    "VALUES(?1,?2,1,?3,?4,1,1,0,0,0,0,?1,1,0,?5,1)",
    "UPDATE instances SET execution=1,revision=revision+1,home=1,ready_id=NULL,ready_at=NULL,"
    "parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,reboots=0,"
    "updated_stamp=?2,last_event=?3,last_row=?4 WHERE key=?1",
    "UPDATE instances SET revision=revision+1,updated_stamp=?2,last_event=?3,last_row=?4 "
    "WHERE key=?1",
    "UPDATE meta SET next_token=next_token+1",
    "UPDATE worker_queue SET state=1,token=?1,inc=1,epoch=0,locked_until=?2,boot_seq=1,"
    "attempt=attempt+1,unregistered=0 WHERE id=?1",
    "DELETE FROM worker_queue WHERE id=?",
    "UPDATE instances SET state=1,revision=revision+1,home=1,ready_id=NULL,ready_at=NULL,"
    "parked_until=NULL,stop_kind=NULL,stop_text=NULL,crashes=0,strikes=0,reboots=0,"
    "updated_stamp=?2,finished_at=?3,last_event=?4,last_row=?5 WHERE key=?1",
    "UPDATE instances SET timer_id=?2,timer_ref=?3,timer_base=?4,timer_due=?5,timer_seg=?6 "
    "WHERE key=?1",
    "SELECT 1"};

[[nodiscard]] constexpr bool changes_one_row(Sql which) { return which > kCommit && which < kTrip; }

struct Value {
  enum Kind { kIsNull, kIsNumber, kIsText };

  Value() = default;
  Value(std::int64_t given) : kind(kIsNumber), number(given) {}
  Value(std::string_view given) : kind(kIsText), text(given) {}

  Kind kind = kIsNull;
  std::int64_t number = 0;
  std::string_view text;
};

class Bare {
 public:
  Bare() = default;
  virtual ~Bare() = default;
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  // Runs the statement with these values, in order.
  template <typename... Values>
  void run(Sql which, const Values&... values) {
    const Value all[] = {Value(values)..., Value()};
    if (well()) run_with(which, all, static_cast<int>(sizeof...(values)));
  }
  // The number that a new row is given: none, where the engine finds it.
  [[nodiscard]] virtual Value new_row(std::int64_t number) const = 0;
  // The number of the last row of history, just after it was inserted.
  [[nodiscard]] virtual std::int64_t last_row() const = 0;
  // How often it waited for a server.
  [[nodiscard]] virtual std::uint64_t trips() const { return 0; }
  // False: something has failed, and text() says what.
  [[nodiscard]] bool well() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 protected:
  // Keeps the first failure.
  void fail(std::string_view text) {
    if (well()) text_ = text.empty() ? "failed" : std::string(text);
  }

 private:
  virtual void run_with(Sql which, const Value* values, int count) = 0;

  std::string text_;
};

// Both are open, unless they are not well(). The tables are new.
[[nodiscard]] std::unique_ptr<Bare> open_sqlite(const Setup& setup);
[[nodiscard]] std::unique_ptr<Bare> open_server(const Setup& setup);

}  // namespace bench

#endif  // PAWL_BENCH_BARE_HPP
