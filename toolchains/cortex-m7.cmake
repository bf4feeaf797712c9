# Cortex-M7 with a float unit for doubles (STM32H7, i.MX RT, the board mps2-an500 of QEMU), without an operating system.
set(CMAKE_SYSTEM_PROCESSOR cortex-m7)
set(pawl_core "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M mps2-an500 -kernel)
include(${CMAKE_CURRENT_LIST_DIR}/bare_metal.cmake)
