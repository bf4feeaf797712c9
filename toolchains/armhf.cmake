# 32-bit ARM with hard float, Cortex-A7 and later (Raspberry Pi 2, STM32MP1, i.MX6ULL, ...).
#
# Compiler: g++-arm-linux-gnueabihf. Emulator: qemu-user-static. `./setup all` installs both and unpacks the target's
# SQLite to build/packages/armhf. Programs are linked statically, so that one file runs on any image.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(CMAKE_LIBRARY_ARCHITECTURE arm-linux-gnueabihf)

set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)
set(CMAKE_CXX_COMPILER arm-linux-gnueabihf-g++)
set(CMAKE_C_FLAGS_INIT
  "-mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard -mthumb -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
# What a program says of an exception that nobody caught brings the text of types' names with it: 28 KB of code. Without the
# last option std::terminate() says it again; with it such a program ends by abort() alone.
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-static -Wl,--gc-sections -Wl,--defsym=_ZN9__gnu_cxx27__verbose_terminate_handlerEv=abort")

# The loader path only matters to a program somebody links dynamically.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm-static -cpu cortex-a7 -L /usr/arm-linux-gnueabihf)

# Headers and libraries come from these roots and never from the machine's own /usr.
get_filename_component(pawl_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_FIND_ROOT_PATH ${pawl_root}/build/packages/armhf /usr/arm-linux-gnueabihf)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
