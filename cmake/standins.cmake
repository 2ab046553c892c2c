# Libraries above the CUDA runtime that compute nothing, for `larder exec`:
# generated from lists of their public functions, with the hand-written code in
# adapters/standins.  Installed next to the runtime.

set(standins_folder ${PROJECT_SOURCE_DIR}/adapters/standins)
file(GLOB lists CONFIGURE_DEPENDS ${standins_folder}/*.list)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists})

# FAMILY:VERSIONS:SYMBOLS, where SYMBOLS says how the library's symbols are
# versioned: own, by its name; none; or that word.
set(standins
    cublas:12,13:own cublasLt:12,13:own cudnn:9:own cufft:11,12:own
    curand:10:own cusolver:11,12:own cusparse:12:own cusparseLt:0:none
    nvJitLink:12,13:own nvrtc:12,13:own nccl:2:none cupti:12,13:own
    cufile:0:none nvshmem_host:3:NVSHMEM)

# A function's body, from the words of its line.
function(larder_standin_body words out)
    set(body "")
    set(answer 0)
    foreach(word ${words})
        if(word STREQUAL "text")
            set(answer "(intptr_t)\"simulated\"")
        elseif(word MATCHES "^([0-9]+):handle$")
            string(APPEND body " standin_handle(a${CMAKE_MATCH_1});")
        elseif(word MATCHES "^([0-9]+):free$")
            string(APPEND body " free((void *)a${CMAKE_MATCH_1});")
        elseif(word MATCHES "^([0-9]+):version$")
            string(APPEND body " standin_version(a${CMAKE_MATCH_1});")
        elseif(word MATCHES "^([0-9]+):property$")
            string(APPEND body " standin_property(a1, a${CMAKE_MATCH_1});")
        elseif(word MATCHES "^([0-9]+):(keep|kept)$")
            string(APPEND body
                   " standin_${CMAKE_MATCH_2}(a1, a${CMAKE_MATCH_1});")
        elseif(word MATCHES "^([0-9]+):([0-9]+)$")
            string(APPEND body
                   " standin_zero(a${CMAKE_MATCH_1}, ${CMAKE_MATCH_2});")
        else()
            message(FATAL_ERROR "a list of stand-ins has the word '${word}'")
        endif()
    endforeach()
    set(${out} "{${body} return ${answer}; }" PARENT_SCOPE)
endfunction()

# The source that a list makes.
function(larder_standin_source family out)
    set(text "#include \"standin.h\"\n")
    file(STRINGS ${standins_folder}/${family}.list lines REGEX "^[^#]")
    foreach(line ${lines})
        string(REPLACE " " ";" words "${line}")
        list(POP_FRONT words name)
        larder_standin_body("${words}" body)
        string(APPEND text "STANDIN(${name}) ${body}\n")
    endforeach()
    set(${out} ${PROJECT_BINARY_DIR}/standins/${family}.c PARENT_SCOPE)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/standins/${family}.c
         CONTENT "${text}" @ONLY)
endfunction()

function(larder_standin family version symbols source)
    set(target standin_${family}_${version})
    set(soname lib${family}.so.${version})
    string(TOLOWER ${family} lower)
    file(GLOB by_hand CONFIGURE_DEPENDS ${standins_folder}/${lower}_*.c)
    add_library(${target} SHARED ${source} ${by_hand})
    set_target_properties(${target} PROPERTIES
                          OUTPUT_NAME ${family}
                          SUFFIX .so.${version}
                          NO_SONAME ON
                          LIBRARY_OUTPUT_DIRECTORY
                          ${PROJECT_BINARY_DIR}/cudart)
    target_include_directories(${target} PRIVATE ${standins_folder})
    target_compile_definitions(${target} PRIVATE STANDIN_MAJOR=${version})
    target_compile_options(${target} PRIVATE -Wno-unused-parameter)
    target_link_libraries(${target} PRIVATE larder_flags)
    target_link_options(${target} PRIVATE -Wl,-soname,${soname} ${no_undefined})
    if(NOT symbols STREQUAL "none")
        string(REPLACE "own" ${soname} symbols ${symbols})
        set(map ${PROJECT_BINARY_DIR}/standins/${family}_${version}.map)
        file(CONFIGURE OUTPUT ${map}
             CONTENT "${symbols} {\nglobal: *;\n};\n" @ONLY)
        target_link_options(${target} PRIVATE -Wl,--version-script=${map})
        set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
    endif()
endfunction()

set(standin_targets "")
foreach(entry ${standins})
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 family)
    list(GET entry 1 versions)
    list(GET entry 2 symbols)
    larder_standin_source(${family} source)
    string(REPLACE "," ";" versions ${versions})
    foreach(version ${versions})
        larder_standin(${family} ${version} ${symbols} ${source})
        list(APPEND standin_targets standin_${family}_${version})
    endforeach()
endforeach()
