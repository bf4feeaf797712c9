# pawl_compact_sqlite: SQLite with what Pawl uses of it and no more, from the source that ./setup makes of Debian's package.
# Without an operating system there is no other SQLite, and toolchains/bare_metal_sqlite.txt says how it uses the system.
set(PAWL_COMPACT_SQLITE_DIR ${PROJECT_SOURCE_DIR}/build/packages/compact-sqlite CACHE PATH
  "Folder with sqlite3.c and sqlite3.h made with the options of toolchains/compact_sqlite.txt")
mark_as_advanced(PAWL_COMPACT_SQLITE_DIR)
if(EXISTS ${PAWL_COMPACT_SQLITE_DIR}/sqlite3.c AND EXISTS ${PAWL_COMPACT_SQLITE_DIR}/sqlite3.h)
  set(pawl_compact_options ${PROJECT_SOURCE_DIR}/toolchains/compact_sqlite.txt)
  file(STRINGS ${pawl_compact_options} pawl_compact_definitions REGEX "^(HAVE|SQLITE)_")
  if(PAWL_BARE_METAL)
    list(FILTER pawl_compact_definitions EXCLUDE REGEX "^(HAVE_|SQLITE_THREADSAFE=)")
    file(STRINGS ${PROJECT_SOURCE_DIR}/toolchains/bare_metal_sqlite.txt pawl_bare_metal_definitions REGEX "^SQLITE_")
    list(APPEND pawl_compact_definitions ${pawl_bare_metal_definitions})
    list(APPEND pawl_compact_options ${PROJECT_SOURCE_DIR}/toolchains/bare_metal_sqlite.txt)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pawl_compact_options})
  add_library(pawl_compact_sqlite STATIC EXCLUDE_FROM_ALL ${PAWL_COMPACT_SQLITE_DIR}/sqlite3.c)
  target_include_directories(pawl_compact_sqlite SYSTEM INTERFACE ${PAWL_COMPACT_SQLITE_DIR})
  target_compile_definitions(pawl_compact_sqlite PRIVATE ${pawl_compact_definitions})
  target_compile_options(pawl_compact_sqlite PRIVATE -w -ffunction-sections -fdata-sections)
  if(PAWL_BARE_METAL)
    # It calls sqlite3_os_init() of src/store, and for CURRENT_TIME, which no statement has, two functions of it in the place of 6 KB
    # of calendar.
    target_compile_definitions(pawl_compact_sqlite PRIVATE gmtime=pawl_sqlite_gmtime strftime=pawl_sqlite_strftime)
    target_link_libraries(pawl_compact_sqlite INTERFACE $<LINK_ONLY:pawl_store>)
  else()
    target_link_libraries(pawl_compact_sqlite PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  endif()
endif()
