# Tests of the plug-in for PyTorch, in hosts that load it as PyTorch does.
# Included by tests.cmake.

# They see the plug-in's copy of the library and no other.
add_library(torch_host STATIC ${PROJECT_SOURCE_DIR}/tests/torch/torch_host.c)
target_include_directories(torch_host PUBLIC ${PROJECT_SOURCE_DIR}/tests
                           ${PROJECT_SOURCE_DIR}/adapters
                           ${PROJECT_SOURCE_DIR}/adapters/torch/include)
target_compile_definitions(torch_host PUBLIC
    LARDER_TORCH_PLUGIN="${PROJECT_BINARY_DIR}/liblarder_torch.so")
target_compile_options(torch_host PUBLIC -UNDEBUG)
target_link_libraries(torch_host PUBLIC larder_flags PkgConfig::cmocka
                      Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(torch_host larder_torch fakecuda)

file(GLOB torch_tests CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/torch/test_*.c)
foreach(source ${torch_tests})
    get_filename_component(program ${source} NAME_WE)
    add_executable(${program} ${source})
    set_target_properties(${program} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/torch
        ENABLE_EXPORTS ON)
    target_link_libraries(${program} PRIVATE torch_host)
    larder_test(${program} torch ${program})
    larder_test(fakecuda_${program} fakecuda ${program})
    set_tests_properties(fakecuda_${program} PROPERTIES ENVIRONMENT
        "LARDER_TORCH_HOST=cuda;LARDER_FAKECUDA=none;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fakecuda")
endforeach()

# For a PyTorch that is here; exceptions pass through its functions.
add_library(torch_cpu_allocator MODULE
            ${PROJECT_SOURCE_DIR}/tests/torch/real/cpu_allocator.c)
set_target_properties(torch_cpu_allocator PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/torch)
target_compile_options(torch_cpu_allocator PRIVATE -fexceptions)
target_link_libraries(torch_cpu_allocator PRIVATE larder_flags)

# For the double of PyTorch.
add_library(torch_alloc_thread MODULE
            ${PROJECT_SOURCE_DIR}/tests/torch/alloc_thread.c)
set_target_properties(torch_alloc_thread PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/torch)
target_link_libraries(torch_alloc_thread PRIVATE larder_flags Threads::Threads)

# The plug-in for `make check-torch`, in a folder that stands for the build's.
add_library(torch_watched MODULE
            ${PROJECT_SOURCE_DIR}/tests/torch/watched_torch.c)
set_target_properties(torch_watched PROPERTIES
    OUTPUT_NAME larder_torch NO_SONAME ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/torch/watched)
target_compile_options(torch_watched PRIVATE -fexceptions)
target_link_libraries(torch_watched PRIVATE larder_torch larder_flags
                      Threads::Threads ${CMAKE_DL_LIBS})
add_custom_command(TARGET torch_watched POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink
            ${PROJECT_BINARY_DIR}/liblarder_preload.so
            ${PROJECT_BINARY_DIR}/tests/torch/watched/liblarder_preload.so)

# Exceptions need a C++ compiler to be caught; without one this is left out.
include(CheckLanguage)
check_language(CXX)
if(CMAKE_CXX_COMPILER)
    enable_language(CXX)
    foreach(abi 0 1)
        add_library(c10_stand_in_${abi} SHARED
            ${PROJECT_SOURCE_DIR}/tests/torch/cxx/c10_stand_in.cpp)
        target_compile_definitions(c10_stand_in_${abi} PRIVATE
                                   _GLIBCXX_USE_CXX11_ABI=${abi})
        set_target_properties(c10_stand_in_${abi} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/torch)
    endforeach()
    add_executable(cxx_host
                   ${PROJECT_SOURCE_DIR}/tests/torch/cxx/cxx_host.cpp)
    set_target_properties(cxx_host PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/torch)
    target_include_directories(cxx_host PRIVATE
        ${PROJECT_SOURCE_DIR}/include
        ${PROJECT_SOURCE_DIR}/adapters/torch/include)
    target_link_libraries(cxx_host PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    add_dependencies(cxx_host larder_torch)
    foreach(target cxx_host c10_stand_in_0 c10_stand_in_1)
        target_compile_options(${target} PRIVATE -std=c++17 -Wall -Wextra
            $<$<BOOL:${LARDER_WERROR}>:-Werror>)
        if(LARDER_SANITIZE)
            target_compile_options(${target} PRIVATE
                                   -fsanitize=${sanitizers})
            target_link_options(${target} PRIVATE -fsanitize=${sanitizers})
        endif()
    endforeach()
    larder_test(torch_throws_alone torch cxx_host $<TARGET_FILE:larder_torch>)
    foreach(abi 0 1)
        larder_test(torch_throws_c10_${abi} torch cxx_host
                    $<TARGET_FILE:larder_torch>
                    $<TARGET_FILE:c10_stand_in_${abi}>)
    endforeach()
endif()
