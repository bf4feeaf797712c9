# pawl_sqlite3: the SQLite we link. Without an operating system, or with PAWL_COMPACT_SQLITE, it is compiled here
# (compact_sqlite.cmake). Else that of the system or of the roots of the toolchain file: the static library if programs are linked
# statically, as the toolchain files of this folder do; else the shared one, if there is one.
include(${CMAKE_CURRENT_LIST_DIR}/compact_sqlite.cmake)
if(PAWL_COMPACT_SQLITE OR PAWL_BARE_METAL)
  if(NOT TARGET pawl_compact_sqlite)
    message(FATAL_ERROR "No sqlite3.c in ${PAWL_COMPACT_SQLITE_DIR}: `./setup all` in ${PROJECT_SOURCE_DIR} puts it there")
  endif()
  if(PAWL_INSTALL AND NOT PAWL_BARE_METAL)
    message(FATAL_ERROR "PAWL_COMPACT_SQLITE is for programs of this build: what is installed links the SQLite of its system. "
      "Set PAWL_INSTALL to OFF")
  endif()
  add_library(pawl_sqlite3 INTERFACE)
  target_link_libraries(pawl_sqlite3 INTERFACE pawl_compact_sqlite)
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/find_sqlite.cmake)
pawl_find_sqlite("${PAWL_STATIC}" pawl_sqlite_missing)
if(pawl_sqlite_missing)
  message(FATAL_ERROR "${pawl_sqlite_missing}. On Debian, ./setup in ${PROJECT_SOURCE_DIR} installs it, and for a cross build "
    "`./setup all`.")
endif()
add_library(pawl_sqlite3 INTERFACE)
target_include_directories(pawl_sqlite3 SYSTEM INTERFACE ${pawl_sqlite_include})
target_link_libraries(pawl_sqlite3 INTERFACE ${pawl_sqlite_libraries})
