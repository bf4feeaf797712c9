// Devices: the devices that the application declared for this worker.
//
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_DEVICES_HPP
#define PAWL_RUNTIME_DEVICES_HPP

#include "core/text.hpp"
#include "core/vector.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/requests.hpp"

namespace pawl {

class Devices {
 public:
  struct Declared {
    FixedText<kNameBytesMax> name;
    bool standby = false;
    bool withdrawing = false;  // known to this worker
  };
  struct Memory {
    Vector<Declared> declared;
    template <typename AnyArena>
    Status allocate(AnyArena& arena, const Options& options) {
      return declared.allocate(arena, options.limits.devices_max);
    }
  };

  Devices(LoopContext& loop, Memory& memory) : loop_(loop), declared_(memory.declared) {}

  // In the batch: writes a declaration. `room` becomes false if there are too many.
  Status declare_session(const Request& request, bool* room);
  // In the batch: writes a withdrawal.
  Status withdraw_session(const Request& request);
  // In the batch of a new registration, before the former one is buried: declares the devices
  // again, because the hardware is still here. A device that another worker took over meanwhile
  // stays with it.
  Status declare_again();
  // In the batch: moves sessions that fetching would not move.
  Status move_sessions();
  // After the commit: remembers the declarations that a new registration must repeat.
  void declared(const Request& request);
  void withdrawn(const Request& request);
  void committed();

 private:
  Status declare(std::string_view device, bool standby);
  void plan_again();
  [[nodiscard]] Declared* find(std::string_view name);

  LoopContext& loop_;
  Vector<Declared>& declared_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_DEVICES_HPP
