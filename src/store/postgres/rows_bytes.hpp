// rows_bytes: how much of a store on a server is in use, as a quota counts it.
//
// Purpose: tables there shrink only by a vacuum that finds their ends empty, so a quota of their
// sizes would stay exceeded whatever is removed. Near a quota the rows' bytes count, as a sample of
// each table shows them: of at most 128 pages of 8 KiB, so a look costs the same however large the
// store is, and is off by about a tenth. Elsewhere the sizes of the tables do. The length of a long
// value is in its row, so none is fetched. Rejected: the server's statistics, which show nothing
// before the first vacuum; a sum that each batch keeps, which every statement would have to write.
//
// Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_POSTGRES_ROWS_BYTES_HPP
#define PAWL_STORE_POSTGRES_ROWS_BYTES_HPP

namespace pawl::postgres {

#define PAWL_TABLES_BYTES                                                           \
  "(SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n " \
  "ON n.oid=c.relnamespace WHERE n.nspname=current_schema() AND c.relkind='r')"

#define PAWL_SAMPLED(table) "least(100,100*128*8192.0/greatest(pg_relation_size('" table "'),1))"

// `fixed`: about the bytes of a row without its long values.
#define PAWL_ROWS_BYTES(table, fixed, lengths) \
  "coalesce((SELECT sum(" fixed lengths        \
  ")*100/" PAWL_SAMPLED(table) " FROM " table  \
                               " TABLESAMPLE SYSTEM((SELECT " PAWL_SAMPLED(table) "))),0)"
#define PAWL_LENGTH(column) "+coalesce(octet_length(" column "),0)"

#define PAWL_ALL_ROWS_BYTES                                                     \
  PAWL_ROWS_BYTES("history", "130", PAWL_LENGTH("meta") PAWL_LENGTH("payload")) \
  "+" PAWL_ROWS_BYTES("instances", "400",                                                          \
                      PAWL_LENGTH("custom_status") PAWL_LENGTH("found_status")                     \
                          PAWL_LENGTH("keys") PAWL_LENGTH("stop_text"))                            \
  "+" PAWL_ROWS_BYTES("executions", "90", "")                                                      \
  "+" PAWL_ROWS_BYTES("orchestrator_queue", "140", PAWL_LENGTH("name") PAWL_LENGTH("payload"))     \
  "+" PAWL_ROWS_BYTES("message_keys", "60", PAWL_LENGTH("entries"))                                \
  "+" PAWL_ROWS_BYTES("calls", "70", PAWL_LENGTH("answer"))                                        \
  "+" PAWL_ROWS_BYTES("worker_queue", "300",                                                       \
                      PAWL_LENGTH("policy") PAWL_LENGTH("last_error") PAWL_LENGTH("progress"))     \
  "+" PAWL_ROWS_BYTES("answers", "70", PAWL_LENGTH("answer"))                                      \
  "+" PAWL_ROWS_BYTES("kv", "80", PAWL_LENGTH("key") PAWL_LENGTH("value"))                         \
  "+" PAWL_ROWS_BYTES("sessions", "400", PAWL_LENGTH("limits") PAWL_LENGTH("folder_root"))         \
  "+" PAWL_ROWS_BYTES("session_summaries", "50", PAWL_LENGTH("summary"))

// In pages of the size that SQLite has, as the statements of SQLite in whose place they stand. From
// half of the quota on, no more than the rows' bytes are in use.
inline constexpr char kPages[] = "SELECT (" PAWL_TABLES_BYTES "/512)::bigint";
inline constexpr char kUnusedPages[] =
    "SELECT CASE WHEN quota>0 AND bytes*2>quota THEN "
    "greatest((bytes-(" PAWL_ALL_ROWS_BYTES
    "))/512,0)::bigint ELSE 0 END "
    "FROM (SELECT quota," PAWL_TABLES_BYTES " AS bytes FROM meta WHERE id=1) AS sizes";

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_ROWS_BYTES_HPP
