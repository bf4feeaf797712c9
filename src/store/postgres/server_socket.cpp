#include "store/postgres/server_socket.hpp"

#include <poll.h>

#include <cerrno>
#include <climits>

#include "core/check.hpp"
#include "core/clock_rules.hpp"

namespace pawl::postgres {
namespace {

// in_failed_sql_transaction: a statement before it failed.
constexpr std::string_view kFailedBefore = "25P02";

// Without it libpq prints notices to standard error, which is the program's. None says more than
// the status of its statement.
void pass_over(void* /*link*/, const PGresult* /*notice*/) {}

}  // namespace

Status status_of(std::string_view sqlstate) {
  struct Meaning {
    std::string_view begins;
    Status status;
  };
  // The first that fits.
  constexpr Meaning kMeanings[] = {
      {"55P03", Status::kBusy},  // lock_not_available
      {"40", Status::kBusy},     // a deadlock, or a view that cannot be kept
      {"57014", Status::kBusy},  // cancelled, as by a limit of time
      {"53100", Status::kFull},  // disk_full
      {"53", Status::kResourceExhausted},
      {"54", Status::kResourceExhausted},
      {"25006", Status::kReadOnly},  // read_only_sql_transaction: a standby
      {"42501", Status::kReadOnly},  // insufficient_privilege
      {"23", Status::kAlreadyExists},
      {"22", Status::kCorrupt},  // Pawl's statements are fixed, so a row holds what it must not
      {"42", Status::kCorrupt},  // for the same reason the schema is not Pawl's any more
      {"XX", Status::kCorrupt},
  };
  for (const Meaning& one : kMeanings)
    if (sqlstate.substr(0, one.begins.size()) == one.begins) return one.status;
  return Status::kIo;
}

void ServerSocket::set_up(const char* address, port::Clock& clock, std::int64_t answer_ms_max) {
  PAWL_CHECK("postgres-6", handle_ == nullptr);
  address_ = address;
  clock_ = &clock;
  answer_ms_max_ = answer_ms_max;
}

// Libpq shows an address that it cannot read as a whole, with the password. In a password that is
// not encoded, it takes a part for the host or for the port, and shows that.
bool ServerSocket::can_read_address() {
  char* why = nullptr;
  PQconninfoOption* const options = PQconninfoParse(address_, &why);
  bool is_good = options != nullptr;
  for (const PQconninfoOption* one = options; is_good && one->keyword != nullptr; ++one) {
    const std::string_view keyword = one->keyword;
    const std::string_view value = one->val == nullptr ? "" : one->val;
    if (keyword == "host") is_good = value.find('@') == std::string_view::npos;
    if (keyword == "port")
      is_good = value.find_first_not_of("0123456789,") == std::string_view::npos;
  }
  PQfreemem(why);
  PQconninfoFree(options);
  if (!is_good)
    diagnostic_.format(
        "the address of the server cannot be read; in a password each of @ : / ? # "
        "is written as %% and two digits, as %%40 for @");
  return is_good;
}

Status ServerSocket::connect(std::int64_t wait_ms) {
  const std::int64_t now = clock_->boot_ms();
  if (state_ == State::kLost) {
    close();
    if (!can_read_address()) return Status::kCannotOpen;
    handle_ = PQconnectStart(address_);
    if (handle_ != nullptr) PQsetNoticeReceiver(handle_, pass_over, nullptr);
    const bool has_begun = handle_ != nullptr && PQstatus(handle_) != CONNECTION_BAD;
    polled_ = has_begun ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
    connecting_since_ms_ = now;
    state_ = State::kConnecting;
  }
  while (polled_ == PGRES_POLLING_READING || polled_ == PGRES_POLLING_WRITING) {
    // Between two hosts there is no socket to wait for.
    if (PQsocket(handle_) >= 0 &&
        !wait_for_socket(add_saturating(now, wait_ms), polled_ == PGRES_POLLING_WRITING)) {
      if (clock_->boot_ms() - connecting_since_ms_ >= answer_ms_max_) break;
      diagnostic_.format("the server cannot be reached yet");
      return Status::kBusy;
    }
    polled_ = PQconnectPoll(handle_);
  }
  if (polled_ == PGRES_POLLING_OK && PQsetnonblocking(handle_, 1) == 0) {
    state_ = State::kConnected;
    ++connections_;
    watch_socket(true);
    return Status::kOk;
  }
  say("the server cannot be reached", "no answer");
  close();
  return Status::kCannotOpen;
}

void ServerSocket::set_waker(port::Threads* waker) {
  watch_socket(false);
  waker_ = waker;
  if (!is_lost()) watch_socket(true);
}

// A port that cannot wait for a socket wakes by its own clock.
void ServerSocket::watch_socket(bool watched) {
  if (waker_ == nullptr || watched == is_watched_) return;
  if (watched) {
    is_watched_ = waker_->add_descriptor(PQsocket(handle_)) == Status::kOk;
  } else {
    waker_->remove_descriptor(PQsocket(handle_));
    is_watched_ = false;
  }
}

void ServerSocket::lose() {
  watch_socket(false);
  state_ = State::kLost;
}

void ServerSocket::close() {
  watch_socket(false);
  if (handle_ != nullptr) PQfinish(handle_);
  handle_ = nullptr;
  state_ = State::kLost;
}

// A server that ends a connection may say why before. All else that it says by itself is no matter
// here.
void ServerSocket::look() {
  constexpr int kLooksMax = 8;
  for (int looks = 0; looks < kLooksMax && !is_lost(); ++looks) {
    pollfd waits{PQsocket(handle_), POLLIN, 0};
    if (::poll(&waits, 1, 0) <= 0) return;
    if (PQconsumeInput(handle_) == 0 || PQstatus(handle_) != CONNECTION_OK) lose();
  }
}

// They only wake; the loop then looks at the rows.
void ServerSocket::take_notifications() {
  while (PGnotify* const one = PQnotifies(handle_)) {
    has_heard_ = has_heard_ || one->be_pid != PQbackendPID(handle_);
    PQfreemem(one);
  }
}

// The texts of libpq name host and database, and no password; some have several lines.
void ServerSocket::say(const char* what, const char* none) {
  const char* text = handle_ == nullptr ? "no connection" : PQerrorMessage(handle_);
  if (*text == '\0') text = none;
  char line[Diagnostic::kCapacity];
  std::size_t size = 0;
  for (; *text != '\0' && size + 1 < sizeof line; ++text)
    line[size++] = *text == '\n' || *text == '\t' ? ' ' : *text;
  while (size > 0 && line[size - 1] == ' ')
    --size;
  diagnostic_.format("%s: %.*s", what, static_cast<int>(size), line);
}

// A text of several statements has a result for each; the first that failed is the last one.
PGresult* ServerSocket::wait_for_answer() {
  const std::int64_t until = clock_->boot_ms() + answer_ms_max_;
  PGresult* last = nullptr;
  for (;;) {
    const int unsent = PQflush(handle_);
    if (unsent < 0) break;
    if (unsent == 0 && PQisBusy(handle_) == 0) {
      PGresult* const next = PQgetResult(handle_);
      if (next == nullptr) {
        take_notifications();
        return last;
      }
      PQclear(last);
      last = next;
      continue;
    }
    if (!wait_for_socket(until, unsent > 0) || PQconsumeInput(handle_) == 0) break;
  }
  PQclear(last);
  lose();
  return nullptr;
}

bool ServerSocket::has_answer(std::int64_t until_ms) {
  for (;;) {
    const int unsent = PQflush(handle_);
    if (unsent < 0 || (unsent == 0 && PQisBusy(handle_) == 0)) return true;
    if (!wait_for_socket(until_ms, unsent > 0)) return false;
    if (PQconsumeInput(handle_) == 0) return true;
  }
}

bool ServerSocket::wait_for_socket(std::int64_t until_ms, bool writes) {
  const std::int64_t left = until_ms - clock_->boot_ms();
  pollfd waits{PQsocket(handle_), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0};
  if (waits.fd < 0) return false;
  const int most = left < 0 ? 0 : static_cast<int>(left < INT_MAX ? left : INT_MAX);
  const int ready = ::poll(&waits, 1, most);
  return ready > 0 || (ready < 0 && errno == EINTR);
}

Status ServerSocket::judge(const PGresult* result) {
  const ExecStatusType how = result == nullptr ? PGRES_FATAL_ERROR : PQresultStatus(result);
  if (how == PGRES_COMMAND_OK || how == PGRES_TUPLES_OK) return Status::kOk;
  const char* const code =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (code == nullptr || (handle_ != nullptr && PQstatus(handle_) != CONNECTION_OK)) {
    lose();
    say("the connection to the server is lost", "no answer");
    return Status::kIo;
  }
  const char* const text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (std::string_view(code) == kFailedBefore) return failure_;
  diagnostic_.format("%s (postgresql %s)", text == nullptr ? "no text" : text, code);
  failure_ = status_of(code);
  return failure_;
}

}  // namespace pawl::postgres
