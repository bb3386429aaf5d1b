# ggml_upstream: another ggml's headers and libraries for the engine, from sources or from an installation. The
# headers in include/ stay out of reach; the one that is the engine's own is copied to where it is alone.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C CXX)
include(Highway)
set(SD_UPSTREAM_GGML_DIR "" CACHE PATH "Sources of an upstream ggml, or the prefix it is installed in")

# In a scope of its own: what this project's targets share is none of its business.
function(sd_add_upstream_sources)
    get_directory_property(options COMPILE_OPTIONS)
    set_directory_properties(PROPERTIES COMPILE_OPTIONS "")
    foreach(shared CXX_STANDARD C_STANDARD CXX_EXTENSIONS C_VISIBILITY_PRESET CXX_VISIBILITY_PRESET
        VISIBILITY_INLINES_HIDDEN)
        unset(CMAKE_${shared})
    endforeach()
    add_subdirectory(${SD_UPSTREAM_GGML_DIR} ${PROJECT_BINARY_DIR}/upstream-ggml EXCLUDE_FROM_ALL SYSTEM)
    set_directory_properties(PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

add_library(ggml_upstream INTERFACE)
if(EXISTS ${SD_UPSTREAM_GGML_DIR}/src/ggml.c AND EXISTS ${SD_UPSTREAM_GGML_DIR}/CMakeLists.txt)
    sd_add_upstream_sources()
    target_link_libraries(ggml_upstream INTERFACE ggml)
    # Sources outside of libraries come without the marks that quiet warnings about their headers.
    target_include_directories(ggml_upstream SYSTEM INTERFACE ${SD_UPSTREAM_GGML_DIR}/include)
elseif(SD_UPSTREAM_GGML_DIR)
    find_package(ggml CONFIG PATHS ${SD_UPSTREAM_GGML_DIR} NO_DEFAULT_PATH)
    if(NOT ggml_FOUND)
        message(FATAL_ERROR "SD_UPSTREAM_GGML_DIR=${SD_UPSTREAM_GGML_DIR} holds neither ggml's sources nor an "
            "installation with ggml-config.cmake")
    endif()
    target_link_libraries(ggml_upstream INTERFACE ggml::ggml)
else()
    message(FATAL_ERROR "SD_USE_UPSTREAM_GGML needs -DSD_UPSTREAM_GGML_DIR=DIR: ggml's sources, or where it is installed")
endif()

configure_file(${PROJECT_SOURCE_DIR}/include/stable-diffusion.h ${PROJECT_BINARY_DIR}/include/stable-diffusion.h COPYONLY)
target_include_directories(ggml_upstream INTERFACE ${PROJECT_BINARY_DIR}/include)
target_compile_definitions(ggml_upstream INTERFACE SD_USE_UPSTREAM_GGML)
target_link_libraries(ggml_upstream INTERFACE Threads::Threads)
