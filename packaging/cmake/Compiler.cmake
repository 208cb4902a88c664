# SPDX-License-Identifier: BSD-3-Clause
# Flags that every target of the project is compiled with, and add_pktpit_library().

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(pktpit_flags INTERFACE)
target_include_directories(pktpit_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(pktpit_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  # GCC 12 sees overlapping copies in std::string concatenation where there are none (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  -fno-omit-frame-pointer)

# For the whole tree, so that the sanitized binaries contain no unsanitized half.
if(PKTPIT_SANITIZE)
  add_compile_options(-fsanitize=${PKTPIT_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PKTPIT_SANITIZE})
  add_compile_definitions(PKTPIT_SANITIZED)  # tests of many rounds make fewer
endif()
if(PKTPIT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "PKTPIT_FUZZ needs clang: libFuzzer is part of its runtime")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()

# Sources of a target are compiled sixteen at a time where the build asks for it (CMAKE_UNITY_BUILD, on in every preset but
# `dev`): what their headers cost is then paid once. Not with the others: sources whose unnamed namespaces have names in common.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
macro(compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# What is compiled for longer than it runs: options, configuration, text for people.
function(compile_lightly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endforeach()
endfunction()

# What runs for longer than it is compiled in tests with sanitizers, whose presets do not optimise.
function(optimise_sanitized)
  if(PKTPIT_SANITIZE)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE -O1)
    endforeach()
  endif()
endfunction()

# add_pktpit_library(NAME SOURCES... ): a static library `pktpit_NAME`, alias `pktpit::NAME`.
function(add_pktpit_library name)
  add_library(pktpit_${name} STATIC ${ARGN})
  add_library(pktpit::${name} ALIAS pktpit_${name})
  target_link_libraries(pktpit_${name} PUBLIC pktpit_flags)
endfunction()

foreach(label unit property differential system bench fuzz)
  add_custom_target(tests_${label})
endforeach()

# add_pktpit_test(NAME LABEL SOURCES... LIBS ...): a GoogleTest program, run by ctest under LABEL. The target
# tests_LABEL builds all of a label; nobody who only wants the programs waits for tests.
function(add_pktpit_test name label)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE pktpit_flags ${arg_LIBS} GTest::gtest_main GTest::gmock)
  # Built more often than run: optimising them, and telling a debugger of them, takes a third of the time that compiling them does.
  if(NOT label STREQUAL property)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0> $<$<CONFIG:RelWithDebInfo>:-g0>)
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 40)
  add_dependencies(tests_${label} ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${label})
endfunction()

# add_pktpit_fuzzer(NAME NAME.cpp TAKEN sources... FROM libraries... LIBS ...): a libFuzzer program; ctest runs it briefly on its
# corpus. TAKEN are sources of libraries that a fuzz build leaves out. Without PKTPIT_FUZZ the target is a part of fuzz_replay
# (tests/fuzz/CMakeLists.txt), which links FROM, the libraries that have these sources, or else compiles them.
function(add_pktpit_fuzzer name source)
  cmake_parse_arguments(arg "" "" "TAKEN;FROM;LIBS" ${ARGN})
  if(NOT PKTPIT_FUZZ)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_FROM} ${arg_LIBS})
    if(NOT arg_FROM)
      target_sources(${name} INTERFACE ${arg_TAKEN})
    endif()
    set_property(GLOBAL APPEND PROPERTY fuzz_targets ${name})
    set_property(GLOBAL APPEND PROPERTY fuzz_sources ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    return()
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${source} ${arg_TAKEN})
  target_link_libraries(${name} PRIVATE pktpit_flags ${arg_LIBS} -fsanitize=fuzzer)
  add_dependencies(tests_fuzz ${name})
  set(corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz/${name})
  add_test(NAME ${name}
           COMMAND ${name} -max_total_time=5 -timeout=5 -rss_limit_mb=2048 -print_final_stats=1
                   ${CMAKE_BINARY_DIR}/fuzz/${name} ${corpus})
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()
