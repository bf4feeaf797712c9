#include "pawl/export.hpp"

#include "text.hpp"

namespace pawl {
namespace {

// Length of the well-formed UTF-8 character at the front (RFC 3629); 0: none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned low = 0x80;  // of the second byte: neither overlong, surrogate nor beyond U+10FFFF
  unsigned high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  }
  if (length == 0 || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class JsonLines final : public HistoryVisitor {
 public:
  explicit JsonLines(TextSink& sink) : sink_(sink) {}

  void on_event(const HistoryEvent& event) override {
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
  void put_escaped(std::string_view value) {
    std::size_t done = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto byte = static_cast<unsigned char>(value[i]);
      if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
      put(value.substr(done, i - done));
      done = i + 1;
      const char code[] = {'\\', 'u', '0', '0', kHex[byte >> 4U], kHex[byte & 15U]};
      put({code, sizeof code});
    }
    put(value.substr(done));
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

  static constexpr char kHex[] = "0123456789abcdef";
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
