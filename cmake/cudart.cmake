# The public interface of the CUDA runtime (docs/EXEC.md) on the simulated
# driver: one library for each version that programs request, in its own folder,
# which `larder exec` puts before the real ones.  No toolkit is needed.

set(cudart_folder ${PROJECT_SOURCE_DIR}/adapters/cudart)
file(GLOB cudart_sources CONFIGURE_DEPENDS ${cudart_folder}/*.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${cudart_folder}/refused.list ${cudart_folder}/per_thread.list)

# The names of a list, without its comment.
function(larder_cudart_names list out)
    file(STRINGS ${cudart_folder}/${list} names REGEX "^[^#]")
    set(${out} ${names} PARENT_SCOPE)
endfunction()

# What is not simulated, each a function that says so.
larder_cudart_names(refused.list names)
set(refused "#include \"rt_state.h\"\n")
foreach(name ${names})
    string(APPEND refused "int ${name}(void);\nint ${name}(void)\n"
                          "{\n    return rt_refuse(__func__);\n}\n")
endforeach()
set(refused_source ${PROJECT_BINARY_DIR}/cudart_refused.c)
file(CONFIGURE OUTPUT ${refused_source} CONTENT "${refused}" @ONLY)

# Second names of the same calls, in a file for the linker.  The newer version
# has no numbered forms.
larder_cudart_names(per_thread.list per_thread_names)

foreach(major 12 13)
    set(map ${PROJECT_BINARY_DIR}/cudart_${major}.map)
    file(CONFIGURE OUTPUT ${map} CONTENT
         "libcudart.so.${major} {\nglobal: cuda*; __cuda*;\nlocal: *;\n};\n")
    set(defined "")
    foreach(name ${per_thread_names})
        string(REGEX REPLACE "_pt[sd][zs]$" "" plain ${name})
        if(major LESS 13 OR NOT plain MATCHES "_v[0-9]$")
            string(APPEND defined "--defsym=${name}=${plain}\n")
        endif()
    endforeach()
    set(per_thread ${PROJECT_BINARY_DIR}/cudart_${major}.opt)
    file(CONFIGURE OUTPUT ${per_thread} CONTENT "${defined}" @ONLY)
    add_library(cudart${major} SHARED ${cudart_sources} ${refused_source})
    set_target_properties(cudart${major} PROPERTIES
                          OUTPUT_NAME cudart
                          SUFFIX .so.${major}
                          NO_SONAME ON
                          INSTALL_RPATH $ORIGIN/../fakecuda
                          LIBRARY_OUTPUT_DIRECTORY
                          ${PROJECT_BINARY_DIR}/cudart
                          LINK_DEPENDS "${map};${per_thread}")
    target_compile_definitions(cudart${major} PRIVATE RT_MAJOR=${major})
    target_include_directories(cudart${major} PRIVATE ${cudart_folder})
    target_link_libraries(cudart${major} PRIVATE larder_flags fakecuda
                                                 Threads::Threads)
    target_link_options(cudart${major} PRIVATE
                        -Wl,-soname,libcudart.so.${major}
                        -Wl,--version-script=${map} -Wl,-Bsymbolic
                        -Wl,@${per_thread} ${no_undefined})
endforeach()

# What makes the loader take them, whatever path a program names.  It is loaded
# apart from the program, which a sanitizer would not bear.
if(NOT LARDER_SANITIZE)
    add_library(larder_redirect MODULE
                ${PROJECT_SOURCE_DIR}/adapters/standins/redirect.c)
    set_target_properties(larder_redirect PROPERTIES
                          C_VISIBILITY_PRESET hidden
                          LIBRARY_OUTPUT_DIRECTORY
                          ${PROJECT_BINARY_DIR}/cudart)
    target_link_libraries(larder_redirect PRIVATE larder_flags ${CMAKE_DL_LIBS})
endif()
