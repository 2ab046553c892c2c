# Tests of the device backend on a stand-in for its driver (adapters/driver).

larder_fake_objects(fakehip_objects
    "SHELL:-include \"${PROJECT_SOURCE_DIR}/adapters/driver/fakehip_names.h\"")
larder_fake_driver(fakehip fakehip_objects
                   ${PROJECT_SOURCE_DIR}/adapters/driver/fakecuda.map amdhip64 6)
# Drivers that are too old: without a call that is needed; and without those
# that are not.
foreach(age ancient old)
    larder_fake_driver(fakecuda_${age} fakecuda_objects
        ${PROJECT_SOURCE_DIR}/adapters/driver/fakecuda_${age}.map cuda 1)
endforeach()

# ---- the core's programs, a second time -------------------------------------

# Labels fakecuda and fakehip; tests/support/second_device.c says how.  The
# linker hands these calls to it.
foreach(call device_open device_close sim_complete sim_launch sim_wait_event
        sim_capture_begin sim_capture_end sim_regions sim_get_usage)
    target_link_options(test_support INTERFACE -Wl,--wrap=larder_${call})
endforeach()
# Those calls may come from libraries that are linked after it.
target_link_options(test_support INTERFACE -Wl,-u,__wrap_larder_device_open)

# Left out: programs about the simulated GPU itself (its calls and the time they
# take are what test_decisions records), files or locks alone, and forks, which
# no driver survives; those that open no device, so that a second run is the
# first again; and pairs of failures in regions, of which the second meets the
# core's undoing (test_fault_regions fails each call of the driver).
string(CONCAT second_device_leaves_out
    "^test_(sim|trace)_|^test_(fork|api_storm|process_storm|peers|peer_limits|peer_storm)$"
    "|^test_(decisions|fault_region_undo|replayed)$"
    "|^test_(ledger_access|two_trainers|witness)$"
    "|^test_(bins|bits|conf_values|emit|fit|history_tables|newfile|reference_golden)$"
    "|^test_(replay_json|replay_spec|settings|share_message|share_socket|size|spots)$")
# What one test of a program says of the simulated GPU alone:
#   the context's size is known beforehand;
set(second_device_skip_test_account every_owner_has_a_line_and_they_add_up)
set(second_device_skip_test_device props_fit_older_and_newer_callers)
#   work on pages that were moved is told at its turn: the stand-in refuses to
#   unmap them before;
set(second_device_skip_test_migrate a_move_under_undeclared_work_is_reported)
#   what each process holds is known.
set(second_device_skip_test_oom the_message_is_pytorch_s_with_our_name)

# Fewer rounds, for time: as many as have to reach every rare event.
set(second_device_arguments_test_model --runs 500)

# HIP's calls are the same code under other names.  What can be wrong is a name,
# or the number of an attribute or an error, and that shows in the first program
# that makes the call: these, with test_gpu_core below, make all that the programs
# make together (by the coverage of adapters/driver).
set(second_device_hip
    "^test_(account|debug|device|migrate|oom|order|pinned|share|share_handles|streams)$")

function(larder_second_test program)
    if(program MATCHES "${second_device_leaves_out}")
        return()
    endif()
    set(drivers cuda)
    if(program MATCHES "${second_device_hip}")
        list(APPEND drivers hip)
    endif()
    foreach(driver ${drivers})
        set(name fake${driver}_${program})
        larder_test(${name} fake${driver}
                    ${program} ${second_device_arguments_${program}})
        set(environment
            LARDER_TEST_DRIVER=${driver} LARDER_FAKECUDA=none
            LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fake${driver})
        if(second_device_skip_${program})
            list(APPEND environment
                 LARDER_TEST_SKIP=${second_device_skip_${program}})
        endif()
        set_tests_properties(${name} PROPERTIES
                             ENVIRONMENT "${environment}")
    endforeach()
endfunction()

# ---- the backend's own ------------------------------------------------------

# The toolkit's header, to compare our declarations with.
find_path(LARDER_CUDA_INCLUDE_DIR cuda.h
          HINTS ENV CUDA_PATH PATH_SUFFIXES include
          PATHS /usr/local/cuda/include)
mark_as_advanced(LARDER_CUDA_INCLUDE_DIR)

function(larder_cuda_tests)
    larder_support_library(test_support_cuda tests/cuda test_)
    target_link_libraries(test_support_cuda INTERFACE test_support)
    larder_programs(tests/cuda test_ test_support_cuda)
    foreach(program ${programs})
        larder_test(${program} cuda ${program})
        set(driver fakecuda)
        if(program MATCHES "_(old|ancient)$")
            set(driver fakecuda_${CMAKE_MATCH_1})
        endif()
        set_tests_properties(${program} PROPERTIES ENVIRONMENT
            "LARDER_FAKECUDA=none;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/${driver}")
    endforeach()
    if(LARDER_CUDA_INCLUDE_DIR)
        target_include_directories(test_cuda_header SYSTEM PRIVATE
                                   ${LARDER_CUDA_INCLUDE_DIR})
        target_compile_definitions(test_cuda_header PRIVATE HAVE_CUDA_H)
    endif()
endfunction()
larder_cuda_tests()

# What `make check-gpu` runs on a card runs on the stand-in too.
larder_support_library(test_support_gpu tests/gpu test_)
target_link_libraries(test_support_gpu INTERFACE test_support)
larder_programs(tests/gpu test_ test_support_gpu)
foreach(driver cuda hip)
    larder_test(fake${driver}_test_gpu_core fake${driver} test_gpu_core)
    set_tests_properties(fake${driver}_test_gpu_core PROPERTIES ENVIRONMENT
        "LARDER_GPU=${driver}:0;LARDER_FAKECUDA=sim:2GiB,context=300MiB;LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/fake${driver}")
endforeach()

# ---- `larder exec` ----------------------------------------------------------

# A program that is linked with the driver, and one that looks for it.  The
# linked one is told nothing of where it is.
foreach(way linked by_name)
    set(name driver_subject_${way})
    add_executable(${name}
                   ${PROJECT_SOURCE_DIR}/tests/cuda/subject/driver_subject.c)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/cuda
        SKIP_BUILD_RPATH ON)
    target_link_libraries(${name} PRIVATE larder_flags)
endforeach()
target_link_libraries(driver_subject_linked PRIVATE fakecuda)
target_compile_definitions(driver_subject_by_name PRIVATE BY_NAME)
