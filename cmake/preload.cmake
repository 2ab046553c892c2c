# liblarder_preload.so, which LD_PRELOAD puts below programs of the CUDA driver
# (docs/PRELOAD.md): it contains Larder and exports none of it.

file(GLOB preload_sources CONFIGURE_DEPENDS adapters/preload/*.c)
file(GLOB preload_headers CONFIGURE_DEPENDS
     adapters/preload/include/larder/*.h)
set(preload_map ${PROJECT_SOURCE_DIR}/adapters/preload/preload.map)

# dlsym() apart: a program that is linked with the rest keeps its own.
set(preload_entry ${PROJECT_SOURCE_DIR}/adapters/preload/dlsym_entry.c)
list(REMOVE_ITEM preload_sources ${preload_entry})

add_library(larder_preload_objects OBJECT ${preload_sources})
set_target_properties(larder_preload_objects PROPERTIES
                      POSITION_INDEPENDENT_CODE ON
                      C_VISIBILITY_PRESET hidden)
target_include_directories(larder_preload_objects PUBLIC
                           ${PROJECT_SOURCE_DIR}/adapters/preload/include
                           ${PROJECT_SOURCE_DIR}/adapters/preload)
target_link_libraries(larder_preload_objects PRIVATE
                      larder_flags Threads::Threads)

# A library that wants a sanitizer loaded first cannot be loaded first.
if(NOT LARDER_SANITIZE)
    add_library(larder_preload MODULE
                $<TARGET_OBJECTS:larder_preload_objects> ${preload_entry})
    set_target_properties(larder_preload PROPERTIES
                          C_VISIBILITY_PRESET hidden
                          LINKER_LANGUAGE C
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                          LINK_DEPENDS ${preload_map})
    target_include_directories(larder_preload PRIVATE
                               ${PROJECT_SOURCE_DIR}/adapters/preload/include
                               ${PROJECT_SOURCE_DIR}/adapters/preload)
    target_link_libraries(larder_preload PRIVATE larder_flags larder_static)
    target_link_options(larder_preload PRIVATE
                        -Wl,--version-script=${preload_map} -Wl,-Bsymbolic
                        -Wl,-z,defs)
endif()
