# cJSON, in the library under names of our own.
#
# Its hooks are process-global, so an application that uses cJSON itself must not share a copy with us. Hidden
# visibility keeps our copy out of the dynamic symbol table, but inside one link a hidden definition in an archive
# still answers the application's own references. Hence every public function also gets a name of ours, by a
# generated header that is force-included in cJSON.c and in the sources of the codec, which go on writing
# `#include <cJSON.h>` and `cJSON_Parse`.
#
# Where it comes from: sources.cmake. In the place of its source an installed libcjson.a will do, whose functions objcopy
# gives the same names. An installed libcjson.so is not taken: nothing can rename what is in it, and our hooks would be
# the application's.

set(PAWL_CJSON_DIR "" CACHE PATH "Folder with cJSON.c and cJSON.h; empty: looked for")
set(PAWL_CJSON_URL https://github.com/DaveGamble/cJSON/archive/refs/tags/v1.7.18.tar.gz CACHE STRING
  "Where PAWL_FETCH gets it")
set(PAWL_CJSON_SHA256 3aa806844a03442c00769b83e99970be70fbef03735ff898f4811dd03b9f5ee5 CACHE STRING "Of that file")
find_path(PAWL_CJSON_INCLUDE cJSON.h PATH_SUFFIXES cjson)
find_library(PAWL_CJSON_LIBRARY libcjson.a)
mark_as_advanced(PAWL_CJSON_URL PAWL_CJSON_SHA256 PAWL_CJSON_INCLUDE PAWL_CJSON_LIBRARY)
set(pawl_cjson_installed "")
if(PAWL_CJSON_INCLUDE AND PAWL_CJSON_LIBRARY AND CMAKE_OBJCOPY)
  set(pawl_cjson_installed ${PAWL_CJSON_INCLUDE})
endif()
pawl_find_source(cJSON FILES cJSON.c cJSON.h INSTALLED "${pawl_cjson_installed}"
  OR "install a static libcjson.a with its header, ")
pawl_rename_functions(pawl_cjson_renaming cjson ${pawl_cjson_dir}/cJSON.h
  "^CJSON_PUBLIC\\([^)]*\\)[ \t]*(cJSON_[A-Za-z0-9_]+)" 60)

add_library(pawl_cjson_names INTERFACE)
target_include_directories(pawl_cjson_names SYSTEM INTERFACE ${pawl_cjson_dir})
target_compile_options(pawl_cjson_names INTERFACE "SHELL:-include ${pawl_cjson_renaming}")
target_compile_definitions(pawl_cjson_names INTERFACE CJSON_HIDE_SYMBOLS)

if(NOT EXISTS ${pawl_cjson_dir}/cJSON.c)
  # All of it as one object, renamed. Its place of the last error is written by every parser of the process and read by
  # nobody here, so that those writes stay costs nothing.
  set(pawl_cjson_object ${PROJECT_BINARY_DIR}/cjson/pawl_cjson.o)
  file(STRINGS ${pawl_cjson_renaming} pawl_cjson_symbols REGEX "^#define")
  list(TRANSFORM pawl_cjson_symbols REPLACE "#define " "")
  list(JOIN pawl_cjson_symbols "\n" pawl_cjson_symbols)
  file(WRITE ${PROJECT_BINARY_DIR}/cjson/symbols.txt "${pawl_cjson_symbols}\n")
  message(STATUS "cJSON for Pawl: ${PAWL_CJSON_LIBRARY}")
  execute_process(
    COMMAND ${CMAKE_LINKER} -r --whole-archive ${PAWL_CJSON_LIBRARY} -o ${pawl_cjson_object}
    RESULT_VARIABLE pawl_cjson_failed)
  if(NOT pawl_cjson_failed)
    execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${PROJECT_BINARY_DIR}/cjson/symbols.txt ${pawl_cjson_object}
      RESULT_VARIABLE pawl_cjson_failed)
  endif()
  if(pawl_cjson_failed)
    message(FATAL_ERROR "${PAWL_CJSON_LIBRARY} cannot be renamed; set PAWL_CJSON_DIR to a folder with the sources of cJSON")
  endif()
  set_property(GLOBAL PROPERTY pawl_cjson_objects ${pawl_cjson_object})
else()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pawl_cjson_dir}/cJSON.c)

  # Its parser keeps the place of the last error in one variable for all threads, and resets it at every call: two
  # runtimes on two threads would write it at the same time. Nobody here asks for that place, so the writes go.
  set(pawl_cjson_source ${PROJECT_BINARY_DIR}/cjson/pawl_cjson.c)
  file(READ ${pawl_cjson_dir}/cJSON.c pawl_cjson_text)
  string(REGEX REPLACE "global_error(\\.[a-z]+)? = [A-Za-z0-9_]+;" "" pawl_cjson_text "${pawl_cjson_text}")
  string(REGEX MATCHALL "global_error" pawl_cjson_uses "${pawl_cjson_text}")
  list(LENGTH pawl_cjson_uses pawl_cjson_count)
  if(NOT pawl_cjson_count EQUAL 3)  # its definition, and the two reads of cJSON_GetErrorPtr()
    message(FATAL_ERROR "${pawl_cjson_dir}/cJSON.c: ${pawl_cjson_count} uses of global_error are left, not 3")
  endif()
  file(GENERATE OUTPUT ${pawl_cjson_source} CONTENT "${pawl_cjson_text}")

  add_library(pawl_cjson OBJECT ${pawl_cjson_source})
  target_link_libraries(pawl_cjson PRIVATE pawl_cjson_names)
  target_compile_options(pawl_cjson PRIVATE -w)
  set_target_properties(pawl_cjson PROPERTIES C_VISIBILITY_PRESET hidden)
  if(NOT PAWL_BARE_METAL AND NOT PAWL_FIXED_ADDRESS)
    set_target_properties(pawl_cjson PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  set_property(GLOBAL PROPERTY pawl_cjson_objects $<TARGET_OBJECTS:pawl_cjson>)
endif()
get_property(pawl_cjson_objects GLOBAL PROPERTY pawl_cjson_objects)
