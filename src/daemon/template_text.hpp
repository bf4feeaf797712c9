// Templates: JSON in whose texts stand placeholders, as {"bed": "{input.bed}"}.
//
// Purpose: how a step's input is made from the instance's input and earlier results, and a session's
// name from an activity's input. A text that is one placeholder becomes the value, of whatever type;
// in a longer text the value is written out. `{{` and `}}` are braces. Pure functions, so what runs
// again gives the same. Ownership: all values are copies. Thread rule: none.
#ifndef PAWL_DAEMON_TEMPLATE_TEXT_HPP
#define PAWL_DAEMON_TEMPLATE_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawld {

// The values that placeholders may name, as JSON, and the most bytes that a template becomes with
// them: a value of one payload may stand in a template a thousand times.
class Scope {
 public:
  explicit Scope(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
  // A path begins with this name: "input", "steps.soil". The empty name is the value whose members
  // are named without a root, as in "{bed}".
  void set(std::string name, std::string json);
  // Looks up "input.beds.0.name". Returns whether it is there; if not, `why` says what is missing.
  [[nodiscard]] bool find(std::string_view path, std::string* json, std::string* why) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
  std::size_t bytes_max_;
};

// JSON stays as it is, anything else becomes a JSON text: how results and inputs are read.
[[nodiscard]] std::string as_json(std::string_view bytes);
// A JSON text without its quotes; anything else as it is.
[[nodiscard]] std::string plain_text(std::string_view json);

// Returns whether all placeholders have a value and the whole is no longer than the scope allows; if
// not, `why` names the placeholder or the bound.
[[nodiscard]] bool render_json(std::string_view json, const Scope& scope, std::string* out,
                               std::string* why);
// The same of a text that is no JSON.
[[nodiscard]] bool render_text(std::string_view text, const Scope& scope, std::string* out,
                               std::string* why);

// The paths of all placeholders; false: `why` says what is wrong with the braces.
[[nodiscard]] bool paths_of_json(std::string_view json, std::vector<std::string>* paths,
                                 std::string* why);
[[nodiscard]] bool paths_of_text(std::string_view text, std::vector<std::string>* paths,
                                 std::string* why);

}  // namespace pawld

#endif  // PAWL_DAEMON_TEMPLATE_TEXT_HPP
