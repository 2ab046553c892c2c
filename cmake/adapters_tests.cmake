# Tests of the adapters, on the shared libraries as their users have them, and
# on the stand-in driver.

add_executable(test_adapters
               ${PROJECT_SOURCE_DIR}/tests/adapters/test_adapters.c)
set_target_properties(test_adapters PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/adapters)
target_include_directories(test_adapters PRIVATE ${PROJECT_SOURCE_DIR}/tests
                           ${PROJECT_SOURCE_DIR}/adapters)
target_compile_options(test_adapters PRIVATE -UNDEBUG)
target_link_libraries(test_adapters PRIVATE larder_flags larder_adapters
                      PkgConfig::cmocka)
larder_test(test_adapters adapters test_adapters)
set_tests_properties(test_adapters PROPERTIES ENVIRONMENT
    "LARDER_FAKECUDA=sim:64MiB,events=manual,count=2;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fakecuda")
