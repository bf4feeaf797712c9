# pawl_compact_sqlite: SQLite with what Pawl uses of it and no more, from the source that ./setup makes of Debian's package.
set(PAWL_COMPACT_SQLITE_DIR ${PROJECT_SOURCE_DIR}/build/packages/compact-sqlite CACHE PATH
  "Folder with sqlite3.c and sqlite3.h made with the options of toolchains/compact_sqlite.txt")
mark_as_advanced(PAWL_COMPACT_SQLITE_DIR)
if(EXISTS ${PAWL_COMPACT_SQLITE_DIR}/sqlite3.c AND EXISTS ${PAWL_COMPACT_SQLITE_DIR}/sqlite3.h)
  set(pawl_compact_options ${PROJECT_SOURCE_DIR}/toolchains/compact_sqlite.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pawl_compact_options})
  file(STRINGS ${pawl_compact_options} pawl_compact_definitions REGEX "^(HAVE|SQLITE)_")
  add_library(pawl_compact_sqlite STATIC EXCLUDE_FROM_ALL ${PAWL_COMPACT_SQLITE_DIR}/sqlite3.c)
  target_include_directories(pawl_compact_sqlite SYSTEM INTERFACE ${PAWL_COMPACT_SQLITE_DIR})
  target_compile_definitions(pawl_compact_sqlite PRIVATE ${pawl_compact_definitions})
  target_compile_options(pawl_compact_sqlite PRIVATE -w -ffunction-sections -fdata-sections)
  target_link_libraries(pawl_compact_sqlite PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
endif()
