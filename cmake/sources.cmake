# The sources of the library, of the tools' rooms and of the command.

file(GLOB library_sources CONFIGURE_DEPENDS
     src/base/*.c src/device/*.c src/ledger/*.c src/core/*/*.c)
include(cmake/cards.cmake)

file(GLOB tools_sources CONFIGURE_DEPENDS
     src/trace/*.c src/replay/*.c src/snapshot/*.c src/report/*.c src/view/*.c
     src/convert/*.c src/tune/*.c src/json/*.c)

# The viewer's page becomes a part of the command.
file(GLOB page_files CONFIGURE_DEPENDS src/view/page/*)
set(page_source ${PROJECT_BINARY_DIR}/view_page.c)
add_custom_command(
    OUTPUT ${page_source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${page_source}
            -DPAGE=${PROJECT_SOURCE_DIR}/src/view/page
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    DEPENDS ${page_files} ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake
    VERBATIM)

file(GLOB command_sources CONFIGURE_DEPENDS cli/*.c cli/lab/*.c
     cli/lab/*/*.c)
