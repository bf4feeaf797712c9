# The endpoint as a library beside Pawl's, static and shared: docs/install.md. It is one of its own, with Debian packages of its
# own, so that a program without an endpoint needs no libmicrohttpd.

add_library(pawl_endpoint_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:pawl_endpoint>)
pawl_describe_library(pawl_endpoint_static pawl_endpoint)
target_link_libraries(pawl_endpoint_static INTERFACE
  pawl_static $<BUILD_INTERFACE:${PAWL_MICROHTTPD_LIBRARY}> $<INSTALL_INTERFACE:pawl::microhttpd>)

# It calls what libpawl.so exports and nothing else, which the linker checks here.
if(TARGET pawl_shared)
  set(pawl_endpoint_exports ${PROJECT_BINARY_DIR}/pawl_endpoint_exports.map)
  configure_file(packaging/pawl_endpoint_exports.map.in ${pawl_endpoint_exports} @ONLY)
  add_library(pawl_endpoint_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:pawl_endpoint>)
  pawl_describe_library(pawl_endpoint_shared pawl_endpoint)
  pawl_version_library(pawl_endpoint_shared ${pawl_endpoint_exports})
  target_link_libraries(pawl_endpoint_shared PUBLIC pawl_shared PRIVATE ${PAWL_MICROHTTPD_LIBRARY} Threads::Threads)
endif()

if(NOT PAWL_INSTALL)
  return()
endif()

install(TARGETS pawl_endpoint_static EXPORT PawlEndpointStatic
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT endpoint_dev)
set(pawl_endpoint_libraries pawl_endpoint_static)
set(pawl_endpoint_installed PawlEndpointStatic)
if(TARGET pawl_endpoint_shared)
  install(TARGETS pawl_endpoint_shared EXPORT PawlEndpointShared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT endpoint NAMELINK_COMPONENT endpoint_dev)
  list(APPEND pawl_endpoint_libraries pawl_endpoint_shared)
  list(APPEND pawl_endpoint_installed PawlEndpointShared)
endif()
foreach(export IN LISTS pawl_endpoint_installed)
  install(EXPORT ${export} NAMESPACE pawl:: DESTINATION ${pawl_cmake_dir} COMPONENT endpoint_dev)
endforeach()
set_target_properties(${pawl_endpoint_libraries} PROPERTIES EXCLUDE_FROM_ALL OFF)

install(FILES include/pawl/endpoint.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pawl COMPONENT endpoint_dev)
configure_file(packaging/pawl-endpoint.pc.in ${PROJECT_BINARY_DIR}/package/pawl-endpoint.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/pawl-endpoint.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT endpoint_dev)
