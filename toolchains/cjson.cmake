# cJSON, compiled in.
#
# Its hooks are process-global, so an application that uses cJSON itself must not share a copy with us. Hidden
# visibility keeps our copy out of the dynamic symbol table, but inside one link a hidden definition in an archive
# still answers the application's own references. Hence every public function also gets a name of ours, by a
# generated header that is force-included in cJSON.c and in the sources of the codec, which go on writing
# `#include <cJSON.h>` and `cJSON_Parse`.

foreach(file IN ITEMS cJSON.c cJSON.h)
  if(NOT EXISTS ${PAWL_CJSON_DIR}/${file})
    message(FATAL_ERROR
      "${file} is not in PAWL_CJSON_DIR (${PAWL_CJSON_DIR}). Run ./setup in ${PROJECT_SOURCE_DIR}, or set "
      "PAWL_CJSON_DIR to a folder with the sources of cJSON.")
  endif()
endforeach()

set(pawl_cjson_rename ${PROJECT_BINARY_DIR}/cjson/pawl_cjson_rename.h)
file(STRINGS ${PAWL_CJSON_DIR}/cJSON.h pawl_cjson_lines REGEX "^CJSON_PUBLIC\\(")
set(pawl_cjson_text "// Generated from cJSON.h.\n#pragma once\n")
set(pawl_cjson_count 0)
foreach(line IN LISTS pawl_cjson_lines)
  if(line MATCHES "^CJSON_PUBLIC\\([^)]*\\)[ \t]*(cJSON_[A-Za-z0-9_]+)")
    string(APPEND pawl_cjson_text "#define ${CMAKE_MATCH_1} pawl_${CMAKE_MATCH_1}\n")
    math(EXPR pawl_cjson_count "${pawl_cjson_count} + 1")
  endif()
endforeach()
if(pawl_cjson_count LESS 60)
  message(FATAL_ERROR "Only ${pawl_cjson_count} functions found in ${PAWL_CJSON_DIR}/cJSON.h")
endif()
file(CONFIGURE OUTPUT ${pawl_cjson_rename} CONTENT "${pawl_cjson_text}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PAWL_CJSON_DIR}/cJSON.h ${PAWL_CJSON_DIR}/cJSON.c)

# Its parser keeps the place of the last error in one variable for all threads, and resets it at every call: two
# runtimes on two threads would write it at the same time. Nobody here asks for that place, so the writes go.
set(pawl_cjson_source ${PROJECT_BINARY_DIR}/cjson/pawl_cjson.c)
file(READ ${PAWL_CJSON_DIR}/cJSON.c pawl_cjson_text)
string(REGEX REPLACE "global_error(\\.[a-z]+)? = [A-Za-z0-9_]+;" "" pawl_cjson_text "${pawl_cjson_text}")
string(REGEX MATCHALL "global_error" pawl_cjson_uses "${pawl_cjson_text}")
list(LENGTH pawl_cjson_uses pawl_cjson_count)
if(NOT pawl_cjson_count EQUAL 3)  # its definition, and the two reads of cJSON_GetErrorPtr()
  message(FATAL_ERROR "${PAWL_CJSON_DIR}/cJSON.c: ${pawl_cjson_count} uses of global_error are left, not 3")
endif()
file(GENERATE OUTPUT ${pawl_cjson_source} CONTENT "${pawl_cjson_text}")

add_library(pawl_cjson_names INTERFACE)
target_include_directories(pawl_cjson_names SYSTEM INTERFACE ${PAWL_CJSON_DIR})
target_compile_options(pawl_cjson_names INTERFACE "SHELL:-include ${pawl_cjson_rename}")
target_compile_definitions(pawl_cjson_names INTERFACE CJSON_HIDE_SYMBOLS)

add_library(pawl_cjson OBJECT ${pawl_cjson_source})
target_link_libraries(pawl_cjson PRIVATE pawl_cjson_names)
target_compile_options(pawl_cjson PRIVATE -w)
set_target_properties(pawl_cjson PROPERTIES
  C_VISIBILITY_PRESET hidden
  POSITION_INDEPENDENT_CODE ON)
