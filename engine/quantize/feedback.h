// Error feedback: what rounding does to one input of a layer is made up for by the inputs that follow, as far
// as they go together in the activations (GPTQ, LDLQ). With H = sum of x x^T over activations, in the layer's
// rotated basis, the squared error of the outputs of a row with the errors e is e H e^T; with H = (U + 1) D
// (U + 1)^T, U strictly upper triangular, it is sum of D_k (e_k + sum of e_i U_ik over i < k)^2. So input k
// is rounded from w_k + sum of e_i U_ik.
#pragma once

#include "quantize/encode.h"

#include <cstdint>
#include <vector>

namespace sd {

// Sums of products of a layer's inputs; only the part above and on the diagonal is of use.
struct SecondMoments {
    int64_t k = 0;
    int64_t rows = 0;     // of activations
    std::vector<float> h; // k * k
};

// Adds x^T x for `rows` rows of x, which lie k floats apart.
void add_moments(const float * x, int64_t rows, int threads, SecondMoments & to);

struct FeedbackFactor {
    int64_t k = 0;
    std::vector<float> u;  // k * k, strictly upper triangular; what else is there means nothing
    std::vector<double> d; // k
    double damping = 0;    // what was added to the diagonal
};

// Damped with a hundredth of the mean of the diagonal; with ten times as much, as often as it takes, where
// the factor does not exist otherwise. `moments` are used up. An Error (E_CALIBRATION, without file) for
// those that are zero or not finite.
FeedbackFactor factor_of(SecondMoments && moments, int threads);

// Squares of outputs over all activations: of the errors, and of the layer as it was.
struct OutputSums {
    double error = 0, plain = 0, size = 0; // plain: of the errors without feedback
    void add(const OutputSums & o) { error += o.error, plain += o.plain, size += o.size; }
};

// Encodes rows with feedback, with the scales that they have without. One thread at a time.
class FeedbackEncoder {
  public:
    // As RowEncoder::encode. Where the error of the outputs would be larger with feedback, a row is as
    // without.
    OutputSums encode(const EncodeOptions & options, const FeedbackFactor & factor, float * rows,
                      int64_t count, EncodedRows & out);

  private:
    void decode(const EncodeOptions & options, const EncodedRows & rows, int64_t count);
    std::vector<double> output_squares(const FeedbackFactor & factor, const std::vector<float> & rows,
                                       int64_t count);
    void feed_back(const EncodeOptions & options, const FeedbackFactor & factor, int64_t count,
                   const EncodedRows & plain);

    RowEncoder plain_;
    std::vector<float> rotated_, decoded_, errors_, targets_, triangle_;
    std::vector<int8_t> codes_;
    std::vector<double> squares_;
};

} // namespace sd
