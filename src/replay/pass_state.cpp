// State of an execution: what a branch writes and sees.
#include <algorithm>

#include "hash.hpp"
#include "pass.hpp"

namespace pawl::internal {

ErrorKind Pass::write_state(BranchRun& branch, std::string_view key, std::string_view value) {
  if (!is_active(branch, "write_state")) return ErrorKind::kNone;
  if (!is_valid_name(key)) return ErrorKind::kInvalidArgument;
  if (value.size() > limits_.payload_bytes_max) return ErrorKind::kLimit;
  Event event;
  event.kind = EventKind::kStateWrite;
  event.name = key;
  event.payload = value;
  event.argument_hash = Hash64().add(value).value();
  Record* const write = issue(event);
  if (write == nullptr) return ErrorKind::kNone;
  if (branch.writer == 0) branch.writer = ++writer_count_;
  write->pass.writer = branch.writer;
  write->pass.write_number = ++branch.writes;
  if (write->event.id != 0) return ErrorKind::kNone;
  write->older_alike = newest_staged_write_;
  newest_staged_write_ = write;
  return ErrorKind::kNone;
}

// Too long a text is refused without a record: the limit is no option, so a replay refuses it too.
ErrorKind Pass::set_custom_status(BranchRun& branch, std::string_view text) {
  if (!is_active(branch, "set_custom_status")) return ErrorKind::kNone;
  if (text.size() > kCustomStatusBytesMax) return ErrorKind::kLimit;
  Event event;
  event.kind = EventKind::kCustomStatus;
  event.payload = text;
  event.argument_hash = Hash64().add(text).value();
  static_cast<void>(issue(event));
  return ErrorKind::kNone;
}

// The last visible write; what is new in this pass comes after all of history.
std::string_view Pass::read_state(BranchRun& branch, std::string_view key) {
  if (!is_active(branch, "read_state")) return {};
  add_to_path(key);
  for (const Record* write = newest_staged_write_; write != nullptr; write = write->older_alike)
    if (write->event.name == key && knows(branch, *write)) return write->event.payload;
  for (const Record* write = history_.newest_write_; write != nullptr; write = write->older_alike) {
    if (write->event.name != key) continue;
    if (write->event.id <= branch.position || knows(branch, *write)) return write->event.payload;
  }
  return {};
}

bool Pass::knows(const BranchRun& branch, const Record& write) const {
  const History::InPass& pass = write.pass;
  if (pass.run != run_) return false;
  if (pass.owner == &branch) return true;
  return pass.writer <= branch.known_count && branch.known[pass.writer - 1] >= pass.write_number;
}

void Pass::learn(BranchRun& branch, const BranchRun& from) {
  const std::uint32_t count = std::max({branch.known_count, from.known_count, from.writer});
  if (count > branch.known_count) {
    auto* const known = note<std::uint32_t>(count);
    if (known == nullptr) return;
    std::fill_n(known, count, 0U);
    std::copy_n(branch.known, branch.known_count, known);
    branch.known = known;
    branch.known_count = count;
  }
  for (std::uint32_t i = 0; i < from.known_count; ++i)
    branch.known[i] = std::max(branch.known[i], from.known[i]);
  if (from.writer != 0)
    branch.known[from.writer - 1] = std::max(branch.known[from.writer - 1], from.writes);
}

}  // namespace pawl::internal
