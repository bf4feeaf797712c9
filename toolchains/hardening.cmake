# PAWL_HARDENING: what a shipped program has against a defect that somebody uses.
#
# For the targets of this folder and those below only: flags of a folder are no part of a library's usage, so a program
# that embeds Pawl is compiled and linked as it says itself, and a hardened archive links into any program: what it
# refers to (__stack_chk_fail, __memcpy_chk) is the C library's.

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)

# pawl_harden(FLAG...): those that the compiler has, for this target machine.
macro(pawl_harden)
  foreach(flag IN ITEMS ${ARGN})
    string(MAKE_C_IDENTIFIER "PAWL_HAS${flag}" has)
    check_cxx_compiler_flag(${flag} ${has})
    if(${has})
      add_compile_options(${flag})
    endif()
  endforeach()
endmacro()

# "plain" checks the frames that have an array of characters, and leaves out those that only hand on the address of a variable,
# and the pages that a large frame touches: an eighth of the text of a small program.
if(PAWL_STACK_PROTECTOR STREQUAL "strong")
  pawl_harden(-fstack-protector-strong -fstack-clash-protection)
elseif(PAWL_STACK_PROTECTOR STREQUAL "plain")
  pawl_harden(-fstack-protector)
else()
  message(FATAL_ERROR "PAWL_STACK_PROTECTOR is \"${PAWL_STACK_PROTECTOR}\"; it has to be strong or plain")
endif()
add_compile_options(-Wformat=2 -Wformat-security -Werror=format-security)

# Level 3 also knows sizes that are known at run time only. Without optimisation there is none, and glibc warns.
set(pawl_fortify 2)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
   (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12))
  set(pawl_fortify 3)
endif()
add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
                    $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=${pawl_fortify}>)

string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack")
if(CMAKE_CROSSCOMPILING)
  # The toolchain file says how programs are linked; see docs/porting/cross-compiling.md for why armhf has no random addresses.
elseif(PAWL_STATIC)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -static-pie")
  # Addresses to be mended at the start take 90 KiB of a small program, packed 1 KiB. It is the C library in the program
  # itself that must know the packed form.
  set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
  check_cxx_source_compiles("
    #include <features.h>
    #if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 36)
    #error does not know them
    #endif
    int main() { return 0; }" PAWL_HAS_PACKED_RELOCATIONS)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(PAWL_HAS_PACKED_RELOCATIONS)
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,-z,pack-relative-relocs")
  endif()
else()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -pie")
endif()
