# liblarder_adapters.so: Larder as functions for CuPy, RMM and ONNX Runtime
# (docs/ADAPTERS.md), on the shared library.

file(GLOB adapters_sources CONFIGURE_DEPENDS adapters/functions/*.c)
file(GLOB adapters_headers CONFIGURE_DEPENDS
     adapters/functions/include/larder/*.h)
set(adapters_map ${PROJECT_SOURCE_DIR}/adapters/functions/adapters.map)

add_library(larder_adapters SHARED ${adapters_sources})
set_target_properties(larder_adapters PROPERTIES
                      SOVERSION 0
                      VERSION ${PROJECT_VERSION}
                      C_VISIBILITY_PRESET hidden
                      EXPORT_NAME adapters
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                      # Beside the library it stands on, wherever that is.
                      INSTALL_RPATH $ORIGIN
                      LINK_DEPENDS ${adapters_map})
target_include_directories(larder_adapters PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/adapters/functions/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(larder_adapters PUBLIC larder_shared
                                      PRIVATE larder_flags Threads::Threads)
target_link_options(larder_adapters PRIVATE
                    -Wl,--version-script=${adapters_map}
                    -Wl,-Bsymbolic-functions)
add_library(larder::adapters ALIAS larder_adapters)
