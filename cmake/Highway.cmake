# hwy::hwy, by its CMake package or, where a distribution leaves that out, by pkg-config.

find_package(hwy QUIET)
if(NOT TARGET hwy::hwy)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
    add_library(hwy::hwy ALIAS PkgConfig::HWY)
endif()
