# Shell completions, which the command itself prints from its tables; none if
# the command cannot run on the build machine.

if(NOT CMAKE_CROSSCOMPILING)
    set(completion_files "")
    foreach(shell bash zsh fish)
        set(file ${PROJECT_BINARY_DIR}/completions/larder.${shell})
        add_custom_command(
            OUTPUT ${file}
            COMMAND ${CMAKE_COMMAND} -E make_directory
                    ${PROJECT_BINARY_DIR}/completions
            COMMAND larder_command completion ${shell} > ${file}
            DEPENDS larder_command
            VERBATIM)
        list(APPEND completion_files ${file})
    endforeach()
    add_custom_target(larder_completions ALL DEPENDS ${completion_files})
endif()
