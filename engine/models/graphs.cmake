# Models as graphs; the rest of this folder describes files and is built without them, too.
target_sources(stable-diffusion PRIVATE
    ${CMAKE_CURRENT_SOURCE_DIR}/models/krea2/model.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/models/krea2/tokens.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/models/qwen3_vl/model.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/models/wan_vae/model.cpp)
