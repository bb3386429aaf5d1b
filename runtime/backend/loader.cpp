// Backend families in dynamic libraries. The entry symbol carries the version of the interface structs, so
// that a library built for other structs is never called.
#include "runtime/backend/registry.h"
#include "runtime/base/log.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace ggml {
namespace {

namespace fs = std::filesystem;

constexpr const char * kEntrySymbol = "ggml_backend_plugin_v1";
constexpr const char * kFilePrefix = "ggml-backend-";
constexpr const char * kFileSuffix = ".so";

struct CloseLibrary {
    void operator()(void * library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

ggml_backend_reg_t load(const char * path) {
    Library library(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    if (library == nullptr) {
        GGML_LOG_ERROR("backend library %s cannot be opened: %s\n", path, dlerror());
        return nullptr;
    }
    const auto entry = reinterpret_cast<BackendRegFn>(dlsym(library.get(), kEntrySymbol));
    if (entry == nullptr) {
        GGML_LOG_ERROR("backend library %s has no function %s\n", path, kEntrySymbol);
        return nullptr;
    }
    ggml_backend_reg_t reg = entry();
    if (reg == nullptr) {
        GGML_LOG_ERROR("backend library %s cannot be used on this machine\n", path);
        return nullptr;
    }
    if (!BackendRegistry::instance().add(reg, library.get())) {
        GGML_LOG_ERROR("backend library %s was not registered (loaded already, or not usable)\n", path);
        return nullptr;
    }
    library.release();
    return reg;
}

bool is_backend_file(const fs::path & path) {
    const std::string name = path.filename().string();
    return name.starts_with(kFilePrefix) && name.ends_with(kFileSuffix);
}

void load_folder(const fs::path & folder) {
    std::vector<fs::path> files;
    std::error_code ignored; // a folder that does not exist has nothing to load
    for (const auto & entry : fs::directory_iterator(folder, ignored)) {
        if (is_backend_file(entry.path())) files.push_back(entry.path());
    }
    // Directory order is arbitrary; devices should be listed the same way every time.
    std::sort(files.begin(), files.end());
    for (const fs::path & file : files) load(file.c_str());
}

} // namespace
} // namespace ggml

extern "C" {

ggml_backend_reg_t ggml_backend_load(const char * path) {
    GGML_ASSERT(path != nullptr);
    return ggml::load(path);
}

void ggml_backend_unload(ggml_backend_reg_t reg) {
    if (void * library = ggml::BackendRegistry::instance().remove(reg)) dlclose(library);
}

void ggml_backend_load_all(void) {
    std::error_code failed;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (!failed) ggml_backend_load_all_from_path(program.parent_path().c_str());
}

void ggml_backend_load_all_from_path(const char * dir_path) try {
    if (dir_path != nullptr) ggml::load_folder(dir_path);
} catch (const std::exception & e) {
    GGML_LOG_ERROR("looking for backend libraries in %s: %s\n", dir_path, e.what());
}

} // extern "C"
