# liblarder_lab: the lab's engine, on liblarder's public headers.

file(GLOB lab_headers CONFIGURE_DEPENDS lab/include/larder/*.h)
file(GLOB lab_sources CONFIGURE_DEPENDS
     lab/tensor/*.c lab/kernels/*.c lab/autograd/*.c lab/ops/*.c lab/optim/*.c
     lab/show/*.c)

add_library(larder_lab_objects OBJECT ${lab_sources})
set_target_properties(larder_lab_objects PROPERTIES
                      POSITION_INDEPENDENT_CODE ON
                      C_VISIBILITY_PRESET hidden)
target_include_directories(larder_lab_objects PRIVATE
                           ${PROJECT_SOURCE_DIR}/lab
                           ${PROJECT_SOURCE_DIR}/lab/include)
target_link_libraries(larder_lab_objects PRIVATE larder_flags Threads::Threads)
# Loops over floats are to be vectorised; results need not be the last bit's.
target_compile_options(larder_lab_objects PRIVATE
                       -O3 -fno-math-errno -fno-trapping-math
                       -ffp-contract=fast
                       -fno-semantic-interposition)

add_library(larder_lab_shared SHARED $<TARGET_OBJECTS:larder_lab_objects>)
add_library(larder_lab_static STATIC $<TARGET_OBJECTS:larder_lab_objects>)
set(lab_version_script ${PROJECT_SOURCE_DIR}/lab/lab.map)
set_target_properties(larder_lab_shared PROPERTIES
                      SOVERSION 0
                      VERSION ${PROJECT_VERSION}
                      EXPORT_NAME larder_lab
                      BUILD_RPATH_USE_ORIGIN ON
                      INSTALL_RPATH "$ORIGIN"
                      LINK_DEPENDS ${lab_version_script})
target_link_options(larder_lab_shared PRIVATE
                    -Wl,--version-script=${lab_version_script}
                    -Wl,-Bsymbolic-functions)
foreach(library larder_lab_shared larder_lab_static)
    set_target_properties(${library} PROPERTIES
                          OUTPUT_NAME larder_lab
                          LINKER_LANGUAGE C
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                          ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_include_directories(${library} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/lab/include>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(larder_lab_shared PUBLIC larder_shared
                      PRIVATE larder_flags Threads::Threads m)
target_link_libraries(larder_lab_static PUBLIC larder_static Threads::Threads m)
