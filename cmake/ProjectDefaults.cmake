# Defaults every target shares: language level, output folders, visibility, ccache, sanitizers.

option(BUILD_SHARED_LIBS "Build the libraries as shared libraries" OFF)
option(CONVROT_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(CONVROT_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(CONVROT_TOOLS "Build the programs" ${PROJECT_IS_TOP_LEVEL})
option(CONVROT_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(CONVROT_SANITIZE_THREADS "Build with ThreadSanitizer" OFF)
option(SD_USE_UPSTREAM_GGML "Build the engine against the ggml in SD_UPSTREAM_GGML_DIR: float models only" OFF)
option(CONVROT_FUZZ "Build libFuzzer targets (needs Clang)" OFF)
option(CONVROT_WERROR "Treat warnings in this project's code as errors" ${PROJECT_IS_TOP_LEVEL})

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

find_program(CONVROT_CCACHE ccache)
if(CONVROT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CONVROT_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${CONVROT_CCACHE})
endif()

# Messages name their place in the sources from the root, not where this machine keeps them. Debug information keeps
# whole paths, by which debuggers find the files.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)

# Sums are compared bit for bit across thread counts and with scalar references: a compiler that
# contracts a*b+c to fma in one translation unit and not in another would break that.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)

if(CONVROT_SANITIZE)
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=address,undefined)
endif()
if(CONVROT_SANITIZE_THREADS)
    add_compile_options(-fsanitize=thread -g1)
    add_link_options(-fsanitize=thread)
endif()
if(CONVROT_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
