// The part of PAWL_JSON that knows the place of a field, and the writer.
#include "pawl/json.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "codec/json_tree.hpp"
#include "core/text.hpp"
#include "pawl/json_out.hpp"

namespace pawl::internal {

// ---- places ----

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

// ---- writing ----

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

// Writes the shortest text that reads back as the same double.
bool JsonWriter::put_double(double number) {
  if (!std::isfinite(number))
    return fail(Status::kInvalidArgument, "is no finite number, which JSON cannot express");
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  return put({text, static_cast<std::size_t>(end - text)});
}

// Writes the shortest text that reads back as the same float; that of the equal double may be
// longer.
bool JsonWriter::put_float(float number) {
  if (!std::isfinite(number)) return put_double(static_cast<double>(number));
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
  return put({text, static_cast<std::size_t>(end - text)});
}

bool JsonWriter::put_quoted(std::string_view text) { return put("\"") && put(text) && put("\""); }

bool JsonWriter::put_text(std::string_view text) {
  class Pieces final : public TextSink {
   public:
    explicit Pieces(JsonWriter& out) : out_(out) {}
    bool write(std::string_view piece) noexcept override { return out_.put(piece); }

   private:
    JsonWriter& out_;
  };
  Pieces pieces(*this);
  return write_json_text(text, pieces);
}

}  // namespace pawl::internal
