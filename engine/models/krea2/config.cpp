#include "models/krea2/config.h"

namespace sd {
namespace {

// How many heads of `head_dim` a width is; not a whole number is an Error.
int64_t heads_of(const ModelTable & table, std::string_view name, int64_t width, int64_t head_dim) {
    if (width % head_dim == 0) return width / head_dim;
    throw table.error(table.get(name), "has " + std::to_string(width) +
                                           " rows, which is no multiple of the head size " +
                                           std::to_string(head_dim));
}

void check_heads(const ModelTable & table, std::string_view name, int64_t heads, int64_t kv_heads) {
    if (heads % kv_heads == 0) return;
    throw table.error(table.get(name), "has " + std::to_string(kv_heads) +
                                           " heads, which do not divide the " + std::to_string(heads) +
                                           " query heads");
}

void add_block(std::vector<ExpectedTensor> & out, const std::string & block, int64_t d, int64_t kv,
               int64_t hd, int64_t mlp) {
    out.push_back({block + "prenorm.scale", {d}});
    out.push_back({block + "postnorm.scale", {d}});
    out.push_back({block + "attn.wq.weight", {d, d}});
    out.push_back({block + "attn.wk.weight", {kv, d}});
    out.push_back({block + "attn.wv.weight", {kv, d}});
    out.push_back({block + "attn.gate.weight", {d, d}});
    out.push_back({block + "attn.wo.weight", {d, d}});
    out.push_back({block + "attn.qknorm.qnorm.scale", {hd}});
    out.push_back({block + "attn.qknorm.knorm.scale", {hd}});
    out.push_back({block + "mlp.gate.weight", {mlp, d}});
    out.push_back({block + "mlp.up.weight", {mlp, d}});
    out.push_back({block + "mlp.down.weight", {d, mlp}});
}

void add_linear(std::vector<ExpectedTensor> & out, const std::string & name, int64_t n, int64_t k) {
    out.push_back({name + ".weight", {n, k}});
    out.push_back({name + ".bias", {n}});
}

} // namespace

bool is_krea2(const ModelTable & table) { return table.find("txtfusion.projector.weight") != nullptr; }

Krea2Config krea2_config(const ModelTable & table) {
    constexpr int64_t area = Krea2Config::patch * Krea2Config::patch;
    const auto channels = [&](std::string_view name, int dimension) {
        const int64_t size = table.size(name, 2, dimension);
        if (size % area == 0) return size / area;
        throw table.error(table.get(name), "is not made for patches of 2 by 2");
    };
    Krea2Config c = {};
    c.features = table.size("first.weight", 2, 0);
    c.in_channels = channels("first.weight", 1);
    c.out_channels = channels("last.linear.weight", 0);
    c.head_dim = table.size("blocks.0.attn.qknorm.qnorm.scale", 1, 0);
    if (c.head_dim < 16 || c.head_dim % 2 != 0) {
        throw table.error(table.get("blocks.0.attn.qknorm.qnorm.scale"),
                          "makes heads of " + std::to_string(c.head_dim) +
                              " channels, but an even number of at least 16 is needed");
    }
    c.heads = heads_of(table, "first.weight", c.features, c.head_dim);
    c.kv_heads =
        heads_of(table, "blocks.0.attn.wk.weight", table.size("blocks.0.attn.wk.weight", 2, 0), c.head_dim);
    check_heads(table, "blocks.0.attn.wk.weight", c.heads, c.kv_heads);
    c.mlp = table.size("blocks.0.mlp.gate.weight", 2, 0);
    c.layers = table.count_blocks("blocks.");
    c.timestep_dim = table.size("tmlp.0.weight", 2, 1);

    const std::string text = "txtfusion.layerwise_blocks.0.";
    c.text_layers = table.elements("txtfusion.projector.weight");
    c.text_dim = table.size(text + "prenorm.scale", 1, 0);
    c.text_head_dim = table.size(text + "attn.qknorm.qnorm.scale", 1, 0);
    c.text_heads = heads_of(table, text + "prenorm.scale", c.text_dim, c.text_head_dim);
    c.text_kv_heads =
        heads_of(table, text + "attn.wk.weight", table.size(text + "attn.wk.weight", 2, 0), c.text_head_dim);
    check_heads(table, text + "attn.wk.weight", c.text_heads, c.text_kv_heads);
    c.text_mlp = table.size(text + "mlp.gate.weight", 2, 0);
    c.layerwise_blocks = table.count_blocks("txtfusion.layerwise_blocks.");
    c.refiner_blocks = table.count_blocks("txtfusion.refiner_blocks.");
    return c;
}

std::vector<ExpectedTensor> krea2_tensors(const Krea2Config & c) {
    constexpr int64_t area = Krea2Config::patch * Krea2Config::patch;
    const int64_t d = c.features, t = c.text_dim;
    std::vector<ExpectedTensor> out;
    add_linear(out, "first", d, c.in_channels * area);
    add_linear(out, "tmlp.0", d, c.timestep_dim);
    add_linear(out, "tmlp.2", d, d);
    add_linear(out, "tproj.1", 6 * d, d);
    out.push_back({"txtfusion.projector.weight", {1, c.text_layers}});
    const auto fusion = [&](const std::string & kind, int count) {
        for (int i = 0; i < count; ++i) {
            add_block(out, "txtfusion." + kind + "_blocks." + std::to_string(i) + ".", t,
                      c.text_kv_heads * c.text_head_dim, c.text_head_dim, c.text_mlp);
        }
    };
    fusion("layerwise", c.layerwise_blocks);
    fusion("refiner", c.refiner_blocks);
    out.push_back({"txtmlp.0.scale", {t}});
    add_linear(out, "txtmlp.1", d, t);
    add_linear(out, "txtmlp.3", d, d);
    for (int i = 0; i < c.layers; ++i) {
        const std::string block = "blocks." + std::to_string(i) + ".";
        out.push_back({block + "mod.lin", {6 * d}, false, true});
        add_block(out, block, d, c.kv_heads * c.head_dim, c.head_dim, c.mlp);
    }
    out.push_back({"last.norm.scale", {d}});
    out.push_back({"last.modulation.lin", {2, d}});
    add_linear(out, "last.linear", c.out_channels * area, d);
    return out;
}

} // namespace sd
