# 64-bit ARM, all of ARMv8-A (Raspberry Pi 3, i.MX8, ...).
#
# Compiler: g++-aarch64-linux-gnu. Emulator: qemu-user-static. `./setup all` installs both and unpacks the target's
# SQLite to build/packages/arm64. Programs are linked statically, so that one file runs on any image.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_FLAGS_INIT "-ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
# What a program says of an exception that nobody caught brings the text of types' names with it: 28 KB of code. Without the
# last option std::terminate() says it again; with it such a program ends by abort() alone.
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-static -Wl,--gc-sections -Wl,--defsym=_ZN9__gnu_cxx27__verbose_terminate_handlerEv=abort")

# The loader path only matters to a program somebody links dynamically.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

# Headers and libraries come from these roots and never from the machine's own /usr.
get_filename_component(pawl_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_FIND_ROOT_PATH ${pawl_root}/build/packages/arm64 /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
