# Boards besides those of toolchains/armhf.cmake and toolchains/arm64.cmake: docs/boards.md has the table.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=toolchains/boards.cmake -DPAWL_BOARD=armv6 ...    armv6, i386, powerpc or riscv64
#
# `./setup boards` installs the compilers and emulators, and puts the target's SQLite into build/packages. Programs are linked
# statically, so that one file runs on any image.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAWL_BOARD)

# pawl_board(NAME TRIPLET PROCESSOR PACKAGES EMULATOR FLAGS): PACKAGES is a folder of build/packages.
macro(pawl_board name triplet processor packages emulator flags)
  if(PAWL_BOARD STREQUAL "${name}")
    set(pawl_triplet ${triplet})
    set(CMAKE_SYSTEM_PROCESSOR ${processor})
    set(pawl_packages ${packages})
    set(pawl_emulator ${emulator})
    set(pawl_flags "${flags}")
  endif()
endmacro()

# The processor of a Pi Zero, without its float unit: Debian's compiler with it makes code for ARMv7 only. No atomics of 64
# bits, none of 8.
pawl_board(armv6 arm-linux-gnueabi armv6l armel "qemu-arm-static;-cpu;arm1176" "-march=armv6 -mfloat-abi=soft -marm")
# All since the Pentium Pro; Debian's libraries have another name than its compiler. A double has more than its 64 bits here while it is computed.
pawl_board(i386 i686-linux-gnu i686 i386 "qemu-i386-static" "-march=i686")
# Big-endian, with 32 bits, and without atomics of 64.
pawl_board(powerpc powerpc-linux-gnu ppc powerpc "qemu-ppc-static" "")
# No atomics of 8 bits that exchange.
pawl_board(riscv64 riscv64-linux-gnu riscv64 riscv64 "qemu-riscv64-static" "")
if(NOT pawl_triplet)
  message(FATAL_ERROR "PAWL_BOARD is \"${PAWL_BOARD}\"; it has to be armv6, i386, powerpc or riscv64")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_LIBRARY_ARCHITECTURE ${pawl_triplet})
if(PAWL_BOARD STREQUAL "i386")
  set(CMAKE_LIBRARY_ARCHITECTURE i386-linux-gnu)
endif()
set(CMAKE_C_COMPILER ${pawl_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${pawl_triplet}-g++)
set(CMAKE_C_FLAGS_INIT "${pawl_flags} -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
# What a program says of an exception that nobody caught brings the text of types' names with it: 28 KB of code. Without the
# last option std::terminate() says it again; with it such a program ends by abort() alone.
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-static -Wl,--gc-sections -Wl,--defsym=_ZN9__gnu_cxx27__verbose_terminate_handlerEv=abort")

# The loader path only matters to a program somebody links dynamically.
set(CMAKE_CROSSCOMPILING_EMULATOR ${pawl_emulator} -L /usr/${pawl_triplet})
# A 64-bit kernel for x86 runs these programs itself. QEMU 7.2 gives a thread that comes back from a signal handler the
# variables of another thread (it has one table of segments for all), so its emulation is for other machines only.
if(PAWL_BOARD STREQUAL "i386" AND CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(CMAKE_CROSSCOMPILING_EMULATOR env)
endif()

# Headers and libraries come from these roots and never from the machine's own /usr.
get_filename_component(pawl_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_FIND_ROOT_PATH ${pawl_root}/build/packages/${pawl_packages} /usr/${pawl_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
