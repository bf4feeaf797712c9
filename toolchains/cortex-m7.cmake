# Cortex-M7 with a float unit for doubles (STM32H7, i.MX RT, the board mps2-an500 of QEMU), without an operating system.
#
# Compiler: gcc-arm-none-eabi with newlib; of libstdc++ its headers alone (docs/porting/bare-metal.md). Emulator:
# qemu-system-arm. `./setup all` installs all of it, and puts the sources of SQLite, cJSON and libmd into build/packages.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m7)

set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_C_FLAGS_INIT
  "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard -ffunction-sections -fdata-sections -fno-common")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -fno-threadsafe-statics -fno-use-cxa-atexit")
# There is no program yet that could be linked: startup and memory map are the port's.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
