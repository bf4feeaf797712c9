# Code of others that is compiled into the library: where its source is, and names of ours for its functions.

option(PAWL_FETCH "Get the sources of cJSON and libmd from the network if they are nowhere on this machine" ON)

# pawl_find_source(title FILES file... [INSTALLED folder] [OR text]): sets pawl_NAME_dir, and a global property of that
# name, to the folder with these files; NAME is the title in small letters. It is the first that there is: the folder
# PAWL_NAME_DIR; build/packages/NAME, where ./setup puts Debian's source; INSTALLED, which need not have the files; and
# with PAWL_FETCH the release at PAWL_NAME_URL. OR: what else would help.
function(pawl_find_source title)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "INSTALLED;OR" "FILES")
  string(TOLOWER ${title} name)
  string(TOUPPER ${title} upper)
  set(dir "${PAWL_${upper}_DIR}")
  if(NOT dir)
    set(packages ${PROJECT_SOURCE_DIR}/build/packages/${name})
    list(GET arg_FILES 0 first)
    if(EXISTS ${packages}/${first})
      set(dir ${packages})
    elseif(arg_INSTALLED)
      set(dir ${arg_INSTALLED})
      set(arg_FILES "")
    elseif(PAWL_FETCH)
      include(FetchContent)
      # Its own CMakeLists.txt is in a folder that is not there, so its targets stay out of this project.
      FetchContent_Declare(pawl_${name}_source URL ${PAWL_${upper}_URL} URL_HASH SHA256=${PAWL_${upper}_SHA256}
        DOWNLOAD_EXTRACT_TIMESTAMP ON SOURCE_SUBDIR none)
      FetchContent_MakeAvailable(pawl_${name}_source)
      set(dir ${pawl_${name}_source_SOURCE_DIR})
    endif()
  endif()
  foreach(file IN LISTS arg_FILES)
    if(NOT EXISTS "${dir}/${file}")
      message(FATAL_ERROR
        "No ${file} of ${title} in \"${dir}\". Run ./setup in ${PROJECT_SOURCE_DIR} (Debian), set PAWL_${upper}_DIR to a "
        "folder with its source, ${arg_OR}or let PAWL_FETCH get it.")
    endif()
  endforeach()
  message(STATUS "${title} for Pawl: ${dir}")
  set(pawl_${name}_dir ${dir} PARENT_SCOPE)
  set_property(GLOBAL PROPERTY pawl_${name}_dir ${dir})  # its licence is installed
endfunction()

# pawl_rename_functions(out name header regex least): writes a header that gives each function a name of ours, and sets
# `out` to its path. A function is the first group of the regex, which fits the beginning of a line of `header`. Fewer
# than `least` are an error.
function(pawl_rename_functions out name header regex least)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} lines REGEX "${regex}")
  list(LENGTH lines count)
  if(count LESS ${least})
    message(FATAL_ERROR "Only ${count} functions found in ${header}")
  endif()
  list(TRANSFORM lines REPLACE "${regex}.*" "#define \\1 pawl_\\1")
  list(JOIN lines "\n" text)
  get_filename_component(file ${header} NAME)
  set(renaming ${PROJECT_BINARY_DIR}/${name}/pawl_${name}_rename.h)
  file(CONFIGURE OUTPUT ${renaming} CONTENT "// Generated from ${file}.\n#pragma once\n${text}\n" @ONLY)
  set(${out} ${renaming} PARENT_SCOPE)
endfunction()
