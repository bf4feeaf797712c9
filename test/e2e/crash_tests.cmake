# Processes killed at any moment, and the promise never to allocate. Native builds only: they preload libraries.

if(CMAKE_CROSSCOMPILING)
  return()
endif()

add_executable(crash_program crash_program.cpp)
target_link_libraries(crash_program PRIVATE pawl::pawl pawl_build_flags ${CMAKE_DL_LIBS})
set_target_properties(crash_program PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)

# The driver and its checker link nothing of Pawl.
add_library(crash_driver STATIC crash_driver.cpp)
target_link_libraries(crash_driver PUBLIC pawl_sqlite3 pawl_gtest PRIVATE pawl_build_flags)
target_compile_definitions(crash_driver PRIVATE
  CRASH_PROGRAM="$<TARGET_FILE:crash_program>"
  CRASH_AT_LIBRARY="$<TARGET_FILE:crash_at>")
set_target_properties(crash_driver PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
add_dependencies(crash_driver crash_program crash_at)

pawl_add_test(crash_test
  SOURCES crash_kill_test.cpp crash_poison_test.cpp
  LIBS crash_driver)

# A plan of mixed instances, carried out while its processes are killed: on real processes, and on the simulated machine.
add_library(soak_plan STATIC soak_plan.cpp)
target_include_directories(soak_plan PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(soak_plan PRIVATE pawl_build_flags)
add_library(soak_code STATIC soak_code.cpp)
target_link_libraries(soak_code PUBLIC soak_plan pawl::pawl PRIVATE pawl_build_flags)
add_executable(soak_program soak_program.cpp)
target_link_libraries(soak_program PRIVATE soak_code option_drawer pawl_gtest pawl_build_flags)
set_target_properties(soak_plan soak_code soak_program PROPERTIES
  CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
pawl_add_test(soak_test
  SOURCES soak_test.cpp
  LIBS crash_driver soak_plan)
target_compile_definitions(soak_test PRIVATE SOAK_PROGRAM="$<TARGET_FILE:soak_program>")
add_dependencies(soak_test soak_program)

pawl_add_test(soak_sim_test
  SOURCES soak_sim_test.cpp
  LIBS soak_code pawl::testing option_drawer)

# It measures how soon others are heard.
pawl_add_test(crash_bell_test
  SOURCES crash_bell_test.cpp
  LIBS crash_driver)
set(crash_serial ${CMAKE_CURRENT_BINARY_DIR}/crash_bell_serial.cmake)
file(CONFIGURE OUTPUT ${crash_serial} @ONLY CONTENT
  "set_tests_properties(\${crash_bell_test_cases} PROPERTIES RUN_SERIAL ON)\n")
set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${crash_serial})

find_path(PAWL_HOST_CJSON_INCLUDE cjson/cJSON.h REQUIRED)
find_library(PAWL_HOST_CJSON_LIBRARY cjson REQUIRED)
pawl_add_test(alloc_test
  SOURCES alloc_test.cpp
  LIBS alloc_count_linked pawl::testing pawl::pawl pawl_sqlite3 ${PAWL_HOST_CJSON_LIBRARY})
set_target_properties(alloc_test PROPERTIES ENABLE_EXPORTS ON)
