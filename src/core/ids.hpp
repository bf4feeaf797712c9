// ids: ids and limits of stored things, in one place for every number that both the engine and a
// storage must agree on.
#ifndef PAWL_CORE_IDS_HPP
#define PAWL_CORE_IDS_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/name.hpp"

namespace pawl {

using InstanceKey = std::int64_t;  // row key of an instance; never reused; 0 is none
using ExecutionId = std::int64_t;  // 1, 2, 3 ... raised by continue-as-new
using EventId = std::uint32_t;     // 1, 2, 3 ... in one execution; 0 is none
using BranchId = std::uint32_t;    // 0 is the root
using Ordinal = std::uint32_t;     // index of a command in its branch, from 0
using HistoryRow = std::int64_t;   // row number in history, in the order of arrival
using MessageId = std::int64_t;    // row id in orchestrator_queue; 0 is none
using WorkItemId = std::int64_t;   // row id in worker_queue; order of scheduling; 0 is none
using Incarnation = std::int64_t;  // one registration of one worker process; 0 is none
using LockToken = std::int64_t;    // one hand-over; never reused; 0 is none
using Epoch = std::int64_t;        // one ownership of a session; database-wide; 0 is none
using SessionKey = std::int64_t;   // row key of a session; 0 is none

inline constexpr std::size_t kCustomStatusBytesMax = 4096;  // longer ones are refused
inline constexpr std::size_t kErrorTextBytesMax = 1024;     // longer error texts are cut
inline constexpr std::size_t kMetaBytesMax = 2048;          // JSON text of an event's meta column

}  // namespace pawl

#endif  // PAWL_CORE_IDS_HPP
