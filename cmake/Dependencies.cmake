# System packages only (scripts/install-deps); nothing is downloaded here.

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(dnnl REQUIRED)
include(Highway)
if(CONVROT_TESTS)
    find_package(GTest REQUIRED)
endif()
if(CONVROT_BENCH)
    find_package(benchmark REQUIRED)
endif()
