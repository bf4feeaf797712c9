# Cortex-M33 with a float unit for single precision (STM32U5, LPC55, RP2350, the board mps2-an505 of QEMU), without an operating
# system.
set(CMAKE_SYSTEM_PROCESSOR cortex-m33)
set(pawl_core "-mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M mps2-an505 -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/bare_metal.cmake)
