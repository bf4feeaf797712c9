// Templates: JSON with placeholders in its texts, such as {"bed": "{input.bed}"}.
//
// Purpose: a step's input is made from the instance's input and earlier results, and a session's
// name from an activity's input. A text that is one placeholder becomes the value, of any type; in
// a longer text the value is written out. `{{` and `}}` are braces. Pure functions, so a replay
// gets the same result. Ownership: all values are copies. Thread rule: none.
#ifndef PAWL_APPS_PAWLD_TEMPLATE_TEXT_HPP
#define PAWL_APPS_PAWLD_TEMPLATE_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawld {

// The values that placeholders may name, as JSON, and the limit of a rendered template in bytes.
// The limit is needed because one template may name a payload's value a thousand times.
class Scope {
 public:
  explicit Scope(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
  // Adds a value for paths that begin with this name: "input", "steps.soil". With the empty name
  // the value's members are named without a root, as in "{bed}".
  void set(std::string name, std::string json);
  // Looks up "input.beds.0.name". Returns whether it exists; if not, `why` says what is missing.
  [[nodiscard]] bool find(std::string_view path, std::string* json, std::string* why) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::size_t bytes_max_;
};

// JSON stays as it is, anything else becomes a JSON text. Results and inputs are read this way.
[[nodiscard]] std::string as_json(std::string_view bytes);
// A JSON text without its quotes; anything else unchanged.
[[nodiscard]] std::string plain_text(std::string_view json);

// Returns whether all placeholders have a value and the result is within the scope's limit; if not,
// `why` names the placeholder or the limit.
[[nodiscard]] bool render_json(std::string_view json, const Scope& scope, std::string* out,
                               std::string* why);
// The same for a text that is no JSON.
[[nodiscard]] bool render_text(std::string_view text, const Scope& scope, std::string* out,
                               std::string* why);

// The paths of all placeholders; false: `why` says what is wrong with the braces.
[[nodiscard]] bool paths_of_json(std::string_view json, std::vector<std::string>* paths,
                                 std::string* why);
[[nodiscard]] bool paths_of_text(std::string_view text, std::vector<std::string>* paths,
                                 std::string* why);

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_TEMPLATE_TEXT_HPP
