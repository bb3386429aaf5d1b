#include "checkpoint/prefixes.h"

namespace sd {
namespace {

struct Prefix {
    std::string_view stored;
    Component part;
};

// No entry is the beginning of another one, so their order does not matter.
constexpr Prefix kPrefixes[] = {
    {"model.diffusion_model.", Component::diffusion},          // checkpoints of all parts, and this engine
    {"diffusion_model.", Component::diffusion},                // trainers and adapters
    {"text_encoders.qwen3vl_4b.transformer.", Component::llm}, // ComfyUI's checkpoints of all parts
    {"text_encoders.llm.", Component::llm},                    // this engine, converted files
    {"first_stage_model.", Component::vae},                    // the original training code
    {"vae.", Component::vae},                                  // this engine
};

// What may stand between a language model's prefix and its layers; longest first. The vision tower is beside
// the language model ("model.visual."), so the last one uncovers it too.
constexpr std::string_view kLlmInner[] = {"model.language_model.", "language_model.model.", "language_model.",
                                          "model."};

// A prefix alone is a name like any other.
bool strip(std::string_view & name, std::string_view prefix) {
    if (name.size() <= prefix.size() || name.substr(0, prefix.size()) != prefix) return false;
    name.remove_prefix(prefix.size());
    return true;
}

} // namespace

std::string_view component_prefix(Component component) {
    switch (component) {
    case Component::diffusion: return "model.diffusion_model.";
    case Component::llm: return "text_encoders.llm.";
    case Component::vae: return "vae.";
    case Component::model: break;
    }
    return "";
}

std::string table_name(std::string_view stored, Component component) {
    std::string_view rest = stored;
    Component part = component;
    for (const Prefix & prefix : kPrefixes) {
        if (component != Component::model && component != prefix.part) continue;
        if (!strip(rest, prefix.stored)) continue;
        part = prefix.part;
        break;
    }
    if (part == Component::llm) {
        for (const std::string_view inner : kLlmInner) {
            if (strip(rest, inner)) break;
        }
    }
    return std::string(component_prefix(part)) += rest;
}

} // namespace sd
