// From files and a request to pictures. Parts are loaded when their phase begins and given back when it ends,
// unless they are to be kept. After an error or a cancel no more is in memory than after a picture.
#pragma once

#include "adapters/adapter.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "checkpoint/type_rules.h"
#include "models/families.h"
#include "pipeline/advice.h"
#include "pipeline/autoencoder.h"
#include "pipeline/diffusion.h"
#include "pipeline/request.h"
#include "pipeline/runner.h"
#include "pipeline/text_encoder.h"
#include "place/placement.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sd {

// When adapters are added: to activations in every step, or to float weights once while they are loaded. That
// is faster, and rounds the weights once more. `automatic`: while loading where all weights are floats.
enum class AdapterMode { automatic, immediately, at_runtime };

struct EngineOptions {
    ModelPaths files;
    std::string tokenizer;
    int threads = 0; // below 1: one for each physical core
    int assume_int8_group = 0;
    bool map = true;          // use weights where they are in the file
    bool keep_loaded = false; // keep all parts for the next picture
    TypeRules types;          // of float weights
    AdapterMode adapter_mode = AdapterMode::automatic;
    PlacementRequest placement;
};

class Engine {
  public:
    // Opens the files and checks that they belong together; loads no weights.
    explicit Engine(const EngineOptions & options);
    ~Engine();

    // Of the diffusion model's file.
    const Advice & advice() const { return advice_; }

    // One at a time; a second call waits. Throws Error. Pictures that were finished before an Error or a
    // cancel have been delivered.
    void generate(const Request & request, const Callbacks & callbacks);

    // From any thread: the generation that is under way stops soon, with E_CANCELLED.
    void cancel() { cancel_ = true; }

  private:
    struct Contexts {
        TextContext cond;
        std::optional<TextContext> uncond;
    };

    const FoundModel & part(ModelRole role, const char * option, const std::string & file) const;
    void check_match() const;
    Weights::Options weight_options(Module module, const Callbacks & callbacks, const char * what);
    Weights::Options adapted_options(AdapterPart part, const Callbacks & callbacks, const char * what);
    void use_adapters(const std::vector<AdapterUse> & uses);
    std::string quantized_tensor() const;
    bool merges_adapters() const;
    ParallelOptions loading() const;
    std::vector<Runner *> runners(Module module);
    Runner & runner(Module module) { return *runners_.at(placement_[module].device()); } // of one device
    // Of parts that are kept: their memory where they compute. Others: everything.
    void end_phase(Module module);
    void plan_memory(const Plan & plan, int64_t tokens);
    void write_explanation(const std::string & path, const Plan & plan, int64_t tokens) const;

    Contexts encode_prompts(const Request & request, bool uncond, const Callbacks & callbacks, Watch & watch);
    std::vector<float> encode_image(const Request & request, const Plan & plan, const Callbacks & callbacks);
    void make_pictures(const Request & request, const Plan & plan, const Contexts & contexts,
                       const std::vector<float> & init, const Callbacks & callbacks, Watch & watch);
    void decode(const Request & request, const Plan & plan, int index, const std::vector<float> & latent,
                const Callbacks & callbacks, Watch & watch);
    // Tiles as they were asked for, or, when there were none, because they are necessary. doing: for
    // messages.
    TilingRequest tiles_that_fit(const TilingRequest & asked, const Plan & plan, Autoencoder & vae,
                                 const char * doing);

    EngineOptions options_;
    Checkpoint checkpoint_;
    QuantModules quants_;
    std::vector<FoundModel> models_;
    std::optional<ModelTable> text_table_, diffusion_table_, vae_table_;
    Advice advice_;
    // Of the adapters that loaded parts were made with (fingerprint), and what those change, which is kept
    // only as long as a generation.
    std::string adapters_;
    std::array<ModelChanges, kAdapterParts> changes_;
    bool merge_ = false;
    std::optional<TilingRequest> decoding_; // of this generation
    Placement placement_;
    std::map<int, std::unique_ptr<Runner>> runners_; // by device
    std::unique_ptr<TextEncoder> text_;
    std::unique_ptr<Diffusion> diffusion_;
    std::unique_ptr<Autoencoder> decoder_, encoder_;
    std::atomic<bool> cancel_ = false;
    std::mutex mutex_;
};

} // namespace sd
