// Behind PAWL_JSON: the writer, and the reader over a parsed tree.
#include "pawl/json.hpp"

#include <charconv>
#include <climits>
#include <cmath>
#include <cstring>
#include <limits>

#include "event.hpp"
#include "json_tree.hpp"
#include "text.hpp"

namespace pawl::internal {
namespace {

const cJSON& tree(const JsonNode& node) { return reinterpret_cast<const cJSON&>(node); }
const JsonNode* node_of(const cJSON* item) { return reinterpret_cast<const JsonNode*>(item); }

// A whole number, or a text of one: how those beyond 2^53 are written.
template <typename T>
bool read_integer(const cJSON& item, T* number) {
  if (cJSON_IsNumber(&item)) {
    const double value = item.valuedouble;
    const auto exact = static_cast<double>(kExactDouble);
    const double least = std::is_signed_v<T> ? -exact : 0;
    if (!(value >= least && value <= exact)) return false;
    *number = static_cast<T>(value);
    return static_cast<double>(*number) == value;
  }
  if (!cJSON_IsString(&item)) return false;
  const char* const end = item.valuestring + std::strlen(item.valuestring);
  const auto result = std::from_chars(item.valuestring, end, *number);
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

// --- where ----------------------------------------------------------------------------------------

bool JsonPlace::enter(Level level) {
  if (depth_ == kLevelsMax) return fail(Status::kResourceExhausted, "has more than 16 levels");
  levels_[depth_++] = level;
  return true;
}

bool JsonPlace::fail(Status status, const char* what) {
  status_ = status;
  if (why_ == nullptr) return false;
  FixedText<Diagnostic::kCapacity> path;
  for (std::size_t i = 0; i < depth_; ++i) {
    const Level& level = levels_[i];
    // A path too long for the text is cut.
    if (level.name != nullptr) {
      if (i > 0 && path.append(".") != Status::kOk) break;
      if (path.append(level.name) != Status::kOk) break;
    } else if (path.append("[") != Status::kOk ||
               path.append_number(static_cast<std::int64_t>(level.index)) != Status::kOk ||
               path.append("]") != Status::kOk) {
      break;
    }
  }
  const std::string_view shown = depth_ == 0 ? std::string_view("the JSON text") : path.view();
  why_->format("%.*s %s", static_cast<int>(shown.size()), shown.data(), what);
  return false;
}

// --- writing --------------------------------------------------------------------------------------

bool JsonWriter::put(std::string_view text) {
  if (text.size() > capacity_ - size_) return fail(Status::kResourceExhausted, "does not fit");
  if (!text.empty()) std::memcpy(out_ + size_, text.data(), text.size());
  size_ += text.size();
  return true;
}

bool JsonWriter::begin_member(const char* name, bool first) {
  return (first || put(",")) && put("\"") && put(name) && put("\":");
}

bool JsonWriter::put_integer(std::int64_t number) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  return number >= -kExactDouble && number <= kExactDouble ? put(digits) : put_quoted(digits);
}

bool JsonWriter::put_unsigned(std::uint64_t number) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  const std::string_view digits(text, static_cast<std::size_t>(end - text));
  return number <= static_cast<std::uint64_t>(kExactDouble) ? put(digits) : put_quoted(digits);
}

// The shortest text that reads back as the same double.
bool JsonWriter::put_double(double number) {
  if (!std::isfinite(number))
    return fail(Status::kInvalidArgument, "is no finite number, which JSON cannot express");
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  return put({text, static_cast<std::size_t>(end - text)});
}

// Of a float: shorter than that of the double it is.
bool JsonWriter::put_float(float number) {
  if (!std::isfinite(number)) return put_double(static_cast<double>(number));
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  return put({text, static_cast<std::size_t>(end - text)});
}

bool JsonWriter::put_quoted(std::string_view text) { return put("\"") && put(text) && put("\""); }

bool JsonWriter::put_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (!put("\"")) return false;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const char escaped[] = {'\\', character};
    const char coded[] = {'\\', 'u', '0', '0', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    const bool special = character == '"' || character == '\\';
    const std::string_view plain(&character, 1);
    const std::string_view shown = byte < 0x20 ? std::string_view(coded, sizeof(coded))
                                   : special   ? std::string_view(escaped, sizeof(escaped))
                                               : plain;
    if (!put(shown)) return false;
  }
  return put("\"");
}

// --- reading --------------------------------------------------------------------------------------

namespace {

// What all but long payloads take. Only those reach deep into the stack.
constexpr std::size_t kUsualMemoryBytes = 2'048;

// Parses `text` in a block on the stack and has the tree used. False: the block was too small, and nothing was used.
template <std::size_t kBytes>
[[gnu::noinline]] bool read_within(std::string_view text, JsonReader& reader, JsonReader::Use use,
                                   void* value) {
  alignas(std::max_align_t) char block[kBytes];
  const JsonMemory memory(block, sizeof(block));
  const cJSON* const root = parse_json(text);
  if (root == nullptr && json_memory_was_short()) return false;
  if (root == nullptr)
    reader.fail(Status::kCorrupt, "is no JSON");
  else
    use(reader, *node_of(root), value);
  return true;
}

}  // namespace

Status JsonReader::read(std::string_view text, Use use, void* value, Diagnostic* why) {
  constexpr int kLevelsMax = 16;
  JsonReader reader(why);
  if (!is_safe_json(text, kLevelsMax)) {
    reader.fail(Status::kCorrupt, "has a zero character, an open text or more than 16 levels");
  } else if (!read_within<kUsualMemoryBytes>(text, reader, use, value) &&
             !read_within<kJsonMemoryBytes>(text, reader, use, value)) {
    reader.fail(Status::kResourceExhausted, "takes more than 16 KiB to read");
  }
  return reader.status();
}

bool JsonReader::is_object(const JsonNode& node) {
  return cJSON_IsObject(&tree(node)) != 0 || fail(Status::kCorrupt, "is no object");
}

const JsonNode* JsonReader::member(const JsonNode& object, const char* name, bool required) {
  const cJSON* found = nullptr;
  for (const cJSON* item = tree(object).child; item != nullptr; item = item->next) {
    if (std::strcmp(item->string, name) != 0) continue;
    if (found != nullptr) {
      fail(Status::kCorrupt, "is there twice");
      return nullptr;
    }
    found = item;
  }
  if (found == nullptr && required) fail(Status::kCorrupt, "is missing");
  return node_of(found);
}

const JsonNode* JsonReader::first_element(const JsonNode& array, std::size_t count) {
  const cJSON& item = tree(array);
  if (cJSON_IsArray(&item) == 0) {
    fail(Status::kCorrupt, "is no array");
    return nullptr;
  }
  std::size_t has = 0;
  for (const cJSON* element = item.child; element != nullptr; element = element->next)
    ++has;
  if (has != count) fail(Status::kCorrupt, "has another number of elements");
  return has == count ? node_of(item.child) : nullptr;
}

bool JsonReader::element_count(const JsonNode& array, std::size_t most, std::size_t* count) {
  const cJSON& item = tree(array);
  if (cJSON_IsArray(&item) == 0) return fail(Status::kCorrupt, "is no array");
  *count = 0;
  for (const cJSON* element = item.child; element != nullptr; element = element->next)
    ++*count;
  return *count <= most || fail(Status::kResourceExhausted, "has more elements than its field");
}

bool JsonReader::is_null(const JsonNode& node) { return cJSON_IsNull(&tree(node)) != 0; }

bool JsonReader::get_rest(const JsonNode& object, Knows knows, const void* fields, char* out,
                          std::size_t capacity, std::size_t* size) {
  *size = 0;
  for (cJSON* item = tree(object).child; item != nullptr; item = item->next) {
    if (knows(fields, item->string)) continue;
    JsonWriter rest(out + *size, capacity - *size, nullptr);
    bool fits = (*size == 0 || rest.put(",")) && rest.put_text(item->string) && rest.put(":");
    char* const value = out + *size + rest.size();
    const std::size_t room = capacity - *size - rest.size();
    fits = fits && room <= INT_MAX &&
           cJSON_PrintPreallocated(item, value, static_cast<int>(room), 0) != 0;
    if (!fits) return fail(Status::kResourceExhausted, "has no room for members of other names");
    *size += rest.size() + std::strlen(value);
  }
  return true;
}

const JsonNode* JsonReader::next_element(const JsonNode& element) {
  return node_of(tree(element).next);
}

bool JsonReader::get_bool(const JsonNode& node, bool* value) {
  *value = cJSON_IsTrue(&tree(node)) != 0;
  return cJSON_IsBool(&tree(node)) != 0 || fail(Status::kCorrupt, "is neither true nor false");
}

bool JsonReader::get_integer(const JsonNode& node, std::int64_t least, std::int64_t most,
                             std::int64_t* value) {
  if (read_integer(tree(node), value) && *value >= least && *value <= most) return true;
  return fail(Status::kCorrupt, "is no whole number in its range");
}

bool JsonReader::get_unsigned(const JsonNode& node, std::uint64_t most, std::uint64_t* value) {
  if (read_integer(tree(node), value) && *value <= most) return true;
  return fail(Status::kCorrupt, "is no whole number in its range");
}

bool JsonReader::get_double(const JsonNode& node, double* value) {
  *value = tree(node).valuedouble;
  const bool is_number = cJSON_IsNumber(&tree(node)) != 0 && std::isfinite(*value);
  return is_number || fail(Status::kCorrupt, "is no finite number");
}

bool JsonReader::get_float(const JsonNode& node, float* value) {
  double number = 0;
  if (!get_double(node, &number)) return false;
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max()))
    return fail(Status::kCorrupt, "is no number in its range");
  *value = static_cast<float>(number);
  return true;
}

bool JsonReader::get_text(const JsonNode& node, std::string_view* value) {
  if (cJSON_IsString(&tree(node)) == 0) return fail(Status::kCorrupt, "is no text");
  *value = tree(node).valuestring;
  return true;
}

}  // namespace pawl::internal
