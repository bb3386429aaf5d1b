# Helpers that keep the per-folder lists short: warnings, object rooms, tests.

function(convrot_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpointer-arith -Wundef
        -Wno-missing-field-initializers $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
    if(CONVROT_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

# Adds sources of one room (a folder) to the object library `target`, named relative to that folder.
function(convrot_room target)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    target_sources(${target} PRIVATE ${ARGN})
endfunction()

# One test program per room. Sources are named relative to the calling folder.
function(convrot_test name)
    add_executable(${name} ${ARGN})
    convrot_warnings(${name})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE convrot_test_support ggml_internal GTest::gtest GTest::gtest_main)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    add_test(NAME ${name} COMMAND ${name})
    # Out of memory is an answer of the API and is tested; AddressSanitizer must return null as malloc does.
    set_tests_properties(${name} PROPERTIES TIMEOUT 900
        ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# Of a shared library, lets programs see the C API alone.
function(convrot_export_c_api target)
    if(BUILD_SHARED_LIBS AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
        set(symbols ${PROJECT_SOURCE_DIR}/cmake/c-api.map)
        target_link_options(${target} PRIVATE LINKER:--version-script=${symbols})
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${symbols})
    endif()
endfunction()
