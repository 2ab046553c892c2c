# The installed files.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/larder)

install(TARGETS larder_shared larder_static EXPORT larder-targets)
install(FILES ${library_headers} ${preload_headers} ${adapters_headers}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/larder)
install(TARGETS larder_adapters EXPORT larder-targets)
if(TARGET larder_preload)
    install(TARGETS larder_preload
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET larder_command)
    install(TARGETS larder_command)
    install(TARGETS larder_lab_shared larder_lab_static EXPORT larder-targets)
    install(FILES ${lab_headers}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/larder)
    install(TARGETS larder_torch LIBRARY
            DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(FILES ${torch_headers}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/larder)
    install(TARGETS fakecuda LIBRARY
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/larder/fakecuda NAMELINK_SKIP)
    install(TARGETS cudart12 cudart13 ${standin_targets} larder_nvml LIBRARY
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/larder/cudart)
    if(TARGET larder_redirect)
        install(TARGETS larder_redirect LIBRARY
                DESTINATION ${CMAKE_INSTALL_LIBDIR}/larder/cudart)
    endif()
    # Where the command looks for it; PYTHONPATH names it for other programs.
    install(DIRECTORY python/larder
            DESTINATION ${CMAKE_INSTALL_DATADIR}/larder/python
            PATTERN __pycache__ EXCLUDE)
endif()
# Each shell's own place, and its own name for the file.
if(TARGET larder_completions)
    install(FILES ${PROJECT_BINARY_DIR}/completions/larder.bash
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME larder)
    install(FILES ${PROJECT_BINARY_DIR}/completions/larder.zsh
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
            RENAME _larder)
    install(FILES ${PROJECT_BINARY_DIR}/completions/larder.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

foreach(section 1 3 5 7)
    file(GLOB pages CONFIGURE_DEPENDS man/*.${section})
    install(FILES ${pages}
            DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
# Laid out as here, for the links in them.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(LARDER_APP_PAGE ${PROJECT_SOURCE_DIR}/build/app.html CACHE FILEPATH
    "The page that `make app` makes; installed if it is there")
install(FILES ${LARDER_APP_PAGE}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/larder OPTIONAL)
# Price tables, to copy and to change.
file(GLOB price_tables CONFIGURE_DEPENDS data/costs/*.costs)
install(FILES ${price_tables}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/larder/costs)
# The cards that `larder run` knows, likewise.
install(FILES data/cards/cards.tsv
        DESTINATION ${CMAKE_INSTALL_DATADIR}/larder/cards)

install(EXPORT larder-targets NAMESPACE larder:: DESTINATION ${package_dir})
configure_package_config_file(
    cmake/larder-config.cmake.in larder-config.cmake
    INSTALL_DESTINATION ${package_dir})
# 0.x: a new minor version may change what there is.
write_basic_package_version_file(larder-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/larder-config.cmake
              ${PROJECT_BINARY_DIR}/larder-config-version.cmake
        DESTINATION ${package_dir})

# Paths relative to the .pc file, so that `--prefix` given at install time and
# moved trees work.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}"
   OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
    set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_files larder)
if(TARGET larder_command)
    list(APPEND pc_files larder_lab)
endif()
foreach(name ${pc_files})
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
