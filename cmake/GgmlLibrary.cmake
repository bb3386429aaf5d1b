# libggml: the runtime and its CPU backend in one library.

include(GNUInstallDirs)

set(ggml_private_libraries OpenMP::OpenMP_CXX DNNL::dnnl hwy::hwy Threads::Threads ${CMAKE_DL_LIBS})

add_library(ggml $<TARGET_OBJECTS:ggml_runtime> $<TARGET_OBJECTS:ggml_cpu>)
add_library(ggml::ggml ALIAS ggml)
target_include_directories(ggml PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Only for this build: users of the installed package get them from ggml-config.cmake.
target_link_libraries(ggml PRIVATE "$<BUILD_INTERFACE:${ggml_private_libraries}>")
convrot_export_c_api(ggml)

# Tests look inside rooms, which a shared library with hidden visibility does not allow.
if(BUILD_SHARED_LIBS)
    foreach(objects ggml_runtime ggml_cpu)
        target_compile_definitions(${objects} PRIVATE GGML_SHARED GGML_BUILD GGML_BACKEND_SHARED GGML_BACKEND_BUILD)
    endforeach()
    add_library(ggml_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:ggml_runtime> $<TARGET_OBJECTS:ggml_cpu>)
    target_include_directories(ggml_internal PUBLIC ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(ggml_internal PRIVATE ${ggml_private_libraries})
else()
    add_library(ggml_internal ALIAS ggml)
endif()

# Installation: headers, library, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(ggml_public_headers ggml.h ggml-alloc.h ggml-backend.h ggml-cpp.h ggml-cpu.h ggml-ext.h ggml-ext-reasons.h ggml-ext-tools.h ggml-graph.h ggml-sched.h gguf.h)
list(TRANSFORM ggml_public_headers PREPEND ${PROJECT_SOURCE_DIR}/include/)
set_target_properties(ggml PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    PUBLIC_HEADER "${ggml_public_headers}")
install(TARGETS ggml EXPORT ggml-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ggml-targets NAMESPACE ggml:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ggml)
include(PackageLibraries)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ggml-config.cmake.in
    ${PROJECT_BINARY_DIR}/ggml-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ggml)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ggml-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/ggml.pc.in ${PROJECT_BINARY_DIR}/ggml.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ggml-config.cmake ${PROJECT_BINARY_DIR}/ggml-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ggml)
install(FILES ${PROJECT_BINARY_DIR}/ggml.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
