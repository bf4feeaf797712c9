// The field, in place of hardware: a folder with a file for the soil of each bed, `soil-1` and so
// on, and one for the pump. All of them can be read and written with a shell.
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

  // False: the bed has no sensor, or its file holds no number.
  [[nodiscard]] bool measure(std::int32_t bed, std::int32_t* moisture) const;
  bool moisten(std::int32_t bed, std::int32_t more) const;

  // Locks the pump for as long as this process lives. No second process can have it, whatever that
  // process believes.
  bool lock_pump();
  // Write "on 3" or "off" to the file `pump`, and a line with the cause `why` to `pump.log`.
  bool switch_on(std::int32_t bed, std::string_view why) const;
  bool switch_off(std::string_view why) const;

 private:
  bool set_pump(const std::string& state, std::string_view why) const;
  std::string folder_;
};

}  // namespace greenhouse

#endif  // GREENHOUSE_FIELD_HPP
