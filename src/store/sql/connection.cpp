#include "store/sql/connection.hpp"

namespace pawl::sql {

Statement::~Statement() {
  if (prepared_ != nullptr) connection_.release(prepared_);
}

Statement& Statement::bind(std::int64_t value) {
  if (prepared_ == nullptr) return *this;
  return bound(connection_.bind_integer(prepared_, next_bind_, value));
}

Statement& Statement::bind_null(ValueType type) {
  if (prepared_ == nullptr) return *this;
  return bound(connection_.bind_nothing(prepared_, next_bind_, type));
}

Statement& Statement::bind_text(std::string_view value) {
  if (prepared_ == nullptr) return *this;
  return bound(connection_.bind_characters(prepared_, next_bind_, value));
}

Statement& Statement::bind_blob(std::string_view value) {
  if (prepared_ == nullptr) return *this;
  return bound(connection_.bind_bytes(prepared_, next_bind_, value));
}

Statement& Statement::bind_due(OptionalMs due, unsigned mark) {
  if (due.has_value()) connection_.add_marks(mark);
  return bind_optional(due);
}

bool Statement::failed(int failure) {
  failure_ = failure;
  status_ = connection_.explain(prepared_, failure);
  return false;
}

bool Statement::row() {
  if (status_ != Status::kOk) return false;
  if (failure_ != 0) return failed(failure_);
  int failure = 0;
  const Connection::Step step = connection_.step(prepared_, &slices_, &failure);
  if (step == Connection::Step::kRow) return true;
  return step == Connection::Step::kDone ? false : failed(failure);
}

void Statement::read_ahead() {
  if (failure_ == 0 && prepared_ != nullptr) connection_.read_ahead(prepared_);
}

void read_ahead(Connection& connection, QueryRef query, std::int64_t value) {
  if (connection.reads_ahead()) connection.use(query).bind(value).read_ahead();
}

void read_ahead(Connection& connection, QueryRef query, std::string_view text) {
  if (connection.reads_ahead()) connection.use(query).bind_text(text).read_ahead();
}

Status Statement::run() {
  while (row()) {
  }
  return status_;
}

Status Statement::run(std::int64_t* changed) {
  PAWL_TRY(run());
  const int failure = connection_.count_changes(changed);
  if (failure != 0) static_cast<void>(failed(failure));
  return status_;
}

std::int64_t Statement::integer(int column) const {
  std::int64_t number = 0;
  if (connection_.read_integer(prepared_, column, &number)) return number;
  Diagnostic text;
  text.format("column %s holds no integer", connection_.column_name(prepared_, column));
  connection_.blame(Status::kCorrupt, text.text());
  return 0;
}

std::int64_t Statement::integer(int column, bool* whole) const {
  std::int64_t number = 0;
  if (!connection_.read_integer(prepared_, column, &number)) *whole = false;
  return number;
}

bool Statement::is_integer(int column) const { return connection_.is_integer(prepared_, column); }

bool Statement::is_null(int column) const { return connection_.is_nothing(prepared_, column); }

std::string_view Statement::bytes(int column) const {
  return connection_.read_bytes(prepared_, column);
}

Connection::Suspicion::Suspicion(Connection& connection, RowRef::Table table, std::int64_t key)
    : connection_(connection), before_(connection.suspects_) {
  connection.suspects_ = {RowRef{table, key}, before_.suspect};
}

Connection::Suspicion::~Suspicion() { connection_.suspects_ = before_; }

Statement Connection::use(QueryRef query, unsigned marks) {
  marks |= query.marks();
  marks_ |= marks;
  if ((marks & kOfInstances) != 0 && (marks & kOfTurn) == 0) ++instance_changes_;
  int failure = 0;
  void* const prepared = prepare(query, &failure);
  return {*this, prepared, failure};
}

void Connection::blame(const Suspects& suspects, Status status, std::string_view text) {
  const bool is_of_rows = status == Status::kCorrupt || status == Status::kResourceExhausted;
  if (!is_of_rows || !suspects.suspect.has_value() || damage_.has_value()) return;
  damage_.emplace();
  damage_->row = *suspects.suspect;
  damage_->named_by = suspects.named_by;
  damage_->status = status;
  damage_->text.format("%.*s", static_cast<int>(text.size()), text.data());
}

}  // namespace pawl::sql
