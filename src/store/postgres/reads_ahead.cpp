#include "store/postgres/reads_ahead.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "core/check.hpp"

namespace pawl::postgres {
namespace {

std::string_view parameter_of(const StatementUse& use, int at) {
  if (use.values[at] == nullptr) return {};
  return {use.values[at], static_cast<std::size_t>(use.sizes[at])};
}

// Reads the parameters one after the other.
class Parameters {
 public:
  explicit Parameters(const char* at) : at_(at) {}
  // A view without data is NULL.
  std::string_view next() {
    int size = 0;
    std::memcpy(&size, at_, sizeof size);
    at_ += sizeof size;
    if (size < 0) return {};
    const std::string_view value(at_, static_cast<std::size_t>(size));
    at_ += size;
    return value;
  }

 private:
  const char* at_;
};

}  // namespace

void ReadsAhead::add(const StatementUse& use) {
  std::size_t bytes = 0;
  for (int at = 0; at < use.bound; ++at)
    bytes += sizeof(int) + parameter_of(use, at).size();
  if (count_ == kReadsMax || bytes > sizeof bytes_ - used_) return;
  Read& read = reads_[count_++];
  read = {use.known, used_, use.bound, nullptr};
  ++live_;
  for (int at = 0; at < use.bound; ++at) {
    const std::string_view value = parameter_of(use, at);
    const int size = value.data() == nullptr ? -1 : static_cast<int>(value.size());
    std::memcpy(bytes_ + used_, &size, sizeof size);
    used_ += sizeof size;
    if (size > 0) std::memcpy(bytes_ + used_, value.data(), value.size());
    used_ += value.size();
  }
  if (link_.in_transaction()) static_cast<void>(queue(read));
}

Status ReadsAhead::send() {
  for (std::size_t at = 0; at < count_; ++at) {
    PQclear(std::exchange(reads_[at].answer, nullptr));  // of a try before
    if (reads_[at].known != nullptr) PAWL_TRY(queue(reads_[at]));
  }
  return Status::kOk;
}

Status ReadsAhead::queue(Read& read) {
  const char* values[kParametersMax];
  int sizes[kParametersMax];
  char numbers[2][8];
  int count = 0;
  Parameters parameters(bytes_ + read.from);
  for (; count < read.parameters; ++count) {
    const std::string_view value = parameters.next();
    values[count] = value.data();
    sizes[count] = static_cast<int>(value.size());
  }
  if (read.known->is_paged) {
    put_number(numbers[0], kAheadRows);
    put_number(numbers[1], 0);
    for (char(&number)[8] : numbers) {
      values[count] = number;
      sizes[count++] = sizeof number;
    }
  }
  return link_.queue(name_of(*read.known).text, count, values, sizes, &read.answer);
}

bool ReadsAhead::is_same(const Read& read, const StatementUse& use) const {
  if (read.known != use.known || read.parameters != use.bound) return false;
  Parameters parameters(bytes_ + read.from);
  for (int at = 0; at < use.bound; ++at) {
    const std::string_view value = parameters.next();
    const std::string_view wanted = parameter_of(use, at);
    if (value != wanted || (value.data() == nullptr) != (wanted.data() == nullptr)) return false;
  }
  return true;
}

ReadsAhead::Read* ReadsAhead::find(const StatementUse& use) {
  for (std::size_t looks = 0; live_ > 0 && looks < count_; ++looks) {
    const std::size_t at = (next_ + looks) % count_;
    if (!is_same(reads_[at], use)) continue;
    next_ = at + 1;
    --live_;
    reads_[at].known = nullptr;
    return &reads_[at];
  }
  return nullptr;
}

PGresult* ReadsAhead::take(Read& read) {
  PAWL_CHECK("postgres-18", read.answer != nullptr);
  return std::exchange(read.answer, nullptr);
}

void ReadsAhead::note_write(const StatementUse& use) {
  if (live_ == 0) return;
  std::string_view parameters[kParametersMax];
  for (int at = 0; at < use.bound; ++at)
    parameters[at] = parameter_of(use, at);
  for (std::size_t at = 0; at < count_; ++at) {
    Read& read = reads_[at];
    if (read.known == nullptr) continue;
    Answer answer{&read.known->shape, {}, true};
    if (read.parameters > 0) answer.key = Parameters(bytes_ + read.from).next();
    if (read.answer != nullptr) answer.has_rows = PQntuples(read.answer) > 0;
    if (!leaves(use.known->shape, parameters, static_cast<std::size_t>(use.bound), answer))
      drop(read);
  }
}

// Its answer may be under way, and is cleared with the others.
void ReadsAhead::drop(Read& read) {
  read.known = nullptr;
  --live_;
}

void ReadsAhead::forget(bool of_batch) {
  for (std::size_t at = 0; at < count_; ++at)
    PQclear(std::exchange(reads_[at].answer, nullptr));
  if (of_batch || has_failed_) rests_ = std::exchange(has_failed_, false);
  count_ = live_ = next_ = used_ = 0;
}

}  // namespace pawl::postgres
