# NVIDIA's management library (NVML) for the simulated GPUs, beside the runtime.

file(GLOB nvml_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/adapters/nvml/*.c)
add_library(larder_nvml SHARED ${nvml_sources})
set_target_properties(larder_nvml PROPERTIES
                      OUTPUT_NAME nvidia-ml
                      SUFFIX .so.1
                      NO_SONAME ON
                      C_VISIBILITY_PRESET hidden
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cudart)
target_include_directories(larder_nvml PRIVATE
                           ${PROJECT_SOURCE_DIR}/adapters/nvml
                           ${PROJECT_SOURCE_DIR}/adapters
                           ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(larder_nvml PRIVATE larder_flags larder_static
                                          ${CMAKE_DL_LIBS})
target_link_options(larder_nvml PRIVATE -Wl,-soname,libnvidia-ml.so.1
                    -Wl,--exclude-libs,ALL -Wl,-Bsymbolic ${no_undefined})
