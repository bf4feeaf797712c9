# The engine on PostgreSQL as a static library beside Pawl's: docs/install.md. There is no shared one, since it calls what
# libpawl.so hides. A program without it needs no libpq.

add_library(pawl_postgres_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:pawl_postgres> $<TARGET_OBJECTS:pawl_fleet_rules>)
pawl_describe_library(pawl_postgres_static pawl_postgres)
target_link_libraries(pawl_postgres_static INTERFACE
  pawl_static $<BUILD_INTERFACE:${PAWL_LIBPQ_LIBRARY}> $<INSTALL_INTERFACE:pawl::pq>)

if(NOT PAWL_INSTALL)
  return()
endif()

install(TARGETS pawl_postgres_static EXPORT PawlPostgresStatic
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT postgres_dev)
install(EXPORT PawlPostgresStatic NAMESPACE pawl:: DESTINATION ${pawl_cmake_dir} COMPONENT postgres_dev)
set_target_properties(pawl_postgres_static PROPERTIES EXCLUDE_FROM_ALL OFF)

install(FILES include/pawl/postgres.hpp include/pawl/pawl_postgres.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pawl COMPONENT postgres_dev)
configure_file(packaging/pawl-postgres.pc.in ${PROJECT_BINARY_DIR}/package/pawl-postgres.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/pawl-postgres.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT postgres_dev)
