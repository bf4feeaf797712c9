// The statements of the fetch. They are here, and not at their place of use, so that a test can
// explain them.
#ifndef PAWL_STORE_WORK_WORK_SQL_HPP
#define PAWL_STORE_WORK_WORK_SQL_HPP

#include "core/ids.hpp"
#include "store/row_rules.hpp"
#include "store/sql/query.hpp"

namespace pawl::store {

// wq_locked and wq_event hold work with ids from here on. Lower ids belong to items without a
// session that were handed over in the commit that made them. There are at most as many of them as
// slots, so a look at each finds them, and two indexes less are written and cleaned up.
inline constexpr WorkItemId kIndexedWorkFrom = WorkItemId{1} << 60;

// Finds untagged work, and sessions: rows of a branch and an id. Of the branch free (0) the ?9
// lowest ids, of owned (1) and claimable (2) the lowest, null if there is none. ?1 me, ?2 may claim
// sessions; then for these branches: ?3 to ?5 the last id passed over, ?6 to ?8 the last id of
// interest. Each branch is one seek, so the cost depends only on the depth of the indices. A
// constant false in ?2 is tested before the seek. The lowest id of all comes from the rows: to
// order the union would take a table in memory each time.
inline constexpr auto kFetchSql = PAWL_QUERY(
    "SELECT 0 AS branch,id FROM (SELECT id FROM worker_queue\fINDEXED BY wq_free\r"
    "WHERE sid IS NULL AND state=",
    sql::number<rules::WorkState::kReady>,
    " AND tag IS NULL AND id>?3 AND id<=?6 ORDER BY id LIMIT ?9) AS free"
    " UNION ALL SELECT 1 AS branch,(SELECT head_id FROM sessions\fINDEXED BY s_owned\r"
    " WHERE owner=?1 AND head_id IS NOT NULL AND state=",
    sql::number<rules::State::kOpen>,
    " AND head_id>?4 AND head_id<=?7"
    "  ORDER BY head_id LIMIT 1) AS id"
    " UNION ALL SELECT 2 AS branch,(SELECT head_id FROM sessions\fINDEXED BY s_claim\r"
    " WHERE ?2<>0 AND head_id IS NOT NULL AND owner IS NULL AND hard=0 AND state=",
    sql::number<rules::State::kOpen>,
    "  AND head_id>?5 AND head_id<=?8 ORDER BY head_id LIMIT 1) AS id");

// Items of tag ?1 without a session; ?2 and ?3 as above. One seek.
inline constexpr auto kFetchTagSql = PAWL_QUERY(
    "SELECT id FROM worker_queue\fINDEXED BY wq_tag\rWHERE tag=?1 AND sid IS NULL AND state=",
    sql::number<rules::WorkState::kReady>, " AND id>?2 AND id<=?3 ORDER BY id LIMIT 1");

// Items of any tag without a session; ?1 and ?2 as above. One seek.
inline constexpr auto kFetchTaggedSql = PAWL_QUERY(
    "SELECT id FROM worker_queue\fINDEXED BY wq_tagged\rWHERE tag IS NOT NULL AND sid IS NULL"
    " AND state=",
    sql::number<rules::WorkState::kReady>, " AND id>?1 AND id<=?2 ORDER BY id LIMIT 1");

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_WORK_SQL_HPP
