// Fills a QuantKernels from templates tile<rows, groups, minimum>, pack<type> and dot<type>.
#pragma once

// Defines the template `name` with DotFn's signature from one for single rows; where that is defined, so that
// it is inlined.
#define GGML_QUANT_DOT_ROWS(name, dot)                                                                       \
    template <ggml_type T>                                                                                   \
    void name(const void * rows, size_t stride, int64_t n, const ActRow & act, int64_t blocks, float * y) {  \
        for (int64_t i = 0; i < n; ++i)                                                                      \
            y[i] = dot<T>(static_cast<const char *>(rows) + size_t(i) * stride, act, blocks);                \
    }

#define GGML_QUANT_TILES(tile, groups, minimum)                                                              \
    {                                                                                                        \
        nullptr, tile<1, groups, minimum>, tile<2, groups, minimum>, tile<3, groups, minimum>,               \
            tile<4, groups, minimum>, tile<5, groups, minimum>, tile<6, groups, minimum>                     \
    }
#define GGML_QUANT_TILES_Q8_0(tile)                                                                          \
    { nullptr, tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6> }
#define GGML_NO_TILES                                                                                        \
    { nullptr }

#define GGML_QUANT_TYPES(f)                                                                                  \
    {                                                                                                        \
        f<GGML_TYPE_Q4_0>, f<GGML_TYPE_Q4_1>, f<GGML_TYPE_Q5_0>, f<GGML_TYPE_Q5_1>, f<GGML_TYPE_Q8_0>,       \
            f<GGML_TYPE_Q2_K>, f<GGML_TYPE_Q3_K>, f<GGML_TYPE_Q4_K>, f<GGML_TYPE_Q5_K>, f<GGML_TYPE_Q6_K>    \
    }

#define GGML_QUANT_TABLE(name, tile, tile_q8_0, q8_0_is_signed, pack, dot, quantize)                         \
    {                                                                                                        \
        name, q8_0_is_signed,                                                                                \
            {{GGML_QUANT_TILES(tile, 1, false), GGML_QUANT_TILES(tile, 1, true)},                            \
             {GGML_QUANT_TILES(tile, 2, false), GGML_QUANT_TILES(tile, 2, true)}},                           \
            tile_q8_0, GGML_QUANT_TYPES(pack), GGML_QUANT_TYPES(dot), quantize                               \
    }
