# libstable-diffusion as others use it: what tests of its rooms link, and its installation.

# Tests and benchmarks look inside rooms, which a shared library does not allow: theirs is the same sources again, with
# the libggml that they look into.
if(BUILD_SHARED_LIBS)
    add_library(engine_internal STATIC EXCLUDE_FROM_ALL $<TARGET_PROPERTY:stable-diffusion,SOURCES>)
    convrot_warnings(engine_internal)
    target_include_directories(engine_internal PRIVATE ${PROJECT_SOURCE_DIR}/engine)
    target_link_libraries(engine_internal PUBLIC ggml_internal
        PRIVATE hwy::hwy PkgConfig::PCRE2 PkgConfig::UTF8PROC nlohmann_json::nlohmann_json)
    # The command lines of both are the same, and a compiler cache knows the second one.
    set_target_properties(stable-diffusion PROPERTIES DEFINE_SYMBOL "")
else()
    add_library(engine_internal ALIAS stable-diffusion)
endif()

add_library(stable-diffusion::stable-diffusion ALIAS stable-diffusion)
convrot_export_c_api(stable-diffusion)

# What rooms link for themselves concerns this build only: users of the installed package get it from the package's file.
get_target_property(engine_links stable-diffusion INTERFACE_LINK_LIBRARIES)
list(TRANSFORM engine_links REPLACE "^(\\$<LINK_ONLY:.*>)$" "$<BUILD_INTERFACE:\\1>")
set_property(TARGET stable-diffusion PROPERTY INTERFACE_LINK_LIBRARIES ${engine_links})

include(CMakePackageConfigHelpers)
set(engine_package ${CMAKE_INSTALL_LIBDIR}/cmake/stable-diffusion)
set(engine_headers ${PROJECT_SOURCE_DIR}/include/stable-diffusion.h ${PROJECT_SOURCE_DIR}/include/sd-ggml-ops.h)
set_target_properties(stable-diffusion PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    INSTALL_RPATH "\$ORIGIN" PUBLIC_HEADER "${engine_headers}")
install(TARGETS stable-diffusion EXPORT stable-diffusion-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT stable-diffusion-targets NAMESPACE stable-diffusion:: DESTINATION ${engine_package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/stable-diffusion-config.cmake.in
    ${PROJECT_BINARY_DIR}/stable-diffusion-config.cmake INSTALL_DESTINATION ${engine_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stable-diffusion-config-version.cmake
    COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/stable-diffusion.pc.in ${PROJECT_BINARY_DIR}/stable-diffusion.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stable-diffusion-config.cmake
    ${PROJECT_BINARY_DIR}/stable-diffusion-config-version.cmake DESTINATION ${engine_package})
install(FILES ${PROJECT_BINARY_DIR}/stable-diffusion.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
