# Tests of the preload library: its hooks linked into programs, on the stand-in
# driver; tests/cli/preload.sh tests LD_PRELOAD itself.

larder_support_library(test_support_preload tests/preload test_)
larder_programs(tests/preload test_ test_support_preload)
foreach(program ${programs})
    target_link_libraries(${program} PRIVATE larder_preload_objects
                          larder_static)
    larder_test(${program} preload ${program})
    set(environment
        LARDER_FAKECUDA=sim:256MiB,events=manual,count=2
        LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fakecuda)
    if(program MATCHES "_limit$")
        list(APPEND environment LARDER_PRELOAD=limit LARDER_CONF=limit:64MiB)
    elseif(program MATCHES "_gate$")
        list(APPEND environment LARDER_PRELOAD=gate)
    elseif(program MATCHES "_pause$")
        list(APPEND environment LARDER_PRELOAD=cache,pause
             LARDER_CONF=limit:200MiB)
    elseif(program MATCHES "_storm$")
        # Where calls that wait complete work, as a driver's do.
        list(TRANSFORM environment REPLACE "events=manual" "events=driver")
        list(APPEND environment LARDER_PRELOAD=cache,migrate)
    elseif(program MATCHES "_migrate")
        list(APPEND environment LARDER_PRELOAD=cache,migrate)
    endif()
    set_tests_properties(${program} PROPERTIES ENVIRONMENT "${environment}")
endforeach()

# What LD_PRELOAD is tried on: a program linked with the driver, and one that
# is not.
foreach(way linked plain)
    set(name preload_subject_${way})
    add_executable(${name}
        ${PROJECT_SOURCE_DIR}/tests/preload/subject/preload_subject.c)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/preload
        SKIP_BUILD_RPATH ON)
    target_link_libraries(${name} PRIVATE larder_flags)
endforeach()
target_link_libraries(preload_subject_linked PRIVATE fakecuda)
target_compile_definitions(preload_subject_linked PRIVATE LINKED)

# The driver is first called while a library is being loaded.
set(first ${PROJECT_SOURCE_DIR}/tests/preload/subject/preload_first.c)
add_executable(preload_first ${first})
add_library(preload_first_library MODULE ${first})
set_target_properties(preload_first preload_first_library PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/preload
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/preload
    PREFIX "" SKIP_BUILD_RPATH ON ENABLE_EXPORTS ON)
target_link_libraries(preload_first PRIVATE larder_flags fakecuda
                      Threads::Threads)
target_link_libraries(preload_first_library PRIVATE larder_flags)
target_compile_definitions(preload_first_library PRIVATE LIBRARY)
