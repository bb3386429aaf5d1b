#include "api/boundary.h"
#include "ggml-backend.h"
#include "stable-diffusion.h"

#include <algorithm>
#include <cstring>

extern "C" size_t sd_list_devices(char * buffer, size_t size) {
    return sd::at_boundary(size_t(0), [&] {
        std::string text;
        for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
            ggml_backend_dev_t device = ggml_backend_dev_get(i);
            text += std::string(ggml_backend_dev_name(device)) + "\t" + ggml_backend_dev_description(device) +
                    "\n";
        }
        if (buffer == nullptr || size == 0) return text.size();
        const size_t shown = std::min(size - 1, text.size());
        std::memcpy(buffer, text.data(), shown);
        buffer[shown] = '\0';
        return text.size();
    });
}
