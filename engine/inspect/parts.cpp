#include "inspect/parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sd {
namespace {

struct Part {
    Component component;
    ModelRole role;
    const char * option;
    const char * needed;
};

constexpr Part kParts[] = {
    {Component::diffusion, ModelRole::diffusion, "--diffusion-model", "a Krea 2 diffusion model"},
    {Component::llm, ModelRole::text_encoder, "--llm", "a Qwen3-VL text encoder"},
    {Component::vae, ModelRole::vae, "--vae", "a Wan 2.1 VAE"},
};

bool has_role(const std::vector<FoundModel> & models, ModelRole role) {
    return std::any_of(models.begin(), models.end(), [&](const FoundModel & m) { return m.role == role; });
}

// The first file of those given as the part; "" for none.
std::string first_path(const Checkpoint & checkpoint, Component component) {
    for (const OpenedFile & f : checkpoint.files()) {
        if (f.component == component) return f.file.path();
    }
    return {};
}

// What the files hold when nothing is said about them. The part's prefix is in front of every name in the
// checkpoint's table and hides it there.
std::vector<FoundModel> models_alone(const Checkpoint & checkpoint, const QuantOptions & options,
                                     Component component) {
    Checkpoint alone;
    for (const OpenedFile & f : checkpoint.files()) {
        if (f.component == component) alone.add(f.file.path());
    }
    return find_models(alone, find_quant_modules(alone, options));
}

} // namespace

std::string title_and_role(const FoundModel & model) {
    const std::string role = role_name(model.role);
    return model.title.ends_with(role) ? model.title : model.title + " " + role;
}

std::string what_runs(const std::vector<FoundModel> & models) {
    std::string others;
    int missing = 0;
    for (const Part & part : kParts) {
        if (has_role(models, part.role)) continue;
        others += (missing++ == 0 ? ", together with " : " and ") + std::string(part.needed) + " (" +
                  part.option + ")";
    }
    return missing == int(std::size(kParts)) ? "" : "It can be run here" + others + ".";
}

std::optional<Error> wrong_part(const Checkpoint & checkpoint, const QuantOptions & options,
                                std::vector<FoundModel> & models) {
    for (const Part & part : kParts) {
        const std::string path = first_path(checkpoint, part.component);
        if (path.empty() || has_role(models, part.role)) continue;
        std::vector<FoundModel> others = models_alone(checkpoint, options, part.component);
        const std::string role = role_name(part.role), needed = std::string(part.needed) + " is needed here";
        if (others.empty()) {
            return Error({"E_MODEL", path, {}, "holds no " + role + " this program knows", needed});
        }
        const FoundModel other = others.front();
        const auto own = std::find_if(std::begin(kParts), std::end(kParts),
                                      [&](const Part & p) { return p.role == other.role; });
        const bool moves = own != std::end(kParts) && other.runs;
        // An adapter's tensors tell what it is by their endings, so it is found under any prefix.
        if (!has_role(models, other.role)) models.insert(models.end(), others.begin(), others.end());
        return Error({"E_MODEL",
                      path,
                      {},
                      "is no " + role + ": it holds " + title_and_role(other),
                      moves ? std::string("give it as ") + own->option + "; " + needed : needed});
    }
    return std::nullopt;
}

} // namespace sd
