# The stand-in for libcuda.so.1 on the simulated GPU: used by the tests, and
# installed for `larder exec`.  It must be alone in its folder, which comes
# first in the loader's path.

file(GLOB fakecuda_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/adapters/driver/*.c)

# Its objects, under the names of one driver.
function(larder_fake_objects name)
    add_library(${name} OBJECT ${fakecuda_sources})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/adapters)
    target_link_libraries(${name} PRIVATE larder_flags Threads::Threads)
    target_compile_options(${name} PRIVATE ${ARGN})
endfunction()

# A library of them that shows what the version script names.
function(larder_fake_driver name objects map file version)
    add_library(${name} SHARED $<TARGET_OBJECTS:${objects}>)
    set_target_properties(${name} PROPERTIES
                          OUTPUT_NAME ${file}
                          SOVERSION ${version}
                          LINKER_LANGUAGE C
                          LIBRARY_OUTPUT_DIRECTORY
                          ${PROJECT_BINARY_DIR}/${name}
                          LINK_DEPENDS ${map})
    target_link_libraries(${name} PRIVATE larder_flags larder_static)
    target_link_options(${name} PRIVATE
                        -Wl,--version-script=${map} -Wl,-Bsymbolic)
endfunction()

larder_fake_objects(fakecuda_objects)
larder_fake_driver(fakecuda fakecuda_objects
                   ${PROJECT_SOURCE_DIR}/adapters/driver/fakecuda.map cuda 1)
