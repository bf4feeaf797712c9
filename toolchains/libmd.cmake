# SHA-256 of libmd, in the library under names of our own, which no library shows: a program may use another libmd beside
# it. Where its source comes from: sources.cmake.
#
# An installed libmd or libcrypto would be one more library that every program needs, on boards that have none of them;
# Mbed TLS brings its configuration along for one function.

set(PAWL_LIBMD_DIR "" CACHE PATH "Folder with src/sha2.c and include/sha2.h of libmd; empty: looked for")
set(PAWL_LIBMD_URL https://archive.hadrons.org/software/libmd/libmd-1.0.4.tar.xz CACHE STRING
  "Where PAWL_FETCH gets it")
set(PAWL_LIBMD_SHA256 f51c921042e34beddeded4b75557656559cf5b1f2448033b4c1eec11c07e530f CACHE STRING "Of that file")
mark_as_advanced(PAWL_LIBMD_URL PAWL_LIBMD_SHA256)
pawl_find_source(libmd FILES src/sha2.c include/sha2.h COPYING)
pawl_rename_functions(pawl_libmd_renaming libmd ${pawl_libmd_dir}/include/sha2.h
  "^[a-z]+ \\*?(SHA[0-9_]+[A-Z][A-Za-z]+)\\(" 20)

# A copy, since beside the original may lie a local-link.h, with second names for functions; sha2.c includes it, and
# config.h. Ours are empty: there is nothing to configure.
set(pawl_libmd_source ${PROJECT_BINARY_DIR}/libmd/pawl_sha2.c)
configure_file(${pawl_libmd_dir}/src/sha2.c ${pawl_libmd_source} COPYONLY)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/libmd/config.h CONTENT "\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/libmd/local-link.h CONTENT "\n")
