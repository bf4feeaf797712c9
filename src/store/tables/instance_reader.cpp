#include "instance_reader.hpp"

#include <cstring>

#include "message_table.hpp"

namespace pawl::store {

constexpr auto kReadStatusText = sql::join(
    "SELECT key,state,execution,revision,created_stamp,updated_stamp,stop_kind,stop_text,"
    "custom_status,custom_status_version," PAWL_UNREAD
    " FROM instances AS i WHERE id=? AND " PAWL_IS_THERE);
constexpr sql::Query kReadStatus{kReadStatusText};

Status InstanceReader::read_status(std::string_view id, InstanceStatus* out, char* buffer,
                                   std::size_t capacity) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kReadStatus);
  if (!row.bind_text(id).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  *out = InstanceStatus();
  out->key = row.integer(0);
  out->state = static_cast<InstanceState>(row.integer(1));
  out->execution = row.integer(2);
  out->revision = row.integer(3);
  out->created_ms = row.integer(4);
  out->updated_ms = row.integer(5);
  out->error = static_cast<ErrorKind>(row.integer(6));
  out->custom_status_version = row.integer(9);
  out->unread_messages = row.integer(10);
  PAWL_TRY(copy_custom_status(row.bytes(8), out, buffer, capacity));
  const std::size_t used = out->custom_status.size();
  if (has_ended(row.integer(1)))
    return history_.read_status_of_end(out, buffer + used, capacity - used);
  return history_.copy_output(row.bytes(7), out, buffer + used, capacity - used);
}

constexpr sql::Query kReadId{"SELECT id,unregistered IS NOT NULL FROM instances WHERE key=?1"};

Status InstanceReader::read_id(InstanceKey key, FixedText<kNameBytesMax>* id, bool* unregistered) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kReadId);
  if (!row.bind(key).row())
    return row.status() == Status::kOk ? Status::kNotFound : fail(row.status(), "instances");
  id->assign_cut(row.bytes(0));
  if (unregistered != nullptr) *unregistered = row.integer(1) != 0;
  return Status::kOk;
}

Status InstanceReader::copy_custom_status(std::string_view text, InstanceStatus* out, char* buffer,
                                          std::size_t capacity) {
  if (text.size() > capacity) {
    context_.diagnostic.format("the custom status has %zu bytes, the buffer %zu", text.size(),
                               capacity);
    return Status::kResourceExhausted;
  }
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
  out->custom_status = {buffer, text.size()};
  return Status::kOk;
}

}  // namespace pawl::store
