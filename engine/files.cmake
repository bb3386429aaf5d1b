# The part of the engine that reads files. An object library of its own, because fuzzers build it without backends.
add_library(engine_files OBJECT)
convrot_warnings(engine_files)
target_include_directories(engine_files PRIVATE ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/include)
find_package(nlohmann_json REQUIRED)
target_link_libraries(engine_files PRIVATE nlohmann_json::nlohmann_json)
foreach(room base checkpoint)
    add_subdirectory(${PROJECT_SOURCE_DIR}/engine/${room} ${PROJECT_BINARY_DIR}/engine/${room})
endforeach()
