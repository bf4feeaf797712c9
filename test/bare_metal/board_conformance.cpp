// The conformance suite of ports on the board: the same cases as in port_bare_metal_test, each on
// an empty flash.
#include <memory>
#include <vector>

#include "pawl/pawl.hpp"
#include "port/bare_metal/bare_metal_port.hpp"
#include "port/bare_metal/qemu/board.hpp"
#include "port/bare_metal/qemu/file_flash.hpp"
#include "port/bare_metal/qemu/semihosting.hpp"

namespace pawl::port_test {
namespace {

qemu::EmulatedBoard board;
qemu::FileFlash flash;

class ConformanceHost {
 public:
  ConformanceHost() : memory_(bytes() / sizeof(std::uint64_t) + 1) {
    for (std::uint32_t block = 0; block < qemu::FileFlash::kBlockCount; ++block)
      if (flash.erase(block) != Status::kOk) qemu::end(1);
    Diagnostic why;
    const Status status = machine_.start(board, flash, layout(), memory_.data(),
                                         memory_.size() * sizeof(std::uint64_t), why);
    if (status == Status::kOk) return;
    qemu::say("machine: %.*s", PAWL_TEXT(why.text()));
    qemu::end(1);
  }
  const char* root() { return nullptr; }
  const char* database() { return "pawl.db"; }
  port::Port add() {
    ports_.push_back(std::make_unique<bare_metal::BareMetalPort>(machine_));
    return ports_.back()->port();
  }

 private:
  static bare_metal::Layout layout() {
    bare_metal::Layout layout;
    layout.log_sectors = 300;  // two pieces of the log's index
    return layout;
  }
  static std::size_t bytes() {
    return bare_metal::Machine::required_memory(flash.geometry(), layout(), 3);
  }
  std::vector<std::uint64_t> memory_;
  bare_metal::Machine machine_;
  std::vector<std::unique_ptr<bare_metal::BareMetalPort>> ports_;
};

}  // namespace
}  // namespace pawl::port_test

#include "port_conformance.hpp"

int main() {
  using testing::Case;
  using namespace pawl::port_test;
  board.start();
  if (!flash.start("flash.bin")) return 1;
  unsigned failed = 0;
  unsigned skipped = 0;
  unsigned passed = 0;
  for (const Case* one = Case::first; one != nullptr; one = one->next) {
    Case::failures = 0;
    Case::is_skipped = false;
    one->run();
    const char* const result =
        Case::failures > 0 ? "FAILED" : (Case::is_skipped ? "skipped" : "passed");
    ++(Case::failures > 0 ? failed : (Case::is_skipped ? skipped : passed));
    pawl::qemu::say("%s: %s", one->name, result);
  }
  pawl::qemu::say("flash: %lu operations; %u passed, %u skipped, %u failed",
                  static_cast<unsigned long>(flash.operations()), passed, skipped, failed);
  const bool conforms = failed == 0 && passed > 0;
  if (conforms) pawl::qemu::say("conformance: the port conforms");
  return pawl::qemu::report_stack() && conforms ? 0 : 1;
}
