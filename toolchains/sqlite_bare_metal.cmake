# pawl_sqlite3 for a machine without an operating system: Debian's source as one file, which ./setup puts into
# build/packages/sqlite, without threads, without a VFS of its own, and without what needs files or a local time.
set(PAWL_SQLITE_SOURCE ${PROJECT_SOURCE_DIR}/build/packages/sqlite CACHE PATH "Folder with sqlite3.c and sqlite3.h")
if(NOT EXISTS ${PAWL_SQLITE_SOURCE}/sqlite3.c OR NOT EXISTS ${PAWL_SQLITE_SOURCE}/sqlite3.h)
  message(FATAL_ERROR "No sqlite3.c and sqlite3.h in ${PAWL_SQLITE_SOURCE}: run `./setup test`, or set PAWL_SQLITE_SOURCE")
endif()
add_library(pawl_sqlite3 STATIC ${PAWL_SQLITE_SOURCE}/sqlite3.c)
target_include_directories(pawl_sqlite3 SYSTEM PUBLIC ${PAWL_SQLITE_SOURCE})
target_compile_options(pawl_sqlite3 PRIVATE -w)
# It calls sqlite3_os_init() of src/store.
target_link_libraries(pawl_sqlite3 INTERFACE $<LINK_ONLY:pawl_store>)
target_compile_definitions(pawl_sqlite3 PRIVATE
  SQLITE_OS_OTHER=1
  SQLITE_THREADSAFE=0
  SQLITE_ZERO_MALLOC=1
  SQLITE_TEMP_STORE=3
  SQLITE_MAX_MMAP_SIZE=0
  SQLITE_DQS=0
  SQLITE_DEFAULT_MEMSTATUS=0
  SQLITE_LIKE_DOESNT_MATCH_BLOBS
  SQLITE_MAX_EXPR_DEPTH=0
  SQLITE_OMIT_AUTHORIZATION
  SQLITE_OMIT_DECLTYPE
  SQLITE_OMIT_DEPRECATED
  SQLITE_OMIT_GET_TABLE
  SQLITE_OMIT_INCRBLOB
  SQLITE_OMIT_JSON
  SQLITE_OMIT_LOAD_EXTENSION
  SQLITE_OMIT_LOCALTIME
  SQLITE_OMIT_SHARED_CACHE
  SQLITE_OMIT_TCL_VARIABLE
  SQLITE_OMIT_TRACE
  SQLITE_OMIT_UTF16
  SQLITE_UNTESTABLE)
