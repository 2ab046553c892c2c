# How all our targets are compiled: an interface library `larder_flags` that
# each links privately, so that users do not inherit it.

add_library(larder_flags INTERFACE)

target_compile_features(larder_flags INTERFACE c_std_11)
set(CMAKE_C_EXTENSIONS OFF)
# For memfd_create() and its like; the public headers need nothing of it.
target_compile_definitions(larder_flags INTERFACE _GNU_SOURCE)
target_include_directories(larder_flags INTERFACE
                           ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_SOURCE_DIR}/src)

target_compile_options(larder_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wvla
    -Wstrict-prototypes -Wmissing-prototypes
    $<$<BOOL:${LARDER_WERROR}>:-Werror>)

# CMake's release types define NDEBUG, which is for the assert() of the tools:
# take it back where assertions are asked for.
if(NOT LARDER_ASSERT_LEVEL MATCHES "^[012]$")
    message(FATAL_ERROR "LARDER_ASSERT_LEVEL is '${LARDER_ASSERT_LEVEL}'; "
                        "expected 0, 1 or 2")
endif()
if(LARDER_ASSERT_LEVEL GREATER 0)
    target_compile_definitions(larder_flags INTERFACE
                               LARDER_ASSERT_LEVEL=${LARDER_ASSERT_LEVEL})
    # Failed ones name files as the repository does.
    target_compile_options(larder_flags INTERFACE -UNDEBUG
                           -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()

# A library has all it uses, but for what a sanitizer brings: clang links that
# into programs alone.
set(no_undefined -Wl,-z,defs)

if(LARDER_SANITIZE)
    set(no_undefined "")
    string(REPLACE ";" "," sanitizers "${LARDER_SANITIZE}")
    target_compile_options(larder_flags INTERFACE
                           -fsanitize=${sanitizers} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all
                           # Checked loops are not vectorized: clang says it.
                           $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
    target_link_options(larder_flags INTERFACE -fsanitize=${sanitizers})
endif()
