#include "convert/checks.h"

#include "base/log.h"

#include <filesystem>

namespace sd {

// Links are followed: what counts is which file it is.
void refuse_input(const Checkpoint & checkpoint, const std::string & output) {
    for (const OpenedFile & opened : checkpoint.files()) {
        std::error_code error;
        if (std::filesystem::equivalent(opened.file.path(), output, error) && !error)
            throw Error({"E_ARGUMENT", output, {}, "is the file that is read", "choose another output"});
    }
}

void log_warnings(const Checkpoint & checkpoint, const QuantModules & quants) {
    for (const OpenedFile & opened : checkpoint.files()) {
        for (const std::string & warning : opened.container.warnings)
            log_warn(opened.file.path() + ": " + warning);
    }
    for (const std::string & warning : quants.warnings) log_warn(warning);
}

} // namespace sd
