// row_checks: what is looked for in the rows of a whole database, as texts of statements.
//
// Purpose: a file that may be damaged is read without the tables (sqlite/database_copy.cpp), and a
// database that is in use by them (store_check.cpp). Both ask the same.
#ifndef PAWL_STORE_ROW_CHECKS_HPP
#define PAWL_STORE_ROW_CHECKS_HPP

// Links between the events of history that lead to no event, or to another one; an execution that
// is being removed has no last event. Each event is looked up by the number of its row.
#define PAWL_BROKEN_LINKS                                                                         \
  "SELECT ('history of instance '||instance||', execution '||execution||', event '||id||"         \
  "': is missing, or its link is wrong') AS text FROM ("                                          \
  "SELECT h.instance,h.execution,h.id-1 AS id FROM history AS h LEFT JOIN history AS p ON "       \
  "p.row_number=coalesce(h.prev,h.row_number-1) WHERE h.id>1 AND (p.instance=h.instance AND "     \
  "p.execution=h.execution AND p.id=h.id-1) IS NOT TRUE UNION ALL "                               \
  "SELECT e.instance,e.execution,coalesce(e.last_event,i.last_event) AS id FROM executions AS e " \
  "LEFT JOIN instances AS i ON i.key=e.instance AND i.execution=e.execution LEFT JOIN history "   \
  "AS h ON h.row_number=iif(e.last_event IS NULL,i.last_row,e.last_row) "                         \
  "WHERE coalesce(e.last_event,i.last_event) IS NOT NULL AND NOT (e.last_event IS NULL AND "      \
  "e.last_row IS NOT NULL) AND (h.instance=e.instance AND h.execution=e.execution "               \
  "AND h.id=coalesce(e.last_event,i.last_event)) IS NOT TRUE) AS broken"

// Rows of other tables that name an instance or an execution that does not exist.
#define PAWL_ORPHANS                                                                      \
  "SELECT (SELECT count(*) FROM instances AS c WHERE c.parent IS NOT NULL AND NOT EXISTS" \
  " (SELECT 1 FROM instances AS p WHERE p.key=c.parent))"                                 \
  "+(SELECT count(*) FROM worker_queue AS q WHERE NOT EXISTS"                             \
  " (SELECT 1 FROM instances AS p WHERE p.key=q.instance))"                               \
  "+(SELECT count(*) FROM orchestrator_queue AS q WHERE NOT EXISTS"                       \
  " (SELECT 1 FROM instances AS p WHERE p.key=q.instance))"                               \
  "+(SELECT count(*) FROM history AS h WHERE NOT EXISTS (SELECT 1 FROM executions AS e"   \
  " WHERE e.instance=h.instance AND e.execution=h.execution))"                            \
  "+(SELECT count(DISTINCT k.instance) FROM kv AS k WHERE NOT EXISTS"                     \
  " (SELECT 1 FROM instances AS p WHERE p.key=k.instance)) AS orphans"

#define PAWL_UNFINISHED "SELECT count(*) FROM instances WHERE finished_at IS NULL"

#define PAWL_CLOCK_WAS_TRUSTED \
  "SELECT EXISTS(SELECT 1 FROM clock_ring WHERE kind='synced' OR (kind='adopted' AND detail=2))"

#endif  // PAWL_STORE_ROW_CHECKS_HPP
