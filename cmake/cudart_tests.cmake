# Tests of our CUDA runtime on the simulated driver; tests/cli/exec_runtime.sh
# tests programs built by nvcc and `larder exec`.

set(folder ${PROJECT_SOURCE_DIR}/tests/cudart)
foreach(major 12 13)
    set(name test_cudart_calls_${major})
    add_executable(${name} ${folder}/test_cudart_calls.c)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
    target_include_directories(${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/adapters
        ${PROJECT_SOURCE_DIR}/adapters/cudart)
    target_compile_definitions(${name} PRIVATE RT_MAJOR=${major})
    target_compile_options(${name} PRIVATE -UNDEBUG)
    target_link_libraries(${name} PRIVATE larder_flags cudart${major}
                                          PkgConfig::cmocka)
    larder_test(${name} cudart ${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT
        "LARDER_FAKECUDA=sim:64MiB,events=manual,count=2;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fakecuda")
endforeach()

# Two processes, each with the library in its program.
add_executable(test_cudart_ipc ${folder}/test_cudart_ipc.c)
set_target_properties(test_cudart_ipc PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
target_include_directories(test_cudart_ipc PRIVATE
    ${PROJECT_SOURCE_DIR}/adapters ${PROJECT_SOURCE_DIR}/adapters/cudart)
target_compile_definitions(test_cudart_ipc PRIVATE RT_MAJOR=13)
target_compile_options(test_cudart_ipc PRIVATE -UNDEBUG)
target_link_libraries(test_cudart_ipc PRIVATE larder_flags cudart13
                                              PkgConfig::cmocka)
larder_test(test_cudart_ipc cudart test_cudart_ipc)
set_tests_properties(test_cudart_ipc PROPERTIES ENVIRONMENT
    "LARDER_FAKECUDA=sim:64MiB;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fakecuda")

add_executable(test_cudart_header ${folder}/test_cudart_header.c)
set_target_properties(test_cudart_header PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
target_include_directories(test_cudart_header PRIVATE
                           ${PROJECT_SOURCE_DIR}/adapters/cudart)
target_link_libraries(test_cudart_header PRIVATE larder_flags)
if(LARDER_CUDA_INCLUDE_DIR AND
   EXISTS ${LARDER_CUDA_INCLUDE_DIR}/cuda_runtime_api.h)
    target_include_directories(test_cudart_header SYSTEM PRIVATE
                               ${LARDER_CUDA_INCLUDE_DIR})
    target_compile_definitions(test_cudart_header PRIVATE HAVE_CUDA_RUNTIME_H)
endif()
larder_test(test_cudart_header cudart test_cudart_header)

# What `larder exec` is tried on.
add_executable(runtime_subject ${folder}/subject/runtime_subject.c)
set_target_properties(runtime_subject PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
target_link_libraries(runtime_subject PRIVATE larder_flags ${CMAKE_DL_LIBS})

add_executable(test_nvml ${folder}/test_nvml.c)
set_target_properties(test_nvml PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
target_include_directories(test_nvml PRIVATE
                           ${PROJECT_SOURCE_DIR}/adapters/nvml)
target_compile_options(test_nvml PRIVATE -UNDEBUG)
target_link_libraries(test_nvml PRIVATE larder_flags ${CMAKE_DL_LIBS}
                                        PkgConfig::cmocka)
add_dependencies(test_nvml larder_nvml fakecuda)
larder_test(test_nvml cudart test_nvml)
set_tests_properties(test_nvml PROPERTIES ENVIRONMENT
    "LARDER_FAKECUDA=sim:h100,count=2;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/cudart:${PROJECT_BINARY_DIR}/fakecuda")

add_executable(test_standins ${folder}/test_standins.c)
set_target_properties(test_standins PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
target_compile_options(test_standins PRIVATE -UNDEBUG)
target_link_libraries(test_standins PRIVATE larder_flags ${CMAKE_DL_LIBS}
                                            PkgConfig::cmocka)
larder_test(test_standins cudart test_standins)
set_tests_properties(test_standins PROPERTIES ENVIRONMENT
    "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/cudart")

add_executable(test_nccl_ranks ${folder}/test_nccl_ranks.c)
set_target_properties(test_nccl_ranks PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cudart)
target_include_directories(test_nccl_ranks PRIVATE
    ${PROJECT_SOURCE_DIR}/adapters ${PROJECT_SOURCE_DIR}/adapters/cudart)
target_compile_definitions(test_nccl_ranks PRIVATE RT_MAJOR=13)
target_compile_options(test_nccl_ranks PRIVATE -UNDEBUG)
target_link_libraries(test_nccl_ranks PRIVATE larder_flags cudart13
                                              standin_nccl_2 PkgConfig::cmocka)
larder_test(test_nccl_ranks cudart test_nccl_ranks)
set_tests_properties(test_nccl_ranks PROPERTIES TIMEOUT 60 ENVIRONMENT
    "LARDER_FAKECUDA=sim:64MiB,count=2;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/cudart:${PROJECT_BINARY_DIR}/fakecuda")
