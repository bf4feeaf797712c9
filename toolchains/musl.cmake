# 64-bit x86 with musl for a C library, as in Alpine and OpenWrt. Programs are linked statically and run on the building
# machine without an emulator.
#
# Debian has musl, and no C++ library for it: `./setup boards` installs musl and compiles libstdc++ and SQLite from Debian's
# sources, to build/packages/musl.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-musl)

get_filename_component(pawl_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(pawl_sysroot ${pawl_root}/build/packages/musl)
set(pawl_specs "-specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs")
set(CMAKE_C_COMPILER gcc)
set(CMAKE_CXX_COMPILER g++)
# The kernel's headers are in the sysroot, since those of glibc lie beside them in /usr/include.
set(CMAKE_C_FLAGS_INIT "${pawl_specs} -isystem ${pawl_sysroot}/usr/include -ffunction-sections -fdata-sections")
# In a static program a weak reference to a function of threads stays null.
set(CMAKE_CXX_FLAGS_INIT "${pawl_specs} -nostdinc++ -isystem ${pawl_sysroot}/usr/include/c++")
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${pawl_sysroot}/usr/include/c++/x86_64-linux-musl")
string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${pawl_sysroot}/usr/include -D_GLIBCXX_GTHREAD_USE_WEAK=0")
string(APPEND CMAKE_CXX_FLAGS_INIT " -ffunction-sections -fdata-sections")
# The compiler's unwinder asks glibc for its tables. What is built here throws nothing, so it is never asked.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -no-pie -L${pawl_sysroot}/usr/lib/x86_64-linux-musl")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=_dl_find_object=abort -Wl,--gc-sections")
# As in armhf.cmake.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=_ZN9__gnu_cxx27__verbose_terminate_handlerEv=abort")

# The machine is the same; CMake is told that it is not, so that nothing for glibc is found.
set(CMAKE_CROSSCOMPILING_EMULATOR env)
set(CMAKE_FIND_ROOT_PATH ${pawl_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
