// The id of a run: the schedule's id, the scheduled time, and the number of a trigger.
//
// Purpose: a scheduled time runs once because its id exists only once, so the id holds nothing
// else. Ownership: the bytes are in the object. Thread rule: none.
#ifndef PAWL_PARTS_SCHEDULE_RUN_ID_HPP
#define PAWL_PARTS_SCHEDULE_RUN_ID_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/name.hpp"

namespace pawl::internal {

// Requires: an id of at most kScheduleIdBytesMax bytes, and a time before the year 10,000.
InstanceId run_id(std::string_view schedule, std::int64_t utc_ms,
                  std::optional<std::uint64_t> trigger);

}  // namespace pawl::internal

#endif  // PAWL_PARTS_SCHEDULE_RUN_ID_HPP
