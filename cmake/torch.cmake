# liblarder_torch: PyTorch's pluggable allocator, on liblarder's public headers.
# Python loads it by its name, so there is no static one.

file(GLOB torch_headers CONFIGURE_DEPENDS adapters/torch/include/larder/*.h)
file(GLOB torch_sources CONFIGURE_DEPENDS adapters/torch/*.c)
set(torch_version_script ${PROJECT_SOURCE_DIR}/adapters/torch/torch.map)

add_library(larder_torch SHARED ${torch_sources})
set_target_properties(larder_torch PROPERTIES
                      C_VISIBILITY_PRESET hidden
                      SOVERSION 0
                      VERSION ${PROJECT_VERSION}
                      LINKER_LANGUAGE C
                      BUILD_RPATH_USE_ORIGIN ON
                      INSTALL_RPATH "$ORIGIN"
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                      LINK_DEPENDS ${torch_version_script})
target_include_directories(larder_torch PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/adapters/torch/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Loops over words, of which hundreds of millions are passed.
set_source_files_properties(adapters/torch/torch_random.c
                            PROPERTIES COMPILE_OPTIONS -O3)
# Exceptions of C++ pass through its functions.
target_compile_options(larder_torch PRIVATE
                       -fexceptions -fno-semantic-interposition)
target_link_options(larder_torch PRIVATE
                    -Wl,--version-script=${torch_version_script})
target_link_libraries(larder_torch PUBLIC larder_shared
                      PRIVATE larder_flags Threads::Threads ${CMAKE_DL_LIBS})
