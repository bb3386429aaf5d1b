#include "ggml.h"

#include <cstring>

const char * ggml_version() { return CONVROT_VERSION; }

const char * ggml_commit() { return CONVROT_COMMIT; }

bool ggml_guid_matches(ggml_guid_t guid_a, ggml_guid_t guid_b) {
    return std::memcmp(guid_a, guid_b, sizeof(ggml_guid)) == 0;
}
