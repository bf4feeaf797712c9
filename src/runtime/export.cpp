#include "pawl/export.hpp"

#include "check.hpp"
#include "text.hpp"
#include "utf8.hpp"

namespace pawl {
namespace {

class JsonLines final : public HistoryVisitor {
 public:
  explicit JsonLines(TextSink& sink) : sink_(sink) {}

  void on_event(const HistoryEvent& event) noexcept override {
    put("{\"id\":");
    put_number(event.id);
    text("kind", event.kind);
    put(",\"time_ms\":");
    put_number(event.time_ms);
    number("branch", event.branch);
    number("ordinal", event.ordinal);
    number("ref", event.ref);
    number("number", event.number);
    if (event.error != ErrorKind::kNone) text("error", error_kind_name(event.error));
    text("name", event.name);
    text("session", event.session);
    text("tag", event.tag);
    text("version", event.version);
    text("payload", event.payload);
    put("}\n");
  }
  [[nodiscard]] bool refused() const { return refused_; }

 private:
  void put(std::string_view piece) {
    if (!refused_ && !piece.empty()) refused_ = !sink_.write(piece);
  }
  void put_number(std::int64_t value) {
    FixedText<24> digits;
    if (digits.append_number(value) == Status::kOk) put(digits.view());
  }
  void key(std::string_view name, std::string_view ending) {
    put(",\"");
    put(name);
    put(ending);
    put("\":");
  }
  void number(std::string_view name, std::int64_t value) {
    if (value == 0) return;
    key(name, "");
    put_number(value);
  }
  void text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    const bool plain = is_utf8(value);
    key(name, plain ? "" : "_base64");
    put("\"");
    plain ? put_escaped(value) : put_base64(value);
    put("\"");
  }
  // What a terminal would obey is escaped, too: a reader of JSON gets the same text.
  void put_escaped(std::string_view value) {
    std::size_t done = 0;
    for (std::size_t i = 0; i < value.size();) {
      const std::optional<Character> next = first_character(value.substr(i));
      PAWL_CHECK("runtime-64", next.has_value());  // text() looked
      const std::size_t end = i + next->bytes;
      if (!is_shown(next->code) || next->code == '"' || next->code == '\\') {
        put(value.substr(done, i - done));
        put_code(next->code);
        done = end;
      }
      i = end;
    }
    put(value.substr(done));
  }
  // All that is escaped lies below U+10000.
  void put_code(std::uint32_t code) {
    FixedText<8> digits;
    if (digits.append("\\u") == Status::kOk && digits.append_hex(code, 4) == Status::kOk)
      put(digits.view());
  }
  void put_base64(std::string_view value) {
    for (; !value.empty(); value.remove_prefix(value.size() < 3 ? value.size() : 3)) {
      const auto byte = [&](std::size_t i) {
        return i < value.size() ? static_cast<unsigned char>(value[i]) : 0U;
      };
      const unsigned bits = byte(0) << 16U | byte(1) << 8U | byte(2);
      const char code[] = {kBase64[bits >> 18U], kBase64[bits >> 12U & 63U],
                           value.size() < 2 ? '=' : kBase64[bits >> 6U & 63U],
                           value.size() < 3 ? '=' : kBase64[bits & 63U]};
      put({code, sizeof code});
    }
  }

  static constexpr char kBase64[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

  TextSink& sink_;
  bool refused_ = false;
};

}  // namespace

Status export_history(Client& client, std::string_view id, std::int64_t execution_id,
                      TextSink& sink) {
  JsonLines lines(sink);
  PAWL_TRY(client.read_history(id, execution_id, lines));
  return lines.refused() ? Status::kIo : Status::kOk;
}

}  // namespace pawl
