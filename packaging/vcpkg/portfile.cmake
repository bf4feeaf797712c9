# An overlay port: vcpkg install pawl --overlay-ports=pawl/packaging/vcpkg. Of the tree that it stands in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_download_distfile(CJSON_ARCHIVE
  URLS https://github.com/DaveGamble/cJSON/archive/refs/tags/v1.7.18.tar.gz
  FILENAME cjson-1.7.18.tar.gz
  SHA512 2accb507c6b97222eb5f0232c015b356cf6d248d1247049928731aa8e897378245e62395c232b1ec57d28d1e53ac72c849be85e59c33616a382d40473649f66b)
vcpkg_extract_source_archive(CJSON_PATH ARCHIVE "${CJSON_ARCHIVE}")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" dynamic BUILD_SHARED)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES tools PAWL_BUILD_TOOLS)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DPAWL_BUILD_TESTS=OFF
    -DPAWL_BUILD_EXAMPLES=OFF
    -DPAWL_FETCH_CJSON=OFF
    -DPAWL_ENDPOINT=OFF
    -DPAWL_CJSON_DIR=${CJSON_PATH}
    -DPAWL_BUILD_SHARED=${BUILD_SHARED})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Pawl CONFIG_PATH lib/cmake/Pawl)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES pawl pawld AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${CJSON_PATH}/LICENSE")
