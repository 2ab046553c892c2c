# The command `larder`, and what it shares with the tests: reading traces and
# snapshots, and replaying them.

set(setup_hint "tools/setup.sh names, or installs, every package needed")
find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
    message(FATAL_ERROR "pkg-config is missing; ${setup_hint}")
endif()
foreach(package libzstd jansson ncursesw)
    pkg_check_modules(${package} IMPORTED_TARGET ${package})
    if(NOT ${package}_FOUND)
        message(FATAL_ERROR "${package} is missing; ${setup_hint}")
    endif()
endforeach()

# The page of `larder top --serve` becomes a part of the command.
set(top_folder ${PROJECT_SOURCE_DIR}/cli/top_page)
set(top_source ${PROJECT_BINARY_DIR}/top_page.c)
add_custom_command(
    OUTPUT ${top_source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${top_source} -DFOLDER=${top_folder}
            "-DNAMES=page.html;page.css;page.js" -DPREFIX=top_page
            -DHEADER=top_page.h
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake
    DEPENDS ${top_folder}/page.html ${top_folder}/page.css
            ${top_folder}/page.js
            ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake
    VERBATIM)

add_library(larder_tools STATIC ${tools_sources} ${page_source})
target_link_libraries(larder_tools
                      PRIVATE larder_flags PkgConfig::libzstd
                              PkgConfig::jansson
                      PUBLIC larder_static)

# All of the command but its main(): tests look into it too.
list(FILTER command_sources EXCLUDE REGEX "/cli/main[.]c$")
add_library(larder_cli STATIC ${command_sources} ${top_source})
target_include_directories(larder_cli PUBLIC ${PROJECT_SOURCE_DIR}/cli)
target_link_libraries(larder_cli
                      PRIVATE larder_flags PkgConfig::ncursesw
                              PkgConfig::jansson
                      PUBLIC larder_tools larder_lab_static)

# The command looks for the Python package in ../python, which a build folder
# elsewhere does not have.
if(NOT EXISTS ${PROJECT_BINARY_DIR}/../python/larder)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python ${PROJECT_BINARY_DIR}/python
         SYMBOLIC)
endif()
add_executable(larder_command cli/main.c)
set_target_properties(larder_command PROPERTIES
                      OUTPUT_NAME larder
                      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(larder_command PRIVATE larder_flags larder_cli)
