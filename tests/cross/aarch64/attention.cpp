// Attention for few queries and for tiles of queries, whose register tiles have sizes of their own on NEON,
// against the formula in double.
#include "backends/cpu/kernels/attention/few.h"
#include "backends/cpu/kernels/attention/tile.h"
#include "runtime/base/half.h"
#include "tests/cross/aarch64/check.h"

#include <cmath>
#include <cstring>

namespace ggml::cross {
namespace {

using namespace cpu::attention;

constexpr int64_t kKeys = 45;

struct Case {
    int64_t d, dv;
    int n;
    RowType type;
    bool masked, sinks;
    float softcap;
};

// Rows of K or V in their own type, and the values that type holds.
struct Rows {
    std::vector<char> data;
    std::vector<float> values;
    size_t stride;

    Rows(Random & random, RowType type, int64_t width) {
        for (float x : random.floats(kKeys * width)) {
            uint16_t bits = 0;
            if (type == RowType::f16) x = half_to_float(bits = float_to_half(x));
            if (type == RowType::bf16) x = bf16_to_float(bits = float_to_bf16(x));
            values.push_back(x);
            const auto * bytes = type == RowType::f32 ? reinterpret_cast<const char *>(&x)
                                                      : reinterpret_cast<const char *>(&bits);
            data.insert(data.end(), bytes, bytes + (type == RowType::f32 ? 4 : 2));
        }
        stride = data.size() / size_t(kKeys);
    }
};

struct Problem {
    Params params;
    Rows k, v;
    std::vector<float> q, out;
    std::vector<uint16_t> masks;
    std::vector<Query> queries;

    Problem(const Case & c, Random random)
        : params{c.d, c.dv, 1.0f / std::sqrt(float(c.d)), c.softcap, c.masked, c.sinks},
          k(random, c.type, c.d), v(random, c.type, c.dv), q(random.floats(c.n * c.d, -3, 3)),
          out(size_t(c.n * c.dv), -777.0f) {
        if (c.softcap != 0) params.scale /= c.softcap;
        for (int i = 0; i < c.n; ++i) {
            // Causal-like: the later half of the keys is hidden from query 0, a third of the rest from all.
            for (int64_t j = 0; j < kKeys; ++j) {
                const bool hidden = (i == 0 && j >= kKeys / 2) || j % 3 == 1;
                masks.push_back(hidden ? uint16_t(0xfc00) : float_to_half(random.uniform(-2, 0)));
            }
        }
        for (int i = 0; i < c.n; ++i) {
            const uint16_t * mask = c.masked ? masks.data() + i * kKeys : nullptr;
            queries.push_back({q.data() + i * c.d, mask, i % 2 == 0 ? 1.0f : 0.5f, random.uniform(-1, 3),
                               out.data() + i * c.dv});
        }
    }
};

double score(const Problem & p, const Query & query, int64_t key) {
    double dot = 0;
    for (int64_t e = 0; e < p.params.d; ++e)
        dot += double(query.q[e]) * p.k.values[size_t(key * p.params.d + e)];
    dot *= p.params.scale;
    if (p.params.softcap != 0) dot = p.params.softcap * std::tanh(dot);
    if (query.mask != nullptr) dot += double(query.slope) * half_to_float(query.mask[key]);
    return dot;
}

void compare(const Problem & p, const char * what, const Case & c) {
    for (const Query & query : p.queries) {
        std::vector<double> want(size_t(c.dv));
        double sum = c.sinks ? std::exp(double(query.sink)) : 0.0;
        for (int64_t j = 0; j < kKeys; ++j) {
            const double weight = std::exp(score(p, query, j));
            sum += weight;
            for (int64_t e = 0; e < c.dv; ++e) want[size_t(e)] += weight * p.v.values[size_t(j * c.dv + e)];
        }
        for (int64_t e = 0; e < c.dv; ++e) {
            require(is_close(query.out[e], want[size_t(e)] / sum, 5e-6),
                    "%s, d %d dv %d queries %d type %d: query %d element %d is %.9g, expected %.9g", what,
                    int(c.d), int(c.dv), c.n, int(c.type), int(&query - p.queries.data()), int(e),
                    query.out[e], want[size_t(e)] / sum);
        }
    }
}

// Two chunks of keys, merged.
void check_few(const Case & c) {
    Problem p(c, Random(uint32_t(c.d * 8 + c.n)));
    std::vector<float> scores(size_t(kFewQueries * score_stride(kKeys)));
    std::vector<float> memory(size_t(2 * Partials::floats(c.n, c.dv)));
    int32_t keys[kKeys];
    const Partials partials{memory.data(), c.n, c.dv};
    const int64_t middle = 26;
    for (int64_t part = 0; part < 2; ++part) {
        const int64_t first = part * middle, count = part == 0 ? middle : kKeys - middle;
        const KeyChunk chunk{c.type,
                             c.type,
                             p.k.data.data() + size_t(first) * p.k.stride,
                             p.v.data.data() + size_t(first) * p.v.stride,
                             p.k.stride,
                             p.v.stride,
                             first,
                             count};
        few_chunk(p.params, p.queries.data(), c.n, chunk, {scores.data(), keys}, partials[part]);
    }
    for (int i = 0; i < c.n; ++i) merge_partials(p.params, p.queries[size_t(i)], i, partials, 0, 2);
    compare(p, "few queries", c);
}

struct alignas(64) TileRow {
    float lanes[kTileQueries];
};

// Two panels of keys, one after the other.
void check_tile(const Case & c) {
    Problem p(c, Random(uint32_t(c.d * 64 + c.n)));
    std::vector<TileRow> q(size_t(c.d)), out(size_t(c.dv)), state(2), scores(kKeys), bias(kKeys);
    const Tile tile{p.queries.data(), c.n, q[0].lanes, out[0].lanes, state[0].lanes, state[1].lanes};
    tile_begin(p.params, tile);
    const int64_t middle = 26;
    for (int64_t first : {int64_t(0), middle}) {
        const Panel panel{p.k.values.data() + first * c.d,
                          p.v.values.data() + first * c.dv,
                          c.d,
                          c.dv,
                          first,
                          first == 0 ? middle : kKeys - middle,
                          true};
        tile_step(p.params, tile, panel, {scores[0].lanes, bias[0].lanes});
    }
    tile_finish(p.params, tile);
    compare(p, "tile", c);
}

struct Width {
    int64_t d, dv;
};
constexpr Width kWidths[] = {{64, 64}, {67, 45}, {5, 1}};

} // namespace

void check_attention() {
    for (const Width & w : kWidths) {
        for (int option = 0; option < 4; ++option) {
            const bool masked = option % 2 == 1, more = option >= 2;
            const float softcap = more ? 5.0f : 0.0f;
            for (RowType type : {RowType::f32, RowType::f16, RowType::bf16}) {
                for (int n = 1; n <= kFewQueries; ++n) check_few({w.d, w.dv, n, type, masked, more, softcap});
            }
            for (int n : {1, 4, 5, 18, kTileQueries})
                check_tile({w.d, w.dv, n, RowType::f32, masked, more, softcap});
        }
    }
    passed("attention of 1 to %d queries: f32, f16, bf16; masks, soft caps, sinks", kFewQueries);
    passed("attention in tiles of up to %d queries: masks, soft caps, sinks", kTileQueries);
}

} // namespace ggml::cross
