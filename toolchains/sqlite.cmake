# pawl_sqlite3: the SQLite we link. Natively that of the system, shared or with PAWL_STATIC static; in a cross build the
# static library in the roots of the toolchain file, since a board's image rarely has the shared one of the version we tested.

add_library(pawl_sqlite3 INTERFACE)
if(CMAKE_CROSSCOMPILING OR PAWL_STATIC)
  find_path(PAWL_SQLITE3_INCLUDE sqlite3.h)
  find_library(PAWL_SQLITE3_LIBRARY NAMES libsqlite3.a)
  if(NOT PAWL_SQLITE3_INCLUDE OR NOT PAWL_SQLITE3_LIBRARY)
    message(FATAL_ERROR
      "No sqlite3.h and libsqlite3.a in ${CMAKE_FIND_ROOT_PATH}. For a cross build run `./setup test` in ${PROJECT_SOURCE_DIR}, or "
      "set PAWL_SQLITE3_INCLUDE and PAWL_SQLITE3_LIBRARY.")
  endif()
  find_package(Threads REQUIRED)
  target_include_directories(pawl_sqlite3 SYSTEM INTERFACE ${PAWL_SQLITE3_INCLUDE})
  target_link_libraries(pawl_sqlite3 INTERFACE
    ${PAWL_SQLITE3_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS} m)
else()
  find_package(SQLite3 3.36 REQUIRED)
  target_link_libraries(pawl_sqlite3 INTERFACE SQLite::SQLite3)
endif()
