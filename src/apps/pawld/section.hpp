// Section: one object of the configuration, read member by member, with errors that a tired reader
// can act on.
//
// Purpose: every error says where (line, column, path), what is wrong and what was expected. A
// member that no reader asked for is an error, which names the member that was probably meant. All
// errors are collected, so that one look mends them all. Ownership: the document, its text and the
// Problems outlive the Section. Thread rule: none. Units: durations in ms, sizes in bytes.
#ifndef PAWL_APPS_PAWLD_SECTION_HPP
#define PAWL_APPS_PAWLD_SECTION_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/pawld/json_document.hpp"

namespace pawld {

class Problems {
 public:
  static constexpr std::size_t kMost = 50;
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(JsonPosition at, std::string_view path, std::string_view what);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string file_;
  std::vector<std::string> lines_;
};

// ", did you mean \"x\"?" for the nearest of the names, or nothing.
[[nodiscard]] std::string suggestion(std::string_view wrong, const std::vector<std::string>& names);

// A text for a message: in quotes, and cut. Problems escapes characters that a terminal obeys.
[[nodiscard]] std::string quoted(std::string_view text);

class Section {
 public:
  using Id = JsonDocument::Id;
  // A value that is no object is a problem, and reads as an empty object.
  Section(const JsonDocument& document, Id object, std::string path, Problems& problems);

  [[nodiscard]] std::optional<Id> find(const char* name);
  [[nodiscard]] bool has(const char* name) { return find(name).has_value(); }
  // An absent or wrong member leaves *out unchanged; a wrong one is a problem.
  void read(const char* name, std::string* out);
  void read(const char* name, bool* out);
  void read_number(const char* name, std::int64_t least, std::int64_t most, std::int64_t* out);
  void read_decimal(const char* name, std::optional<double>* out);
  void read_duration(const char* name, std::int64_t least_ms, std::int64_t most_ms,
                     std::int64_t* out_ms);
  void read_size(const char* name, std::int64_t least, std::int64_t most, std::int64_t* out);
  // Reads one of the names; *out is its index among them.
  void read_choice(const char* name, const std::vector<std::string>& names, std::size_t* out);
  // The members of an object or the elements of an array, at most `most`; empty: absent or wrong.
  [[nodiscard]] std::vector<Id> members(const char* name, std::size_t most);
  [[nodiscard]] std::vector<Id> elements(const char* name, std::size_t most);
  // Returns false, with a problem, if the member is absent.
  bool require(const char* name, const char* what);

  void problem(const char* name, std::string_view what);
  void problem_at(Id value, std::string_view path, std::string_view what);
  // Call last: a member that was not asked for is a problem.
  void finish();

  [[nodiscard]] std::string path_of(std::string_view name) const;
  [[nodiscard]] const JsonDocument& document() const { return document_; }
  [[nodiscard]] Problems& problems() { return problems_; }
  [[nodiscard]] Id object() const { return object_; }

 private:
  [[nodiscard]] bool is_a(Id value, JsonType type, const char* name, const char* example);
  [[nodiscard]] std::optional<std::string> find_text(const char* name, const char* example);
  [[nodiscard]] std::vector<Id> children(const char* name, std::size_t most, JsonType type,
                                         const char* what);

  const JsonDocument& document_;
  Id object_;
  bool is_object_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string> asked_;
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_SECTION_HPP
