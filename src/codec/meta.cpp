// The JSON of the meta column.
//
// Writing is on the hot path: the tree is built from cJSON items on the stack, so that writing
// allocates nothing and cJSON does only the printing. Numbers are printed here ("raw" items): cJSON
// keeps numbers as doubles, which are slow to print and cannot hold 64 bits. Beyond 2^53 they are
// texts, since SQL's JSON functions read numbers as doubles.
//
// Reading happens when a history is loaded. The bytes may come from anywhere, so size and nesting
// are checked before cJSON's recursive parser sees them.
#include <charconv>
#include <cstring>

#include "codec/event.hpp"
#include "codec/json_tree.hpp"
#include "core/check.hpp"

namespace pawl {
namespace {

// Pawl writes flat objects; deeper values can only be members of a newer writer.
constexpr int kNestingMax = 4;

// ---- writing ----

char* put_hex(std::uint64_t number, char* out) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4)
    *out++ = kDigits[(number >> static_cast<unsigned>(shift)) & 0xfU];
  return out;
}

class MetaWriter {
 public:
  MetaWriter() {
    std::memset(items_, 0, sizeof(items_[0]));
    items_[0].type = cJSON_Object;
  }

  void add_number(const char* key, std::int64_t number) {
    if (number == 0) return;
    const bool exact = number >= -kExactDouble && number <= kExactDouble;
    char* const text = text_ + text_size_;
    const auto end = std::to_chars(text, text_ + sizeof(text_) - 1, number).ptr;
    add(key, text, end, exact ? cJSON_Raw : cJSON_String);
  }
  void add_hash(const char* key, std::uint64_t hash) {
    if (hash == 0) return;
    char* const text = text_ + text_size_;
    add(key, text, put_hex(hash, text), cJSON_String);
  }
  void add_text(const char* key, std::string_view value) {
    if (value.empty()) return;
    if (!is_stored_name(value)) {
      valid_ = false;
      return;
    }
    char* const text = text_ + text_size_;
    std::memcpy(text, value.data(), value.size());
    add(key, text, text + value.size(), cJSON_String);
  }

  Status print(char* out, std::size_t capacity, std::size_t* size) {
    if (!valid_) return Status::kInvalidArgument;
    if (capacity == 0) return Status::kResourceExhausted;
    install_json_hooks();
    const auto length = static_cast<int>(capacity < kMetaBytesMax ? capacity : kMetaBytesMax);
    if (cJSON_PrintPreallocated(&items_[0], out, length, 0) == 0) return Status::kResourceExhausted;
    *size = std::strlen(out);
    return Status::kOk;
  }

 private:
  void add(const char* key, char* begin, char* end, int type) {
    PAWL_CHECK("codec-1", count_ + 1 < kItemsMax);
    cJSON& item = items_[++count_];
    std::memset(&item, 0, sizeof(item));
    item.type = type | cJSON_StringIsConst;
    item.string = const_cast<char*>(key);
    item.valuestring = begin;
    *end = '\0';
    text_size_ = static_cast<std::size_t>(end - text_) + 1;
    if (count_ == 1) {
      items_[0].child = &item;
    } else {
      items_[count_ - 1].next = &item;
    }
  }

  static constexpr std::size_t kItemsMax = 14;
  cJSON items_[kItemsMax];
  std::size_t count_ = 0;
  // Five texts, two hashes, five numbers, each with its zero byte.
  char text_[5 * (kNameBytesMax + 1) + 2 * 17 + 5 * 21] = {};
  std::size_t text_size_ = 0;
  bool valid_ = true;
};

// ---- reading ----

bool read_number(const cJSON& item, std::int64_t* number) {
  if (cJSON_IsNumber(&item)) {
    const double value = item.valuedouble;
    const auto exact = static_cast<double>(kExactDouble);
    if (!(value >= -exact && value <= exact)) return false;
    *number = static_cast<std::int64_t>(value);
    return static_cast<double>(*number) == value;
  }
  if (!cJSON_IsString(&item)) return false;
  const char* const end = item.valuestring + std::strlen(item.valuestring);
  const auto result = std::from_chars(item.valuestring, end, *number);
  return result.ec == std::errc() && result.ptr == end;
}

bool read_hash(const cJSON& item, std::uint64_t* hash) {
  if (!cJSON_IsString(&item) || std::strlen(item.valuestring) != 16) return false;
  const char* const end = item.valuestring + 16;
  const auto result = std::from_chars(item.valuestring, end, *hash, 16);
  return result.ec == std::errc() && result.ptr == end;
}

template <typename Enum>
bool read_enum(const cJSON& item, Enum last, Enum* value) {
  std::int64_t number = 0;
  if (!read_number(item, &number) || number < 0 || number > static_cast<std::int64_t>(last))
    return false;
  *value = static_cast<Enum>(number);
  return true;
}

struct TextOut {
  char* at;
  std::size_t left;
};

bool read_text(const cJSON& item, TextOut* out, std::string_view* value) {
  if (!cJSON_IsString(&item)) return false;
  const std::string_view text(item.valuestring);
  if (!is_stored_name(text) || text.size() > out->left) return false;
  std::memcpy(out->at, text.data(), text.size());
  *value = {out->at, text.size()};
  out->at += text.size();
  out->left -= text.size();
  return true;
}

bool read_member(const cJSON& item, Event* event, TextOut* out) {
  const std::string_view key(item.string);
  if (key == "name") return read_text(item, out, &event->name);
  if (key == "session" || key == "id") return read_text(item, out, &event->session);
  if (key == "policy") return read_text(item, out, &event->policy);
  if (key == "tag") return read_text(item, out, &event->tag);
  if (key == "version") return read_text(item, out, &event->version);
  if (key == "hash") return read_hash(item, &event->argument_hash);
  if (key == "path") return read_hash(item, &event->path_hash);
  if (key == "number") return read_number(item, &event->number);
  if (key == "error") return read_enum(item, kErrorKindLast, &event->error);
  if (key == "end") return read_enum(item, EndKind::kContinuedAsNew, &event->end);
  if (key == "base") return read_enum(item, TimerBase::kUtc, &event->base);
  if (key == "horizon") {
    std::int64_t horizon = 0;
    if (!read_number(item, &horizon) || horizon < 0 || horizon > UINT32_MAX) return false;
    event->horizon = static_cast<EventId>(horizon);
  }
  return true;
}

bool read_members(const cJSON* root, Event* event, TextOut out) {
  if (!cJSON_IsObject(root)) return false;
  for (const cJSON* item = root->child; item != nullptr; item = item->next)
    if (!read_member(*item, event, &out)) return false;
  return true;
}

bool has_what_it_needs(const Event& event) {
  if (event.kind == EventKind::kEnded) return event.end != EndKind::kNone;
  return !needs_name(event.kind) || !event.name.empty();
}

}  // namespace

Status encode_meta(const Event& event, char* out, std::size_t capacity, std::size_t* size) {
  MetaWriter writer;
  writer.add_text("name", event.name);
  const bool is_of_instance = event.kind == EventKind::kChild ||
                              event.kind == EventKind::kDetached ||
                              event.kind == EventKind::kStartIfEnded || is_send(event.kind) ||
                              event.kind == EventKind::kValueRead;
  if (is_of_instance) writer.add_text("id", event.session);
  if (!is_of_instance) writer.add_text("session", event.session);
  writer.add_text("policy", event.policy);
  writer.add_text("tag", event.tag);
  writer.add_text("version", event.version);
  writer.add_number("number", event.number);
  writer.add_number("base", static_cast<std::int64_t>(event.base));
  writer.add_number("error", static_cast<std::int64_t>(event.error));
  writer.add_number("end", static_cast<std::int64_t>(event.end));
  writer.add_number("horizon", event.horizon);
  writer.add_hash("hash", event.argument_hash);
  writer.add_hash("path", event.path_hash);
  return writer.print(out, capacity, size);
}

Status decode_meta(std::string_view meta, Event* event, char* text_out, std::size_t capacity) {
  if (!has_json_memory()) return Status::kResourceExhausted;
  if (meta.size() > kMetaBytesMax || !is_safe_json(meta, kNestingMax)) return Status::kCorrupt;
  Event decoded = *event;
  decoded.error = ErrorKind::kNone;
  decoded.end = EndKind::kNone;
  decoded.base = TimerBase::kPawlTime;
  decoded.number = 0;
  decoded.horizon = 0;
  decoded.argument_hash = 0;
  decoded.path_hash = 0;
  decoded.name = decoded.session = decoded.policy = decoded.tag = decoded.version = {};
  const bool whole = read_members(parse_json(meta), &decoded, {text_out, capacity});
  if (!whole || !has_what_it_needs(decoded)) return Status::kCorrupt;
  *event = decoded;
  return Status::kOk;
}

}  // namespace pawl
