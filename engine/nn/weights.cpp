#include "nn/weights.h"

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/values/dequantize.h"

#include <algorithm>
#include <memory>
#include <new>

namespace sd {
namespace {

// Room for all tensors of a model: a quantized module has up to four besides its bias. Adapters add a bias,
// two factors and a difference, and up to three factors for each change.
ggml_context_ptr descriptions(const ModelTable & table, const ModelChanges * changes) {
    size_t most = 4 * table.tensors().size() + 1;
    if (changes != nullptr) {
        for (const auto & [name, list] : *changes) most += 4 + 3 * list.size();
    }
    ggml_context_ptr ctx(ggml_init({most * ggml_tensor_overhead(), nullptr, true}));
    if (ctx == nullptr) throw std::bad_alloc();
    return ctx;
}

// Whether an operator takes the module's bytes. Relative scales that are floats are legal and rare: no kernel
// has them.
bool has_operator(const QuantModule & m) {
    if (m.full_precision) return false;
    if (m.format == QuantFormat::asym_w4a8_int8) return m.relative->type != StoredType::f32;
    return m.format == QuantFormat::int8_tensorwise || m.format == QuantFormat::convrot_w4a4;
}

} // namespace

Weights::Weights(const ModelTable & table, Options options)
    : table_(table), options_(std::move(options)), ctx_(descriptions(table, options_.changes)) {
    for (WeightMemory & m : options_.memory) {
        const bool host = ggml_backend_buft_is_host(m.type);
        // System memory is where the CPU's weights are used. What is limited elsewhere has to wait somewhere.
        if (host && m.home == WeightHome::host) m.home = WeightHome::device;
        if (!host && m.home == WeightHome::device && m.budget) m.home = WeightHome::host;
    }
}

bool Weights::always_there() const {
    return std::all_of(options_.memory.begin(), options_.memory.end(),
                       [](const WeightMemory & m) { return m.always_there(); });
}

ggml_tensor * Weights::describe(ggml_type type, const std::vector<int64_t> & shape,
                                const std::string & name) {
    std::vector<int64_t> ne(shape.rbegin(), shape.rend());
    if (ne.empty()) ne.push_back(1);
    ggml_tensor * tensor = ggml_new_tensor(ctx_.get(), type, int(ne.size()), ne.data());
    ggml_set_name(tensor, name.c_str());
    return tensor;
}

ggml_tensor * Weights::allocated(ggml_type type, const std::vector<int64_t> & shape, const std::string & name,
                                 Fill fill) {
    ggml_tensor * tensor = describe(type, shape, name);
    groups_.back().jobs.push_back({tensor, nullptr, std::move(fill)});
    return tensor;
}

ggml_tensor * Weights::stored(const TensorInfo & info, ggml_type type, const std::vector<int64_t> & shape) {
    const bool same =
        ggml_type_of(info.type) == type || (type == GGML_TYPE_I8 && info.bytes == uint64_t(info.elements()));
    const bool plain = same && info.strides.empty();
    if (plain) {
        ggml_tensor * tensor = describe(type, shape, info.name);
        groups_.back().jobs.push_back({tensor, &info, {}});
        return tensor;
    }
    const Checkpoint & checkpoint = table_.checkpoint();
    return allocated(type, shape, info.name,
                     [&checkpoint, &info, type, same](void * out, const ParallelOptions & o) {
                         if (same)
                             read_stored(checkpoint, info, {}, out, o);
                         else
                             read_values(checkpoint, info, type, {}, out, o);
                     });
}

ggml_tensor * Weights::vector(const std::string & name, float plus) {
    const Checkpoint & checkpoint = table_.checkpoint();
    const TensorInfo & info = *table_.get(name).info;
    const auto [n, k] = matrix_sizes(info.shape);
    return allocated(GGML_TYPE_F32, {info.elements()}, info.name,
                     [&checkpoint, &info, plus, n = n, k = k,
                      changes = changes_of(name)](void * out, const ParallelOptions & o) {
                         read_values(checkpoint, info, GGML_TYPE_F32, {}, out, o);
                         auto * values = static_cast<float *>(out);
                         if (changes != nullptr) add_differences(*changes, n, k, values, o);
                         if (plus != 0.0f)
                             std::for_each(values, values + info.elements(),
                                           [plus](float & v) { v += plus; });
                     });
}

ggml_tensor * Weights::per_row(const TensorInfo & info, int64_t n) {
    const Checkpoint & checkpoint = table_.checkpoint();
    return allocated(GGML_TYPE_F32, {n}, info.name,
                     [&checkpoint, &info, n](void * out, const ParallelOptions &) {
                         const std::vector<float> values = read_floats(checkpoint, info);
                         auto * to = static_cast<float *>(out);
                         if (values.size() == 1)
                             std::fill(to, to + n, values[0]);
                         else
                             std::copy(values.begin(), values.end(), to);
                     });
}

void Weights::integer_layer(const QuantModule & m, Linear & layer) {
    const bool packed = m.format != QuantFormat::int8_tensorwise;
    layer.group = m.group;
    layer.weight = stored(*m.weight, GGML_TYPE_I8, {m.n, packed ? m.k / 2 : m.k});
    if (m.format == QuantFormat::asym_w4a8_int8) {
        layer.kind = Linear::Kind::w4a8;
        const Checkpoint & checkpoint = table_.checkpoint();
        layer.codebook = allocated(GGML_TYPE_F32, {16}, m.name + ".weight_codebook",
                                   [&checkpoint, &m](void * out, const ParallelOptions &) {
                                       const auto levels = codebook_values(checkpoint, m);
                                       std::copy(levels.begin(), levels.end(), static_cast<float *>(out));
                                   });
        layer.channel = per_row(*m.channel, m.n);
        layer.relative = stored(*m.relative, GGML_TYPE_I8, {m.n, m.k / 16});
        return;
    }
    layer.kind = packed ? Linear::Kind::w4a4 : Linear::Kind::int8;
    layer.scale = per_row(*m.scale, m.n);
}

Linear Weights::plain_linear(const std::string & module) {
    const ModelTensor & tensor = table_.get(module + ".weight");
    const QuantModule * quant = tensor.quant;
    Linear layer;
    layer.name = module;
    layer.n = table_.size(module + ".weight", 2, 0);
    layer.k = table_.size(module + ".weight", 2, 1);
    const std::vector<int64_t> shape = {layer.n, layer.k};
    const Checkpoint & checkpoint = table_.checkpoint();
    const bool merges = options_.merge && changes_of(module + ".weight") != nullptr;
    if (quant == nullptr) {
        const ggml_type type =
            options_.type_of ? options_.type_of(*tensor.info) : natural_type(tensor.info->type);
        if (merges)
            layer.weight =
                merged(module + ".weight", type, layer.n, layer.k,
                       [&checkpoint, info = tensor.info](int64_t first, int64_t count, float * out) {
                           read_values(checkpoint, *info, GGML_TYPE_F32, {first, count}, out, {.threads = 1});
                       });
        else
            layer.weight = stored(*tensor.info, type, shape);
    } else if (has_operator(*quant)) {
        integer_layer(*quant, layer);
    } else if (merges) {
        const auto rows = std::make_shared<Dequantizer>(checkpoint, *quant);
        layer.weight =
            merged(module + ".weight", GGML_TYPE_BF16, layer.n, layer.k,
                   [rows](int64_t first, int64_t count, float * out) { rows->read(first, count, out); });
    } else {
        // Float products of values that are rotated back, or are scaled by rows: BF16 has the range for any
        // scale.
        layer.weight = allocated(GGML_TYPE_BF16, shape, tensor.info->name,
                                 [&checkpoint, quant](void * out, const ParallelOptions & o) {
                                     read_dequantized(checkpoint, *quant, GGML_TYPE_BF16, out, o);
                                 });
    }
    const std::string bias = module + ".bias";
    if (table_.find(bias) != nullptr) {
        layer.bias = vector(bias);
    } else if (const std::vector<Change> * changes = changes_of(bias)) {
        layer.bias = allocated(GGML_TYPE_F32, {layer.n}, bias,
                               [changes, n = layer.n](void * out, const ParallelOptions & o) {
                                   std::fill_n(static_cast<float *>(out), n, 0.0f);
                                   add_differences(*changes, 1, n, static_cast<float *>(out), o);
                               });
    }
    return layer;
}

ggml_tensor * Weights::kernel(const std::string & name, int64_t in, int64_t out_channels) {
    const ModelTensor & tensor = table_.get(name);
    const std::vector<int64_t> & shape = tensor.shape;
    if (shape.size() < 2) throw table_.error(tensor, "is no kernel of a convolution");
    const int64_t kh = shape[shape.size() - 2], kw = shape.back(), elements = table_.elements(name);
    const int64_t taps = elements / (in * out_channels * kh * kw);
    if (taps * in * out_channels * kh * kw != elements || taps < 1) {
        throw table_.error(tensor, "has the shape " + shape_text(shape) + ", which is no kernel from " +
                                       std::to_string(in) + " to " + std::to_string(out_channels) +
                                       " channels");
    }
    const Checkpoint & checkpoint = table_.checkpoint();
    const ModelTensor * from = &tensor;
    const int64_t area = kh * kw, channel = in * taps * area;
    const auto fill = [=, &checkpoint](void * out, const ParallelOptions & o) {
        auto * to = static_cast<float *>(out);
        std::vector<float> all(static_cast<size_t>(elements));
        if (from->quant != nullptr)
            read_dequantized(checkpoint, *from->quant, GGML_TYPE_F32, all.data(), o);
        else
            read_values(checkpoint, *from->info, GGML_TYPE_F32, {}, all.data(), o);
        for (int64_t c = 0; c < out_channels; ++c) {
            for (int64_t i = 0; i < in; ++i) {
                const float * tap = all.data() + c * channel + (i * taps + taps - 1) * area;
                std::copy(tap, tap + area, to + (c * in + i) * area);
            }
        }
    };
    return allocated(GGML_TYPE_F32, {out_channels, in, kh, kw}, tensor.info->name, fill);
}

void Weights::check_files() const {
    for (const auto & [index, file] : files_) file.check();
}

} // namespace sd
