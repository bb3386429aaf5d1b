#include "apps/cli/console.h"
#include "apps/cli/generation_data.h"
#include "apps/cli/image/image_file.h"
#include "apps/cli/modes.h"
#include "apps/cli/text.h"

#include <nlohmann/json.hpp>

namespace cli {

int run_metadata(const Arguments & a) {
    if (a.image.empty()) {
        print_error("no picture is given (--image FILE)");
        return 1;
    }
    Image image;
    std::string error;
    if (!read_image(a.image, image, error)) {
        print_error(error);
        return 1;
    }
    if (image.text.empty()) {
        print_error(a.image + ": holds no generation data");
        return 1;
    }
    if (a.metadata_format == "text") return print_result(printable(image.text) + "\n") ? 0 : 1;
    const nlohmann::json text = image.text;
    const std::string settings = json_of(image.text);
    const std::string json =
        "{\"parameters\":" + text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
        ",\"sdcpp\":" + (settings.empty() ? "null" : settings) + "}\n";
    return print_result(json) ? 0 : 1;
}

} // namespace cli
