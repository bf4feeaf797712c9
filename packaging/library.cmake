# One static and one shared library of the objects that the layers are made of, and what installs them: docs/install.md.
#
# Programs of this tree go on linking the layers, which have the same objects: nothing is compiled twice.

set(pawl_library_layers pawl_core pawl_codec pawl_replay pawl_rules pawl_store pawl_runtime pawl_export pawl_host pawl_schedule
  pawl_c_api pawl_replay_check_main pawl_port_posix)
get_property(pawl_library_objects GLOBAL PROPERTY pawl_cjson_objects)
foreach(layer IN LISTS pawl_library_layers)
  list(APPEND pawl_library_objects $<TARGET_OBJECTS:${layer}>)
endforeach()

# pawl_describe_library(name output): how a library of ours is called, and what all that link it get.
function(pawl_describe_library name output)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE CXX EXPORT_NAME ${name})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} INTERFACE cxx_std_17)
  get_target_property(definitions pawl_headers INTERFACE_COMPILE_DEFINITIONS)
  if(definitions)
    target_compile_definitions(${name} INTERFACE ${definitions})
  endif()
endfunction()

# pawl_version_library(name map): the soname, and that a shared library exports what the map names.
function(pawl_version_library name map)
  set_target_properties(${name} PROPERTIES
    VERSION ${PAWL_SOVERSION}.${PROJECT_VERSION} SOVERSION ${PAWL_SOVERSION} LINK_DEPENDS ${map})
  target_link_options(${name} PRIVATE
    LINKER:--version-script=${map} LINKER:--gc-sections LINKER:-z,relro LINKER:-z,now)
  if(NOT CMAKE_CXX_FLAGS MATCHES "fsanitize")  # a sanitizer's own functions are in the program
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
endfunction()

add_library(pawl_static STATIC EXCLUDE_FROM_ALL ${pawl_library_objects})
pawl_describe_library(pawl_static pawl)
target_link_options(pawl_static INTERFACE LINKER:--gc-sections)
target_link_libraries(pawl_static INTERFACE
  $<BUILD_INTERFACE:pawl_sqlite3> $<INSTALL_INTERFACE:pawl::sqlite3> Threads::Threads ${CMAKE_DL_LIBS})
# A program links one of the two libraries: CMake refuses one that gets both.
set_target_properties(pawl_static PROPERTIES INTERFACE_PAWL_LIBRARY static COMPATIBLE_INTERFACE_STRING PAWL_LIBRARY)
add_library(pawl::pawl_static ALIAS pawl_static)

# What a public header declares is visible, by the pragmas in it, and all else is hidden. The linker's script takes away what
# is left of the standard library's templates, and gives the symbols a version that changes with PAWL_SOVERSION.
if(PAWL_BUILD_SHARED)
  set(pawl_exports ${PROJECT_BINARY_DIR}/pawl_exports.map)
  configure_file(packaging/pawl_exports.map.in ${pawl_exports} @ONLY)
  add_library(pawl_shared SHARED EXCLUDE_FROM_ALL ${pawl_library_objects})
  pawl_describe_library(pawl_shared pawl)
  pawl_version_library(pawl_shared ${pawl_exports})
  target_link_libraries(pawl_shared PRIVATE pawl_sqlite3 Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(pawl_shared PROPERTIES INTERFACE_PAWL_LIBRARY shared COMPATIBLE_INTERFACE_STRING PAWL_LIBRARY)
  add_library(pawl::pawl_shared ALIAS pawl_shared)
endif()

# The simulated machine, and what users' tests are written with. Not in the libraries: no product runs it.
add_library(pawl_testing_static STATIC EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:pawl_port_sim> $<TARGET_OBJECTS:pawl_testing>)
pawl_describe_library(pawl_testing_static pawl_testing)
set_target_properties(pawl_testing_static PROPERTIES EXPORT_NAME testing)

# From its own place, so that the folder may be moved.
set(pawl_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Pawl)
file(RELATIVE_PATH pawl_prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pawl_prefix_from_pc ${pawl_prefix_from_pc})

if(TARGET pawl_endpoint)
  include(packaging/endpoint_library.cmake)
endif()
if(TARGET pawl_postgres)
  include(packaging/postgres_library.cmake)
endif()

if(NOT PAWL_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(pawl_libraries pawl_static pawl_testing_static)

install(TARGETS pawl_static EXPORT PawlStatic ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(TARGETS pawl_testing_static EXPORT PawlTesting ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
set(pawl_exports_installed PawlStatic PawlTesting)
if(TARGET pawl_shared)
  list(APPEND pawl_libraries pawl_shared)
  install(TARGETS pawl_shared EXPORT PawlShared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
  list(APPEND pawl_exports_installed PawlShared)
endif()
foreach(export IN LISTS pawl_exports_installed)
  install(EXPORT ${export} NAMESPACE pawl:: DESTINATION ${pawl_cmake_dir} COMPONENT dev)
endforeach()
set_target_properties(${pawl_libraries} PROPERTIES EXCLUDE_FROM_ALL OFF)

# Those of the endpoint and of PostgreSQL come with their libraries.
install(DIRECTORY include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN *.h PATTERN *.hpp PATTERN endpoint.hpp EXCLUDE PATTERN postgres.hpp EXCLUDE
  PATTERN pawl_postgres.h EXCLUDE)

configure_package_config_file(packaging/PawlConfig.cmake.in ${PROJECT_BINARY_DIR}/package/PawlConfig.cmake
  INSTALL_DESTINATION ${pawl_cmake_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 each minor release may change the calls.
set(pawl_compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(pawl_compatibility SameMinorVersion)
endif()
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/PawlConfigVersion.cmake COMPATIBILITY ${pawl_compatibility})
install(FILES ${PROJECT_BINARY_DIR}/package/PawlConfig.cmake ${PROJECT_BINARY_DIR}/package/PawlConfigVersion.cmake
    toolchains/find_sqlite.cmake
  DESTINATION ${pawl_cmake_dir} COMPONENT dev)

set(pawl_pc_flags "")
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  set(pawl_pc_flags " -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64")
endif()
configure_file(packaging/pawl.pc.in ${PROJECT_BINARY_DIR}/package/pawl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# In the libraries are cJSON and SHA-256 of libmd, too.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licences)
get_property(pawl_cjson_dir GLOBAL PROPERTY pawl_cjson_dir)
if(EXISTS ${pawl_cjson_dir}/LICENSE)
  install(FILES ${pawl_cjson_dir}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.cJSON COMPONENT licences)
endif()
get_property(pawl_libmd_dir GLOBAL PROPERTY pawl_libmd_dir)
install(FILES ${pawl_libmd_dir}/COPYING DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.libmd COMPONENT licences)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(DIRECTORY examples/tutorial DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT doc)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT doc FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN *.png)

if(PAWL_DEBS)
  include(packaging/debian.cmake)
endif()
