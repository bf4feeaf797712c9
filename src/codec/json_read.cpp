// The reader of PAWL_JSON, which looks for each field in the text itself.
//
// A tree of all values takes up to 32 times the memory of the text, and no stack on a small board
// has that. Therefore the text is checked once, and a field is looked up when it is asked for.
// cJSON reads the numbers.
#include <charconv>
#include <cmath>
#include <limits>

#include "codec/event.hpp"
#include "codec/json_tree.hpp"
#include "core/utf8.hpp"
#include "pawl/json.hpp"
#include "pawl/json_out.hpp"

namespace pawl::internal {
namespace {

constexpr int kDepthMax = 16;

bool is_digit(char character) { return character >= '0' && character <= '9'; }
bool is_space(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

// A place in a JSON text, with the tokens that may stand there.
class Scan {
 public:
  Scan(const char* at, const char* end) : at_(at), end_(end) {}
  [[nodiscard]] const char* at() const { return at_; }
  [[nodiscard]] bool is_at(char character) const { return at_ != end_ && *at_ == character; }
  void skip_space() {
    while (at_ != end_ && is_space(*at_))
      ++at_;
  }
  bool take_here(char character) {
    if (!is_at(character)) return false;
    ++at_;
    return true;
  }
  bool take(char character) {
    skip_space();
    return take_here(character);
  }
  bool skip_word(std::string_view word) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }
  bool skip_digits() {
    const char* const from = at_;
    while (at_ != end_ && is_digit(*at_))
      ++at_;
    return at_ != from;
  }
  bool skip_number() {
    take_here('-');
    if (!take_here('0') && !skip_digits()) return false;
    if (take_here('.') && !skip_digits()) return false;
    if (!take_here('e') && !take_here('E')) return true;
    if (!take_here('+')) take_here('-');
    return skip_digits();
  }
  // After the opening quote of a text: its next character. None: the text ends here, or the bytes
  // here are wrong.
  std::optional<Utf8> next_character();
  bool skip_text() {
    if (!take_here('"')) return false;
    while (next_character().has_value()) {
    }
    return take_here('"');
  }
  bool skip_scalar() {
    return skip_text() || skip_word("true") || skip_word("false") || skip_word("null") ||
           skip_number();
  }
  // Requires: is_json() has checked the text.
  void skip_value();

 private:
  std::optional<std::uint32_t> take_code();
  const char* at_;
  const char* end_;
};

// The four digits of \uXXXX.
std::optional<std::uint32_t> Scan::take_code() {
  constexpr int kDigits = 4;
  if (end_ - at_ < kDigits) return std::nullopt;
  std::uint32_t code = 0;
  const auto read = std::from_chars(at_, at_ + kDigits, code, 16);
  if (read.ec != std::errc() || read.ptr != at_ + kDigits) return std::nullopt;
  at_ += kDigits;
  return code;
}

std::optional<Utf8> Scan::next_character() {
  if (at_ == end_ || *at_ == '"') return std::nullopt;
  if (*at_ != '\\') return Utf8{{*at_++}, 1};
  const char* const before = at_++;
  const auto wrong = [&] {
    at_ = before;  // a place without a quote, so that the text cannot end there
    return std::nullopt;
  };
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMean = "\"\\/\b\f\n\r\t";
  if (at_ == end_) return wrong();
  const std::size_t letter = kLetters.find(*at_);
  if (letter != std::string_view::npos) {
    ++at_;
    return Utf8{{kMean[letter]}, 1};
  }
  if (!take_here('u')) return wrong();
  const std::optional<std::uint32_t> code = take_code();
  if (!code.has_value() || (*code >= 0xdc00 && *code < 0xe000)) return wrong();
  if (*code < 0xd800 || *code >= 0xe000) return utf8(*code);
  if (!skip_word("\\u")) return wrong();
  const std::optional<std::uint32_t> low = take_code();
  if (!low.has_value() || *low < 0xdc00 || *low >= 0xe000) return wrong();
  return utf8(0x10000 + ((*code - 0xd800) << 10U) + (*low - 0xdc00));
}

void Scan::skip_value() {
  int depth = 0;
  do {
    skip_space();
    if (take_here('{') || take_here('[')) {
      ++depth;
    } else if (take_here('}') || take_here(']')) {
      --depth;
    } else if (!take_here(',') && !take_here(':') && !skip_scalar()) {
      return;
    }
  } while (depth > 0);
}

// Checks the grammar of JSON, in a loop, since a text may open a level with each byte.
bool is_json(const char* at, const char* end) {
  Scan scan(at, end);
  char closing[kDepthMax];  // the closing bracket of each open level
  int depth = 0;
  const auto in_object = [&] { return depth > 0 && closing[depth - 1] == '}'; };
  const auto take_name = [&] {
    scan.skip_space();
    return scan.skip_text() && scan.take(':');
  };
  for (;;) {
    scan.skip_space();
    const bool is_object = scan.take_here('{');
    if (is_object || scan.take_here('[')) {
      if (depth == kDepthMax) return false;
      closing[depth++] = is_object ? '}' : ']';
      scan.skip_space();
      if (!scan.is_at(closing[depth - 1])) {
        if (is_object && !take_name()) return false;
        continue;
      }
    } else if (!scan.skip_scalar()) {
      return false;
    }
    while (depth > 0 && scan.take(closing[depth - 1]))
      --depth;
    if (depth == 0) break;
    if (!scan.take(',') || (in_object() && !take_name())) return false;
  }
  scan.skip_space();
  return scan.at() == end;
}

// The members of an object, or the elements of an array, one by one.
class Children {
 public:
  Children(const char* at, const char* end) : scan_(at + 1, end), is_object_(*at == '{') {}
  bool next() {
    scan_.take(',');
    scan_.skip_space();
    if (scan_.is_at('}') || scan_.is_at(']')) return false;
    if (is_object_) {
      name_ = scan_.at();
      scan_.skip_text();
      scan_.take(':');
      scan_.skip_space();
    }
    value_ = scan_.at();
    scan_.skip_value();
    return true;
  }
  [[nodiscard]] const char* name() const { return name_; }
  [[nodiscard]] const char* value() const { return value_; }
  [[nodiscard]] const char* end() const { return scan_.at(); }

 private:
  Scan scan_;
  bool is_object_;
  const char* name_ = nullptr;
  const char* value_ = nullptr;
};

// Decodes the text at `at`. False: `into` has no room for it.
bool copy_text(const char* at, const char* end, const JsonRoom& into) {
  Scan scan(at + 1, end);
  *into.size = 0;
  while (const std::optional<Utf8> one = scan.next_character()) {
    if (one->size > into.capacity - *into.size) return false;
    for (std::size_t i = 0; i < one->size; ++i)
      into.bytes[(*into.size)++] = one->bytes[i];
  }
  return true;
}

// A text of at most kCapacity bytes, decoded; only the beginning of a longer one.
template <std::size_t kCapacity>
class ShortText {
 public:
  ShortText(const char* at, const char* end)
      : fits_(copy_text(at, end, {bytes_, kCapacity, &size_})) {}
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[kCapacity];
  std::size_t size_ = 0;
  bool fits_;
};

bool is_same_text(const char* at, const char* end, std::string_view wanted) {
  Scan scan(at + 1, end);
  while (const std::optional<Utf8> one = scan.next_character()) {
    const std::string_view bytes(one->bytes, one->size);
    if (wanted.substr(0, one->size) != bytes) return false;
    wanted.remove_prefix(one->size);
  }
  return wanted.empty();
}

std::optional<double> number_at(const char* at, const char* end) {
  Scan scan(at, end);
  if (!scan.skip_number()) return std::nullopt;
  alignas(std::max_align_t) char block[256];
  const JsonMemory memory(block, sizeof(block));
  const cJSON* const item = parse_json({at, static_cast<std::size_t>(scan.at() - at)});
  if (item == nullptr) return std::nullopt;  // it has more digits than cJSON reads
  return item->valuedouble;
}

// Reads a whole number, or a text of one: numbers beyond 2^53 are written as texts.
template <typename T>
bool read_integer(const char* at, const char* end, T* number) {
  if (*at == '"') {
    constexpr std::size_t kDigitsMax = 20;
    const ShortText<kDigitsMax> text(at, end);
    const char* const behind = text.view().data() + text.view().size();
    const auto result = std::from_chars(text.view().data(), behind, *number);
    return text.fits() && result.ec == std::errc() && result.ptr == behind;
  }
  const std::optional<double> value = number_at(at, end);
  const auto exact = static_cast<double>(kExactDouble);
  const double least = std::is_signed_v<T> ? -exact : 0;
  if (!value.has_value() || !(*value >= least && *value <= exact)) return false;
  *number = static_cast<T>(*value);
  return static_cast<double>(*number) == *value;
}

}  // namespace

Status JsonReader::read(std::string_view text, Use use, void* value, Diagnostic* why) {
  JsonReader reader(text, why);
  Scan scan(text.data(), reader.end_);
  scan.skip_word("\xef\xbb\xbf");  // some editors begin a file with this byte order mark
  scan.skip_space();
  if (!is_safe_json(text, kDepthMax))
    reader.fail(Status::kCorrupt, "has a zero character, an open text or more than 16 levels");
  else if (!is_json(scan.at(), reader.end_))
    reader.fail(Status::kCorrupt, "is no JSON");
  else
    use(reader, JsonNode{scan.at()}, value);
  return reader.status();
}

bool JsonReader::is_object(JsonNode node) {
  return *node.at == '{' || fail(Status::kCorrupt, "is no object");
}

std::optional<JsonNode> JsonReader::member(JsonNode object, const char* name, bool required) {
  std::optional<JsonNode> found;
  for (Children members(object.at, end_); members.next();) {
    if (!is_same_text(members.name(), end_, name)) continue;
    if (found.has_value()) {
      fail(Status::kCorrupt, "is there twice");
      return std::nullopt;
    }
    found = JsonNode{members.value()};
  }
  if (!found.has_value() && required) fail(Status::kCorrupt, "is missing");
  return found;
}

bool JsonReader::count_elements(JsonNode array, std::size_t* count) {
  if (*array.at != '[') return fail(Status::kCorrupt, "is no array");
  *count = 0;
  for (Children elements(array.at, end_); elements.next();)
    ++*count;
  return true;
}

std::optional<JsonNode> JsonReader::first_element(JsonNode array, std::size_t count) {
  std::size_t has = 0;
  if (!count_elements(array, &has)) return std::nullopt;
  if (has != count) fail(Status::kCorrupt, "has another number of elements");
  Children elements(array.at, end_);
  if (has != count || !elements.next()) return std::nullopt;
  return JsonNode{elements.value()};
}

bool JsonReader::element_count(JsonNode array, std::size_t most, std::size_t* count) {
  return count_elements(array, count) &&
         (*count <= most || fail(Status::kResourceExhausted, "has more elements than its field"));
}

std::optional<JsonNode> JsonReader::next_element(JsonNode element) const {
  Scan scan(element.at, end_);
  scan.skip_value();
  if (!scan.take(',')) return std::nullopt;
  scan.skip_space();
  return JsonNode{scan.at()};
}

bool JsonReader::is_null(JsonNode node) { return *node.at == 'n'; }

bool JsonReader::get_rest(JsonNode object, Knows knows, const void* fields, const JsonRoom& into) {
  constexpr std::size_t kNameMax = 256;
  JsonWriter rest(into.bytes, into.capacity, nullptr);
  *into.size = 0;
  for (Children members(object.at, end_); members.next();) {
    const ShortText<kNameMax> name(members.name(), end_);
    if (name.fits() && knows(fields, name.view())) continue;
    bool fits = rest.size() == 0 || rest.put(",");
    // Copies everything except the space between the parts.
    for (Scan scan(members.name(), members.end()); fits && scan.at() != members.end();) {
      const char* const from = scan.at();
      if (!scan.skip_text()) scan.take_here(*from);
      fits = is_space(*from) || rest.put({from, static_cast<std::size_t>(scan.at() - from)});
    }
    if (!fits) return fail(Status::kResourceExhausted, "has no room for members of other names");
  }
  *into.size = rest.size();
  return true;
}

bool JsonReader::get_bool(JsonNode node, bool* value) {
  *value = *node.at == 't';
  return *value || *node.at == 'f' || fail(Status::kCorrupt, "is neither true nor false");
}

bool JsonReader::get_integer(JsonNode node, std::int64_t least, std::int64_t most,
                             std::int64_t* value) {
  if (read_integer(node.at, end_, value) && *value >= least && *value <= most) return true;
  return fail(Status::kCorrupt, "is no whole number in its range");
}

bool JsonReader::get_unsigned(JsonNode node, std::uint64_t most, std::uint64_t* value) {
  if (read_integer(node.at, end_, value) && *value <= most) return true;
  return fail(Status::kCorrupt, "is no whole number in its range");
}

bool JsonReader::get_double(JsonNode node, double* value) {
  const std::optional<double> number = number_at(node.at, end_);
  if (!number.has_value() || !std::isfinite(*number))
    return fail(Status::kCorrupt, "is no finite number");
  *value = *number;
  return true;
}

bool JsonReader::get_float(JsonNode node, float* value) {
  double number = 0;
  if (!get_double(node, &number)) return false;
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max()))
    return fail(Status::kCorrupt, "is no number in its range");
  *value = static_cast<float>(number);
  return true;
}

bool JsonReader::is_text(JsonNode node) {
  return *node.at == '"' || fail(Status::kCorrupt, "is no text");
}

bool JsonReader::has_text(JsonNode node, std::string_view text) const {
  return is_same_text(node.at, end_, text);
}

bool JsonReader::get_text(JsonNode node, const JsonRoom& into) {
  return is_text(node) && (copy_text(node.at, end_, into) ||
                           fail(Status::kResourceExhausted, "is a longer text than its field"));
}

}  // namespace pawl::internal

namespace pawl {

bool read_json_text(std::string_view quoted, TextSink& sink) {
  internal::Scan scan(quoted.data() + 1, quoted.data() + quoted.size());
  while (const std::optional<Utf8> one = scan.next_character())
    if (!sink.write({one->bytes, one->size})) return false;
  return true;
}

}  // namespace pawl
