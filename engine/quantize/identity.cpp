#include "quantize/identity.h"

#include "quantize/digest.h"

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

namespace sd {
namespace {

// Whoever changes what is written for the same plan, or how the work is cut into pieces, gives another
// number.
constexpr uint64_t kWritersVersion = 2;

// What the file is, without its folder.
void add_file(Digest & digest, const std::string & path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0)
        throw Error({"E_FILE", path, {}, std::string("cannot be read: ") + std::strerror(errno), {}});
    digest.text(std::filesystem::path(path).filename().string());
    digest.number(uint64_t(info.st_size));
    digest.number(uint64_t(info.st_mtim.tv_sec));
    digest.number(uint64_t(info.st_mtim.tv_nsec));
}

void add_input(Digest & digest, const OpenedFile & opened) {
    add_file(digest, opened.file.path());
    for (const auto & [key, value] : opened.container.metadata) {
        digest.text(key);
        digest.text(value);
    }
}

// What errors and bytes come from beside the layers.
void add_request(Digest & digest, const QuantizeRequest & request) {
    digest.number(kWritersVersion);
    digest.number(request.allow_nonfinite ? 1 : 0);
    digest.number(request.scale_search ? 1 : 0);
    for (const AdapterUse & use : combined(request.adapters)) {
        add_file(digest, use.path);
        digest.number(std::bit_cast<uint32_t>(use.strength));
    }
    const CalibrationRequest & c = request.calibration;
    if (c.prompts.empty()) return;
    for (const std::string & prompt : c.prompts) digest.text(prompt);
    for (const std::string * path : {&c.files.model, &c.files.diffusion_model, &c.files.llm, &c.files.vae}) {
        if (!path->empty()) add_file(digest, *path);
    }
    for (const int n : {c.steps, c.width, c.height}) digest.number(uint64_t(n));
    digest.number(std::bit_cast<uint32_t>(c.cfg_scale.value_or(0)));
    digest.number(uint64_t(c.seed));
}

} // namespace

uint64_t digest_of(const Checkpoint & checkpoint) {
    Digest digest;
    for (const OpenedFile & f : checkpoint.files()) add_input(digest, f);
    for (const TensorInfo & t : checkpoint.tensors()) {
        digest.text(t.name);
        digest.text(checkpoint.stored_name(t));
        digest.text(type_name(t.type));
        digest.number(uint64_t(t.file));
        digest.number(t.offset);
        digest.number(t.bytes);
        for (const auto * numbers : {&t.shape, &t.strides}) {
            digest.number(numbers->size());
            for (const int64_t n : *numbers) digest.number(uint64_t(n));
        }
    }
    return digest.value();
}

JournalIdentity identity_of(const Checkpoint & checkpoint, const std::vector<ChosenLayer> & layers,
                            const QuantizeRequest & request) {
    Digest digest;
    add_request(digest, request);
    for (const ChosenLayer & l : layers) {
        digest.text(l.name);
        for (const Candidate & c : l.candidates) {
            digest.text(c.format ? layer_format_name(*c.format) : "");
            digest.number(uint64_t(c.group));
            digest.bytes(c.book.data(), sizeof c.book);
        }
    }
    return {digest_of(checkpoint), digest.value()};
}

JournalIdentity identity_of(const Checkpoint & checkpoint, const QuantizePlan & plan,
                            const QuantizeRequest & request) {
    Digest digest;
    add_request(digest, request);
    digest.text(plan.start);
    for (const LayerPlan & layer : plan.layers) {
        digest.text(layer.name);
        digest.text(layer.settings);
        digest.bytes(layer.layer->book.data(), sizeof layer.layer->book);
    }
    return {digest_of(checkpoint), digest.value()};
}

} // namespace sd
