# pawl_sqlite3: the SQLite we link, that of the system or of the roots of the toolchain file. The static library if programs are
# linked statically, as the toolchain files of this folder do; else the shared one, if there is one.
include(${CMAKE_CURRENT_LIST_DIR}/find_sqlite.cmake)
pawl_find_sqlite("${PAWL_STATIC}" pawl_sqlite_missing)
if(pawl_sqlite_missing)
  message(FATAL_ERROR "${pawl_sqlite_missing}. On Debian, ./setup in ${PROJECT_SOURCE_DIR} installs it, and for a cross build "
    "`./setup test`.")
endif()
add_library(pawl_sqlite3 INTERFACE)
target_include_directories(pawl_sqlite3 SYSTEM INTERFACE ${pawl_sqlite_include})
target_link_libraries(pawl_sqlite3 INTERFACE ${pawl_sqlite_libraries})
