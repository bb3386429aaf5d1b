# What the installed files must know of this build: which runtime libraries the compiler links into C++ programs with
# OpenMP, and where the prefix lies seen from the pkg-config file.

# A static libggml is linked by C programs too, whose compilers add neither. By name, except where only the compiler
# of this build finds them.
set(ggml_runtime_libraries "")
foreach(library ${OpenMP_CXX_LIB_NAMES} ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
    if(library MATCHES "^(gomp|omp|iomp5|stdc\\+\\+|c\\+\\+|c\\+\\+abi)$")
        list(APPEND ggml_runtime_libraries ${library})
    endif()
endforeach()
list(REMOVE_DUPLICATES ggml_runtime_libraries)
set(ggml_openmp_path "")
foreach(library ${OpenMP_CXX_LIB_NAMES})
    if(library MATCHES "omp")
        set(ggml_openmp_path ${OpenMP_${library}_LIBRARY})
    endif()
endforeach()
list(TRANSFORM ggml_runtime_libraries PREPEND -l OUTPUT_VARIABLE ggml_pc_runtime)
list(JOIN ggml_pc_runtime " " ggml_pc_runtime)

# Relative, so that `cmake --install --prefix` and moved trees need no edit.
file(RELATIVE_PATH ggml_pc_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" ggml_pc_up "${ggml_pc_up}")
foreach(kind LIBDIR INCLUDEDIR)
    set(ggml_pc_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        set(ggml_pc_${kind} "${CMAKE_INSTALL_${kind}}")
    endif()
endforeach()
