# Flags of Pawl's own sources, and the function that makes a layer.

# Nothing here is visible to a user of the libraries: link it PRIVATE.
add_library(pawl_build_flags INTERFACE)
target_compile_features(pawl_build_flags INTERFACE cxx_std_17)
target_compile_options(pawl_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:PAWL_TYPE_INFORMATION>>>>:-fno-rtti>
  $<$<COMPILE_LANGUAGE:CXX>:
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough -Wundef -Wvla
    -Wmissing-declarations -Werror=unused-result -Werror=return-type>)
# Nothing is thrown through Pawl's frames: what escapes an application's code is caught in the application's own unit
# (pawl/exceptions.hpp). So no tables for unwinding, a sixth of the code. Debuggers use .debug_frame in their place;
# sanitizers walk the stack with the tables, so Debug keeps them.
target_compile_options(pawl_build_flags INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-fno-unwind-tables -fno-asynchronous-unwind-tables>)
# Public headers make visible what they declare; all else stays in the library (docs/releases.md), and in its own program. A
# test that takes the place of a call of the C library makes its own visible, or a shared SQLite would not find it.
target_compile_options(pawl_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility=hidden> $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
# A program has the functions that it calls and no others: a section each, and pawl_headers has the linker's option.
target_compile_options(pawl_build_flags INTERFACE -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # "strict" warns on x86 too, where every alignment is allowed, and not on the board only.
  target_compile_options(pawl_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wcast-align=strict -Wduplicated-cond -Wlogical-op -Wno-psabi>)
  # The layers are position independent, and then gcc inlines no function that a shared library could replace. Nobody
  # replaces ours; clang takes that for granted.
  target_compile_options(pawl_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
else()
  target_compile_options(pawl_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wcast-align>)
endif()
if(PAWL_FOOTPRINT)
  target_compile_options(pawl_build_flags INTERFACE -fstack-usage)
endif()
if(PAWL_BARE_METAL)
  # Its 32-bit numbers are of the type long, which is no other thing than int there. The builds of boards, where they are
  # int, and of 64-bit machines check the formats.
  target_compile_options(pawl_build_flags INTERFACE -Wno-format)
endif()
if(PAWL_WERROR)
  target_compile_options(pawl_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# Nothing of Pawl asks for type information. A layer sets PAWL_TYPE_INFORMATION if a user holds objects of its classes
# by their bases: a program with type information, or with -fsanitize=undefined, does not link without it.

# pawl_include_root(name SCOPE [entries...]): the include root that the target `name` brings, with the calling folder, or with
# these files and folders of it alone. An include carries the path from src/ (or from the project, for port/), so a line says which
# layer it looks into, and a file that the roots of its target do not hold is not found.
function(pawl_include_root name scope)
  file(RELATIVE_PATH place ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "^src/" "" place ${place})
  set(root ${PROJECT_BINARY_DIR}/layers/${name})
  file(REMOVE_RECURSE ${root})
  set(entries ${ARGN})
  if(NOT entries)
    get_filename_component(parent ${root}/${place} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${place} SYMBOLIC)
  endif()
  foreach(entry IN LISTS entries)
    get_filename_component(parent ${root}/${place}/${entry} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${entry} ${root}/${place}/${entry} SYMBOLIC)
  endforeach()
  target_include_directories(${name} ${scope} ${root})
endfunction()

# pawl_add_layer(name [entries...]) makes a static library of the calling folder, whose include root is PUBLIC: a layer finds the
# headers of those that it links and no others, so an include against the arrows does not compile. `entries`: what of the folder
# the layer shows; without them all of it. Add sources with target_sources(name PRIVATE ...), dependencies with
# target_link_libraries(name PUBLIC ...).
function(pawl_add_layer name)
  add_library(${name} STATIC)
  pawl_include_root(${name} PUBLIC ${ARGN})
  target_link_libraries(${name} PRIVATE pawl_build_flags)
  set_target_properties(${name} PROPERTIES
    CXX_STANDARD 17
    CXX_STANDARD_REQUIRED ON
    CXX_EXTENSIONS OFF)
  if(NOT PAWL_BARE_METAL AND NOT PAWL_FIXED_ADDRESS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  cmake_language(EVAL CODE "cmake_language(DEFER CALL pawl_finish_layer [[${name}]])")
endfunction()

# pawl_install_tool(program): a program for the people who run Pawl; its manual pages and completions are installed beside it
# with COMPONENT tools.
function(pawl_install_tool program)
  if(PAWL_INSTALL)
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  endif()
endfunction()

# A static library needs a source; a layer may have headers only.
function(pawl_finish_layer name)
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.(c|cpp)$|TARGET_OBJECTS")
  if(NOT sources)
    set(empty ${PROJECT_BINARY_DIR}/${name}_empty.cpp)
    file(CONFIGURE OUTPUT ${empty} CONTENT "// No sources yet.\n")
    target_sources(${name} PRIVATE ${empty})
  endif()
endfunction()
