// The part of Weights that adapters need.
#include "base/error.h"
#include "checkpoint/values/floats.h"
#include "nn/correction.h"
#include "nn/weights.h"

#include <algorithm>

namespace sd {

// How a layer's changes are applied to activations; pointers into the changes.
struct CorrectionPlan {
    std::vector<const Change *> low_rank, kronecker;
    const std::vector<Change> * dense = nullptr; // all of them as one difference
    int64_t rank = 0;                            // of all in low_rank
    int64_t first_rank = 0;                      // see Correction
};

namespace {

int64_t cost_of(const Change & c, int64_t n, int64_t k) {
    if (c.kind == Change::Kind::low_rank) return c.b.rows * (n + k);
    const int64_t up = c.left.rows, uq = c.left.columns;
    const int64_t inner = c.a.columns;
    const int64_t before = c.b.empty() ? 0 : inner * k;
    return before + up * uq * inner + n * inner;
}

// Multiply-adds for each row of activations decide: factors while they are fewer than those of the layer
// itself. Plain differences have no other form, and take in everything else the layer has at no cost.
CorrectionPlan plan_of(const std::vector<Change> & changes, int64_t n, int64_t k) {
    CorrectionPlan plan;
    int64_t cost = 0;
    for (const Change & c : changes) {
        if (c.kind == Change::Kind::low_rank)
            plan.low_rank.push_back(&c);
        else if (c.kind == Change::Kind::kronecker)
            plan.kronecker.push_back(&c);
        else
            plan.dense = &changes;
        if (plan.dense == nullptr) cost += cost_of(c, n, k);
    }
    if (cost >= n * k) plan.dense = &changes;
    if (plan.dense != nullptr) {
        plan.low_rank.clear();
        plan.kronecker.clear();
    }
    for (const Change * c : plan.low_rank) plan.rank += c->b.rows;
    return plan;
}

void copy_values(const Matrix & m, float by, void * out) {
    auto * to = static_cast<float *>(out);
    for (const float v : m.values) *to++ = by * v;
}

} // namespace

const std::vector<Change> * Weights::changes_of(const std::string & tensor) const {
    if (options_.changes == nullptr) return nullptr;
    const auto found = options_.changes->find(tensor);
    return found != options_.changes->end() ? &found->second : nullptr;
}

ggml_tensor * Weights::merged(const std::string & tensor, ggml_type type, int64_t n, int64_t k,
                              ReadRows read) {
    const std::vector<Change> & changes = *changes_of(tensor);
    const ModelTensor & target = table_.get(tensor);
    const auto fill = [=, this, &changes, &target](void * out, const ParallelOptions & o) {
        constexpr int64_t kRows = 32; // of a piece: a few megabytes as F32
        parallel_parts((n + kRows - 1) / kRows, o, [&](int64_t part) {
            const int64_t first = part * kRows, count = std::min(kRows, n - first);
            std::vector<float> rows(size_t(count * k));
            read(first, count, rows.data());
            for (const Change & c : changes) add_difference(c, k, first, count, rows.data());
            const size_t bytes = ggml_row_size(type, k);
            const std::string problem =
                from_floats(rows.data(), count * k, type, static_cast<char *>(out) + size_t(first) * bytes);
            if (!problem.empty()) throw table_.error(target, "with the adapters merged " + problem);
            return uint64_t(count) * bytes;
        });
    };
    return allocated(type, {n, k}, target.info->name, fill);
}

std::vector<Linear> Weights::linears(const std::vector<std::string> & modules) {
    std::vector<Linear> layers;
    for (const std::string & module : modules) layers.push_back(plain_linear(module));
    if (options_.changes != nullptr && !options_.changes->empty() && !options_.merge) add_corrections(layers);
    return layers;
}

Linear Weights::linear(const std::string & module) { return linears({module})[0]; }

void Weights::add_corrections(std::vector<Linear> & layers) {
    std::vector<CorrectionPlan> plans;
    int64_t ranks = 0;
    for (const Linear & layer : layers) {
        const std::vector<Change> * changes = changes_of(layer.name + ".weight");
        plans.push_back(changes != nullptr ? plan_of(*changes, layer.n, layer.k) : CorrectionPlan());
        plans.back().first_rank = ranks;
        ranks += plans.back().rank;
    }
    ggml_tensor * down = ranks > 0 ? shared_down(plans, layers[0].k, layers[0].name) : nullptr;
    for (size_t i = 0; i < layers.size(); ++i) {
        if (plans[i].rank > 0) layers[i].correction.down = down;
        describe_correction(layers[i], plans[i]);
        correction_nodes_ += sd::correction_nodes(layers[i].correction);
    }
}

ggml_tensor * Weights::shared_down(const std::vector<CorrectionPlan> & plans, int64_t k,
                                   const std::string & name) {
    std::vector<const Change *> changes;
    int64_t ranks = 0;
    for (const CorrectionPlan & plan : plans) {
        changes.insert(changes.end(), plan.low_rank.begin(), plan.low_rank.end());
        ranks += plan.rank;
    }
    return allocated(GGML_TYPE_F32, {ranks, k}, name + ".down",
                     [changes](void * out, const ParallelOptions &) {
                         auto * to = static_cast<float *>(out);
                         for (const Change * c : changes)
                             to = std::copy(c->b.values.begin(), c->b.values.end(), to);
                     });
}

void Weights::describe_correction(Linear & layer, const CorrectionPlan & plan) {
    Correction & c = layer.correction;
    const int64_t n = layer.n, k = layer.k;
    if (plan.rank > 0) {
        c.first_rank = plan.first_rank;
        const auto fill = [list = plan.low_rank, n](void * out, const ParallelOptions &) {
            auto * to = static_cast<float *>(out);
            for (int64_t row = 0; row < n; ++row) {
                for (const Change * change : list) {
                    for (int64_t r = 0; r < change->a.columns; ++r)
                        *to++ = change->factor * change->a.row(row)[r];
                }
            }
        };
        c.up = allocated(GGML_TYPE_F32, {n, plan.rank}, layer.name + ".up", fill);
    }
    for (const Change * change : plan.kronecker) {
        const auto factor = [&](const Matrix & m, float by, const char * name) {
            return allocated(GGML_TYPE_F32, {m.rows, m.columns}, layer.name + name,
                             [&m, by](void * out, const ParallelOptions &) { copy_values(m, by, out); });
        };
        c.kroneckers.push_back({factor(change->left, change->factor, ".left"),
                                factor(change->a, 1.0f, ".right"),
                                change->b.empty() ? nullptr : factor(change->b, 1.0f, ".inner")});
    }
    if (plan.dense == nullptr) return;
    c.difference = allocated(GGML_TYPE_F32, {n, k}, layer.name + ".difference",
                             [changes = plan.dense, n, k](void * out, const ParallelOptions & o) {
                                 std::fill_n(static_cast<float *>(out), n * k, 0.0f);
                                 add_differences(*changes, n, k, static_cast<float *>(out), o);
                             });
}

} // namespace sd
