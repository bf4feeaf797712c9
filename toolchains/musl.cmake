# musl for a C library, as in Alpine and OpenWrt. Programs are linked statically.
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=toolchains/musl.cmake [-DPAWL_BOARD=mipsel-musl] ...
#
# For 64-bit x86, where programs run on the building machine without an emulator, or for MIPS without a float unit, as OpenWrt's
# mipsel_24kc is. Debian has musl for the building machine, and no C++ library for it: `./setup boards` compiles what is missing from
# Debian's sources, to build/packages/musl and build/packages/mipsel-musl.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PAWL_BOARD)
set(CMAKE_SYSTEM_NAME Linux)

get_filename_component(pawl_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
if(PAWL_BOARD STREQUAL "mipsel-musl")
  set(CMAKE_SYSTEM_PROCESSOR mips)
  set(pawl_sysroot ${pawl_root}/build/packages/mipsel-musl)
  set(pawl_triplet mipsel-linux-musl)
  set(CMAKE_C_COMPILER mipsel-linux-gnu-gcc)
  set(CMAKE_CXX_COMPILER mipsel-linux-gnu-g++)
  # The compiler is one for glibc and for a float unit. It takes all that begins and ends a program, and its own library, from where
  # -B says, before it looks at its own. A file of specs would do so too, but has absolute paths of one clone in it.
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include
    OUTPUT_VARIABLE pawl_compiler_headers OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(pawl_musl "-march=24kc -msoft-float -nostdinc -B${pawl_sysroot}/usr/lib/${pawl_triplet}")
  set(pawl_c_headers "-isystem ${pawl_sysroot}/usr/include/${pawl_triplet} -isystem ${pawl_compiler_headers}")
  # The linker warns of a part that has float instructions.
  set(pawl_musl_link "-Wl,--fatal-warnings")
  # A processor without a float unit: it ends a program at the first float instruction. It has no atomics of 64 bits.
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-mipsel-static -cpu 24Kc)
elseif(NOT PAWL_BOARD)
  set(CMAKE_SYSTEM_PROCESSOR x86_64)
  set(pawl_sysroot ${pawl_root}/build/packages/musl)
  set(pawl_triplet x86_64-linux-musl)
  set(CMAKE_C_COMPILER gcc)
  set(CMAKE_CXX_COMPILER g++)
  set(pawl_musl "-specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs")
  # The compiler's unwinder asks glibc for its tables. What is built here throws nothing, so it is never asked.
  set(pawl_musl_link "-Wl,--defsym=_dl_find_object=abort")
  # The machine is the same; CMake is told that it is not, so that nothing for glibc is found.
  set(CMAKE_CROSSCOMPILING_EMULATOR env)
else()
  message(FATAL_ERROR "PAWL_BOARD is \"${PAWL_BOARD}\"; it has to be mipsel-musl, or nothing for 64-bit x86")
endif()

# The kernel's headers are in the sysroot, since those of glibc lie beside them in /usr/include. Those of C have a folder of their
# own, behind those of C++, whose #include_next looks for them there: beside SQLite's header they would come first wherever CMake adds
# its folder, which it does behind ccache, where it does not see that the compiler has it already.
set(pawl_all_headers "-isystem ${pawl_sysroot}/usr/include ${pawl_c_headers}")
set(CMAKE_C_FLAGS_INIT "${pawl_musl} ${pawl_all_headers} -ffunction-sections -fdata-sections")
# In a static program a weak reference to a function of threads stays null.
set(CMAKE_CXX_FLAGS_INIT "${pawl_musl} -nostdinc++ -isystem ${pawl_sysroot}/usr/include/c++")
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${pawl_sysroot}/usr/include/c++/${pawl_triplet}")
string(APPEND CMAKE_CXX_FLAGS_INIT " ${pawl_all_headers} -D_GLIBCXX_GTHREAD_USE_WEAK=0")
string(APPEND CMAKE_CXX_FLAGS_INIT " -ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -no-pie -L${pawl_sysroot}/usr/lib/${pawl_triplet}")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " ${pawl_musl_link} -Wl,--gc-sections")
# As in armhf.cmake.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=_ZN9__gnu_cxx27__verbose_terminate_handlerEv=abort")

set(CMAKE_FIND_ROOT_PATH ${pawl_sysroot})
# CMake takes the triplet of the compiler, which is one for glibc.
set(CMAKE_LIBRARY_PATH ${pawl_sysroot}/usr/lib/${pawl_triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
