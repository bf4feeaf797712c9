// The stored form, version 2. docs/format.md and docs/format describe every byte of it.
//
// The text is written for SQLite, and so is the form. Another engine makes its own of it, with the
// same tables, columns and indices (postgres_text.hpp).
//
// Keys are small integers that are never reused. Times are in ms, and in Pawl time unless the name
// says stamp or utc.
#ifndef PAWL_STORE_SQL_SCHEMA_HPP
#define PAWL_STORE_SQL_SCHEMA_HPP

#include <cstddef>

namespace pawl::store {

inline constexpr int kSchemaVersion = 2;  // PRAGMA user_version
// A commit writes whole pages to the log, and most of our commits change a few rows on each of some
// six pages: at 512 bytes a step costs an eighth of its price at SQLite's default of 4 KiB. SQLite
// has no smaller pages.
inline constexpr int kPageBytes = 512;
inline constexpr int kApplicationId = 0x5061776c;  // PRAGMA application_id: "Pawl"

// The compiler and tests read it; a program holds it as SchemaTexts. Each statement begins on a new
// line, and ends with a semicolon, which is part of no word.
inline constexpr char kSchema[] = R"sql(
CREATE TABLE meta(
  id INTEGER PRIMARY KEY CHECK(id=1),
  database_id TEXT NOT NULL,
  next_epoch INTEGER NOT NULL, next_token INTEGER NOT NULL,
  boot_id BLOB, boot_seq INTEGER NOT NULL, k INTEGER NOT NULL, mark INTEGER NOT NULL,
  off INTEGER, off_seq INTEGER NOT NULL, adopted INTEGER NOT NULL,
  persist_starts_until INTEGER NOT NULL DEFAULT 0,
  quota INTEGER NOT NULL DEFAULT 0, reserve INTEGER NOT NULL DEFAULT 0,
  log_max INTEGER NOT NULL DEFAULT 0,
  messages_max INTEGER NOT NULL DEFAULT 0, message_bytes_max INTEGER NOT NULL DEFAULT 0,
  keys_max INTEGER NOT NULL DEFAULT 64, keys_ms INTEGER NOT NULL DEFAULT 86400000);
CREATE TABLE clock_ring(
  slot INTEGER PRIMARY KEY, seq INTEGER NOT NULL, kind TEXT NOT NULL, boot_seq INTEGER NOT NULL,
  at INTEGER NOT NULL, wall_stamp INTEGER NOT NULL, detail INTEGER NOT NULL);
CREATE TABLE instances(
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL, version TEXT NOT NULL,
  state INTEGER NOT NULL, execution INTEGER NOT NULL, revision INTEGER NOT NULL,
  home INTEGER NOT NULL,
  ready_id INTEGER, ready_at INTEGER,
  parked_until INTEGER, stop_kind INTEGER, stop_text TEXT,
  custom_status BLOB, custom_status_version INTEGER NOT NULL DEFAULT 0, found_status BLOB,
  crashes INTEGER NOT NULL, strikes INTEGER NOT NULL, reboots INTEGER NOT NULL,
  created_stamp INTEGER NOT NULL, updated_stamp INTEGER NOT NULL, finished_at INTEGER,
  parent INTEGER, parent_execution INTEGER, parent_event INTEGER, root INTEGER,
  behaviour INTEGER NOT NULL DEFAULT 0, unregistered INTEGER, trace TEXT,
  last_event INTEGER NOT NULL DEFAULT 0, last_row INTEGER,
  needs_messages INTEGER NOT NULL DEFAULT 0, needs_bytes INTEGER NOT NULL DEFAULT 0,
  keys_last INTEGER, keys BLOB,
  time_limit INTEGER, limit_due INTEGER, limit_seg INTEGER,
  timer_id INTEGER, timer_ref INTEGER, timer_base INTEGER, timer_due INTEGER, timer_seg INTEGER);
CREATE INDEX i_ready ON instances(home, ready_id)
  WHERE ready_id IS NOT NULL AND parked_until IS NULL AND unregistered IS NULL;
CREATE INDEX i_unregistered ON instances(name, version, behaviour, ready_id)
  WHERE ready_id IS NOT NULL AND parked_until IS NULL AND unregistered IS NOT NULL;
CREATE INDEX i_children ON instances(parent, parent_execution, parent_event)
  WHERE parent IS NOT NULL;
CREATE INDEX i_tree ON instances(root) WHERE root IS NOT NULL;
CREATE INDEX i_alive ON instances(root) WHERE root IS NOT NULL AND finished_at IS NULL;
CREATE INDEX i_finished ON instances(finished_at) WHERE finished_at IS NOT NULL AND root IS NULL;
CREATE INDEX i_removed ON instances(key) WHERE state=5;
CREATE INDEX i_stopped ON instances(key) WHERE state=3;
CREATE INDEX i_parked ON instances(parked_until) WHERE parked_until IS NOT NULL;
CREATE INDEX i_timer ON instances(timer_base, timer_due) WHERE timer_due IS NOT NULL;
CREATE INDEX i_limit ON instances(limit_due) WHERE limit_due IS NOT NULL;
CREATE TABLE executions(
  instance INTEGER NOT NULL, execution INTEGER NOT NULL,
  end INTEGER NOT NULL, last_event INTEGER, last_row INTEGER,
  started_stamp INTEGER NOT NULL, ended_stamp INTEGER,
  PRIMARY KEY(instance, execution)) WITHOUT ROWID;
CREATE INDEX e_past ON executions(ended_stamp) WHERE end=3;
CREATE TABLE history(
  row_number INTEGER PRIMARY KEY,
  instance INTEGER NOT NULL, execution INTEGER NOT NULL, id INTEGER NOT NULL, prev INTEGER,
  kind INTEGER NOT NULL, branch INTEGER, ordinal INTEGER, ref INTEGER,
  time INTEGER NOT NULL, meta TEXT, payload BLOB, crc INTEGER NOT NULL);
CREATE TABLE orchestrator_queue(
  id INTEGER PRIMARY KEY,
  instance INTEGER NOT NULL, execution INTEGER NOT NULL,
  kind INTEGER NOT NULL, error INTEGER NOT NULL, ref INTEGER NOT NULL,
  waiting INTEGER NOT NULL, base INTEGER, due INTEGER, seg INTEGER,
  name TEXT, payload BLOB, crc INTEGER NOT NULL);
CREATE INDEX oq_instance ON orchestrator_queue(instance, waiting, due, id);
CREATE INDEX oq_due ON orchestrator_queue(base, due) WHERE due IS NOT NULL;
CREATE TABLE message_keys(
  id INTEGER PRIMARY KEY,
  instance INTEGER NOT NULL, prev INTEGER, entries BLOB NOT NULL);
CREATE TABLE calls(
  number INTEGER PRIMARY KEY,
  instance INTEGER NOT NULL, state INTEGER NOT NULL, error INTEGER NOT NULL,
  answer BLOB, crc INTEGER NOT NULL);
CREATE INDEX c_instance ON calls(instance, state);
CREATE TABLE workers(
  inc INTEGER PRIMARY KEY AUTOINCREMENT,
  node TEXT NOT NULL, pid INTEGER NOT NULL, start_time INTEGER NOT NULL,
  boot_seq INTEGER NOT NULL, lock_visible INTEGER NOT NULL, locked_until INTEGER NOT NULL,
  draining INTEGER NOT NULL, buried INTEGER NOT NULL, any_tag INTEGER NOT NULL,
  sessions_max INTEGER NOT NULL, messages_max INTEGER, message_bytes_max INTEGER,
  sessions_until INTEGER NOT NULL DEFAULT 0);
CREATE INDEX w_living ON workers(inc) WHERE buried=0;
CREATE TABLE handlers(
  inc INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(name, inc)) WITHOUT ROWID;
CREATE TABLE worker_tags(
  inc INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(inc, tag)) WITHOUT ROWID;
CREATE TABLE devices(
  sid INTEGER NOT NULL, inc INTEGER NOT NULL, role INTEGER NOT NULL,
  PRIMARY KEY(sid, inc)) WITHOUT ROWID;
CREATE INDEX d_worker ON devices(inc);
CREATE TABLE sessions(
  sid INTEGER PRIMARY KEY AUTOINCREMENT,
  scope INTEGER NOT NULL, name TEXT NOT NULL, gen INTEGER NOT NULL,
  lifecycle INTEGER NOT NULL, fail INTEGER NOT NULL, hard INTEGER NOT NULL, excl INTEGER NOT NULL,
  idle_ms INTEGER, notify INTEGER,
  state INTEGER NOT NULL, owner INTEGER, prev_node TEXT, epoch INTEGER NOT NULL,
  epoch_used INTEGER NOT NULL,
  locked_until INTEGER NOT NULL, boot_seq INTEGER NOT NULL,
  last_activity_at INTEGER NOT NULL, hold_until INTEGER NOT NULL,
  stop_to INTEGER, stop_due INTEGER, stop_force INTEGER, stop_reason INTEGER, head_id INTEGER,
  created_stamp INTEGER NOT NULL, created_at INTEGER NOT NULL, activities INTEGER NOT NULL,
  owner_label TEXT, kind TEXT, look_at INTEGER, ended TEXT, tag TEXT,
  leak INTEGER NOT NULL DEFAULT 0, expires_at INTEGER,
  limits TEXT, given INTEGER, rate_at INTEGER, limited_by INTEGER, folder_root TEXT,
  UNIQUE(scope, name));
CREATE INDEX s_owned ON sessions(owner, head_id) WHERE head_id IS NOT NULL AND state=0;
CREATE INDEX s_claim ON sessions(head_id)
  WHERE head_id IS NOT NULL AND owner IS NULL AND hard=0 AND state=0;
CREATE INDEX s_owner ON sessions(owner, hard) WHERE owner IS NOT NULL;
CREATE INDEX s_stopping ON sessions(stop_due) WHERE state=1;
CREATE INDEX s_look ON sessions(look_at) WHERE look_at IS NOT NULL;
CREATE INDEX s_opened ON sessions(created_at) WHERE lifecycle=1 AND state<3;
CREATE INDEX s_label ON sessions(owner_label) WHERE owner_label IS NOT NULL AND state<3;
CREATE INDEX s_whose ON sessions(owner_label) WHERE owner_label IS NOT NULL;
CREATE INDEX s_kind ON sessions(kind) WHERE kind IS NOT NULL;
CREATE INDEX s_ended ON sessions(state) WHERE state>1;
CREATE INDEX s_orphan ON sessions(last_activity_at) WHERE owner IS NULL AND head_id IS NULL;
CREATE TABLE session_summaries(
  sid INTEGER PRIMARY KEY, summary BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE session_totals(
  what INTEGER NOT NULL, bucket INTEGER NOT NULL,
  sessions INTEGER NOT NULL, total INTEGER NOT NULL, most INTEGER NOT NULL,
  PRIMARY KEY(what, bucket)) WITHOUT ROWID;
CREATE TABLE worker_queue(
  id INTEGER PRIMARY KEY,
  instance INTEGER NOT NULL, execution INTEGER NOT NULL, event INTEGER NOT NULL,
  event_row INTEGER NOT NULL,
  sid INTEGER, gen INTEGER, state INTEGER NOT NULL,
  token INTEGER, inc INTEGER, epoch INTEGER, locked_until INTEGER, boot_seq INTEGER,
  due INTEGER, unavailable_due INTEGER,
  attempt INTEGER NOT NULL, crashes INTEGER NOT NULL, strikes INTEGER NOT NULL,
  reboots INTEGER NOT NULL, unregistered INTEGER NOT NULL,
  tag TEXT, policy TEXT, failures INTEGER, last_error TEXT, progress BLOB, barrier INTEGER,
  waits_for TEXT, token_hash BLOB, outside_stamp INTEGER,
  start_due INTEGER, close_due INTEGER, run_due INTEGER, silent_due INTEGER,
  deadline INTEGER GENERATED ALWAYS AS (CASE
    WHEN start_due IS NULL AND close_due IS NULL AND run_due IS NULL AND silent_due IS NULL THEN NULL
    ELSE min(coalesce(start_due, 9223372036854775807), coalesce(close_due, 9223372036854775807),
      coalesce(run_due, 9223372036854775807), coalesce(silent_due, 9223372036854775807)) END) VIRTUAL);
CREATE INDEX wq_free ON worker_queue(id) WHERE sid IS NULL AND state=0 AND tag IS NULL;
CREATE INDEX wq_tagged ON worker_queue(id) WHERE sid IS NULL AND state=0 AND tag IS NOT NULL;
CREATE INDEX wq_tag ON worker_queue(tag, id) WHERE sid IS NULL AND state=0 AND tag IS NOT NULL;
CREATE INDEX wq_session ON worker_queue(sid, state, id) WHERE sid IS NOT NULL;
CREATE INDEX wq_barrier ON worker_queue(sid, id) WHERE barrier IS NOT NULL;
CREATE INDEX wq_delayed ON worker_queue(due) WHERE state=2 AND due IS NOT NULL;
CREATE INDEX wq_waiting ON worker_queue(waits_for, id) WHERE waits_for IS NOT NULL;
CREATE INDEX wq_deadline ON worker_queue(deadline) WHERE deadline IS NOT NULL;
CREATE INDEX wq_locked ON worker_queue(locked_until)
  WHERE state IN (1,3) AND id>=1152921504606846976;
CREATE INDEX wq_unavailable ON worker_queue(unavailable_due) WHERE unavailable_due IS NOT NULL;
CREATE INDEX wq_event ON worker_queue(instance, execution, event) WHERE id>=1152921504606846976;
CREATE TABLE answers(
  id INTEGER PRIMARY KEY, item INTEGER NOT NULL, token_hash BLOB NOT NULL, answer BLOB NOT NULL);
CREATE TABLE kv(
  instance INTEGER NOT NULL, key TEXT NOT NULL, execution INTEGER NOT NULL,
  cleared INTEGER NOT NULL, value BLOB, updated_stamp INTEGER NOT NULL, crc INTEGER NOT NULL,
  PRIMARY KEY(instance, key, execution)) WITHOUT ROWID;
)sql";

// The statements of the schema.
constexpr std::size_t schema_count() {
  std::size_t count = 0;
  for (const char character : kSchema)
    count += character == ';' ? 1 : 0;
  return count;
}

}  // namespace pawl::store

#endif  // PAWL_STORE_SQL_SCHEMA_HPP
