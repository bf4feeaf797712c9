# RISC-V with 32 bits, multiplication, atomics and compressed code, and no float unit (ESP32-C6, GD32VF103, the machine virt of QEMU),
# without an operating system.
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(pawl_core "-march=rv32imac -mabi=ilp32")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-riscv32 -M virt -bios none -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/bare_metal.cmake)
