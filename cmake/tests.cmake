# Tests and benchmarks.
#
#   tests/KIND/test_*.c   a program each: unit, golden, model, fault, stress,
#                         storm, snapshot, report
#   tests/abi/test_*.c    a program each, on the shared library alone
#   tests/fuzz/fuzz_*.c   a program each, run over tests/fuzz/corpus/*
#   tests/KIND/*.c        anything else: linked into each program of its kind
#   tests/support/        the same for every kind
#   tests/cli/*.sh        get the path of the command
#   tests/python/test_*.py   get the folder of the libraries
#   tests/torch/           hosts of PyTorch's plug-in: torch_tests.cmake
#   tests/lint/*.sh, tests/install/*.sh   get the source and build folders
#   bench/bench_*.c       built, not run
#
# A test that cannot run here exits with 77 and counts as skipped.  Tests run
# in the source folder.

if(NOT LARDER_TOOLS)
    message(FATAL_ERROR "LARDER_TESTS needs LARDER_TOOLS")
endif()
pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
if(NOT cmocka_FOUND)
    message(FATAL_ERROR "cmocka is missing; ${setup_hint}")
endif()

set(test_timeout_seconds 300)
if(LARDER_SANITIZE)
    set(test_timeout_seconds 900)
endif()

# What any program of ours needs; tests keep their assert()s.
add_library(larder_test_base INTERFACE)
target_link_libraries(larder_test_base INTERFACE
                      larder_flags larder_tools PkgConfig::cmocka)
target_include_directories(larder_test_base INTERFACE
                           ${PROJECT_SOURCE_DIR}/tests
                           ${PROJECT_SOURCE_DIR}/adapters)
target_compile_definitions(larder_test_base INTERFACE
                           LARDER_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
# Frame pointers are for those that look for their own callers.
target_compile_options(larder_test_base INTERFACE
                       -UNDEBUG -fno-omit-frame-pointer)

# The sources of a folder that are no programs, as a library that is linked
# into each program of it.
function(larder_support_library name folder program_pattern)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
    list(FILTER sources EXCLUDE REGEX "/${program_pattern}[^/]*$")
    if(sources)
        add_library(${name} STATIC ${sources})
        target_link_libraries(${name} PUBLIC larder_test_base)
    else()
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE larder_test_base)
    endif()
endfunction()

# One program for each PATTERN*.c of a folder; their names go to the caller's
# `programs`.
function(larder_programs folder pattern)
    file(GLOB sources CONFIGURE_DEPENDS
         ${PROJECT_SOURCE_DIR}/${folder}/${pattern}*.c)
    set(names "")
    foreach(source ${sources})
        get_filename_component(name ${source} NAME_WE)
        add_executable(${name} ${source})
        set_target_properties(${name} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
        target_link_libraries(${name} PRIVATE ${ARGN} larder_test_base)
        list(APPEND names ${name})
    endforeach()
    set(programs "${names}" PARENT_SCOPE)
endfunction()

function(larder_test name label)
    add_test(NAME ${name} COMMAND ${ARGN}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES
                         LABELS ${label}
                         SKIP_RETURN_CODE 77
                         TIMEOUT ${test_timeout_seconds})
endfunction()

larder_support_library(test_support tests/support test_)
include(${PROJECT_SOURCE_DIR}/cmake/second_device.cmake)

foreach(kind unit golden model fault stress storm snapshot report)
    larder_support_library(test_support_${kind} tests/${kind} test_)
    target_link_libraries(test_support_${kind} INTERFACE test_support)
    larder_programs(tests/${kind} test_ test_support_${kind})
    foreach(program ${programs})
        larder_test(${program} ${kind} ${program})
        if(NOT kind MATCHES "^(report|snapshot)$") # these open no device
            larder_second_test(${program})
        endif()
    endforeach()
endforeach()

target_include_directories(test_tune_output PRIVATE ${PROJECT_SOURCE_DIR}/cli)
target_link_libraries(test_tune_output PRIVATE larder_cli)

include(${PROJECT_SOURCE_DIR}/cmake/torch_tests.cmake)

# The lab: its programs see its inside.
larder_support_library(test_support_lab tests/lab test_)
target_link_libraries(test_support_lab PUBLIC test_support larder_lab_static)
larder_programs(tests/lab test_ test_support_lab)
foreach(program ${programs})
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/lab)
    # And the command's side of it: the experiments.
    target_link_libraries(${program} PRIVATE larder_cli)
    larder_test(${program} lab ${program})
endforeach()

# With LARDER_FUZZ libFuzzer is the driver; else the folder's own, which runs
# the files it is given.
if(LARDER_FUZZ)
    foreach(target larder_objects larder_tools larder_lab_objects larder_cli)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endforeach()
    add_library(test_support_fuzz INTERFACE)
    target_link_options(test_support_fuzz INTERFACE -fsanitize=fuzzer)
else()
    larder_support_library(test_support_fuzz tests/fuzz fuzz_)
endif()
larder_programs(tests/fuzz fuzz_ test_support_fuzz larder_cli)
foreach(program ${programs})
    string(REPLACE "fuzz_" "" subject ${program})
    file(GLOB corpus CONFIGURE_DEPENDS
         ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${subject}/*)
    larder_test(${program} fuzz ${program} ${corpus})
endforeach()

file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cli/*.sh)
foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    larder_test(cli_${name} cli ${script} $<TARGET_FILE:larder_command>)
endforeach()

# The page in a browser; each is skipped where there is no Chromium.
find_program(LARDER_PYTHON python3)
file(GLOB scripts CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/view/test_*.py)
foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    string(REPLACE "test_" "view_" name ${name})
    if(LARDER_PYTHON)
        larder_test(${name} view ${LARDER_PYTHON} -B ${script}
                    $<TARGET_FILE:larder_command>)
    endif()
endforeach()

# Of the sources, the symbols and an installation: the same with sanitizers,
# which add symbols of their own.
if(NOT LARDER_SANITIZE)
    foreach(kind lint install)
        file(GLOB scripts CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/tests/${kind}/*.sh)
        foreach(script ${scripts})
            get_filename_component(name ${script} NAME_WE)
            larder_test(${kind}_${name} ${kind} ${script}
                        ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
        endforeach()
    endforeach()
endif()

# The Python front: scripts that get the folder of the libraries.  An
# interpreter cannot load a library that wants a sanitizer loaded first.
if(NOT LARDER_SANITIZE)
    file(GLOB scripts CONFIGURE_DEPENDS
         ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
    if(NOT LARDER_PYTHON)
        set(scripts "")
    endif()
    foreach(script ${scripts})
        get_filename_component(name ${script} NAME_WE)
        larder_test(python_${name} python
                    ${LARDER_PYTHON} -B ${script} ${PROJECT_BINARY_DIR})
    endforeach()
endif()

include(${PROJECT_SOURCE_DIR}/cmake/preload_tests.cmake)
include(${PROJECT_SOURCE_DIR}/cmake/adapters_tests.cmake)
include(${PROJECT_SOURCE_DIR}/cmake/cudart_tests.cmake)

larder_support_library(bench_support bench bench_)
larder_programs(bench bench_ bench_support)
target_link_libraries(bench_gate PRIVATE larder_preload_objects)

# Programs built for each release; they see what a program of a user's sees.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/abi/test_*.c)
foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/abi)
    target_link_libraries(${name} PRIVATE larder_flags larder_shared)
    larder_test(${name} abi ${name})
endforeach()

# The programs of examples/; docs/LIBRARY.md quotes hello.
foreach(example hello share pause)
    add_executable(example_${example}
                   ${PROJECT_SOURCE_DIR}/examples/${example}.c)
    set_target_properties(example_${example} PROPERTIES
        OUTPUT_NAME ${example}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    target_link_libraries(example_${example} PRIVATE
                          larder_flags larder_shared)
    larder_test(example_${example} example example_${example})
endforeach()
