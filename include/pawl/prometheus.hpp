// The text of Prometheus: the contents of a database and the counters of a Runtime, for a scraper.
//
// Purpose: one list of metrics for the endpoint, for a tool and for a file.
// docs/endpoint/prometheus.md lists them. Names follow the conventions of Prometheus: base units,
// "_total" for counters. Labels are bounded: names of code are those of the Registry; ids of
// instances and sessions are never labels.
// Ownership: nothing is kept and nothing allocated. Thread rule: the sink's.
#ifndef PAWL_PROMETHEUS_HPP
#define PAWL_PROMETHEUS_HPP

#include <cstdint>
#include <optional>

#include "pawl/management.hpp"
#include "pawl/printable.hpp"
#include "pawl/runtime_board.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class Client;

// The sources of a scrape besides the counts of the database. Null: there is none here, so its
// metrics are left out.
struct PrometheusSources {
  const Metrics* database = nullptr;
  const RuntimeCounters* runtime = nullptr;
  const RuntimeBoard::Life* life = nullptr;
  // The number of entries that a Client lists; no value: it is not known here.
  std::optional<std::int64_t> workers = std::nullopt;
  std::optional<std::int64_t> workers_draining = std::nullopt;
  std::optional<std::int64_t> devices_waiting = std::nullopt;
  std::optional<bool> clock_trusted = std::nullopt;  // port::Clock::synced()
};

// The counts of a database that a scrape shows, in whichever process; a Client makes them.
struct PrometheusCounts {
  Metrics database;
  std::int64_t workers = 0;
  std::int64_t workers_draining = 0;
  std::int64_t devices_waiting = 0;  // among the first 1,000 sessions
  // Points at these counts, which must live as long.
  [[nodiscard]] PrometheusSources sources() const;
};

// Counts everything. It reads some pages of each table, and takes the write lock twice for a
// moment.
// Returns kOk; else the same as Client::get_metrics(), list_workers() and list_sessions().
// Requires: the thread of the Client.
Status count_for_prometheus(Client& client, PrometheusCounts* counts);

// Writes all metrics of the sources that there are, each with its help and type.
// Returns kOk; kIo: the sink took no more.
Status write_prometheus(const PrometheusSources& sources, TextSink& sink);

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_PROMETHEUS_HPP
