#include "pawl/prometheus.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "parts/fields/client_fields.hpp"
#include "parts/fields/runtime_fields.hpp"
#include "pawl/client.hpp"
#include "pawl/visit.hpp"

namespace pawl {
namespace {

using fields::Field;
using fields::FieldKind;
using fields::FieldsOf;

constexpr std::size_t kSessionsCounted = 1'000;

// The part of a Field that the text needs.
struct MetricField {
  const char* name = nullptr;
  const char* help = nullptr;
  const char* state = nullptr;  // value of the label "state"; null: it has none
  std::uint16_t offset = 0;
  FieldKind kind = FieldKind::kInteger;
};

template <std::size_t kRows>
constexpr std::size_t count_metrics(const Field (&rows)[kRows]) {
  std::size_t count = 0;
  for (const Field& row : rows)
    if (row.metric != nullptr) ++count;
  return count;
}

template <typename T>
constexpr auto metrics_of() {
  std::array<MetricField, count_metrics(FieldsOf<T>::kAll)> found = {};
  std::size_t count = 0;
  for (const Field& row : FieldsOf<T>::kAll)
    if (row.metric != nullptr)
      found[count++] = {row.metric, row.help, row.label, row.offset, row.kind};
  return found;
}

// The texts of a struct that its metrics have as labels.
struct LabelField {
  const char* name = nullptr;
  std::uint16_t offset = 0;
};
using LabelFields = std::array<LabelField, 2>;

template <typename T>
constexpr LabelFields labels_of() {
  LabelFields found = {};
  std::size_t count = 0;
  for (const Field& row : FieldsOf<T>::kAll)
    if (row.metric == nullptr && row.label != nullptr) found[count++] = {row.label, row.offset};
  return found;
}

struct Label {
  const char* name;  // null: none
  std::string_view value;
};
struct Labels {
  Label first = {nullptr, {}};
  Label second = {nullptr, {}};
};

// Writes metrics: each is begun, and then has its samples, with at most two labels each.
class PrometheusText {
 public:
  explicit PrometheusText(TextSink& sink) : sink_(sink) {}

  void begin(const char* name, const char* type, const char* help) {
    name_ = name;
    put("# HELP ").put(name).put(" ").put(help).put("\n# TYPE ").put(name).put(" ").put(type);
    put("\n");
  }
  void sample(std::int64_t value, const Labels& labels = Labels()) {
    put_name("", labels, {}).put_number(value).put("\n");
  }
  void gauge(const char* name, const char* help, std::int64_t value) {
    begin(name, "gauge", help);
    sample(value);
  }

  // Each count becomes the sum of all counts up to its bound. Bounds and the total are in ms if
  // `in_seconds`.
  void histogram(const fields::HistogramView& of, bool in_seconds, const Labels& labels) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= of.bound_count; ++i) {
      sum += of.counts[i];
      char bound[32] = "+Inf";
      if (i < of.bound_count) print(bound, of.bounds[i], in_seconds);
      put_name("_bucket", labels, bound).put_number(static_cast<std::int64_t>(sum)).put("\n");
    }
    put_name("_sum", labels, {});
    if (in_seconds)
      put_seconds(of.total);
    else
      put_number(of.total);
    put("\n").put_name("_count", labels, {}).put_number(static_cast<std::int64_t>(sum)).put("\n");
  }
  [[nodiscard]] bool ok() const { return !refused_; }

 private:
  PrometheusText& put(std::string_view text) {
    if (!refused_ && !text.empty()) refused_ = !sink_.write(text);
    return *this;
  }
  static void print(char (&out)[32], std::int64_t value, bool in_seconds) {
    if (in_seconds)
      std::snprintf(out, sizeof out, "%" PRId64 ".%03d", value / 1'000,
                    static_cast<int>(value % 1'000));
    else
      std::snprintf(out, sizeof out, "%" PRId64, value);
  }
  PrometheusText& put_number(std::int64_t value) {
    char text[32];
    print(text, value, false);
    return put(text);
  }
  PrometheusText& put_seconds(std::int64_t ms) {
    char text[32];
    print(text, ms < 0 ? 0 : ms, true);
    return put(text);
  }
  PrometheusText& put_name(std::string_view ending, const Labels& labels, std::string_view bound) {
    put(name_).put(ending);
    const char* before = "{";
    for (const Label& label :
         {labels.first, labels.second, Label{bound.empty() ? nullptr : "le", bound}}) {
      if (label.name == nullptr) continue;
      put(before).put(label.name).put("=\"");
      put_label_value(label.value);
      put("\"");
      before = ",";
    }
    return put(before[0] == '{' ? " " : "} ");
  }
  // Escapes a value as the format asks: \\, \" and \n. A name has no control characters. The format
  // allows only UTF-8, so other bytes are shown as write_printable() does.
  void put_label_value(std::string_view value) {
    class Escaped final : public TextSink {
     public:
      explicit Escaped(PrometheusText& out) : out_(out) {}
      bool write(std::string_view text) noexcept override {
        for (std::size_t i = 0; i < text.size(); ++i) {
          if (text[i] == '"' || text[i] == '\\') out_.put("\\");
          out_.put(text.substr(i, 1));
        }
        return out_.ok();
      }

     private:
      PrometheusText& out_;
    };
    Escaped escaped(*this);
    static_cast<void>(write_printable(value, escaped));
  }

  TextSink& sink_;
  const char* name_ = "";
  bool refused_ = false;
};

const char* type_of(const MetricField& metric) {
  if (fields::is_histogram(metric.kind)) return "histogram";
  constexpr std::string_view kCounterEnding = "_total";
  const std::string_view name = metric.name;
  const bool is_counter = name.size() > kCounterEnding.size() &&
                          name.substr(name.size() - kCounterEnding.size()) == kCounterEnding;
  return is_counter ? "counter" : "gauge";
}

void put_sample(const MetricField& metric, const void* at, const Labels& labels,
                PrometheusText& out) {
  if (!fields::is_histogram(metric.kind)) return out.sample(number_at(metric.kind, at), labels);
  const bool in_seconds =
      metric.kind == FieldKind::kDurations || metric.kind == FieldKind::kSessionLasted;
  out.histogram(histogram_at(metric.kind, at), in_seconds, labels);
}

// Structs of one type, one behind the other.
struct Structs {
  const void* first;
  std::size_t size;
  std::size_t count;
  [[nodiscard]] const char* at(std::size_t index) const {
    return static_cast<const char*>(first) + index * size;
  }
};

Labels labels_at(const LabelFields& labels, const char* at) {
  const auto label = [at](const LabelField& one) {
    if (one.name == nullptr) return Label{nullptr, {}};
    return Label{one.name, fields::text_at(FieldKind::kText, at + one.offset)};
  };
  return {label(labels[0]), label(labels[1])};
}

// A metric has one block, with a sample of each struct and state.
void put_metrics(const MetricField* metrics, std::size_t count, const LabelFields& labels,
                 const Structs& structs, PrometheusText& out) {
  std::string_view begun;
  for (const MetricField* one = metrics; one != metrics + count; ++one) {
    if (begun != one->name) out.begin(one->name, type_of(*one), one->help);
    begun = one->name;
    for (std::size_t i = 0; i < structs.count; ++i) {
      Labels of = labels_at(labels, structs.at(i));
      if (one->state != nullptr) of.first = {"state", one->state};
      put_sample(*one, structs.at(i) + one->offset, of, out);
    }
  }
}

template <typename T>
void put_all(const T* structs, std::size_t count, PrometheusText& out) {
  static constexpr auto kMetrics = metrics_of<T>();
  static constexpr LabelFields kLabels = labels_of<T>();
  put_metrics(kMetrics.data(), kMetrics.size(), kLabels, {structs, sizeof(T), count}, out);
}

void put_counted(const PrometheusSources& sources, PrometheusText& out) {
  const auto gauge = [&](const char* name, const char* help, std::optional<std::int64_t> value) {
    if (value.has_value()) out.gauge(name, help, *value);
  };
  gauge("pawl_workers", "Registered workers.", sources.workers);
  gauge("pawl_workers_draining", "Of these, the ones that drain.", sources.workers_draining);
  gauge("pawl_devices_waiting", "Devices that have work and no worker that declares them.",
        sources.devices_waiting);
  gauge("pawl_clock_trusted", "1: the wall clock is trusted now.", sources.clock_trusted);
}

}  // namespace

PrometheusSources PrometheusCounts::sources() const {
  PrometheusSources sources;
  sources.database = &database;
  sources.workers = workers;
  sources.workers_draining = workers_draining;
  sources.devices_waiting = devices_waiting;
  return sources;
}

Status count_for_prometheus(Client& client, PrometheusCounts* counts) {
  *counts = PrometheusCounts();
  PAWL_TRY(client.get_metrics(&counts->database));
  PAWL_TRY(client.list_workers(visit([&](const WorkerInfo& one) {
    ++counts->workers;
    if (one.draining) ++counts->workers_draining;
  })));
  Page page;
  page.rows_max = kSessionsCounted;
  auto count = visit([counts](const SessionInfo& one) {
    if (one.device && one.waits_for_ms.has_value()) ++counts->devices_waiting;
  });
  return client.list_sessions(SessionFilter(), &page, count);
}

Status write_prometheus(const PrometheusSources& sources, TextSink& sink) {
  PrometheusText out(sink);
  if (sources.database != nullptr) put_all(sources.database, 1, out);
  put_counted(sources, out);
  if (sources.life != nullptr) {
    out.gauge("pawl_up", "1: the Runtime of this process is started.",
              sources.life->running ? 1 : 0);
    out.gauge("pawl_ready", "1: the Runtime of this process may be given work.",
              sources.life->ready ? 1 : 0);
  }
  if (sources.runtime != nullptr) {
    put_all(&sources.runtime->stats, 1, out);
    put_all(sources.runtime->orchestrations, sources.runtime->orchestration_count, out);
    put_all(sources.runtime->activities, sources.runtime->activity_count, out);
  }
  return out.ok() ? Status::kOk : Status::kIo;
}

}  // namespace pawl
