#include "pipeline/engine.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"
#include "models/wan_vae/config.h"

#include <algorithm>
#include <functional>

namespace sd {
namespace {

// What a file that does not fit its option is instead.
std::string title_of(const std::string & path) {
    try {
        Checkpoint alone;
        alone.add(path);
        const std::vector<FoundModel> found = find_models(alone, find_quant_modules(alone));
        if (found.empty()) return "no model this program knows";
        const std::string title = found.front().title, role = role_name(found.front().role);
        return "a " + title + (title.ends_with(role) ? "" : " " + role);
    } catch (const Error &) {
        // It was readable a moment ago; whatever this is, the caller's message says enough.
    }
    return "no model this program knows";
}

// Factors of adapters can be large, and are in the weights once those are loaded.
struct ChangesInUse {
    explicit ChangesInUse(std::array<ModelChanges, kAdapterParts> & c) : changes(c) {}
    ~ChangesInUse() { changes = {}; }
    ChangesInUse(const ChangesInUse &) = delete;
    ChangesInUse & operator=(const ChangesInUse &) = delete;
    std::array<ModelChanges, kAdapterParts> & changes;
};

// Whatever happens.
struct EndOfPhases {
    std::function<void()> end;
    ~EndOfPhases() {
        try {
            end();
        } catch (const std::exception & e) {
            // A scheduler without buffers could not be made: there is nothing left to give back.
            log_warn(std::string("after the generation: ") + e.what());
        }
    }
};

} // namespace

Engine::Engine(const EngineOptions & options)
    : options_(options), checkpoint_(open_model(options.files)),
      placement_(Placement::of(options.placement, Devices::of_process())) {
    for (const std::string & note : placement_.notes) log_warn(note);
    for (const ModulePlace & place : placement_.modules) {
        for (const DevicePlace & d : place.devices) {
            std::unique_ptr<Runner> & runner = runners_[d.device];
            if (runner == nullptr) runner = std::make_unique<Runner>(options.threads, d.device);
        }
    }
    QuantOptions quant;
    quant.assume_int8_group = options.assume_int8_group;
    quants_ = find_quant_modules(checkpoint_, quant);
    for (const OpenedFile & f : checkpoint_.files()) {
        for (const std::string & w : f.container.warnings) log_warn(f.file.path() + ": " + w);
    }
    for (const std::string & w : quants_.warnings) log_warn(w);
    models_ = find_models(checkpoint_, quants_);
    diffusion_table_.emplace(
        checkpoint_, quants_,
        part(ModelRole::diffusion, "--diffusion-model", options.files.diffusion_model).prefix, krea2_name);
    text_table_.emplace(checkpoint_, quants_,
                        part(ModelRole::text_encoder, "--llm", options.files.llm).prefix, qwen3_vl_name);
    vae_table_.emplace(checkpoint_, quants_, part(ModelRole::vae, "--vae", options.files.vae).prefix,
                       wan_vae_name);
    check_match();
    const TensorInfo & first = *diffusion_table_->tensors().begin()->second.info;
    const OpenedFile & file = checkpoint_.files()[size_t(first.file)];
    advice_ = advice_of(file.container, file.file.path());
}

Engine::~Engine() = default;

const FoundModel & Engine::part(ModelRole role, const char * option, const std::string & file) const {
    const std::string needed = role == ModelRole::diffusion      ? "a Krea 2 diffusion model"
                               : role == ModelRole::text_encoder ? "a Qwen3-VL text encoder"
                                                                 : "a Wan 2.1 VAE";
    for (const FoundModel & m : models_) {
        if (m.role == role && m.runs) {
            if (!m.missing.empty()) {
                throw Error({"E_TENSOR_MISSING",
                             file.empty() ? options_.files.model : file,
                             {},
                             std::to_string(m.missing.size()) + " tensors of " + needed +
                                 " are missing, as " + m.missing.front(),
                             "the file is incomplete"});
            }
            if (!m.unused.empty()) {
                log_info(std::to_string(m.unused.size()) + " tensors of the " + role_name(role) +
                         " are not used, as " + m.unused.front());
            }
            return m;
        }
    }
    if (!file.empty()) throw Error({"E_MODEL", file, {}, "is " + title_of(file), needed + " is needed here"});
    throw Error({"E_ARGUMENT",
                 options_.files.model,
                 {},
                 "no " + std::string(role_name(role)) + " is given",
                 needed + ": " + option + " FILE"});
}

void Engine::check_match() const {
    const Krea2Config dit = krea2_config(*diffusion_table_);
    const Qwen3VlConfig llm = qwen3_vl_config(*text_table_);
    const auto taps = int64_t(llm.taps().size());
    if (taps == dit.text_layers && llm.hidden == dit.text_dim) return;
    throw Error({"E_MISMATCH",
                 options_.files.llm.empty() ? options_.files.model : options_.files.llm,
                 {},
                 "the text encoder has " + std::to_string(llm.layers) + " layers of width " +
                     std::to_string(llm.hidden) + ", which make " + std::to_string(taps) +
                     " states; the diffusion model reads " + std::to_string(dit.text_layers) + " states of " +
                     std::to_string(dit.text_dim),
                 "the two files do not belong together"});
}

std::vector<Runner *> Engine::runners(Module module) {
    std::vector<Runner *> out;
    for (const DevicePlace & d : placement_[module].devices) out.push_back(runners_.at(d.device).get());
    return out;
}

Weights::Options Engine::weight_options(Module module, const Callbacks & callbacks, const char * what) {
    Weights::Options o;
    const ModulePlace & place = placement_[module];
    for (const DevicePlace & d : place.devices)
        o.memory.push_back({runners_.at(d.device)->weight_memory(), place.home, d.budget});
    o.map = options_.map;
    o.type_of = [this](const TensorInfo & tensor) { return options_.types.target_type(tensor); };
    if (!callbacks.progress) return o;
    o.progress = [this, &callbacks, what](uint64_t done, uint64_t total) {
        // Small parts are there before anybody reads that they come.
        constexpr uint64_t kWorthTelling = 256 << 20;
        if (total >= kWorthTelling && !callbacks.progress(what, done, total)) cancel_ = true;
    };
    return o;
}

ParallelOptions Engine::loading() const {
    ParallelOptions o;
    o.threads = runners_.begin()->second->threads();
    o.cancel = &cancel_;
    return o;
}

Engine::Contexts Engine::encode_prompts(const Request & request, bool uncond, const Callbacks & callbacks,
                                        Watch & watch) {
    if (text_ == nullptr) {
        text_ = std::make_unique<TextEncoder>(
            *text_table_, runners(Module::text), options_.tokenizer,
            adapted_options(AdapterPart::text_encoder, callbacks, "loading the text encoder"), loading());
    }
    const uint64_t prompts = uncond ? 2 : 1;
    const auto tell = [&](uint64_t done) {
        if (callbacks.progress && !callbacks.progress("encoding the prompt", done, prompts)) cancel_ = true;
    };
    tell(0);
    Contexts out = {text_->encode(request.prompt, "cond", watch, &cancel_), std::nullopt};
    tell(1);
    if (uncond) out.uncond = text_->encode(request.negative_prompt, "uncond", watch, &cancel_);
    if (uncond) tell(2);
    end_phase(Module::text);
    return out;
}

void Engine::end_phase(Module module) {
    for (Runner * r : runners(module)) r->release();
    // What is read again for each use is made with adapters that are known during a generation only.
    const ModulePlace & place = placement_[module];
    const bool again = place.home == WeightHome::disk || place.limited();
    const bool keep = options_.keep_loaded && !(again && !adapters_.empty());
    switch (module) {
    case Module::text:
        if (!keep) text_.reset();
        if (text_ != nullptr) text_->rest();
        break;
    case Module::diffusion:
        if (!keep) diffusion_.reset();
        if (diffusion_ != nullptr) diffusion_->rest();
        break;
    case Module::vae:
        // Its weights are small and all in use at once: kept where they compute, or not at all.
        for (std::unique_ptr<Autoencoder> * part : {&decoder_, &encoder_}) {
            if (!options_.keep_loaded || (*part != nullptr && !(*part)->always_there())) part->reset();
        }
        break;
    }
    if (place.limited()) give_back_freed_memory();
}

void Engine::generate(const Request & request, const Callbacks & callbacks) {
    const std::lock_guard lock(mutex_);
    cancel_ = false;
    decoding_.reset();
    Watch watch(!request.dump.empty());
    const Plan plan = Plan::of(request);
    watch.floats("sigmas", {int64_t(plan.sigmas.size())}, plan.sigmas);
    const ModulePlace & place = placement_[Module::diffusion];
    const auto refuse_to_explain = [&](const std::string & what, const std::string & advice) {
        throw Error({"E_ARGUMENT",
                     request.explain,
                     {},
                     "a step " + what + " is many graphs and cannot be explained as one",
                     advice});
    };
    if (!request.explain.empty() && !place.stays())
        refuse_to_explain("whose weights come and go",
                          "leave out --params-backend, --max-vram and --max-ram");
    if (!request.explain.empty() && place.devices.size() > 1)
        refuse_to_explain("on several devices", "name one device");
    const ChangesInUse in_use(changes_);
    const EndOfPhases end = {[this] {
        for (const Module m : {Module::text, Module::diffusion, Module::vae}) end_phase(m);
    }};
    use_adapters(request.adapters);
    const Contexts contexts = encode_prompts(request, plan.uncond, callbacks, watch);
    std::vector<float> init;
    if (request.init) init = encode_image(request, plan, callbacks);
    make_pictures(request, plan, contexts, init, callbacks, watch);
    if (watch.on()) watch.write(request.dump);
}

} // namespace sd
