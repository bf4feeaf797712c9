# Debian packages by CPack: packaging/debs builds them (docs/install.md).

set(PAWL_PACKAGE_CONTACT "Pawl authors <packages@pawl.invalid>" CACHE STRING "Maintainer of the Debian packages")
set(PAWL_DEBIAN_REVISION "" CACHE STRING "What follows the version of the Debian packages, for a build that differs: 2")
set(debian_version ${PROJECT_VERSION})
set(debian_changelog changelog)
if(PAWL_DEBIAN_REVISION)
  set(CPACK_DEBIAN_PACKAGE_RELEASE ${PAWL_DEBIAN_REVISION})
  string(APPEND debian_version -${PAWL_DEBIAN_REVISION})
  string(APPEND debian_changelog .Debian)
endif()
set(debian_library libpawl${PAWL_SOVERSION})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pawl)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT ${PAWL_PACKAGE_CONTACT})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime dev tools doc)
if(TARGET pawl_endpoint)
  list(APPEND CPACK_COMPONENTS_ALL endpoint endpoint_dev)
endif()
if(TARGET pawl_postgres)
  list(APPEND CPACK_COMPONENTS_ALL postgres_dev)
endif()
set(CPACK_COMPONENTS_IGNORE_GROUPS ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${PAWL_DEBIAN_ARCH})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# By hand, since dpkg-shlibdeps knows no libraries of another architecture; test/consumers holds the native list against it.
set(debian_needs "libc6 (>= 2.34), libgcc-s1 (>= 3.5), libsqlite3-0 (>= 3.36.0), libstdc++6 (>= 11)")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${debian_library})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS ${debian_needs})
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpawl-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${debian_library} (= ${debian_version}), libsqlite3-dev")
# The endpoint has packages of its own: libpawl alone brings no libmicrohttpd to a board, and that no GnuTLS.
set(debian_endpoint libpawl-endpoint${PAWL_SOVERSION})
set(CPACK_DEBIAN_ENDPOINT_PACKAGE_NAME ${debian_endpoint})
set(CPACK_DEBIAN_ENDPOINT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ENDPOINT_PACKAGE_DEPENDS
  "${debian_library} (= ${debian_version}), libc6 (>= 2.34), libmicrohttpd12 (>= 0.9.50), libstdc++6 (>= 11)")
set(CPACK_DEBIAN_ENDPOINT_DEV_PACKAGE_NAME libpawl-endpoint-dev)
set(CPACK_DEBIAN_ENDPOINT_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_ENDPOINT_DEV_PACKAGE_DEPENDS
  "${debian_endpoint} (= ${debian_version}), libpawl-dev (= ${debian_version}), libmicrohttpd-dev")
set(CPACK_DEBIAN_POSTGRES_DEV_PACKAGE_NAME libpawl-postgres-dev)
set(CPACK_DEBIAN_POSTGRES_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_POSTGRES_DEV_PACKAGE_DEPENDS "libpawl-dev (= ${debian_version}), libpq-dev (>= 14~~)")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME pawl-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
# pawld serves the endpoint, and both programs know servers, where the libraries were there to build with.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${debian_needs}")
if(TARGET pawl_endpoint)
  string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", libmicrohttpd12 (>= 0.9.50)")
endif()
if(TARGET pawl_postgres)
  string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", libpq5 (>= 14~~)")
endif()
# The user of pawld.service, its restart and its end.
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/postinst ${CMAKE_CURRENT_LIST_DIR}/debian/prerm
  ${CMAKE_CURRENT_LIST_DIR}/debian/postrm)
set(CPACK_DEBIAN_DOC_PACKAGE_NAME pawl-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)

# The first line is the short description.
set(about "Pawl keeps workflows running across crashes and power loss on small devices.
Their state is one SQLite file; no server is needed.\n")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "durable execution for small machines, library\n${about}\nThis is the shared library.")
set(CPACK_COMPONENT_DEV_DESCRIPTION "durable execution for small machines, development files
${about}\nThese are headers, static library, and files for CMake and pkg-config.")
set(CPACK_COMPONENT_ENDPOINT_DESCRIPTION "durable execution for small machines, HTTP endpoint
${about}\nThis is the shared library of the endpoint: HTTP for operators, Prometheus\nand browsers.")
set(CPACK_COMPONENT_ENDPOINT_DEV_DESCRIPTION "durable execution for small machines, HTTP endpoint, development files
${about}\nThese are header and static library of the endpoint, and files for CMake\nand pkg-config.")
set(CPACK_COMPONENT_POSTGRES_DEV_DESCRIPTION "durable execution for small machines, PostgreSQL, development files
${about}\nThese are headers and static library of a PostgreSQL server in place of the\nfile, and files for CMake and pkg-config.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "durable execution for small machines, tools
${about}\nThese are the programs to look into a database and to manage what runs.")
set(CPACK_COMPONENT_DOC_DESCRIPTION "durable execution for small machines, documentation
${about}\nThese are guide, reference and rules.")

# What Debian asks each package for: its licences, and what has changed.
set(debian_out ${PROJECT_BINARY_DIR}/package/debian)
file(READ LICENSE debian_licence)
file(READ ${pawl_cjson_dir}/LICENSE debian_cjson_licence)
file(READ ${pawl_libmd_dir}/COPYING debian_libmd_licence)
file(WRITE ${debian_out}/copyright "Pawl:\n\n${debian_licence}\ncJSON, which is in the library:\n\n${debian_cjson_licence}\n\
src/sha2.c of libmd, which is in the library:\n\n${debian_libmd_licence}")
# How packages of programs learn which one has their library, and the linker's cache that there is a new one. CPack would call
# ldconfig from scripts, which Debian's policy leaves to this trigger.
file(WRITE ${debian_out}/shlibs "libpawl ${PAWL_SOVERSION} ${debian_library} (>= ${PROJECT_VERSION})\n")
file(WRITE ${debian_out}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${debian_out}/shlibs ${debian_out}/triggers)
file(WRITE ${debian_out}/endpoint/shlibs "libpawl_endpoint ${PAWL_SOVERSION} ${debian_endpoint} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_ENDPOINT_PACKAGE_CONTROL_EXTRA ${debian_out}/endpoint/shlibs ${debian_out}/triggers)
# The day of the release is in CHANGELOG.md; a package of a state between two has that of its build, or SOURCE_DATE_EPOCH.
string(TIMESTAMP debian_day "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${debian_out}/${debian_changelog} "pawl (${debian_version}) unstable; urgency=medium\n
  * What there is: /usr/share/doc/pawl/CHANGELOG.md of pawl-doc.\n
 -- ${PAWL_PACKAGE_CONTACT}  ${debian_day}\n")
find_program(PAWL_GZIP gzip REQUIRED)
execute_process(COMMAND ${PAWL_GZIP} -9nf ${debian_out}/${debian_changelog} COMMAND_ERROR_IS_FATAL ANY)
set(debian_packages "runtime ${debian_library}" "dev libpawl-dev" "tools pawl-tools" "doc pawl-doc")
if(TARGET pawl_endpoint)
  list(APPEND debian_packages "endpoint ${debian_endpoint}" "endpoint_dev libpawl-endpoint-dev")
endif()
if(TARGET pawl_postgres)
  list(APPEND debian_packages "postgres_dev libpawl-postgres-dev")
endif()
foreach(pair IN LISTS debian_packages)
  separate_arguments(pair)
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${debian_out}/copyright ${debian_out}/${debian_changelog}.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${component})
  set(overrides ${CMAKE_CURRENT_LIST_DIR}/lintian/${component})
  if(EXISTS ${overrides})
    configure_file(${overrides} ${debian_out}/lintian/${package} @ONLY)
    install(FILES ${debian_out}/lintian/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
  endif()
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/compress_manual.cmake)
include(CPack)
