# What processors without an operating system have in common. A toolchain file of one (cortex-m7.cmake, cortex-m33.cmake,
# riscv32.cmake) includes this at its end, and sets before: CMAKE_SYSTEM_PROCESSOR, pawl_core (the compiler's flags for it), and
# CMAKE_CROSSCOMPILING_EMULATOR (QEMU, its machine and "-kernel"). port/bare_metal/qemu has the board.
#
# `./setup all` installs compilers, C libraries and emulators, and puts the sources of SQLite, cJSON and libmd into build/packages.
set(CMAKE_SYSTEM_NAME Generic)
set(pawl_flags "${pawl_core} -ffunction-sections -fdata-sections -fno-common")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m")
  # newlib, in the small form; it prints and reads fractions, which cJSON needs, where it is asked to. Of libstdc++ the headers
  # alone are installed (docs/porting/bare-metal.md).
  set(CMAKE_C_COMPILER arm-none-eabi-gcc)
  set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
  set(pawl_link_flags "--specs=nano.specs -Wl,-u,_printf_float,-u,_scanf_float")
else()
  # picolibc. Debian has no libstdc++ for this compiler, but it has one for ARM's, of the same version and on newlib, from which
  # picolibc came. Its headers serve here, in the form for no ARM in particular. They come before those of C, which they include, so
  # picolibc.specs is for the linker alone: it would put its own first.
  file(GLOB pawl_library /usr/include/newlib/c++/12.*)
  set(pawl_picolibc "-isystem /usr/lib/picolibc/riscv64-unknown-elf/include -ftls-model=local-exec")
  set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
  set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
  set(pawl_c_flags "${pawl_picolibc}")
  set(pawl_cxx_flags "-isystem ${pawl_library} -isystem ${pawl_library}/arm-none-eabi ${pawl_picolibc}")
  set(pawl_link_flags "--specs=picolibc.specs")
endif()
set(CMAKE_C_FLAGS_INIT "${pawl_flags} ${pawl_c_flags}")
set(CMAKE_CXX_FLAGS_INIT "${pawl_flags} ${pawl_cxx_flags} -fno-threadsafe-statics -fno-use-cxa-atexit")
# Functions that run from memory lie among the variables, and no system would keep the two apart.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostartfiles -Wl,--no-warn-rwx-segments ${pawl_link_flags}")
# There is no program yet that could be linked: startup and memory map are the port's.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
