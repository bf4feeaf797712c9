#include "store/instance/rows.hpp"

#include <cstdint>
#include <cstring>

#include "core/text.hpp"

namespace pawl::store {
namespace {

// The columns of every query for values.
#define PAWL_VALUE_COLUMNS "key,execution,cleared,value,updated_stamp,crc"
constexpr auto kValueColumns = sql::Columns(PAWL_VALUE_COLUMNS);

struct ValueRow {
  KvEntry entry;
  bool cleared = false;
};

// The views are valid as long as the row.
bool decode(const Statement& row, InstanceKey instance, ValueRow* out) {
  bool whole = true;
  out->entry.key = row.bytes(PAWL_COLUMN(kValueColumns, key));
  out->cleared = row.integer(PAWL_COLUMN(kValueColumns, cleared), &whole) != 0;
  out->entry.value = row.bytes(PAWL_COLUMN(kValueColumns, value));
  out->entry.updated_ms = row.integer(PAWL_COLUMN(kValueColumns, updated_stamp), &whole);
  const std::int64_t crc =
      value_crc(instance, row.integer(PAWL_COLUMN(kValueColumns, execution), &whole), out->cleared,
                out->entry);
  return row.integer(PAWL_COLUMN(kValueColumns, crc), &whole) == crc && whole;
}

}  // namespace

constexpr auto kReadValue = PAWL_QUERY("SELECT " PAWL_VALUE_COLUMNS
                                       " FROM kv WHERE instance=?1 AND key=?2 "
                                       "ORDER BY execution DESC LIMIT 1");

Status InstanceRows::get_kv_value(std::string_view id, std::string_view key, KvEntry* out,
                                  bool* found, char* buffer, std::size_t capacity) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  *found = false;
  InstanceKey instance = 0;
  PAWL_TRY(find_key(id, &instance));
  Statement row = connection_.use(kReadValue);
  if (!row.bind(instance).bind_text(key).row()) return fail(row.status(), "values");
  ValueRow value;
  if (!decode(row, instance, &value)) return broken_value(instance, key);
  if (value.cleared) return Status::kOk;
  if (value.entry.value.size() > capacity) {
    context_.diagnostic.format("the value has %zu bytes, the buffer %zu", value.entry.value.size(),
                               capacity);
    return Status::kResourceExhausted;
  }
  if (!value.entry.value.empty())
    std::memcpy(buffer, value.entry.value.data(), value.entry.value.size());
  *out = {key, std::string_view(buffer, value.entry.value.size()), value.entry.updated_ms};
  *found = true;
  return Status::kOk;
}

constexpr auto kListValues = PAWL_QUERY(
    "SELECT " PAWL_VALUE_COLUMNS
    " FROM kv WHERE instance=?1 AND key>?2 AND cleared=0 AND NOT EXISTS(SELECT 1 FROM kv AS "
    "later WHERE later.instance=?1 AND later.key=kv.key AND later.execution>kv.execution) "
    "ORDER BY key");

Status InstanceRows::get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no values");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  InstanceKey instance = 0;
  PAWL_TRY(find_key(id, &instance));
  // A copy, because the page moves on.
  FixedText<kNameBytesMax> after;
  PAWL_TRY(after.assign(page->after_key()));
  Statement row = connection_.use(kListValues);
  row.bind(instance).bind_text(after.view());
  page->more = true;
  for (std::size_t reported = 0; reported < page->rows_max; ++reported) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    ValueRow value;
    if (!decode(row, instance, &value)) return broken_value(instance, value.entry.key);
    if (value.entry.key <= page->after_key()) return no_progress("kv");
    page->move_behind(value.entry.key);
    visitor.on_value(value.entry);
  }
  return fail(row.status(), "list values");
}

constexpr auto kFoundStatus = PAWL_QUERY("SELECT found_status FROM instances WHERE key=?1");
constexpr auto kFoundValues = PAWL_QUERY("SELECT " PAWL_VALUE_COLUMNS
                                         " FROM kv WHERE instance=?1 AND execution<?2 "
                                         "ORDER BY key");

Status InstanceRows::load_state(InstanceKey key, ExecutionId execution, StateSink& sink) {
  if (execution == 1) return Status::kOk;  // none before it can have left any
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  {
    Statement row = connection_.use(kFoundStatus);
    if (!row.bind(key).row()) return fail(row.status(), "instances");
    if (!row.is_null(0)) PAWL_TRY(sink.on_value({}, row.bytes(0), 0));
  }
  Statement row = connection_.use(kFoundValues);
  row.bind(key).bind(execution);
  FixedText<kNameBytesMax> last;
  while (row.row()) {
    ValueRow value;
    // settle_values() leaves one row of each key, so a second row is damage.
    const bool is_whole = decode(row, key, &value);
    const bool is_second = !last.view().empty() && value.entry.key == last.view();
    if (!is_whole || is_second) return broken_value(key, value.entry.key);
    last.assign_cut(value.entry.key);
    if (value.cleared) continue;
    PAWL_TRY(sink.on_value(value.entry.key, value.entry.value, value.entry.updated_ms));
  }
  return fail(row.status(), "values");
}

constexpr auto kWriteValue = PAWL_QUERY(
    "INSERT INTO kv(instance,key,execution,cleared,value,updated_stamp,crc) "
    "VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT(instance,key,execution) DO UPDATE SET "
    "cleared=excluded.cleared,value=excluded.value,updated_stamp=excluded.updated_stamp,"
    "crc=excluded.crc");

Status InstanceRows::write_value(const TurnCommit& turn, const Event& write) {
  if (write.error != ErrorKind::kNone) return Status::kOk;  // a limit refused this write
  const KvEntry entry = {write.name, write.payload, write.time_ms};
  const bool cleared = write.number != 0;
  Statement insert = connection_.use(kWriteValue);
  insert.bind(turn.key).bind_text(entry.key).bind(turn.execution).bind(cleared ? 1 : 0);
  insert.bind_blob_or_null(entry.value).bind(entry.updated_ms);
  insert.bind(value_crc(turn.key, turn.execution, cleared, entry));
  return fail(insert.run(), "write value");
}

// A damaged row is answered to the reader, and does not hold its turn back.
Status InstanceRows::answer_read(const TurnCommit& turn, EventId read) {
  const Event& command = turn.events->event(read);
  Message answer;
  answer.kind = MessageKind::kValueAnswer;
  answer.execution = turn.execution;
  answer.ref = read;
  const auto refuse = [&answer](ErrorKind kind, std::string_view text) {
    answer.error = kind;
    answer.payload = text;
  };
  InstanceKey instance = 0;
  const Status found = find_key(command.session, &instance);
  if (found == Status::kNotFound) {
    refuse(ErrorKind::kNoInstance, "there is no instance of this id");
    return store_message(turn.key, answer, nullptr);
  }
  PAWL_TRY(found);
  Statement row = connection_.use(kReadValue);
  row.bind(instance).bind_text(command.name);
  ValueRow value;
  if (!row.row()) {
    PAWL_TRY(fail(row.status(), "values"));
    refuse(ErrorKind::kNotFound, "the instance has no value of this key");
  } else if (!decode(row, instance, &value)) {
    refuse(ErrorKind::kCorrupt, "the stored value is damaged");
  } else if (value.cleared) {
    refuse(ErrorKind::kNotFound, "the instance has no value of this key");
  } else {
    answer.payload = value.entry.value;
  }
  return store_message(turn.key, answer, nullptr);
}

constexpr auto kDropFound = PAWL_QUERY(
    "DELETE FROM kv WHERE instance=?1 AND execution<?2 AND EXISTS(SELECT 1 "
    "FROM kv AS own WHERE own.instance=?1 AND own.key=kv.key AND "
    "own.execution=?2)");
constexpr auto kDropCleared =
    PAWL_QUERY("DELETE FROM kv WHERE instance=?1 AND execution=?2 AND cleared=1");

Status InstanceRows::settle_values(InstanceKey instance, ExecutionId execution) {
  if (execution > 1) {
    PAWL_TRY(
        fail(connection_.use(kDropFound).bind(instance).bind(execution).run(), "settle values"));
  }
  return fail(connection_.use(kDropCleared).bind(instance).bind(execution).run(), "settle values");
}

constexpr auto kDropValues = PAWL_QUERY("DELETE FROM kv WHERE instance=?1 AND execution=?2");

Status InstanceRows::drop_values(InstanceKey instance, ExecutionId execution) {
  return fail(connection_.use(kDropValues).bind(instance).bind(execution).run(), "drop values");
}

Status InstanceRows::broken_value(InstanceKey instance, std::string_view key) {
  const std::string_view shown = cut_text(key, kNameBytesMax);
  context_.diagnostic.format("kv row of instance %lld, key '%.*s': checksum is wrong",
                             static_cast<long long>(instance), static_cast<int>(shown.size()),
                             shown.data());
  if (context_.in_batch) context_.dead = true;
  return Status::kCorrupt;
}

}  // namespace pawl::store
