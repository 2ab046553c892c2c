# The command as WebAssembly, for the page that analyses snapshots in a browser
# (`make app`): the analysing commands alone, made from the same sources.
#
# Debian has no packages of libzstd and jansson for WebAssembly, so that their
# sources are fetched and become a part of it.

include(FetchContent)
if(POLICY CMP0135)
    cmake_policy(SET CMP0135 NEW) # unpacked files are as old as their unpacking
endif()
set(pool https://deb.debian.org/debian/pool/main)
FetchContent_Declare(jansson
    URL ${pool}/j/jansson/jansson_2.14.orig.tar.gz
    URL_HASH SHA256=c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b)
FetchContent_Declare(zstd
    URL ${pool}/libz/libzstd/libzstd_1.5.4+dfsg2.orig.tar.xz
    URL_HASH SHA256=8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953)
foreach(package jansson zstd)
    FetchContent_GetProperties(${package})
    if(NOT ${package}_POPULATED)
        FetchContent_Populate(${package}) # not its own build files
    endif()
endforeach()

# What jansson's own build finds out about the system.
set(json_inline inline)
set(json_have_long_long 1)
set(json_have_localeconv 1)
set(json_have_atomic_builtins 1)
set(json_have_sync_builtins 1)
configure_file(${jansson_SOURCE_DIR}/src/jansson_config.h.in
               ${jansson_BINARY_DIR}/jansson_config.h @ONLY)
file(CONFIGURE OUTPUT ${jansson_BINARY_DIR}/jansson_private_config.h CONTENT "")
file(GLOB jansson_sources ${jansson_SOURCE_DIR}/src/*.c)
add_library(app_jansson STATIC ${jansson_sources})
target_include_directories(app_jansson PUBLIC ${jansson_SOURCE_DIR}/src
                           ${jansson_BINARY_DIR})
target_compile_definitions(app_jansson PRIVATE HAVE_STDINT_H
                           INITIAL_HASHTABLE_ORDER=3)

file(GLOB zstd_sources ${zstd_SOURCE_DIR}/lib/common/*.c
     ${zstd_SOURCE_DIR}/lib/compress/*.c ${zstd_SOURCE_DIR}/lib/decompress/*.c)
add_library(app_zstd STATIC ${zstd_sources})
target_include_directories(app_zstd PUBLIC ${zstd_SOURCE_DIR}/lib)
target_compile_definitions(app_zstd PRIVATE ZSTD_LEGACY_SUPPORT=0)

# A browser has no dynamic linker, no return addresses and no other processes.
set(sources ${library_sources} ${tools_sources} ${command_sources})
list(FILTER sources EXCLUDE REGEX
     "/(base/(callstack|symbol)|ledger/bell|top_screen|cmd_lab|cli/main)[.]c$")
list(FILTER sources EXCLUDE REGEX "/cli/lab/")
add_library(app_objects STATIC ${sources} ${cards_source} ${page_source}
            web/no_system.c)
target_include_directories(app_objects PUBLIC ${PROJECT_SOURCE_DIR}/cli)
target_compile_options(app_objects PRIVATE
                       "-D__builtin_return_address(n)=((void*)0)")
target_link_libraries(app_objects PRIVATE larder_flags
                      PUBLIC app_jansson app_zstd)

add_executable(app_command cli/main.c)
target_link_libraries(app_command PRIVATE larder_flags app_objects)
set_target_properties(app_command PROPERTIES OUTPUT_NAME larder)
target_link_options(app_command PRIVATE
    -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=1MB
    -sMODULARIZE=1 -sEXPORT_NAME=createLarder -sINVOKE_RUN=0 -sEXIT_RUNTIME=1
    -sFORCE_FILESYSTEM=1 -sDYNAMIC_EXECUTION=0 -sENVIRONMENT=worker
    -sEXPORTED_RUNTIME_METHODS=callMain,ENV,FS,WORKERFS -lworkerfs.js)
