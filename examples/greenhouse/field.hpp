// The field, in place of hardware: a folder with a file for the soil of each bed, `soil-1` and so
// on, and one for the pump. Whatever is in them can be read and written with a shell.
#ifndef GREENHOUSE_FIELD_HPP
#define GREENHOUSE_FIELD_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace greenhouse {

class Field {
 public:
  explicit Field(std::string folder) : folder_(std::move(folder)) {}

  // False: there is no sensor, or it has no number.
  [[nodiscard]] bool measure(std::int32_t bed, std::int32_t* moisture) const;
  bool moisten(std::int32_t bed, std::int32_t more) const;

  // Locks the pump for as long as this process lives, so that no second one has it, whatever that
  // believes.
  bool lock_pump();
  // "on 3" or "off", in the file `pump`; a line of each change, with who asked, in `pump.log`.
  bool switch_on(std::int32_t bed, std::string_view why) const;
  bool switch_off(std::string_view why) const;

 private:
  bool set_pump(const std::string& state, std::string_view why) const;
  std::string folder_;
};

}  // namespace greenhouse

#endif  // GREENHOUSE_FIELD_HPP
